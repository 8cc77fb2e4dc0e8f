"""How the library compiles: five decorators and the folder where compiled code is kept.

``compiled`` and ``hot`` are for entry routines, called from Python: cached on disk, the GIL released.
``inlined`` and ``called`` are for the functions they are made of, ``inlined_entry`` for one that is both.

Numba notices an edited file but not an edited file that another one calls. The cache folder of a
file is therefore named by a hash of its source and of every source that it imports, directly or not:
stale code is never run, and a change elsewhere in the package compiles nothing again. ``code_cache`` keeps the code
there, and heals itself.
"""

import hashlib
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from thalweg.jit import shipped
from thalweg.jit.code_cache import CodeCache, release
from thalweg.jit.compiling import watched
from thalweg.jit.lean import entry, part

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", bound=tuple[Any, ...])

PACKAGE = Path(__file__).resolve().parent.parent
_IMPORT = re.compile(rb"^from thalweg([.\w]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


def _home() -> Path | None:
    """Find where to keep what lasts from run to run; None: this user has no such place."""
    named = os.environ.get("THALWEG_CACHE") or os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(named or Path.home() / ".cache") / "thalweg"
    except RuntimeError:  # no HOME, and a user without a name
        return None


CACHE = _home()
"""What is kept between runs; asked for once, so that compiled code stays where it is."""


@cache
def cache_folder(source: Path) -> str:
    """Name the folder for compiled code of this very version of a file, and of all that it imports."""
    inside = source.relative_to(PACKAGE) if source.is_relative_to(PACKAGE) else Path(source.name)
    digest = hashlib.sha256()
    for path in sorted(_reached(source)):
        digest.update(str(path).removeprefix(str(PACKAGE)).encode())
        digest.update(_read(path)[0])
    return f"compiled-{'.'.join(inside.with_suffix('').parts)}-{digest.hexdigest()[:16]}"


def has_code(source: Path) -> bool:
    """Say whether there is compiled code of a file, in the user's folder or with the package."""
    homes = (CACHE, shipped.folder())
    return any(home is not None and any((home / cache_folder(source)).glob("*.nbc")) for home in homes)


def _reached(source: Path) -> set[Path]:
    """Give a file, and all files of the package that it imports, directly or not."""
    found, ahead = {source}, [source]
    while ahead:
        new = _read(ahead.pop())[1] - found
        found |= new
        ahead += new
    return found


@cache
def _read(source: Path) -> tuple[bytes, frozenset[Path]]:
    """Give the hash of a file, and the files of the package that it names in its imports."""
    text = source.read_bytes()
    named = set()
    for module, names in _IMPORT.findall(text):
        home = PACKAGE.joinpath(*module.decode().split(".")[1:])
        words = (words.split() for words in names.decode().strip("()").split(","))
        named |= {home.with_suffix(".py"), *(home / f"{word[0]}.py" for word in words if word)}
    return hashlib.sha256(text).digest(), frozenset(path for path in named if path.is_file())


def plain(bundle: T) -> T:
    """Give the tables of a bundle as Python hands them to an entry routine, which makes the bundle again.

    Numba takes a plain tuple over in a third of the time that a named one needs; for mypy it stays what it was.
    """
    return cast("T", tuple(bundle))


def compiled(function: F) -> F:
    """Compile an entry routine: cached on disk, GIL released, IEEE arithmetic as written."""
    return _entry(function, _nrt=True)


def hot(function: F) -> F:
    """Compile an entry routine that makes no arrays: it then need not count references, which would double the time."""
    return _entry(function, _nrt=False)


def inlined(function: F) -> F:
    """Compile a small function, which makes no arrays, into whatever calls it."""
    return _part(function, _nrt=False, forceinline=True)


def inlined_entry(function: F) -> F:
    """Compile a small function into whatever calls it, and for calls from Python, cached on disk."""
    return _entry(function, _nrt=False, forceinline=True)


def called(function: F) -> F:
    """Compile a function that is large or rarely run: kept out of line, so that callers stay small."""
    return _part(function, _nrt=True)


def uncompiled(function: F) -> F:
    """Give a function as Python runs it: to compile it for a few numbers is not worth while."""
    return getattr(function, "py_func", function)


def _part(function: F, **options: bool) -> F:
    """Compile on first use. ``_nrt`` stands for Numba's runtime, which allocates arrays and counts references."""
    return function if numba.config.DISABLE_JIT else cast("F", part(function, **options))


def _entry(function: F, **options: bool) -> F:
    if numba.config.DISABLE_JIT:
        return function
    dispatcher = entry(function, **options)
    dispatcher._cache = CodeCache(dispatcher.py_func, CACHE, cache_folder(Path(dispatcher.__code__.co_filename)))
    dispatcher._compile_for_args = watched(dispatcher._compile_for_args, release)
    return cast("F", dispatcher)
