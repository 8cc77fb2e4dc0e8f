"""Rare classes: weights that follow the class counts, decisions by cost, thresholds for a budget of alerts."""
