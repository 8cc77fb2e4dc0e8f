"""Streams from files, a module for each format."""
