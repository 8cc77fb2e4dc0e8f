"""Learners that keep rows and ask the nearest of them."""
