"""Classify data streams that change while they are being learned.

The public words of the library. Importing it loads NumPy and nothing heavy: each name is
fetched from its file when it is first used.

>>> import thalweg
>>> tree = thalweg.HoeffdingTree()
>>> result = thalweg.prequential(thalweg.SEA(seed=1), tree, limit=5_000)
>>> result.rows
5000
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "ADWIN": "detectors.adwin",
    "Agrawal": "streams.generators.agrawal",
    "ArrayStream": "streams.memory",
    "CSVStream": "streams.files",
    "Chunk": "core.chunk",
    "Classifier": "core.classifier",
    "DriftStream": "streams.drift",
    "Feature": "core.schema",
    "HoeffdingTree": "trees.hoeffding",
    "Hyperplane": "streams.generators.hyperplane",
    "MajorityClass": "baselines.majority",
    "NaiveBayes": "baselines.naive_bayes",
    "NoChange": "baselines.no_change",
    "ParquetStream": "streams.files",
    "RandomRBF": "streams.generators.rbf",
    "SEA": "streams.generators.sea",
    "Schema": "core.schema",
    "check_classifier": "checks",
    "check_detector": "checks",
    "check_stream": "checks",
    "load": "snapshot",
    "load_dataset": "streams.datasets",
    "prequential": "evaluate.prequential",
    "save": "snapshot",
}

__all__ = [
    "ADWIN",
    "SEA",
    "Agrawal",
    "ArrayStream",
    "CSVStream",
    "Chunk",
    "Classifier",
    "DriftStream",
    "Feature",
    "HoeffdingTree",
    "Hyperplane",
    "MajorityClass",
    "NaiveBayes",
    "NoChange",
    "ParquetStream",
    "RandomRBF",
    "Schema",
    "__version__",
    "check_classifier",
    "check_detector",
    "check_stream",
    "load",
    "load_dataset",
    "prequential",
    "save",
]

if TYPE_CHECKING:
    from thalweg.baselines.majority import MajorityClass
    from thalweg.baselines.naive_bayes import NaiveBayes
    from thalweg.baselines.no_change import NoChange
    from thalweg.checks import check_classifier, check_detector, check_stream
    from thalweg.core.chunk import Chunk
    from thalweg.core.classifier import Classifier
    from thalweg.core.schema import Feature, Schema
    from thalweg.detectors.adwin import ADWIN
    from thalweg.evaluate.prequential import prequential
    from thalweg.snapshot import load, save
    from thalweg.streams.datasets import load_dataset
    from thalweg.streams.drift import DriftStream
    from thalweg.streams.files import CSVStream, ParquetStream
    from thalweg.streams.generators.agrawal import Agrawal
    from thalweg.streams.generators.hyperplane import Hyperplane
    from thalweg.streams.generators.rbf import RandomRBF
    from thalweg.streams.generators.sea import SEA
    from thalweg.streams.memory import ArrayStream
    from thalweg.trees.hoeffding import HoeffdingTree


_PACKAGES = ("checks", "compat", "detectors", "evaluate", "registry", "streams")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"thalweg.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'thalweg' has no attribute {name!r}")
    value = getattr(import_module(f"thalweg.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
