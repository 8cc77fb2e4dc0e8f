"""Learners behind a projection to fewer dimensions."""
