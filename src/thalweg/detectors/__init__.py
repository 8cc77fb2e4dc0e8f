"""Drift detectors: they watch a sequence of numbers, mostly a learner's errors, for a change."""
