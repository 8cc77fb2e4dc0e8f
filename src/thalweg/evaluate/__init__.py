"""How good a learner is: prequential runs, metrics, results, pictures."""

from thalweg.evaluate.metrics import METRICS, Metrics
from thalweg.evaluate.plots import curves
from thalweg.evaluate.prequential import Progress, prequential
from thalweg.evaluate.result import Result
from thalweg.evaluate.table import side_by_side

__all__ = ["METRICS", "Metrics", "Progress", "Result", "curves", "prequential", "side_by_side"]
