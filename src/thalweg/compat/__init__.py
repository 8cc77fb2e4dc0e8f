"""Faces of a learner for other libraries; each is loaded when it is first used."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name not in ("river", "sklearn"):
        raise AttributeError(f"module 'thalweg.compat' has no attribute {name!r}")
    return import_module(f"thalweg.compat.{name}")
