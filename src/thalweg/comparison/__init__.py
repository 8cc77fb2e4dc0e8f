"""Learners compared on many streams: a grid of runs that survives a crash, and what it says."""

from thalweg.comparison.grid import compare
from thalweg.comparison.outcome import Comparison

__all__ = ["Comparison", "compare"]
