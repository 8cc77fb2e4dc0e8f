"""Ensembles of trees: a pool of trees, a rule that samples rows for each, and a rule that replaces the failing."""
