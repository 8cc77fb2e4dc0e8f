"""The parameters that learners share which ask the nearest rows of a window."""

from typing import Literal

from thalweg.core.fields import Parametrised, choice, free, number, whole
from thalweg.detectors.by_name import make_detector
from thalweg.detectors.detector import Detector


class Neighbours(Parametrised):
    """How a window of rows is kept, measured and asked."""

    k: int = whole(default=5, doc="Neighbours that vote.", least=1, most=1_000_000)
    window: int = whole(default=1000, doc="Rows that are kept, the last ones.", least=1, most=100_000_000)
    metric: Literal["euclidean", "manhattan", "hamming", "cosine"] = choice(
        default="euclidean",
        doc='Distance between rows; "hamming": how many features differ; "cosine": 1 - cosine of the angle.',
    )
    ties: Literal["all", "k"] = choice(
        default="all",
        doc='"all": whoever is as far as the k-th nearest votes too; "k": exactly k vote, the oldest first.',
    )
    weights: Literal["uniform", "distance"] = choice(
        default="uniform",
        doc='"uniform": a vote is the weight of the row; "distance": that, divided by the distance (at least 1e-9).',
    )
    scale: Literal["window", "online"] | None = choice(
        default="window",
        doc='What differences in a feature are divided by; "window": greatest - least in the window; "online": the '
        "standard deviation of all rows so far; None: nothing. A feature in which no two rows differ does not count.",
    )
    precision: Literal["float64", "float32"] = choice(
        default="float64", doc="How rows are kept and asked; sums are made in float64 in either case."
    )


class Bagging(Parametrised):
    """How an ensemble of neighbours draws its rows, and replaces members."""

    rate: float = number(
        default=6.0,
        doc="Mean of the Poisson weights (λ); a member has a row where its draw is not 0.",
        above=0,
        below=100,
    )
    drift: str | Detector | None = free(
        default="adwin",
        doc="A detector or its name, for each member's errors before it learns the row: at a drift the worst member "
        "forgets all its rows. None: never.",
        check=make_detector,
    )
