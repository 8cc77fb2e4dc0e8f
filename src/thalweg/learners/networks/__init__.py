"""Networks that are learned online."""
