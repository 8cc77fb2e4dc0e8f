"""What a person should know about the columns of a file or frame before a learner does.

A bounded number of records is looked at, once, before the first is learned. Each finding is one line that says what was
seen and what to type. Nothing is changed.
"""

import re
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.params import shown
from thalweg.core.schema import Feature, Schema
from thalweg.registry import TRANSFORMERS

ROWS, CELLS = 20_000, 1 << 20
"""How many records, and values, are looked at, at most."""
LEAST = 100
"""Records without which nothing is said."""
WIDE = 100
"""Features from which on one that never changes is nothing to speak of."""
_NEARLY = 0.9  # the share of the records with different values from which on a column is like an id
_DATES = 0.95  # the share of the words that are dates
_ODD = 0.2  # the share of the records that may have a word in a column of numbers
_MANY = 100  # classes
_FEW_EACH = 50  # records of each of them, below which they are too many
_CLASHES = 10.0  # how many numbers would be equal by chance in a column where none are
_SCREEN = 500  # records that show of most columns that there is nothing to remark
_TURNS = 20  # changes of the label from one record to the next, without which a leak may be chance
_ID_NAME = re.compile(r"(?i:(.*[_\W])?(id|uuid|guid|rowid|idx)|unnamed: 0)|.*[a-z](Id|ID|Uuid|UUID|Guid|GUID)")
_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})|\d{1,2}[- ][A-Za-z]{3,9}[- ,]+\d{4}"
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4})([T ,]+\d{1,2}:\d{2}.*)?\s*"
)
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")

Kind = Literal["id", "counter", "growing", "date", "text", "number", "stray", "boolean", "constant", "target", "leak"]


@final
@dataclass(frozen=True, slots=True)
class Remark:
    """One finding: what was seen in which columns, and what to type."""

    kind: Kind
    columns: tuple[str, ...]
    text: str
    """What was seen."""
    option: str
    """What to type on the command line."""
    argument: str
    """The same in Python."""

    def __str__(self) -> str:
        return f"{self.text}: {self.option}"


class ColumnWarning(UserWarning):
    """Says what a person should know about a column; ``warnings.simplefilter("ignore", ColumnWarning)`` silences it.

    Parameters
    ----------
    found : Remark | str
        What was found.

    Examples
    --------
    >>> from thalweg import ColumnWarning
    >>> issubclass(ColumnWarning, UserWarning)
    True
    """

    def __init__(self, found: "Remark | str") -> None:
        super().__init__(found)

    @property
    def remark(self) -> Remark | None:
        """What was found."""
        return self.args[0] if self.args and isinstance(self.args[0], Remark) else None

    def __str__(self) -> str:
        return super().__str__() if self.remark is None else f"{self.remark.text}: {self.remark.argument}"


class Peek(NamedTuple):
    """The first records of a stream, which will still be read."""

    chunk: Chunk
    schema: Schema
    """With the values that these records have."""
    complete: bool
    """Are there no others, or are these spread over all of them?"""
    booleans: Sequence[str] = ()
    """Numeric columns that hold true and false."""


def look_at(stream: Any) -> list[Remark]:
    """Look at the first records of a file or frame for columns that need a decision. They will still be read.

    Found are columns that number or name the records, dates as text, words among numbers, columns with one value,
    a target that is no class, and features that give the target away. A stream that makes its records is not looked at.

    Parameters
    ----------
    stream : Stream
        A stream, such as ``open_file`` gives.

    Examples
    --------
    >>> from thalweg import ArrayStream
    >>> import numpy as np
    >>> X = np.column_stack([np.arange(500), np.random.default_rng(1).normal(size=500)])
    >>> for remark in look_at(ArrayStream(X, ["a", "b"] * 250)):
    ...     print(remark)
    x0 counts the records: --drop x0
    """
    peek = getattr(stream, "peek", None)
    seen = peek(ROWS, CELLS) if callable(peek) else None
    if seen is None or len(seen.chunk) < LEAST:
        return []
    target = getattr(stream, "target", None)
    known = getattr(stream, "_given_schema", None) is not None  # whoever knows the features has decided about them
    asked = {n for way in ("nominal", "time") for n in _listed(getattr(stream, way, ()))}
    missing_words = hasattr(stream, "missing_words")
    codes = _codes(seen.chunk.y)
    found = [*_target(seen, codes, target if isinstance(target, str) else "the target")]
    if not known and not seen.chunk.sparse and seen.schema.shape is None:
        found += _Columns(seen, codes, asked, missing_words).remarks()
    return found


def warn_about(stream: Any, *, stacklevel: int = 3) -> None:
    """Warn of what ``look_at`` finds, once for each stream."""
    if not getattr(stream, "looked_at", True):
        for remark in look_at(stream):
            warnings.warn(ColumnWarning(remark), stacklevel=stacklevel)
        told(stream)


def told(stream: Any) -> None:
    """Note that whoever uses a stream knows what its columns look like."""
    with suppress(AttributeError):
        stream.looked_at = True


def constants(names: Sequence[str]) -> list[Remark]:
    """Remark on features that have one value, for whoever has read all records."""
    return [_SAYS["constant"](tuple(names))] if names else []


def _listed(names: Any) -> Sequence[str]:
    return [names] if isinstance(names, str) else [n for n in names if isinstance(n, str)] if names is not None else []


# -- features ---------------------------------------------------------------------------------------------------------


class _Columns:
    """The findings about features, each column with the first that fits."""

    def __init__(self, seen: Peek, codes: NDArray[np.int64], asked: set[str], missing_words: bool) -> None:
        self.seen, self.asked, self.missing_words = seen, asked, missing_words
        self.constants = seen.complete and seen.schema.n_features < WIDE
        self.y = codes
        self.turns = int(np.count_nonzero(self.y[1:] != self.y[:-1]))
        counts = np.bincount(self.y)
        self.leaks = self.turns >= _TURNS and np.count_nonzero(counts >= 10) >= 2 and np.count_nonzero(counts) <= _MANY

    def remarks(self) -> list[Remark]:
        found: dict[str, list[str]] = {}
        own: list[Remark] = []
        X: Any = self.seen.chunk.X
        few = X[:_SCREEN]
        nominal = np.array([feature.nominal for feature in self.seen.schema.features])
        plain, leaks = _are_plain(few), self.leaks & self._tell_all(few, nominal)
        for f, feature in enumerate(self.seen.schema.features):
            if feature.time or feature.text is not None:  # a pipeline wants it so
                continue
            if not feature.nominal and plain[f] and not leaks[f]:
                continue
            column = X[:, f]
            what = self._nominal(feature, column) if feature.nominal else self._numeric(feature, column)
            if (
                what is None
                and leaks[f]
                and all(self._tell_all(column[:n, None], nominal[f])[0] for n in (4 * _SCREEN, len(column)))
            ):
                what = "leak"
            if isinstance(what, Remark):
                own.append(what)
            elif what is not None:
                found.setdefault(what, []).append(feature.name)
        told = {name for names in found.values() for name in names} | self.asked
        if left := [name for name in self.seen.booleans if name not in told]:
            found["boolean"] = left
        return [*(_SAYS[kind](tuple(names)) for kind, names in found.items()), *own]

    def _nominal(self, feature: Feature, column: NDArray[np.float64]) -> "str | Remark | None":
        known = column[column == column].astype(np.int64)
        if not len(known):
            return "constant" if self.constants else None
        counts = np.bincount(known, minlength=feature.cardinality)
        there = np.flatnonzero(counts)
        if len(there) == 1 and self.constants and len(known) == len(column):
            return "constant"
        words = [(feature.values or ())[c] for c in there.tolist() if c < feature.cardinality]
        if feature.name in self.asked or not words or not all(isinstance(w, str) for w in words):
            return None
        texts = [str(w) for w in words]
        few = texts[:: max(1, len(texts) // 200)]
        if len(texts) >= 5 and sum(map(bool, map(_DATE.fullmatch, few))) >= _DATES * len(few):
            return "date"
        if len(texts) > 20:
            odd = [k for k, word in enumerate(texts) if not _NUMBER.fullmatch(word)]
            share = float(counts[there[odd]].sum() / len(known))
            if not odd and any("." in word for word in few):
                return "number"
            if 0.0 < share <= _ODD and len(odd) <= 5:
                return _stray(feature.name, [texts[k] for k in odd], share, self.missing_words)
        if len(known) >= LEAST and len(there) >= _NEARLY * len(known):
            return "text" if np.mean([word.count(" ") for word in few]) >= 2 else "id"
        return None

    def _numeric(self, feature: Feature, column: NDArray[np.float64]) -> str | None:
        known = column[column == column]
        if self.constants and (not len(known) or (len(known) == len(column) and (known == known[0]).all())):
            return "constant"
        if feature.name in self.asked or len(known) < LEAST:
            return None
        steps = np.diff(known)
        if len(known) == len(column) and ((steps > 0).all() or (steps < 0).all()):
            return "counter" if (np.abs(steps) == 1.0).all() else "growing"
        if not (known[:LEAST] == np.floor(known[:LEAST])).all() or not (known == np.floor(known)).all():
            return None
        values = np.unique(known)
        if _are_dates(values):
            return "date"
        reach = float(values[-1] - values[0]) + 1.0
        if _ID_NAME.fullmatch(feature.name) and len(values) >= _NEARLY * len(known):
            return "id"
        alike = len(known) ** 2 / (2.0 * reach)
        return "id" if len(values) == len(known) and alike >= _CLASHES else None

    def _tell_all(self, X: NDArray[np.float64], nominal: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say of each column: does each value go with one label alone, or each label with a range of values?"""
        n = len(X)
        y = self.y[:n]
        values = np.where(X == X, X, np.inf)
        order = np.argsort(values, axis=0)
        values = np.take_along_axis(values, order, axis=0)
        labels = y[order]
        same, changes = values[1:] == values[:-1], labels[1:] != labels[:-1]
        ranges = np.count_nonzero(changes, axis=0) == np.count_nonzero(np.bincount(y)) - 1
        few = np.count_nonzero(~same, axis=0) + 1 <= max(2, n // 50)
        return np.atleast_1d(~(same & changes).any(axis=0) & (few | (ranges & ~nominal)))


def _are_plain(few: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which columns rise and fall and hold fractions, by the first records: numbers, not to be remarked on."""
    steps = np.diff(few, axis=0)
    rises, falls, fractions = ((a > 0.0).any(axis=0) for a in (steps, -steps, few - np.floor(few)))
    return np.atleast_1d(rises & falls & fractions)


def _are_dates(values: NDArray[np.float64]) -> bool:
    """Are these numbers dates such as 20240131?"""
    if len(values) < 5 or values[0] < 19000101 or values[-1] > 21001231:
        return False
    rest = values.astype(np.int64) % 10_000
    months, days = rest // 100, rest % 100
    return bool(((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)).all())


# -- the target -------------------------------------------------------------------------------------------------------


def _target(seen: Peek, codes: NDArray[np.int64], name: str) -> Iterator[Remark]:
    y = seen.chunk.y
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    n, k = len(y), len(counts)
    first: dict[Any, None] = dict.fromkeys(y[:1000].tolist())
    where = "" if name == "the target" else "the target "
    option, argument = "--target names another column", "target= names another column"
    numbers = [v for v in first if isinstance(v, float)]
    fractions = [v for v in numbers if v == v and not v.is_integer()]
    if fractions:
        text = f"{where}{name} holds numbers such as {fractions[0]!r}, and each is learned as a class of its own"
        yield Remark("target", (name,), text, option, argument)
        return
    whole = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in first)
    rare = np.sort(counts)[: k // 2].sum() < 0.2 * n
    if (k > _MANY and n < _FEW_EACH * k) or (whole and k > _MANY // 2 and rare):
        text = f"{where}{name} has {k:,} different values in {n:,} records, and each is learned as a class"
        yield Remark("target", (name,), text, option, argument)
    elif k == 1 and seen.complete:
        text = f"{where}{name} has one value, {shown(next(iter(first)), 40)}, so there is nothing to learn"
        yield Remark("target", (name,), text, option, argument)


def _codes(y: NDArray[Any]) -> NDArray[np.int64]:
    """Give equal labels equal numbers from 0 on, at most a few times as many as there are labels."""
    if y.dtype.kind in "biu" and int(y.max()) - int(y.min()) < 4 * len(y):
        return np.asarray(y.astype(np.int64) - y.min().astype(np.int64))
    if y.dtype == object:
        known: dict[Any, int] = {}
        return np.array([known.setdefault(v, len(known)) for v in y.tolist()], dtype=np.int64)
    return np.unique(y, return_inverse=True)[1].reshape(-1).astype(np.int64)


# -- words ------------------------------------------------------------------------------------------------------------


def _typed(option: str, names: Sequence[str]) -> str:
    import csv
    import io

    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return f"{option} {shlex.quote(line.getvalue())}"


def _list(names: Sequence[str]) -> str:
    most = [n if n.isprintable() else repr(n) for n in names[:5]]
    if len(names) > 5:
        return f"{', '.join(most)} and {len(names) - 5:,} more"
    return most[0] if len(most) == 1 else f"{', '.join(most[:-1])} and {most[-1]}"


def _says(kind: Kind, one: str, many: str, more: Callable[[tuple[str, ...]], tuple[str, str]] | None = None) -> Any:
    """Make what writes a line about columns: ``one`` and ``many`` are its verb and object; advice is to drop them."""

    def say(names: tuple[str, ...]) -> Remark:
        option, argument = _typed("--drop", names), f"drop={list(names)!r}"
        if more is not None:
            beside, besides = more(names)
            option, argument = option + beside, argument + besides
        return Remark(kind, names, f"{_list(names)} {one if len(names) == 1 else many}", option, argument)

    return say


def _or_time(names: tuple[str, ...]) -> tuple[str, str]:
    if len(names) > 1:
        return "", ""
    return (f", or {_typed('--time', names)} if it says when a record was seen", f", or time={names[0]!r} if it says "
            "when a record was seen")  # fmt: skip


def _or_prepared(word: str) -> Callable[[tuple[str, ...]], tuple[str, str]]:
    """Advise a transformer, if there is one for it."""

    def more(names: tuple[str, ...]) -> tuple[str, str]:
        name = next((n for n in TRANSFORMERS if word in n), None)
        if name is None:
            return "", ""
        typed = ", ".join(n if n.isidentifier() else repr(n) for n in names)
        given = repr(names[0] if len(names) == 1 else list(names))
        return (
            f", or {shlex.join(['--prep', f'{name}({typed})' if len(names) == 1 else f'{name}([{typed}])'])}",
            f", or a pipeline with {TRANSFORMERS[name].name}({given})",
        )

    return more


def _boolean(names: tuple[str, ...]) -> Remark:
    verb = "holds" if len(names) == 1 else "hold"
    return Remark(
        "boolean", names, f"{_list(names)} {verb} true and false, read as the numbers 1 and 0",
        f"{_typed('--nominal', names)} reads words", f"nominal={list(names)!r} reads words",
    )  # fmt: skip


def _stray(name: str, words: list[str], share: float, missing_words: bool) -> Remark:
    text = (
        f"{name} holds numbers, and {_list([shown(w, 30) for w in words])} in {100 * share:.1f} % of the records, "
        "so that each number is read as a name"
    )
    if not missing_words:
        return Remark("stray", (name,), text, f"write numbers and nulls, or {_typed('--drop', [name])}",
                      f"write numbers and nulls, or drop=[{name!r}]")  # fmt: skip
    option = f"{_typed('--missing', words)} if {'it stands' if len(words) == 1 else 'they stand'} for a missing value"
    return Remark("stray", (name,), text, option, f"more_missing={words!r}")


_SAYS: dict[str, Callable[[tuple[str, ...]], Remark]] = {
    "id": _says("id", "has a different value in nearly every record", "have a different value in nearly every record"),
    "counter": _says("counter", "counts the records", "count the records"),
    "growing": _says(
        "growing", "rises or falls with every record", "rise or fall with every record", _or_time
    ),
    "date": _says("date", "holds dates, which are read as names or plain numbers",
                  "hold dates, which are read as names or plain numbers", _or_prepared("date")),
    "text": _says("text", "holds a different text in nearly every record, each read as a name",
                  "hold a different text in nearly every record, each read as a name", _or_prepared("text")),
    "number": _says("number", "holds numbers written as text, each read as a name",
                    "hold numbers written as text, each read as a name"),
    "constant": _says("constant", "has one value at most in all records", "have one value at most in all records"),
    "leak": _says("leak", "alone tells the target of every record looked at; if it is known only afterwards",
                  "each tell the target of every record looked at; if they are known only afterwards"),
    "boolean": _boolean,
}  # fmt: skip
