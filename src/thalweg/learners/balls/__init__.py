"""Balls that cover the space and shrink where they err, and learners that keep their mistakes."""
