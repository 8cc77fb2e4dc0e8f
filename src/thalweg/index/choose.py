"""Which index? One by name, or the one that suits the rules."""

import time
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from thalweg.core import params
from thalweg.index.index import Index
from thalweg.index.rules import Rules
from thalweg.registry import INDEXES

_FEW, _BATCH, _TIMED = 256, 1_000, 200


def make_index(
    kind: str = "auto",
    ensemble: Iterable[Rules] = (),
    *,
    rows: int = 1,
    limit_bytes: int = 67_108_864,
    sample: Any = None,
    **chosen: Any,
) -> Index:
    """Make an index of an ensemble. Its ``reason`` says why it is of this kind.

    Parameters
    ----------
    kind : str
        "linear-rules", "linear-trees", "e-tree", "bitmap", "compiled-trees", or "auto": the one that suits.
    ensemble : Iterable[Rules]
        The rules of each classifier, see ``rules_of``.
    rows : int
        How many records are asked about at once.
    limit_bytes : int
        What a bitmap may take.
    sample : object
        Records with which the candidates are timed; None: a rule of thumb decides.
    chosen
        Further parameters, those of the kind.

    Examples
    --------
    >>> from thalweg.index.rules import box
    >>> index = make_index("auto", [box([(0.0, 1.0)], [0.0, 1.0])])
    >>> type(index).__name__, index.reason
    ('LinearRules', '1 rule: fewer than 256 are looked at one by one')
    """
    params.choice("kind", kind, ("auto", *INDEXES))
    if "max_bytes" in chosen:
        warnings.warn("'max_bytes' of make_index is now called 'limit_bytes'", DeprecationWarning, stacklevel=2)
        limit_bytes = chosen.pop("max_bytes")
    params.whole("rows", rows, least=1)
    params.whole("limit_bytes", limit_bytes, least=1)
    members = list(ensemble)
    if kind != "auto":
        index: Index = INDEXES[kind].make(**chosen).insert_all(members)
        index.reason = "asked for"
        return index
    if chosen:
        raise ValueError(f"kind 'auto' takes no parameters of a kind, got {params.shown(sorted(chosen))}")
    if sample is not None and members:
        return _fastest(members, np.asarray(sample, dtype=np.float64)[:_TIMED], limit_bytes)
    name, reason = suits(members, int(rows), int(limit_bytes))
    index = INDEXES[name].make().insert_all(members)
    index.reason = reason
    return index


def suits(members: list[Rules], rows: int, limit_bytes: int) -> tuple[str, str]:
    """Say which kind suits an ensemble by a rule of thumb, and why."""
    n = sum(map(len, members))
    d = members[0].n_features if members else 0
    trees = bool(members) and all(rules.nodes is not None for rules in members)
    if n < _FEW:
        return "linear-rules", f"{n} rule{'' if n == 1 else 's'}: fewer than {_FEW} are looked at one by one"
    if trees and rows >= _BATCH and d > 10:
        return "compiled-trees", f"{rows} records at once, with {d} features: they go down the trees together"
    size = bitmap_bytes(members)
    if size > limit_bytes:
        bounded = sum(len(rules) * rules.bounded for rules in members) / max(1, n * d)
        if bounded >= 0.8 and d <= 10:
            return "e-tree", f"a bitmap would take {size:,} bytes, and rules bound {bounded:.0%} of the features"
        if trees:
            return "compiled-trees", f"a bitmap would take {size:,} bytes, more than limit_bytes"
    return "bitmap", f"{n} rules, {d} features: about {size:,} bytes of bits"


def bitmap_bytes(members: list[Rules]) -> int:
    """About how much the bits take: in each block a line for each end of a rule."""
    from thalweg.index.bitmap_jit import WORDS

    ends = sum(int(np.isfinite(rules.lo).sum() + np.isfinite(rules.hi).sum()) for rules in members)
    return ends // 2 * 8 * WORDS


def _fastest(members: list[Rules], X: Any, limit_bytes: int) -> Index:
    trees = all(rules.nodes is not None for rules in members)
    names = [name for name, entry in INDEXES.items() if trees or not entry.cls.needs_trees]
    if bitmap_bytes(members) > limit_bytes:
        names.remove("bitmap")
    if sum(map(len, members)) > 50 * _FEW and len(names) > 2:
        names.remove("linear-rules")
    timed = {}
    for name in names:
        index: Index = INDEXES[name].make().insert_all(members)
        index.scores(X[:1])
        begin = time.perf_counter()
        index.scores(X)
        timed[name] = (time.perf_counter() - begin) / max(1, len(X)), index
    best = min(timed, key=lambda name: timed[name][0])
    said = ", ".join(f"{name} {1e6 * t:.2f}" for name, (t, _) in sorted(timed.items(), key=lambda item: item[1][0]))
    index = timed[best][1]
    index.reason = f"the fastest on {len(X)} records, µs each: {said}"
    return index
