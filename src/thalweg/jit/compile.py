"""How the library compiles: four decorators and the folder where compiled code is kept.

``compiled`` and ``hot`` are for entry routines, called from Python: cached on disk, the GIL released.
``inlined`` and ``called`` are for the functions they are made of.

Numba notices an edited file but not an edited file that another one calls. The cache folder is
therefore named by a hash of every compiled source in the package, so stale code is never run.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent.parent


def cache_folder() -> Path:
    """Where compiled code of this very version of the sources is kept."""
    digest = hashlib.sha256()
    for source in sorted([*PACKAGE.rglob("*_jit.py"), *(PACKAGE / "jit").glob("*.py")]):
        digest.update(source.read_bytes())
    home = os.environ.get("THALWEG_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "thalweg" / f"compiled-{digest.hexdigest()[:16]}"


_FOLDER = cache_folder()


def compiled(function: F) -> F:
    """Compile an entry routine: cached on disk, GIL released, IEEE arithmetic as written."""
    return _cached(_compile(function, _nrt=True))


def hot(function: F) -> F:
    """Compile an entry routine that makes no arrays: it then need not count references, which would double the time."""
    return _cached(_compile(function, _nrt=False))


def inlined(function: F) -> F:
    """Compile a small function, which makes no arrays, into whatever calls it."""
    return _compile(function, _nrt=False, forceinline=True)


def called(function: F) -> F:
    """Compile a function that is large or rarely run: kept out of line, so that callers stay small."""
    return _compile(function, _nrt=True)


def _compile(function: F, **options: bool) -> F:
    """Compile on first use. ``_nrt`` stands for Numba's runtime, which allocates arrays and counts references."""
    return cast("F", numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function))


def _cached(dispatcher: F) -> F:
    if not numba.config.DISABLE_JIT:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(_FOLDER)
        try:
            dispatcher.enable_caching()  # type: ignore[attr-defined]
        finally:
            numba.config.CACHE_DIR = before
    return dispatcher
