"""Named arrays and a JSON header in one safetensors file, written whole or not at all, and refused when damaged.

The layout is that of safetensors, so any of its readers opens the file: 8 bytes that hold the length of the JSON
text that follows, that text, then the arrays back to back. Beside the arrays the text has ``__metadata__`` with our
header and a checksum over every other byte of the file. Nothing in a file is ever run, and nothing that its header says
is believed before it fits the size of the file.
"""

import io
import json
import math
import mmap
import os
import re
import secrets
import stat
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg import __version__

fcntl: Any
try:
    import fcntl
except ImportError:  # on Windows nobody can remove a file that is open
    fcntl = None

FORMAT = "thalweg-arrays"
VERSION = 1

_KINDS = {
    "|b1": "BOOL", "|i1": "I8", "|u1": "U8", "<i2": "I16", "<u2": "U16", "<i4": "I32", "<u4": "U32",
    "<i8": "I64", "<u8": "U64", "<f2": "F16", "<f4": "F32", "<f8": "F64",
}  # fmt: skip
_DTYPES = {kind: np.dtype(text) for text, kind in _KINDS.items()}
_OURS = ("format", "format_version", "library_version", "dtypes")
_NO_SUM = "0" * 8
_ALIGN = 64
_LONGEST_TEXT = 100_000_000  # as other readers of safetensors
_WIDEST_EMPTY = 1 << 16  # bytes of a value of an array that has none
_PIECE = 1 << 22  # bytes that are read at a time, while a checksum is taken of those before
_ABANDONED = 24 * 3600  # seconds after which a file half written is nobody's, where no lock tells


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
    """Write the arrays and the header to one file. A crash leaves the old file, or the new one, never a part.

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.safetensors"
    >>> write_arrays(path, {"a": np.arange(3), "b": np.zeros((0, 2))}, {"made by": "an example"})
    >>> arrays, header = read_arrays(path)
    >>> arrays["a"].tolist(), arrays["b"].shape, header["made by"]
    ([0, 1, 2], (0, 2), 'an example')
    """
    plain = {name: _plain(name, a) for name, a in arrays.items()}
    # Largest power of two in the size first: every array then starts at a multiple of what its dtype needs.
    names = sorted(plain, key=lambda name: (-(plain[name].nbytes & -plain[name].nbytes), name))
    text = _text(plain, names, header)
    parts: list[Any] = [len(text).to_bytes(8, "little"), text]
    parts += [a.reshape(-1).view(np.uint8) for a in (plain[name] for name in names) if a.nbytes]
    parts[1] = text.replace(_NO_SUM.encode(), _checksum(parts).encode(), 1)
    try:
        _write_whole(path, parts)
    except OSError as error:
        if error.errno is None:  # a sentence of our own
            raise
        reason = f"path must be a file that can be written, {os.fspath(path)} cannot: {error.strerror}"
        raise type(error)(reason) from error


def read_arrays(
    path: str | os.PathLike[str], *, mapped: bool = False, verify: bool = True
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read the arrays and the header of a file that ``write_arrays`` wrote.

    mapped: let the arrays stand on the file itself, so that processes share its pages; writing to them changes only
    this process' memory. The file may then be replaced or removed, but whoever changes it in place changes the arrays,
    and whoever truncates it ends this process. Otherwise the arrays are a copy: what was checked is what is used.
    verify: compare the checksum. The arrays are writeable and C-contiguous either way.
    """
    try:
        with _open(path) as file:
            return _parse(file, mapped, verify)
    except _NotOursError as reason:
        raise ValueError(_refusal(path, str(reason))) from None


def _open(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a file to be read; a folder, a device or a pipe, which might never end, is refused."""
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        raise FileNotFoundError(f"{os.fspath(path)} does not exist") from None
    if stat.S_ISDIR(kind):
        raise _NotOursError("it is a folder")
    if not stat.S_ISREG(kind):
        raise _NotOursError("it is a device, a pipe or a socket")
    return open(path, "rb")


class _NotOursError(Exception):
    """Why a file is not one of ours."""


def _refusal(path: str | os.PathLike[str], reason: str) -> str:
    return f"{os.fspath(path)} is not a file of arrays that this thalweg can read: {reason}"


# -- writing ----------------------------------------------------------------------------------------------------------


def _plain(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Give a C-contiguous little-endian array of plain type."""
    if not isinstance(name, str) or name == "__metadata__":
        raise ValueError(f"arrays must be named by text other than '__metadata__', got {name!r}")
    if not isinstance(array, (np.ndarray, np.generic)) or array.dtype.hasobject:
        what = f"dtype {array.dtype}" if isinstance(array, (np.ndarray, np.generic)) else type(array).__name__
        raise TypeError(f"array {name!r} must be a NumPy array of a fixed width, got {what}")
    if array.dtype.itemsize == 0:
        raise TypeError(f"array {name!r} must have values of at least one byte, got dtype {array.dtype}")
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _text(arrays: dict[str, NDArray[Any]], names: list[str], header: Mapping[str, Any]) -> bytes:
    """Write the JSON text, padded so that the arrays start aligned, with a checksum of zeros."""
    taken = [key for key in header if key in _OURS]
    if taken:
        raise ValueError(f"header must not have the keys {', '.join(_OURS)}, got {taken[0]!r}")
    table: dict[str, Any] = {}
    dtypes: dict[str, Any] = {}
    start = 0
    for name in names:
        a = arrays[name]
        kind, shape = _KINDS.get(a.dtype.str), list(a.shape)
        if kind is None or a.dtype.names:  # raw bytes, with the dtype in our header
            dtypes[name] = {"dtype": _describe(a.dtype), "shape": shape}
            kind, shape = "U8", [a.nbytes]
        table[name] = {"dtype": kind, "shape": shape, "data_offsets": [start, start + a.nbytes]}
        start += a.nbytes
    ours = {"format": FORMAT, "format_version": VERSION, "library_version": __version__, "dtypes": dtypes}
    try:
        about = json.dumps(ours | dict(header), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"header must hold what JSON can: {error}") from None
    text = json.dumps({"__metadata__": {"checksum": _NO_SUM, "thalweg": about}} | table, separators=(",", ":")).encode()
    return text + b" " * (-(8 + len(text)) % _ALIGN)


def _describe(dtype: np.dtype[Any]) -> Any:
    """Write a dtype as JSON: a word, or for records their fields."""
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        return {"each": _describe(inner), "shape": list(shape)}
    if dtype.names is None or dtype.fields is None:
        return dtype.str
    fields = [dtype.fields[name] for name in dtype.names]
    return {
        "names": list(dtype.names),
        "formats": [_describe(f[0]) for f in fields],
        "offsets": [f[1] for f in fields],
        "itemsize": dtype.itemsize,
        "aligned": dtype.isalignedstruct,  # compiled code tells an aligned record from the same one unaligned
    }


def _checksum(parts: list[Any]) -> str:
    total = 0
    for part in parts:
        total = zlib.crc32(part, total)
    return f"{total:08x}"


def _write_whole(path: str | os.PathLike[str], parts: list[Any]) -> None:
    """Write to a temporary neighbour, and put it in the place of the file only when it is safe on the disk."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"path must name a file, got the folder {os.fspath(path)}")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path must be in a folder that exists, got {os.fspath(path)}")
    _remove_abandoned(target)
    part, file = _begin(target)
    try:
        with file:
            for piece in parts:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:  # while it is locked: nobody takes it for abandoned
                os.replace(part, target)
        if fcntl is None:
            os.replace(part, target)
    except BaseException:
        with suppress(OSError):  # why it was not written is what matters
            part.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the new name itself must reach the disk too
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _begin(target: Path) -> tuple[Path, io.BufferedWriter]:
    """Open a temporary neighbour. A lock, which ends with the process, says that it is being written."""
    while True:
        part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
        file = open(part, "xb")  # noqa: SIM115
        if fcntl is None:
            return part, file
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return part, file
        file.close()  # it was removed before it was locked


def _remove_abandoned(target: Path) -> None:
    """Remove what a process that was killed left half written."""
    start = f".{target.name[:100]}."
    for name in os.listdir(target.parent):
        if name.startswith(start) and re.fullmatch(r"[0-9a-f]{12}\.part", name[len(start) :]):
            with suppress(OSError), open(target.parent / name, "rb") as file:
                if _abandoned(file):
                    os.unlink(target.parent / name)


def _abandoned(file: io.BufferedReader) -> bool:
    """Has the process that wrote this file ended?"""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
        except OSError:  # not every file system has locks
            pass
    return time.time() - os.fstat(file.fileno()).st_mtime > _ABANDONED


# -- reading ----------------------------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Where an array lies behind the text, and what it is."""

    start: int
    stop: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def _parse(file: io.BufferedReader, mapped: bool, verify: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    size = os.fstat(file.fileno()).st_size
    if size < 8:
        raise _NotOursError(f"it has {size} bytes, too few for any")
    length = file.read(8)
    begin = 8 + int.from_bytes(length, "little")
    if begin > min(size, _LONGEST_TEXT):
        raise _NotOursError("it is truncated, or of another kind")
    text = file.read(begin - 8)
    table, header, checksum = _headers(text)
    _match_size(table, size - begin)
    dtypes = header.pop("dtypes")
    total = zlib.crc32(text.replace(checksum.encode(), _NO_SUM.encode(), 1), zlib.crc32(length))
    try:
        places = {name: _place(entry, dtypes.get(name)) for name, entry in table.items()}
        arrays, total = _map(file, size, begin, places, total) if mapped else _copy(file, places, total)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise _NotOursError(f"an array is described wrongly ({error})") from None
    except MemoryError:
        raise _NotOursError(f"there is no memory for its {size} bytes") from None
    if verify and f"{total:08x}" != checksum:
        raise _NotOursError("its checksum does not match, so it is damaged")
    for name, array in arrays.items():
        if any((truth.view(np.uint8) > 1).any() for truth in _truths(array)):
            raise _NotOursError(f"array {name!r} has truth values that are neither 0 nor 1")
    return arrays, header


def _headers(text: bytes) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Give the table of arrays, our header and the checksum."""
    try:
        table = json.loads(text)
        about = table.pop("__metadata__")
        checksum = about["checksum"]
        header = json.loads(about["thalweg"])
        name, version, _, dtypes = (header[key] for key in _OURS)
        ours = name == FORMAT and type(version) is int and isinstance(dtypes, dict)
        ours = ours and re.fullmatch("[0-9a-f]{8}", checksum) is not None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError):
        raise _NotOursError("its header is damaged, or of another kind") from None
    if not ours:
        raise _NotOursError("its header is damaged, or of another kind")
    if version > VERSION:
        raise _NotOursError(
            f"it was written by the newer thalweg {str(header['library_version'])[:20]} "
            f"(format {version}, this one reads up to {VERSION})"
        )
    return table, header, checksum


def _match_size(table: dict[str, Any], size: int) -> None:
    """The arrays must fill the file, one after the other, with nothing left over."""
    try:
        spans = sorted(tuple(entry["data_offsets"]) for entry in table.values())
        at = 0
        for start, stop in spans:
            if not (type(start) is int and type(stop) is int and start == at <= stop):
                raise ValueError
            at = stop
    except (KeyError, TypeError, ValueError):
        raise _NotOursError("its header is damaged, or of another kind") from None
    if at != size:
        raise _NotOursError(f"it is {'truncated' if size < at else 'too long'}: {size} bytes of arrays instead of {at}")


def _place(entry: dict[str, Any], raw: Any) -> _Place:
    """Read what an entry of the table says about an array; it must say the same as the array's place in the file."""
    start, stop = entry["data_offsets"]
    dtype = _DTYPES[entry["dtype"]] if raw is None else _dtype(raw["dtype"])
    shape = tuple((entry if raw is None else raw)["shape"])
    if len(shape) > 64 or not all(type(n) is int and 0 <= n < 1 << 62 for n in shape):
        raise ValueError(f"shape {str(shape)[:80]}")
    widest = stop - start or _WIDEST_EMPTY
    if math.prod(shape) * dtype.itemsize != stop - start or not 0 < dtype.itemsize <= widest or dtype.subdtype:
        raise ValueError(f"{stop - start} bytes for shape {str(shape)[:80]} of {str(dtype)[:80]}")
    return _Place(start, stop, dtype, shape)


def _copy(file: io.BufferedReader, places: dict[str, _Place], total: int) -> tuple[dict[str, NDArray[Any]], int]:
    """Read the arrays into memory of their own, and go on with the checksum."""
    arrays = {name: np.empty(place.shape, place.dtype) for name, place in places.items()}
    pieces = _pieces(file, [arrays[name] for name in sorted(places, key=lambda name: places[name].start)])
    if sum(array.nbytes for array in arrays.values()) > 2 * _PIECE:
        pieces = _read_ahead(pieces)
    for piece in pieces:
        total = zlib.crc32(piece, total)
    return arrays, total


def _pieces(file: io.BufferedReader, arrays: list[NDArray[Any]]) -> Iterator[memoryview]:
    """Fill arrays from a file, a piece at a time."""
    for array in arrays:
        data = array.reshape(-1).view(np.uint8).data if array.nbytes else memoryview(b"")
        for at in range(0, len(data), _PIECE):
            piece = data[at : at + _PIECE]
            if file.readinto(piece) != len(piece):
                raise _NotOursError("it is truncated, or somebody is writing to it")
            yield piece


def _read_ahead(pieces: Iterator[memoryview]) -> Iterator[memoryview]:
    """Let a thread read the next piece while one is being used."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(next, pieces, None)
        while (piece := ahead.result()) is not None:
            ahead = pool.submit(next, pieces, None)
            yield piece


def _map(
    file: io.BufferedReader, size: int, begin: int, places: dict[str, _Place], total: int
) -> tuple[dict[str, NDArray[Any]], int]:
    """Let the arrays stand on the file, and go on with the checksum."""
    no_handle: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}
    data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY, **no_handle)
    arrays = {}
    for name, (start, stop, dtype, shape) in places.items():
        found = np.frombuffer(data, np.uint8, stop - start, begin + start) if start < stop else np.empty(0, np.uint8)
        found = found.view(dtype).reshape(shape)
        arrays[name] = found if found.flags.aligned else found.copy()
    with memoryview(data) as view, view[begin:] as body:
        return arrays, zlib.crc32(body, total)


def _truths(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Give an array of truth values, or such fields of records: in compiled code another byte would be any number."""
    if array.dtype.names is not None:
        for name in array.dtype.names:
            yield from _truths(array[name])
    elif array.dtype == np.bool_:
        yield array


def _dtype(text: Any) -> np.dtype[Any]:
    """Read what ``_describe`` wrote."""
    if isinstance(text, str):
        if not re.fullmatch(r"[<|][a-zA-Z]\d{1,9}(\[\w{1,9}\])?", text):
            raise ValueError(f"dtype {text[:80]!r}")
        dtype = np.dtype(text)
    elif "each" in text:
        dtype = np.dtype((_dtype(text["each"]), tuple(text["shape"])))
    else:
        fields: Any = {key: text[key] for key in ("names", "offsets", "itemsize")}
        dtype = np.dtype(fields | {"formats": [_dtype(f) for f in text["formats"]]}, align=text["aligned"] is True)
    if dtype.hasobject:
        raise ValueError("arrays of objects are never read")
    return dtype
