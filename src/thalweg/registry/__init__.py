"""The one table of names: learners, streams, detectors, transformers, metrics, formats, commands and the like.

A name is written down here and nowhere else. The public names of ``thalweg``, the command line, snapshots, the site and
the contract tests follow from it. It holds text only: a file is loaded when its name is used.
"""

from thalweg.registry.entry import Entry, Format, Metric, Table
from thalweg.registry.finding import (
    TABLES,
    adopt,
    check_importable,
    find,
    find_class,
    known_name,
    make,
    make_part,
    parameters,
    public,
    register,
    shared,
)
from thalweg.registry.learners import LEARNERS
from thalweg.registry.metrics import METRICS, metric_of
from thalweg.registry.parts import DETECTORS, INDEXES, PROJECTIONS, STRATEGIES, TRANSFORMERS
from thalweg.registry.public import COMMANDS, OTHERS
from thalweg.registry.streams import DATASETS, FORMATS, PAPERS, STREAMS, format_of

__all__ = [
    "COMMANDS", "DATASETS", "DETECTORS", "FORMATS", "INDEXES", "LEARNERS", "METRICS", "OTHERS", "PAPERS",
    "PROJECTIONS", "STRATEGIES", "STREAMS", "TABLES", "TRANSFORMERS", "Entry", "Format", "Metric", "Table", "adopt",
    "check_importable", "find", "find_class",
    "format_of", "known_name", "make", "make_part", "metric_of", "parameters", "public", "register", "shared",
]  # fmt: skip
