"""The ensemble index: the rules of many trees as boxes, and the same votes faster."""
