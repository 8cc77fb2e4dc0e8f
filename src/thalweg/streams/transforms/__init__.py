"""Streams made from streams."""
