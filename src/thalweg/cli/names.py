"""Names of learners and streams that a shell completes."""

import glob
import os
from collections.abc import Iterable


def complete_learners(incomplete: str) -> list[str]:
    """Give the learners whose names begin so.

    >>> complete_learners("hoeffding-a")
    ['hoeffding-adaptive-tree']
    """
    from thalweg.registry import LEARNERS

    return _beginning(LEARNERS, incomplete)


def complete_streams(incomplete: str) -> list[str]:
    """Give the streams, data sets and files whose names begin so.

    >>> complete_streams("SEA_")
    ['SEA_a', 'SEA_g']
    """
    from thalweg.registry import DATASETS, PAPERS, STREAMS

    return [*_beginning([*STREAMS, *PAPERS, *DATASETS], incomplete), *_files(incomplete)]


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _files(incomplete: str) -> list[str]:
    """Give the files and folders that begin so, since a program that completes words takes them from the shell."""
    return [
        f"{path}{os.sep if os.path.isdir(path) else ''}" for path in sorted(glob.glob(f"{glob.escape(incomplete)}*"))
    ]
