"""Nearest neighbours among recent rows."""
