"""Compiled code on disk, from one run to the next. Whatever is wrong with it, the code is compiled again.

Each source file has a folder, each signature of a function a file in it, which begins with a checksum and holds the key
that it was made for: a file that is cut short, damaged or another's is compiled again and replaced. Files are written
under another name and renamed, so that any number of processes can share the folders; one compiles, and those that
want the same code wait for it. A folder's own time is when it
was last used. Where the user's folders have nothing, code that came with the package is used (``shipped``). What is
wrong is said once, in one line of the log ``thalweg``, by default on standard error.
"""

import hashlib
import importlib
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

from thalweg.jit import shipped
from thalweg.jit.compiling import NOTICE

fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None
KEPT_SECONDS = 30 * 24 * 3600
"""An older version of a source file's code goes when nobody has used it for so long."""
LONGEST_WAIT = 120.0
"""Seconds to wait for another process that compiles the same code."""
MOST_BYTES = 1 << 30
"""Above this, the folders that were not used for longest go, too."""
_DIGEST = 16


class CodeCache:
    """The compiled code of one function, as Numba's dispatchers ask for it; home None: none can be kept."""

    def __init__(self, function: Any, home: Path | None, source: str) -> None:
        self._py_func = function
        self._source = source
        self._folder = None if home is None else home / source
        self.linked = False
        """Does compiled code call the function? Then code without bitcode is of no use."""
        line, python = function.__code__.co_firstlineno, f"py{sys.version_info[0]}{sys.version_info[1]}"
        self._name = f"{function.__qualname__}-{line}.{python}".replace("<", "").replace(">", "")

    @property
    def cache_path(self) -> str:
        """Where it is, for Numba's statistics."""
        return str(self._folder)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Give the code for a signature; None: it must be compiled."""
        context.refresh()
        key = FunctionCache._index_key(self, signature, context.codegen())
        found = None if self._folder is None else self._load(self._folder, key, context)
        if found is None and not self.linked and self._source and (here := shipped.folder()) is not None:
            found = self._load(here / self._source, (key[0], shipped.magic(), *key[2:]), context)
        elif found is not None and self._folder is not None:
            _touch(self._folder)
        if found is None:
            NOTICE.begin()
            if self._folder is not None and await_others(self._folder):
                found = self._load(self._folder, key, context)
        return found

    def _load(self, folder: Path, key: Any, context: Any) -> Any:
        path = folder / self._file(key)
        try:
            made_for, code = read(path)
            return CompileResult._rebuild(context, *code) if made_for == key else None
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Exception as error:  # whatever it is, the sources are here
            _say(_UNUSABLE, path, error)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code for a signature, where there is room for it."""
        if result.lifted or result.library.has_dynamic_globals:
            return
        if self._folder is None:
            _say(_UNKEPT, "home", "this user has no home folder")
            return
        key = FunctionCache._index_key(self, signature, result.codegen)
        try:
            _write(self._folder / self._file(key), written(key, result._reduce()))
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


def read(path: Path) -> Any:
    """Give the key and the code in a file; ValueError: it is damaged."""
    data = path.read_bytes()
    if _digest(data[_DIGEST:]) != data[:_DIGEST]:
        raise ValueError("it is damaged")
    return pickle.loads(memoryview(data)[_DIGEST:])


def written(key: Any, code: Any) -> bytes:
    """Give the bytes of a file with this key and this code."""
    data = dumps((key, code))
    return _digest(data) + bytes(data)


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


# -- one process at a time --------------------------------------------------------------------------------------------

_locks: dict[Path, int] = {}
"""The folders that this process has to itself."""


def await_others(folder: Path) -> bool:
    """Let no other process compile code of this folder until ``release``; True: one did, so look again."""
    if fcntl is None or folder in _locks:
        return False
    lock, waited, until = None, False, time.monotonic() + LONGEST_WAIT
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY)
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waited = True
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                _locks[folder] = lock
                return waited
    except OSError:  # no such folder, or a file system without locks: compiling twice does no harm
        if lock is not None:
            os.close(lock)
        return waited


def release() -> None:
    """Let other processes go on: the code is on the disk, or will never be."""
    while _locks:
        os.close(_locks.popitem()[1])


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
