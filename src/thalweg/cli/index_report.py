"""What an ensemble's rules are like, and what each kind of index makes of them."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg.core import params
from thalweg.index.choose import bitmap_bytes, suits
from thalweg.index.rules import Floats, Rules
from thalweg.index.sources import rules_of
from thalweg.learners.chunks.chunk_ensemble import ChunkEnsemble
from thalweg.registry import INDEXES

MAX_BYTES = 67_108_864
_MANY, _FEW, _ROUNDS = 1_000, 100, 3


@dataclass(frozen=True, slots=True)
class Line:
    """One way of answering: its bytes, and µs per record, one at a time and by batches. None: not tried."""

    name: str
    nbytes: int | None = None
    one: float | None = None
    many: float | None = None


@dataclass(frozen=True, slots=True)
class IndexReport:
    """Rules, bounded features, bytes and µs per record; ``chosen`` is the kind that suits, ``reason`` says why.

    >>> from thalweg import SEA, ChunkEnsemble
    >>> chunk = SEA(seed=1).read(3_000)
    >>> report = describe_index(ChunkEnsemble(chunk=500).partial_fit(chunk.X, chunk.y), "bitmap")
    >>> report.trees, [line.name for line in report.lines]
    (6, ['bitmap'])
    """

    title: str
    trees: int
    rules: int
    features: int
    bounded: float
    chosen: str
    reason: str
    lines: tuple[Line, ...]

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
        table.add_column("kind")
        for column in ("bytes", "µs, one record", f"µs, {_MANY:,} records"):
            table.add_column(column, justify="right")
        for line in self.lines:
            cells = (f"{line.nbytes:,}" if line.nbytes is not None else "–", _number(line.one), _number(line.many))
            table.add_row(line.name, *cells, style="bold cyan" if line.name == self.chosen else None)
        head = (
            f"{self.title}: {_count(self.trees, 'tree')}, {_count(self.rules, 'rule')}, which bound "
            f"{self.bounded:.1f} of {self.features:,} features on average\n"
        )
        return Group(Text(head), table, Text(f"\nauto chooses {self.chosen}: {self.reason}"))


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def describe_index(model: Any, kind: str = "auto", *, max_bytes: int = MAX_BYTES) -> IndexReport:
    """Build indexes of a model's rules and time them, on records drawn inside of the rules.

    model: a tree, a forest or a ``ChunkEnsemble``. kind: of the index; "auto": all of them. max_bytes: a bitmap that
    takes more is not built.

    >>> from thalweg import SEA, HoeffdingTree
    >>> chunk = SEA(seed=1).read(20_000)
    >>> describe_index(HoeffdingTree().partial_fit(chunk.X, chunk.y)).chosen
    'linear-rules'
    """
    params.choice("kind", kind, ("auto", *INDEXES))
    members = model.rules if isinstance(model, ChunkEnsemble) else rules_of(model)
    if not members:
        raise ValueError("model must have a tree, got one that waits for its first chunk to be full")
    rules = sum(map(len, members))
    X = draw_records(members, _MANY)
    lines = []
    for name in INDEXES if kind == "auto" else (kind,):
        if name == "bitmap" and bitmap_bytes(members) > max_bytes:
            lines.append(Line(name, bitmap_bytes(members)))
            continue
        index = INDEXES[name].make().insert_all(members)
        lines.append(Line(name, index.nbytes, *_times(index.scores, X)))
    if kind == "auto" and hasattr(model, "compile") and not isinstance(model, ChunkEnsemble):
        frozen = model.compile()  # says more than its rules do: leaves that answer by naive Bayes
        lines.append(Line("compile()", frozen.nbytes, *_times(frozen.predict_proba, X)))
    bounded = sum(len(r) * r.bounded for r in members) / max(1, rules)
    chosen, reason = suits(members, 1, int(max_bytes))
    title, features = type(model).__name__, members[0].n_features
    return IndexReport(title, len(members), rules, features, bounded, chosen, reason, tuple(lines))


def draw_records(members: list[Rules], n: int, seed: int = 1) -> Floats:
    """Draw records, each uniformly inside a rule that was drawn first; nominal values whatever they may be."""
    rng = np.random.default_rng(seed)
    lo, hi = (np.concatenate([getattr(rules, end) for rules in members]) for end in ("lo", "hi"))
    values = np.max([rules.values for rules in members], axis=0)
    ends = np.concatenate([lo, hi])
    ends[~np.isfinite(ends)] = np.nan
    some = ~np.isnan(ends).all(axis=0)
    least, most = np.zeros(len(values)), np.ones(len(values))
    least[some], most[some] = np.nanmin(ends[:, some], axis=0), np.nanmax(ends[:, some], axis=0)
    room = np.maximum(most - least, 1e-9)
    which = rng.integers(0, len(lo), n)
    a, b = np.maximum(lo[which], least - 0.1 * room), np.minimum(hi[which], most + 0.1 * room)
    X = a + rng.random((n, len(values))) * np.maximum(b - a, 0.0)
    codes = np.floor(rng.random((n, len(values))) * np.maximum(values, 1))
    return np.ascontiguousarray(np.where(values > 0, codes, X))


def _times(answer: Callable[[Floats], Any], X: Floats) -> tuple[float, float]:
    """CPU µs per record: one at a time, and all at once."""

    def ones() -> None:
        for r in range(_FEW):
            answer(X[r : r + 1])

    return 1e6 * _median(ones) / _FEW, 1e6 * _median(lambda: answer(X)) / len(X)


def _median(play: Callable[[], Any]) -> float:
    play()
    took = []
    for _ in range(_ROUNDS):
        begin = time.process_time()
        play()
        took.append(time.process_time() - begin)
    return statistics.median(took)
