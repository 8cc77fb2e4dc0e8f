"""Learners in MLflow: a pyfunc model around the safe file of ``thalweg.save``; no pickle is written or read."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from thalweg import __version__
from thalweg.keeping import snapshot

FILE = "model.safetensors"


def save_model(model: Any, path: str | os.PathLike[str], **more: Any) -> None:
    """Write a learner, or a frozen forest, to a folder as an MLflow model.

    Parameters
    ----------
    model : object
        What ``thalweg.save`` writes.
    path : str | os.PathLike[str]
        The folder, which must not exist yet.
    more
        As ``mlflow.pyfunc.save_model`` takes it: ``signature``, ``input_example``, ``metadata``, …

    Examples
    --------
    >>> from thalweg import SEA, HoeffdingTree
    >>> chunk = SEA(seed=1).read(1_000)
    >>> save_model(HoeffdingTree().partial_fit(chunk.X, chunk.y), "tree")  # doctest: +SKIP
    >>> load_model("tree").predict_one(chunk.X[0])  # doctest: +SKIP
    1
    """
    _pyfunc(_mlflow().pyfunc.save_model, model, path=os.fspath(path), **more)


def log_model(model: Any, name: str = "model", **more: Any) -> Any:
    """Log a learner, or a frozen forest, to the run that is active; gives what ``mlflow.pyfunc.log_model`` gives.

    Parameters
    ----------
    model : object
        What ``thalweg.save`` writes.
    name : str
        Of the model.
    more
        As ``mlflow.pyfunc.log_model`` takes it: ``registered_model_name``, ``signature``, …
    """
    return _pyfunc(_mlflow().pyfunc.log_model, model, name=name, **more)


def load_model(uri: str | os.PathLike[str]) -> Any:
    """Load the learner itself from a folder or an MLflow address (``models:/…``, ``runs:/…``), to go on learning.

    ``mlflow.pyfunc.load_model`` gives MLflow's own face of it, with ``predict`` alone.
    """
    folder = Path(_mlflow().artifacts.download_artifacts(os.fspath(uri)))
    found = [*folder.rglob(FILE)]
    if len(found) != 1:
        raise ValueError(f"uri must be an MLflow model that thalweg saved, got {os.fspath(uri)!r}")
    return snapshot.load(found[0])


class Served:
    """What MLflow calls: ``predict`` of a frame, or of whatever rows a learner takes."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Give a label for each row; with ``params={"proba": True}`` a frame with the probability of each class."""
        if not (params or {}).get("proba"):
            return self.model.predict(model_input)
        import pandas as pd

        return pd.DataFrame(self.model.predict_proba(model_input), columns=[str(c) for c in self.model.classes_])


def _load_pyfunc(path: str) -> Served:
    """Load what is in the folder of an MLflow model; MLflow calls it by this name."""
    file = Path(path)
    return Served(snapshot.load(file / FILE if file.is_dir() else file))


def _pyfunc(verb: Any, model: Any, **more: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        snapshot.save(model, file)
        given = {"pip_requirements": [f"thalweg=={__version__}", "pandas", f"numpy>={np.__version__.split('.')[0]}"]}
        return verb(loader_module=__name__, data_path=str(file), **given | more)


def _mlflow() -> Any:
    try:
        import mlflow.artifacts
        import mlflow.pyfunc
    except ImportError:
        raise ImportError("thalweg.compat.mlflow needs MLflow: pip install 'thalweg[mlflow]'") from None
    return mlflow
