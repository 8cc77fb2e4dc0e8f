"""Writes what editors and type checkers know about the public names: ``thalweg/__init__.pyi`` (``make names``)."""

from pathlib import Path

import thalweg
from thalweg.registry.finding import PACKAGES, public

PATH = Path(thalweg.__file__).with_suffix(".pyi")
_HEAD = '"""The public names with their types. Made by ``make names`` from ``thalweg.registry``; not to be edited."""\n'


def stub() -> str:
    """Write the stub.

    >>> "from thalweg.learners.forests.arf import AdaptiveRandomForest as AdaptiveRandomForest" in stub()
    True
    """
    found = sorted((home.partition(":")[0], _rank(name), name) for name, home in public().items())
    packages = [f"from thalweg import {name} as {name}" for name in sorted(PACKAGES)]
    names = [f"from thalweg{module} import {name} as {name}" for module, _, name in found]
    return "\n".join([_HEAD, *packages, *names, "", "__version__: str", ""])


def _rank(name: str) -> int:
    """Sort as the linter does: constants, classes, functions."""
    return 0 if name.isupper() else 1 if name[0].isupper() else 2


if __name__ == "__main__":
    PATH.write_text(stub(), encoding="utf-8")
