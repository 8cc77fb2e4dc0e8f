"""Compiled code on disk, from one run to the next. Whatever is wrong with it, the code is compiled again.

Each source file has a folder, each signature of a function a file in it, which begins with a checksum and holds the key
that it was made for: a file that is cut short, damaged or another's is compiled again and replaced. Files are written
under another name and renamed, so that any number of processes can share the folders. A folder's own time is when it
was last used. What is wrong is said once, in one line of the log ``thalweg``, by default on standard error.
"""

import hashlib
import logging
import os
import pickle
import secrets
import shutil
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from thalweg.jit.compiling import NOTICE

KEPT_SECONDS = 30 * 24 * 3600
"""An older version of a source file's code goes when nobody has used it for so long."""
MOST_BYTES = 1 << 30
"""Above this, the folders that were not used for longest go, too."""
_DIGEST = 16


class CodeCache:
    """The compiled code of one function, as Numba's dispatchers ask for it; folder None: none can be kept."""

    def __init__(self, function: Any, folder: Path | None) -> None:
        self._py_func = function
        self._folder = folder
        line, python = function.__code__.co_firstlineno, f"py{sys.version_info[0]}{sys.version_info[1]}"
        self._name = f"{function.__qualname__}-{line}.{python}".replace("<", "").replace(">", "")

    @property
    def cache_path(self) -> str:
        """Where it is, for Numba's statistics."""
        return str(self._folder)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Give the code for a signature; None: it must be compiled."""
        found = self._load(signature, context)
        if found is None:
            NOTICE.begin()
        return found

    def _load(self, signature: Any, context: Any) -> Any:
        context.refresh()
        if self._folder is None:
            return None
        key = FunctionCache._index_key(self, signature, context.codegen())
        path = self._folder / self._file(key)
        try:
            data = path.read_bytes()
            if _digest(data[_DIGEST:]) != data[:_DIGEST]:
                raise ValueError("it is damaged")
            made_for, code = pickle.loads(memoryview(data)[_DIGEST:])
            found = CompileResult._rebuild(context, *code) if made_for == key else None
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Exception as error:  # whatever it is, the sources are here
            _say(_UNUSABLE, path, error)
            return None
        _touch(self._folder)
        return found

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code for a signature, where there is room for it."""
        if result.lifted or result.library.has_dynamic_globals:
            return
        if self._folder is None:
            _say(_UNKEPT, "home", "this user has no home folder")
            return
        key = FunctionCache._index_key(self, signature, result.codegen)
        data = dumps((key, result._reduce()))
        try:
            _write(self._folder / self._file(key), _digest(data) + data)
        except OSError as error:
            _say(_UNKEPT, self._folder, error)
        else:
            _sweep_once(self._folder.parent)

    def flush(self) -> None:
        """Forget the code of this function."""
        for path in [] if self._folder is None else self._folder.glob(f"{self._name}.*"):
            with suppress(OSError):
                path.unlink()

    def _file(self, key: Any) -> str:
        text = repr((numba.__version__, key)).encode(errors="replace")
        return f"{self._name}.{hashlib.sha256(text).hexdigest()[:16]}.nbc"


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{secrets.token_hex(6)}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


@cache
def _touch(folder: Path) -> None:
    """Note, once in a process, that a folder is in use."""
    with suppress(OSError):
        os.utime(folder)


# -- removing what nobody uses ----------------------------------------------------------------------------------------


@cache
def _sweep_once(home: Path) -> None:
    """Tidy up once in a process, when its first compiled code is safe on the disk."""
    with suppress(OSError):
        sweep(home)


def sweep(home: Path) -> None:
    """Remove older versions that nobody uses any more, and while all are larger than the bound, the longest unused.

    A process that loses a folder in use compiles again, as with any other trouble.
    """
    folders = sorted(((path.stat().st_mtime, path) for path in home.glob("compiled-*") if path.is_dir()), reverse=True)
    newer, total = {"compiled"}, 0  # folders without the name of a source file are an older library's
    for used, path in folders:
        source, age = path.name.rpartition("-")[0], time.time() - used
        size = sum(file.stat().st_size for file in path.rglob("*"))
        if (source in newer and age > KEPT_SECONDS) or total + size > MOST_BYTES:
            shutil.rmtree(path, ignore_errors=True)
        else:
            total += size
        newer.add(source)


# -- one line for each kind of trouble --------------------------------------------------------------------------------

_LOG = logging.getLogger("thalweg")
_UNUSABLE = "Compiled code on disk cannot be used and is compiled again (%s)."
_UNKEPT = "Compiled code cannot be kept, so that every start compiles again (%s): THALWEG_CACHE can name a folder."
_said: set[str] = set()


def _say(line: str, where: object, error: object) -> None:
    if line not in _said:
        _said.add(line)
        reason = getattr(error, "strerror", None) or error or type(error).__name__
        _LOG.warning(line, f"{where}: {' '.join(str(reason).split())}"[:300])
