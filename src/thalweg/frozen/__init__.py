"""Forests compiled for answering only."""
