"""Real data sets by name: from this package, from the folder that THALWEG_DATA names, from the cache, or from OpenML.

Nothing is downloaded unless it is asked for.
"""

import json
import os
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from thalweg.core.params import flag, shown
from thalweg.core.schema import Schema
from thalweg.streams.datasets.catalogue import DATASETS, PACKAGED, Dataset
from thalweg.streams.datasets.download import Watch, checksum, describe, fetch

if TYPE_CHECKING:
    from thalweg.streams.files.opening import FileStream
    from thalweg.streams.memory import ArrayStream

__all__ = ["DATASETS", "Dataset", "dataset_path", "find_entry", "find_file", "folders", "get_dataset", "load_dataset"]

VARIABLE = "THALWEG_DATA"

_MOST_CELLS = 10_000_000  # a sparse matrix with more cells gives sparse rows


def load_dataset(
    name: str, limit: int | None = None, *, download: bool = False, sparse: bool | None = None, **options: Any
) -> "FileStream | ArrayStream":
    """Open a data set by name.

    Images (``digits``, ``mnist``, ``fashion-mnist``, ``cifar10``) are rows of all their values, line by line, the
    colours of a pixel side by side. The schema has their shape and their classes, ``white`` is the highest value.

    Parameters
    ----------
    name : str
        See ``thalweg data list``.
    limit : int | None
        So many rows, the first ones; None: all.
    download : bool
        Get it from OpenML where it is not there yet. Nothing is ever downloaded without this.
    sparse : bool | None
        Give sparse rows (a SciPy ``csr_array``) or dense ones; None: sparse ones where the file (.npz, .libsvm) holds
        them and they would be more than ten million numbers as dense ones.
    options
        Those of the stream that reads it, such as ``drop`` or ``order``.

    Examples
    --------
    >>> load_dataset("electrcity")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: name must be one of the data sets that `thalweg data list` shows, got 'electrcity' (did you mean
    'electricity'?)
    """
    dataset = find_entry(name)
    flag("download", download)
    if sparse is not None:
        flag("sparse", sparse)
    path = get_dataset(name) if download and find_file(dataset) is None else dataset_path(name)
    if path.suffix in (".npz", ".libsvm"):
        wide = dataset.sparse and dataset.rows * dataset.features > _MOST_CELLS
        options["sparse"] = wide if sparse is None else sparse
    elif sparse:
        raise ValueError(f"sparse must be False for data set {name!r}: {path.name} is read as dense rows, got True")
    if path.suffix == ".npz":
        return _from_npz(dataset, path, limit, options)
    from thalweg.streams.files.opening import open_file

    options = _columns(dataset, path) | {"limit": limit} | options
    stream = open_file(path, **options)
    if dataset.shape and "schema" not in options:  # the columns of a table are the pixels of an image
        stream = open_file(path, **options | {"schema": replace(stream.schema, shape=dataset.shape)})
    stream.name, stream.white = dataset.name, dataset.white
    return stream


load = load_dataset


def folders() -> dict[str, Path | None]:
    """Where data sets are looked for, in this order: ``folder`` (None: THALWEG_DATA is not set) and ``cache``.

    >>> list(folders())
    ['folder', 'cache']
    """
    named = os.environ.get(VARIABLE)
    home = os.environ.get("THALWEG_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return {"folder": Path(named) if named else None, "cache": Path(home) / "thalweg" / "data"}


def find_entry(name: str) -> Dataset:
    """Find what is known about a data set.

    >>> find_entry("covtype").classes
    7
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a data set, got {shown(name)}")
    if name not in DATASETS:
        near = get_close_matches(name[:80], DATASETS, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"name must be one of the data sets that `thalweg data list` shows, got {shown(name)}{hint}")
    return DATASETS[name]


def find_file(dataset: Dataset) -> Path | None:
    """Find the file of a data set; None: it is not there. One that comes with the library is always that one.

    >>> find_file(DATASETS["digits"]).name
    'digits.npz'
    >>> find_file(DATASETS["yahoo-music"])
    """
    if dataset.packaged:
        return PACKAGED / dataset.file
    for folder in folders().values():
        for file in dataset.files if folder else ():
            if (path := Path(folder or "") / file).is_file():
                return path
    return None


def dataset_path(name: str) -> Path:
    """Find the file of a data set, or say in a sentence how to get it.

    >>> dataset_path("yahoo-music")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    FileNotFoundError: data set 'yahoo-music' must lie as yahoo-music.parquet (or .csv, .csv.gz, .arff) in the ...
    """
    dataset = find_entry(name)
    path = find_file(dataset)
    if path is not None:
        return path
    first, *others = dataset.files
    stem = first.removesuffix(Path(first).suffix)
    if others:
        first += f" (or {', '.join(other.removeprefix(stem) for other in others)})"
    places = folders()
    now = f"which is {str(places['folder'])!r}" if places["folder"] else "which is not set"
    way = f"`thalweg data get {name}` fetches it from OpenML" if dataset.openml else "it cannot be fetched by name"
    where = dataset.source if dataset.openml else f"{dataset.source}, {dataset.url}"
    raise FileNotFoundError(
        f"data set {name!r} must lie as {first} in the folder that {VARIABLE} names ({now}) or in {places['cache']}: "
        f"{way}; it comes from: {where}"
    )


def get_dataset(name: str, *, base: str | None = None, timeout: float = 30.0, on_progress: Watch | None = None) -> Path:
    """Get the file of a data set: the one that is there, its checksum verified, or else OpenML's, into the cache.

    base: the server; None: the one that THALWEG_OPENML names, or else https://www.openml.org. timeout: seconds without
    an answer. on_progress: called with the bytes that have come, and with all there will be (None: unknown).

    >>> get_dataset("electrcity")
    Traceback (most recent call last):
    ValueError: name must be one of the data sets that `thalweg data list` shows, got 'electrcity' (did you mean
    'electricity'?)
    """
    dataset = find_entry(name)
    path = find_file(dataset)
    if path is not None:
        verify(dataset, path)
        return path
    cache = folders()["cache"]
    if dataset.openml is None or cache is None:
        return dataset_path(name)  # which says where it comes from
    known = describe(dataset.openml.id, base=base, timeout=timeout)
    want = dataset.openml.md5
    if want not in ("", known.md5):
        raise ValueError(
            f"OpenML's data set {known.id} must have the MD5 checksum {want}, it has {known.md5}: it is another file"
        )
    path = cache / dataset.arff
    fetch(known.url, path, known.md5, timeout=timeout, on_progress=on_progress)
    note = {
        "openml": known.id, "name": known.name, "url": known.url, "licence": known.licence, "md5": known.md5,
        "sha256": checksum(path), "target": known.target, "drop": known.drop,
    }  # fmt: skip
    _note_of(path).write_text(json.dumps(note, indent=2) + "\n", "utf-8")
    return path


def verify(dataset: Dataset, path: Path) -> bool:
    """Refuse a file whose checksum is not the one that is known; False: none is known.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "outdoor.csv"
    >>> _ = path.write_text("a,class")
    >>> verify(DATASETS["outdoor"], path)
    False
    """
    kind, want = "sha256", dataset.sha256
    if path.name != dataset.file:
        want = _noted(path).get("sha256", "")
        if not want and dataset.openml is not None:
            kind, want = "md5", dataset.openml.md5
    if not want:
        return False
    found = checksum(path, kind)
    if found != want:
        raise ValueError(
            f"{path} must have the checksum {want[:16]}… ({kind}), it has {found[:16]}…: "
            "it is damaged, or another version"
        )
    return True


# -- inside -----------------------------------------------------------------------------------------------------------


def _note_of(path: Path) -> Path:
    """Where what OpenML said about a downloaded file is kept: beside it."""
    return path.with_name(path.name + ".json")


def _noted(path: Path) -> dict[str, Any]:
    try:
        noted = json.loads(_note_of(path).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _columns(dataset: Dataset, path: Path) -> dict[str, Any]:
    """Which column is the target of a file, and which are no features."""
    target, drop = dataset.target, dataset.drop
    if dataset.openml is not None and path.name == dataset.arff:
        noted = _noted(path)
        target = noted.get("target") or dataset.openml.target
        drop = tuple(name for name in noted.get("drop") or () if name != target)
    return {"target": target, **({"drop": drop} if drop else {})}


def _from_npz(dataset: Dataset, path: Path, limit: int | None, options: dict[str, Any]) -> "ArrayStream":
    import numpy as np

    from thalweg.streams.files.array_header import DAMAGE

    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            y = arrays["y"].astype(np.int64)
            X = None if dataset.sparse else arrays["X"]
        if X is None:
            from scipy.sparse import load_npz

            X = load_npz(path)
    except DAMAGE:
        raise ValueError(f"{path.name} must be an NPZ file with X and y: it is none, or damaged, or cut off") from None
    return _from_array(dataset, X, y, limit, options)


def _from_array(dataset: Dataset, X: Any, y: Any, limit: int | None, options: dict[str, Any]) -> "ArrayStream":
    """Give records in memory; images with their shape, classes and scale."""
    import numpy as np

    from thalweg.streams.memory import ArrayStream

    if len(X.shape) > 2:
        options = {"schema": Schema.tensor(X.shape[1:], classes=np.unique(y).tolist())} | options
    stream = ArrayStream(X, y, limit=limit, **options)
    stream.name, stream.white = dataset.name, dataset.white
    return stream
