"""Honest baselines: what any learner must beat."""
