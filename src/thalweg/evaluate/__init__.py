"""How good a learner is: prequential runs, metrics, results, pictures."""

from thalweg.evaluate.metrics import METRICS, Metrics
from thalweg.evaluate.plots import costs, curves, intervals, rank_diagram
from thalweg.evaluate.prequential import Progress, prequential
from thalweg.evaluate.ranking import Ranking
from thalweg.evaluate.result import Result
from thalweg.evaluate.table import side_by_side

__all__ = [
    "METRICS", "Metrics", "Progress", "Ranking", "Result", "costs", "curves", "intervals", "prequential",
    "rank_diagram", "side_by_side",
]  # fmt: skip
