"""Learners for other libraries, and models of other libraries as learners; each module is loaded when it is used."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name not in ("mlflow", "onnx", "river", "sklearn"):
        raise AttributeError(f"module 'thalweg.compat' has no attribute {name!r}")
    return import_module(f"thalweg.compat.{name}")
