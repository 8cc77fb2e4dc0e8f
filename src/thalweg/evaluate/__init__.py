"""How good a learner is: prequential runs, metrics, results, pictures."""

from thalweg.evaluate.metrics import Metrics
from thalweg.evaluate.prequential import Progress, prequential
from thalweg.evaluate.result import Result
from thalweg.registry import METRICS
from thalweg.show.plots import costs, curves, intervals, rank_diagram
from thalweg.show.tables import side_by_side

__all__ = [
    "METRICS", "Metrics", "Progress", "Result", "costs", "curves", "intervals", "prequential",
    "rank_diagram", "side_by_side",
]  # fmt: skip
