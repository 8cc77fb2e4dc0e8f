"""Single trees: Hoeffding, extremely fast, adaptive, and trees on binned numbers."""
