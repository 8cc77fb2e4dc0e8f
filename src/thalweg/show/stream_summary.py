"""What a stream holds, and how that changes: read once by blocks, in constant memory."""

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.labels import Labels
from thalweg.core.params import shown
from thalweg.core.schema import Feature, Schema
from thalweg.show.stream_images import Gallery
from thalweg.show.stretches import divided, explained, quantiles
from thalweg.streams.any_data import as_stream
from thalweg.streams.looking import LEAST, WIDE, Remark, constants, look_at, told

Floats = NDArray[np.float64]

ENDLESS = 100_000
"""Rows of a stream without an end that are read where no number is given."""
MOST = 8
"""Features that are described where none are named."""
BINS = 120
"""Stretches of time: at least so many where there are rows enough, at most twice as many."""
_FEWEST = 20  # rows of a stretch
_BLOCK = 4096
_CLASSES = 256  # classes that are told apart
_VALUES = 64  # values of a nominal feature that are told apart: the first ones
_APART = 6  # classes whose means are kept
_ENOUGH = 5  # rows of a class that a mean needs
_NAP = 0.01


@final
@dataclass(frozen=True, eq=False)
class FeatureOverTime:
    """One feature over the stretches of a stream. A stretch in which nothing is known has NaN."""

    name: str
    nominal: bool
    change: float
    """How much of its variance time explains, in all rows or within the classes: 0 it rests, 1 it only moves."""
    mean: Floats
    low: Floats
    """10 % of the values lie below."""
    high: Floats
    """90 % of the values lie below."""
    by_class: dict[Any, Floats]
    """The mean of each class, where the classes are few."""
    values: dict[Any, Floats]
    """Of a nominal feature: the share of each of its most frequent values among those that are known."""
    missing: Floats
    """Share of the rows without a value."""
    middle: tuple[float, float, float]
    """Over all rows: the mean, and the values between which the middle 80 % lie."""
    missing_share: float


@final
@dataclass(frozen=True, eq=False, repr=False)
class StreamSummary:
    """A stream in numbers: class shares, features over time and known drifts.

    >>> from thalweg import SEA
    >>> summary = describe_stream(SEA(seed=1), rows=10_000)
    >>> summary.rows, [f.name for f in summary.features], len(summary.edges)
    (10000, ['x0', 'x1', 'x2'], 126)
    """

    stream: str
    rows: int
    classes: list[Any]
    """The labels; "other": all beyond the first 255."""
    shares: Floats
    """Of each class, over all rows."""
    edges: NDArray[np.int64]
    """Where each stretch of time begins, and where the last one ends, in rows that were read."""
    class_shares: Floats
    """Of each class (column) in each stretch (row)."""
    features: list[FeatureOverTime]
    """Those that were asked for, or those that change most, most first."""
    n_features: int
    drifts: list[int]
    """Where the stream is known to change, in rows that were read."""
    widths: list[float]
    """How many rows each drift takes."""
    shape: tuple[int, ...] | None = None
    """Of a record that is a tensor."""
    rank: int | None = None
    """Of a tensor that is written as a sum of outer products."""
    images: Floats | None = None
    """Where records are images, some of each class: line × class × height × width (× colours), NaN: there is none."""
    image_rows: list[int] | None = None
    """For each line of images: they are the next ones of their classes from this row on."""
    remarks: tuple[Remark, ...] = ()
    """What a person should know about the columns, and what to type."""

    @property
    def width(self) -> str:
        """How many features there are, and of what tensors.

        >>> from thalweg import SimTensor
        >>> describe_stream(SimTensor(size=9), rows=20).width
        '84 features (tensors of 9×9×9, rank 3)'
        """
        many = "1 feature" if self.n_features == 1 else f"{self.n_features:,} features"
        if self.shape is None:
            return many
        rank = "" if self.rank is None else f", rank {self.rank}"
        return f"{many} (tensors of {'×'.join(map(str, self.shape))}{rank})"

    @property
    def heading(self) -> str:
        """Which of the features are shown."""
        if len(self.features) == self.n_features:
            return "the feature" if self.n_features == 1 else f"the {self.n_features} features"
        if self._chosen:
            return f"the {len(self.features)} of {self.n_features:,} features that change most"
        return f"{len(self.features)} of {self.n_features:,} features"

    _chosen: bool = False

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """Draw it to a .png, .svg or .pdf file; see ``stream_picture.draw`` for the options."""
        from thalweg.show.stream_picture import draw

        return draw(self, path, **options)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain lists and numbers; what is not known as None."""
        names = ("stream", "rows", "classes", "shares", "edges", "class_shares", "n_features", "drifts", "widths",
                 "shape", "rank")  # fmt: skip
        features = [{k: _plain(v) for k, v in vars(f).items()} for f in self.features]
        return {name: _plain(getattr(self, name)) for name in names} | {"features": features}

    def __rich__(self) -> Any:
        from thalweg.show.stream_terminal import Drawing

        return Drawing(self)

    def __str__(self) -> str:
        import io

        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=100, color_system=None, legacy_windows=False).print(self)
        return text.getvalue().rstrip()

    def __repr__(self) -> str:
        return f"StreamSummary({self.stream}, {self.rows:,} rows, {len(self.classes)} classes, {self.width})"


def describe_stream(
    stream: Any,
    rows: int | None = None,
    *,
    features: Sequence[str] | None = None,
    name: str | None = None,
    on_progress: Callable[[int], object] | None = None,
    target: str | None = None,
    **options: Any,
) -> StreamSummary:
    """Read a stream from where it is and sum up what it holds, over time.

    Parameters
    ----------
    stream : Stream | object
        It stands behind those rows afterwards. Or a frame, records, a file and so on, as in ``prequential``.
    rows : int | None
        How many to read at most; None: all, where the stream says how many there are, else 100,000.
    features : Sequence[str] | None
        Names of those to describe; None: all, or the 8 that change most.
    name : str | None
        What to call the stream.
    on_progress : Callable[[int], object] | None
        Is told the number of rows read, after every block.
    target : str | None
        The column with the labels, where stream is a file, a frame or dicts.
    options
        How a file or frame is read: ``drop``, ``nominal`` and so on.

    Examples
    --------
    >>> from thalweg import SEA, DriftStream
    >>> stream = DriftStream(SEA(function=1), SEA(function=3, seed=2), position=4000, width=1000, limit=8000)
    >>> summary = describe_stream(stream, features=["x0"])
    >>> summary.drifts, summary.widths, summary.heading
    ([4000], [1000], '1 of 3 features')
    """
    if rows is not None:
        params.whole("rows", rows, least=1)
    stream = as_stream(stream, target, **options)
    remarks = look_at(stream)
    told(stream)
    wanted = None if features is None else _places(features, stream.schema)
    start = _position(stream)
    length = getattr(stream, "rows", None)
    left = None if length is None else max(0, int(length) - start)
    goal = (ENDLESS if left is None else left) if rows is None else int(rows)
    places = list(getattr(stream, "drifts", ()))
    spans = list(getattr(stream, "widths", ())) or [1] * len(places)
    ahead = [(int(d) - start, w) for d, w in zip(places, spans, strict=True) if start < d < start + goal]
    gallery = Gallery(stream.schema, [0, *sorted(d + int(w if w > 1 else 0) for d, w in ahead)])
    tally = _Tally(stream.schema, None if left is None else min(goal, left), gallery)
    while tally.total < goal and (chunk := stream.read(min(_BLOCK, goal - tally.total))) is not None:
        if len(chunk) == 0:
            time.sleep(_NAP)
            continue
        tally.add(chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray(), chunk.y)
        if on_progress is not None:
            on_progress(tally.total)
    if not tally.total:
        raise ValueError("stream must have records, it has none left")
    tally.finish()
    known = [(d, w) for d, w in ahead if d < tally.total]
    change = tally.changes()
    schema = stream.schema  # with the values that appeared
    chosen = range(schema.n_features) if wanted is None else wanted
    if wanted is None and schema.n_features > MOST:
        chosen = np.argsort(-change, kind="stable")[:MOST].tolist()
    return StreamSummary(
        stream=name or str(getattr(stream, "name", None) or type(stream).__name__),
        rows=tally.total,
        classes=tally.classes(),
        shares=tally.labels.sum(axis=0) / max(1, tally.total),
        edges=tally.edges(),
        class_shares=tally.labels / np.maximum(1, tally.labels.sum(axis=1, keepdims=True)),
        features=[tally.feature(f, schema.features[f], float(change[f])) for f in chosen],
        n_features=schema.n_features,
        drifts=[d for d, _ in known],
        widths=[w for _, w in known],
        shape=schema.shape,
        rank=schema.rank,
        images=gallery.images[:, : len(tally.classes())] if gallery.are_images else None,
        image_rows=gallery.rows if gallery.are_images else None,
        remarks=(*remarks, *_constants(tally, schema, [name for r in remarks for name in r.columns])),
        _chosen=wanted is None,
    )


def _constants(tally: "_Tally", schema: Schema, told: Sequence[str]) -> list[Remark]:
    """Remark on the features that have one value in all rows."""
    if schema.n_features >= WIDE or schema.shape is not None or tally.total < LEAST:
        return []
    known, spread = tally.counts.sum(axis=(0, 1)), tally.squares.sum(axis=(0, 1))
    flat = (known == 0) | ((known == tally.total) & (spread == 0.0))
    return constants([f.name for f, one in zip(schema.features, flat, strict=False) if one and f.name not in told])


class _Tally:
    """Sums over stretches of equal length. When there is no room for another one, two and two are joined."""

    def __init__(self, schema: Schema, length: int | None, gallery: Gallery) -> None:
        self.gallery = gallery
        f = max(1, schema.n_features)
        bins = min(BINS, max(24, (1 << 20) // f))
        room = 2 * bins
        self.width = max(_FEWEST, math.ceil((length or 0) / bins))
        self.total, self.room = 0, room
        self.apart = _APART if f <= 2000 else 1
        size = min(2000, max(16, (1 << 23) // (room * f)))
        self.known_labels = Labels(schema.classes)
        self.labels = np.zeros((room, len(schema.classes or ())))
        self.shift = np.zeros(f)
        self.sums, self.counts = np.zeros((room, self.apart, f)), np.zeros((room, self.apart, f))
        self.squares = np.zeros((room, self.apart, f))
        self.values = {i: np.zeros((room, _VALUES + 1)) for i, feature in enumerate(schema.features) if feature.nominal}
        self.keys, self.sample = np.full((room, size), np.inf), np.full((room, size, f), np.nan)
        self.random = np.random.default_rng(0)

    def add(self, X: Floats, y: NDArray[Any]) -> None:
        """Take the next rows."""
        codes, new = self.known_labels.read(y)
        self.known_labels.admit(new)
        codes = np.minimum(codes, _CLASSES - 1)
        self.gallery.add(X, codes, self.total)
        if (many := int(codes.max()) + 1) > self.labels.shape[1]:
            self.labels = np.pad(self.labels, ((0, 0), (0, many - self.labels.shape[1])))
        if self.total == 0:
            self.shift = np.where(np.isfinite(X[0]), X[0], 0.0)
        at = 0
        while at < len(X):
            b = self.total // self.width
            if b == self.room:
                self._join_pairs()
                continue
            n = min(len(X) - at, (b + 1) * self.width - self.total)
            self._add(b, X[at : at + n], codes[at : at + n])
            self.total += n
            at += n

    def _add(self, b: int, X: Floats, codes: NDArray[np.int64]) -> None:
        known = np.isfinite(X)
        apart = np.where(known, X - self.shift, 0.0)
        mine = (np.minimum(codes, self.apart - 1)[None, :] == np.arange(self.apart)[:, None]).astype(np.float64)
        self.sums[b] += mine @ apart
        self.counts[b] += mine @ known.astype(np.float64)
        self.squares[b] += mine @ (apart * apart)
        self.labels[b] += np.bincount(codes, minlength=self.labels.shape[1])
        for f, table in self.values.items():
            values = X[known[:, f], f].astype(np.int64)
            table[b] += np.bincount(np.minimum(values, _VALUES), minlength=_VALUES + 1)
        keys = self.random.random(len(X))  # the rows with the smallest numbers are a fair sample of the stretch
        few = keys < self.keys[b].max()
        self._draw(b, keys[few], X[few])

    def _draw(self, b: int, keys: Floats, X: Floats) -> None:
        keys, X = np.concatenate([self.keys[b], keys]), np.concatenate([self.sample[b], X])
        order = np.argsort(keys)[: self.keys.shape[1]]
        self.keys[b], self.sample[b] = keys[order], X[order]

    def _join_pairs(self) -> None:
        half = self.room // 2
        self.width *= 2
        for table in (self.sums, self.counts, self.squares, self.labels, *self.values.values()):
            table[:half] = table.reshape(half, 2, *table.shape[1:]).sum(axis=1)
            table[half:] = 0.0
        keys, sample = self.keys.copy(), self.sample.copy()
        self.keys.fill(np.inf)
        self.sample.fill(np.nan)
        for b in range(self.room):
            self._draw(b // 2, keys[b], sample[b])

    def finish(self) -> None:
        """Cut off what is empty; a last stretch that is less than half as long as the others joins the one before."""
        bins = math.ceil(self.total / self.width)
        rest = self.total - (bins - 1) * self.width
        if bins > 1 and rest < self.width / 2:
            for table in (self.sums, self.counts, self.squares, self.labels, *self.values.values()):
                table[bins - 2] += table[bins - 1]
            self._draw(bins - 2, self.keys[bins - 1], self.sample[bins - 1])
            bins -= 1
        for name in ("sums", "counts", "squares", "labels", "keys", "sample"):
            setattr(self, name, getattr(self, name)[:bins])
        self.values = {f: table[:bins] for f, table in self.values.items()}

    def edges(self) -> NDArray[np.int64]:
        """Where the stretches begin, and the end of the last."""
        return np.append(np.arange(len(self.labels)) * self.width, self.total).astype(np.int64)

    def classes(self) -> list[Any]:
        """The labels that are told apart."""
        labels = list(self.known_labels.values)
        return [*labels[: _CLASSES - 1], "other"] if len(labels) >= _CLASSES else labels

    def changes(self) -> Floats:
        """Say how much of the variance of each feature, within the classes, or of its being missing, time explains."""
        n = self.labels.sum(axis=1)
        counts, sums, squares = (t.sum(axis=1) for t in (self.counts, self.sums, self.squares))
        change = explained(counts, sums, squares.sum(axis=0))
        missing = n[:, None] - counts
        change = np.maximum(change, explained(np.broadcast_to(n[:, None], missing.shape), missing, missing.sum(axis=0)))
        within = explained(self.counts, self.sums, self.squares.sum(axis=0))
        weight = self.counts.sum(axis=0) / np.maximum(1.0, counts.sum(axis=0))
        change = np.maximum(change, (within * weight).sum(axis=0))
        for f, table in self.values.items():
            known = np.broadcast_to(table.sum(axis=1)[:, None], table.shape)
            share = table.sum(axis=0) / max(1.0, table.sum())
            spread = share * (1.0 - share)
            each = explained(known, table, table.sum(axis=0))
            values = float((each * spread).sum() / spread.sum()) if spread.sum() > 0 else 0.0
            gone = explained(n[:, None], missing[:, f : f + 1], missing[:, f].sum()[None])
            change[f] = max(values, float(gone[0]))
        return np.asarray(change, dtype=np.float64)

    def feature(self, f: int, feature: Feature, change: float) -> FeatureOverTime:
        """Give the curves of one feature."""
        n = self.labels.sum(axis=1)
        counts = self.counts[:, :, f].sum(axis=1)
        missing = 1.0 - counts / np.maximum(1.0, n)
        empty = np.full(len(n), np.nan)
        mean, low, high, middle = empty, empty, empty, (math.nan, math.nan, math.nan)
        by_class: dict[Any, Floats] = {}
        values: dict[Any, Floats] = {}
        if feature.nominal:
            table = self.values[f]
            among = np.maximum(1.0, table.sum(axis=1))
            names = feature.values or ()
            frequent = [
                v for v in np.argsort(-table[:, :_VALUES].sum(axis=0), kind="stable").tolist() if v < len(names)
            ]
            values = {names[v]: np.where(counts > 0, table[:, v] / among, np.nan) for v in frequent[:5]}
        else:
            total = self.sums[:, :, f].sum(axis=1)
            mean = divided(total, counts) + self.shift[f]
            low, high = quantiles(self.sample[:, :, f], (0.1, 0.9))
            if self.apart >= len(self.known_labels.values):
                labels = self.known_labels.values
                for c, label in enumerate(labels):
                    enough = np.where(self.counts[:, c, f] >= _ENOUGH, self.counts[:, c, f], 0.0)
                    by_class[label] = divided(self.sums[:, c, f], enough) + self.shift[f]
            among_all = self.sample[:, :, f].reshape(1, -1)
            ends = quantiles(among_all, (0.1, 0.9))
            whole = float(total.sum() / counts.sum() + self.shift[f]) if counts.sum() else math.nan
            middle = (whole, float(ends[0][0]), float(ends[1][0]))
        gone = float(1.0 - counts.sum() / max(1.0, n.sum()))
        return FeatureOverTime(
            feature.name, feature.nominal, change, mean, low, high, by_class, values, missing, middle, gone
        )


def _places(features: Sequence[str], schema: Schema) -> list[int]:
    if isinstance(features, str) or not isinstance(features, Sequence):
        raise TypeError(f"features must be a list of names, got {shown(features)}")
    if not features:
        raise ValueError("features must name at least one feature, got none")
    for name in features:
        if name not in schema.names:
            names = ", ".join(schema.names[:10]) + ", …" * (len(schema.names) > 10)
            raise ValueError(f"features must be among those of the stream ({names}), got {shown(name)}")
    return [schema.names.index(name) for name in dict.fromkeys(features)]


def _position(stream: Any) -> int:
    """How many records were read before, where the stream tells."""
    state = getattr(stream, "state", None)
    given = state().get("given") if callable(state) else None
    return 0 if given is None else int(given[0])


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value
