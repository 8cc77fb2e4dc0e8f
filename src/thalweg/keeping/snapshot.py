"""Save and load anything that can be written down as arrays: learners, streams with their position, detectors.

A snapshot is one safetensors file (``keeping.arrays_file``). Its header names the class and the parameters; the arrays
are the object's ``state()``. A class is only ever found in the registry or given by the caller: a file cannot name code
to be run, and no pickle is read. Nor can it name files to be opened, unless the caller says so.
"""

import json
import math
import numbers
import os
from typing import Any, TypeVar, overload

import numpy as np

from thalweg import registry
from thalweg.core import params
from thalweg.core.classifier import Classifier
from thalweg.core.fields import Parametrised, in_todays_words
from thalweg.core.protocols import Stateful
from thalweg.core.readings import Readings
from thalweg.core.schema import Schema
from thalweg.keeping.arrays_file import read_arrays, write_arrays

T = TypeVar("T")
Path = str | os.PathLike[str]
MOST_SHOWN = 1_000
"""Up to so many features stand in the header of a file, for people and other programs."""
RENAMED = {"tie": "tau"}
"""Parameters of the library's classes that older snapshots call by another name."""
REWORDED = {"leaf": {"nb": "bayes", "nba": "adaptive"}}
"""Values of parameters that older snapshots write in another word."""


def save(obj: Stateful, path: Path) -> None:
    """Write a learner, a stream or a detector to one file, so that ``load`` continues it bit for bit.

    Parameters
    ----------
    obj : Stateful
        What to write; anything with ``state`` and ``restore``.
    path : Path
        The file; it is there whole, or not at all.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import thalweg
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> learner = thalweg.MajorityClass().partial_fit([[1.0], [2.0]], ["no", "yes"])
    >>> thalweg.save(learner, path)
    >>> thalweg.load(path).predict_proba_one([3.0])
    {'no': 0.5, 'yes': 0.5}
    """
    params.path("path", path)
    header = _describe(obj)
    schema = getattr(obj, "schema", None)
    if isinstance(schema, Schema) and schema.n_features <= MOST_SHOWN:  # the state has it, too
        header["schema"] = json.loads(schema.to_json())
    write_arrays(path, obj.state(), header)


@overload
def load(path: Path, *, cls: None = None, mapped: bool = False, open_files: bool = False) -> Any: ...
@overload
def load(path: Path, *, cls: type[T], mapped: bool = False, open_files: bool = False) -> T: ...
def load(path: Path, *, cls: type[Any] | None = None, mapped: bool = False, open_files: bool = False) -> Any:
    """Read what ``save`` wrote, and go on with it.

    Parameters
    ----------
    path : Path
        The file. It is never changed.
    cls : type | None
        The class, where it is your own and not one of the library's.
    mapped : bool
        Let the tables stand on the file, so that processes that load it share one copy in memory. Only for files that
        nobody changes in place, which ``save`` and ``Trainer`` never do: the tables would change after they were
        checked, and a file made shorter would end the process. False: read them into memory, whatever happens to the
        file later.
    open_files : bool
        May it be a stream that reads files? The snapshot says which ones, so it must be from someone you trust.

    Examples
    --------
    >>> import tempfile
    >>> from thalweg import MajorityClass
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(MajorityClass().partial_fit([[0.0]], ["rain"]), f"{folder}/model.safetensors")
    ...     load(f"{folder}/model.safetensors").predict_one([1.0])
    'rain'
    """
    params.path("path", path)
    if cls is not None and not isinstance(cls, type):
        raise TypeError(f"cls must be a class, got {params.shown(cls)}")
    params.flag("mapped", mapped)
    params.flag("open_files", open_files)
    arrays, header = read_arrays(path, mapped=mapped)
    try:
        obj = _make(header, cls, open_files)
        if isinstance(obj, Classifier) or getattr(obj, "mappable", False):
            obj.restore(arrays, copy=False)
        else:
            obj.restore(arrays)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else error or "it asks for too much memory"
        raise ValueError(f"{os.fspath(path)} is no snapshot that can be loaded: {reason}") from error
    return obj


def _describe(obj: Any) -> dict[str, Any]:
    """Name the class and the parameters of an object."""
    kind = type(obj)
    if isinstance(obj, type) or not isinstance(obj, Stateful) or not hasattr(obj, "get_params"):
        raise TypeError(f"obj must have state(), restore() and get_params() to be saved, got {params.shown(obj)}")
    if refusal := getattr(obj, "unsavable", ""):
        raise TypeError(refusal)
    names = obj.get_params(deep=False) if isinstance(obj, Parametrised) else obj.get_params()
    return {
        "class": f"{kind.__module__}:{kind.__qualname__}",
        "params": {name: _to_json(f"parameter {name!r} of {kind.__name__}", value) for name, value in names.items()},
    }


def _make(header: Any, cls: type[Any] | None, open_files: bool) -> Any:
    """Make the object that ``_describe`` named, as it was when it had seen nothing."""
    if not isinstance(header["class"], str) or not isinstance(header["params"], dict):
        raise ValueError("its header must name a class and its parameters")
    module, _, qualname = header["class"].partition(":")
    name = qualname.rpartition(".")[2]
    if cls is not None and cls.__name__ == name:
        kind: Any = cls
    elif cls is not None:
        raise ValueError(f"it holds a {name}, and cls is {cls.__name__}")
    elif module.partition(".")[0] == "thalweg":
        kind = registry.find_class(name)
    else:
        try:
            kind = registry.find_class(qualname, module)
        except ValueError:
            raise ValueError(
                f"it holds a {name} from {module!r}: pass your class with load(path, cls={name}), or register it"
            ) from None
    if not open_files and getattr(kind, "opens_files", hasattr(kind, "read")):
        given = header["params"]
        what = f"the file {params.shown(given['path'], 300)}" if "path" in given else "files of its own"
        raise ValueError(
            f"it holds a {name}, which reads {what}: if it is from someone you trust, say load(path, open_files=True)"
        )
    given = {key: _from_json(value, open_files) for key, value in header["params"].items()}
    return kind(**(_in_todays_words(kind, given) if cls is None else given))


def _in_todays_words(kind: type, given: dict[str, Any]) -> dict[str, Any]:
    """Write the parameters of an older snapshot as they are called now."""
    renamed = {RENAMED.get(key, key): value for key, value in given.items()}
    renamed = in_todays_words(getattr(kind, "_fields", {}), renamed)
    return {key: REWORDED[key].get(value, value) if key in REWORDED else value for key, value in renamed.items()}


def _to_json(what: str, value: Any) -> Any:
    """Write a parameter: plain values and lists of them, tuples, paths, schemas, and objects that can be saved."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    if isinstance(value, (list, tuple)):
        items = [_to_json(what, v) for v in value]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {"dict": [[_to_json(what, k), _to_json(what, v)] for k, v in value.items()]}
    if isinstance(value, Schema):
        return {"schema": json.loads(value.to_json())}
    if isinstance(value, Readings):
        return {"readings": value.to_json()}
    if isinstance(value, Stateful) and hasattr(value, "get_params"):
        return _describe(value)
    raise TypeError(
        f"{what} must be text, a finite number, True, False, None, or a list of these, got {params.shown(value)}"
    )


def _from_json(value: Any, open_files: bool) -> Any:
    if isinstance(value, list):
        return [_from_json(v, open_files) for v in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(_from_json(v, open_files) for v in value["tuple"])
    if "dict" in value:
        return {_from_json(k, open_files): _from_json(v, open_files) for k, v in value["dict"]}
    if "schema" in value:
        return Schema.from_json(json.dumps(value["schema"]))
    if "readings" in value:
        return Readings.from_json(value["readings"])
    return _make(value, None, open_files)
