"""Named arrays and a JSON header in one safetensors file, written whole or not at all, and refused when damaged.

The layout is that of safetensors, so any of its readers opens the file: 8 bytes that hold the length of the JSON
text that follows, that text, then the arrays back to back. Beside the arrays the text has ``__metadata__`` with our
header and a checksum over every other byte of the file. Nothing in a file is ever run.
"""

import json
import math
import mmap
import os
import secrets
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg import __version__

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
    path: str | os.PathLike[str], *, mapped: bool = os.name != "nt", verify: bool = True
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read the arrays and the header of a file that ``write_arrays`` wrote.

    mapped: let the arrays stand on the file itself, page by page as they are used; writing to them changes only this
    process' memory (not the default on Windows, where a mapped file cannot be replaced). verify: compare the checksum.
    The arrays are writeable and C-contiguous either way.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"{os.fspath(path)} does not exist")
    if os.path.isdir(path):
        raise ValueError(_refusal(path, "it is a folder"))
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 8:
            raise ValueError(_refusal(path, f"it has {size} bytes, too few for any"))
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if mapped else bytearray(file.read())
    try:
        return _parse(data, verify)
    except _NotOursError as reason:
        raise ValueError(_refusal(path, str(reason))) from None


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
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        with open(part, "xb") as file:
            for piece in parts:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
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


# -- reading ----------------------------------------------------------------------------------------------------------


def _parse(data: "mmap.mmap | bytearray", verify: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    begin = 8 + int.from_bytes(data[:8], "little")
    if begin > len(data):
        raise _NotOursError("it is truncated, or of another kind")
    text = bytes(data[8:begin])
    table, header, checksum = _headers(text)
    _match_size(table, len(data) - begin)
    if verify:
        blank = text.replace(checksum.encode(), _NO_SUM.encode(), 1)
        with memoryview(data) as view, view[:8] as length, view[begin:] as body:
            if _checksum([length, blank, body]) != checksum:
                raise _NotOursError("its checksum does not match, so it is damaged")
    dtypes = header.pop("dtypes")
    try:
        return {name: _array(data, begin, entry, dtypes.get(name)) for name, entry in table.items()}, header
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _NotOursError(f"an array is described wrongly ({error})") from None


def _headers(text: bytes) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Give the table of arrays, our header and the checksum."""
    try:
        table = json.loads(text)
        about = table.pop("__metadata__")
        checksum = about["checksum"]
        header = json.loads(about["thalweg"])
        name, version, _, _ = (header[key] for key in _OURS)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise _NotOursError("its header is damaged, or of another kind") from None
    if name != FORMAT or not isinstance(version, int) or not isinstance(checksum, str) or len(checksum) != len(_NO_SUM):
        raise _NotOursError("its header is damaged, or of another kind")
    if version > VERSION:
        raise _NotOursError(
            f"it was written by the newer thalweg {header['library_version']} "
            f"(format {version}, this one reads up to {VERSION})"
        )
    return table, header, checksum


def _match_size(table: dict[str, Any], size: int) -> None:
    """The arrays must fill the file, one after the other, with nothing left over."""
    try:
        spans = sorted(tuple(entry["data_offsets"]) for entry in table.values())
        at = 0
        for start, stop in spans:
            if not (isinstance(start, int) and isinstance(stop, int) and start == at <= stop):
                raise ValueError
            at = stop
    except (KeyError, TypeError, ValueError):
        raise _NotOursError("its header is damaged, or of another kind") from None
    if at != size:
        raise _NotOursError(f"it is {'truncated' if size < at else 'too long'}: {size} bytes of arrays instead of {at}")


def _array(data: "mmap.mmap | bytearray", begin: int, entry: dict[str, Any], raw: Any) -> NDArray[Any]:
    start, stop = entry["data_offsets"]
    dtype = _DTYPES[entry["dtype"]] if raw is None else _dtype(raw["dtype"])
    shape = tuple((entry if raw is None else raw)["shape"])
    if not all(isinstance(n, int) and n >= 0 for n in shape) or math.prod(shape) * dtype.itemsize != stop - start:
        raise ValueError(f"{stop - start} bytes for shape {shape} of {dtype}")
    if start == stop:
        return np.empty(shape, dtype)
    array = np.frombuffer(data, np.uint8, stop - start, begin + start).view(dtype).reshape(shape)
    return array if array.flags.aligned else array.copy()


def _dtype(text: Any) -> np.dtype[Any]:
    """Read what ``_describe`` wrote."""
    if isinstance(text, str):
        dtype = np.dtype(text)
    elif "each" in text:
        dtype = np.dtype((_dtype(text["each"]), tuple(text["shape"])))
    else:
        fields: Any = {key: text[key] for key in ("names", "offsets", "itemsize")}
        dtype = np.dtype(fields | {"formats": [_dtype(f) for f in text["formats"]]}, align=text["aligned"])
    if dtype.hasobject:
        raise ValueError("arrays of objects are never read")
    return dtype
