"""Ensembles with a tree for each chunk of rows, asked through an index of their rules."""
