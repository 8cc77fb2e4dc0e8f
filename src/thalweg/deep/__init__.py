"""Cascades: layers of forests, each of which sees what the layer before it answers."""
