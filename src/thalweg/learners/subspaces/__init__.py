"""Learners of images: distances to the subspaces of each class."""
