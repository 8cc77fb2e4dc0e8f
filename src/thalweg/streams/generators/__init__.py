"""Synthetic streams, one per file: the class people call, and beside it the compiled arithmetic."""
