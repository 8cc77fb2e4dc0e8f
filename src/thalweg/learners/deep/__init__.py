"""Forests in layers: each sees the record and what the layer before it says."""
