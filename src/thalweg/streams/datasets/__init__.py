"""Data sets by name: what there is, where it comes from, how it is loaded."""
