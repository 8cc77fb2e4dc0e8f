"""Forests of Hoeffding trees on one pool: how rows are resampled, and when a member is replaced."""
