"""Classify data streams that change while they are being learned.

The public words of the library. Importing it loads NumPy and nothing heavy: each name is
fetched from its file when it is first used. The names stand in ``thalweg.registry``; what editors
and type checkers know about them, ``__init__.pyi``, is made from it by ``make names``.

>>> import thalweg
>>> tree = thalweg.HoeffdingTree()
>>> result = thalweg.prequential(thalweg.SEA(seed=1), tree, limit=5_000)
>>> result.rows
5000
"""

from importlib import import_module
from typing import Any

from thalweg.registry.entry import Entry
from thalweg.registry.finding import PACKAGES, public

__version__ = "0.1.0"
_HOMES = public()
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in PACKAGES:
        return import_module(f"thalweg.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'thalweg' has no attribute {name!r}")
    value = Entry(_HOMES[name]).cls
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
