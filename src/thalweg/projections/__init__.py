"""Fewer columns that keep distances: random projections, hashing, principal components that move."""
