"""A compiled tree and its slow twin, row by row; and streams whose concept changes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from growing import by_appearance, leaves, mixed_stream, numeric_stream, structure

import thalweg
from thalweg import Feature, Schema
from thalweg.jit.random import choose, poisson, seeded
from thalweg.pool.leaf_jit import S_NUMBERS


def draws(seed=1):
    """What a tree with this seed draws: attributes, and numbers from Poisson(1), from one generator."""
    rng = seeded(seed)

    def attributes(d, m):
        chosen = np.empty(m, dtype=np.int64)
        choose(rng, 0, d, chosen)
        return chosen.tolist()

    return {"choose": attributes, "poisson": lambda: int(poisson(rng, 0, 1.0))}


def named(tree, kinds, *, open=False):
    """Tell a tree which features are nominal (their number of values) and which are numbers (None)."""
    features = tuple(
        Feature(f"f{i}", values=None if k is None else tuple(range(k)), open=open) for i, k in enumerate(kinds)
    )
    return tree.declare(Schema(features))


def numbers(n, *, classes=2, concepts=3, d=5, noise=0.05):
    """Concepts of ``numeric_stream``, one after another: the features change places, the classes turn round."""
    parts = []
    for k in range(concepts):
        X, y = numeric_stream(k, n // concepts, d=d, classes=classes, noise=noise)
        parts.append((np.roll((X - X.mean(axis=0)) / X.std(axis=0), 2 * k, axis=1), (y + k) % classes))
    return np.concatenate([X for X, _ in parts]), by_appearance(np.concatenate([y for _, y in parts]))


def mixed(n, kinds, *, classes=3, concepts=3, missing=0.0):
    """The same of ``mixed_stream``: numbers and nominal values, some missing."""
    parts = [mixed_stream(k, n // concepts, kinds, classes, noise=0.03, missing=missing) for k in range(concepts)]
    y = np.concatenate([(y + k) % classes for k, (_, y) in enumerate(parts)])
    return np.concatenate([X for X, _ in parts]), by_appearance(y)


def shadow(tree, twin, X, y, w=None):
    """Give every row to both, the test before the training; check every answer and every change; then the leaves."""
    for r in range(len(X)):
        x, weight = X[r].tolist(), 1.0 if w is None else float(w[r])
        if tree._started:
            got = tree.predict_proba(X[r : r + 1])[0]
            np.testing.assert_allclose(got, twin.proba(x), rtol=1e-9, atol=1e-12, err_msg=f"row {r}")
        if weight > 0.0:
            tree.partial_fit(X[r : r + 1], y[r : r + 1], sample_weight=[weight])
        twin.learn(x, int(y[r]), weight)
        assert not tree._started or tree._pool.turns.tolist() == twin.turns, f"row {r}"
    pool = tree._pool
    assert structure(pool) == twin.structure()
    for i, leaf in zip(leaves(pool), twin.leaves(), strict=True):
        assert pool.tally[i].tolist() == [
            leaf.weight,
            *(leaf.counts.get(c, 0.0) for c in range(pool.tally.shape[1] - 1)),
        ]
        slot = int(pool.nodes[i]["left"])
        if slot >= 0:
            assert pool.stats[slot, :S_NUMBERS].tolist() == [leaf.last, leaf.majority_right, leaf.bayes_right]


def by_chunks(make, X, y, size, w=None):
    """Every answer, and the tables after all, of a new learner that gets the rows in chunks of this size."""
    learner = make()
    answers = np.zeros((len(y), 1 + int(y.max())))
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        proba = learner.test_then_train(X[rows], y[rows], None if w is None else w[rows])
        answers[rows, : proba.shape[1]] = proba
    return {"answers": answers, **learner.state()}, learner


def same(one, other):
    """Are all tables the same, bit for bit?"""
    return one.keys() == other.keys() and all(
        np.array_equal(t, other[name], equal_nan=t.dtype.kind == "f") for name, t in one.items()
    )


def bits(name, options):
    """Every probability and every cell of the tables of a learner after a short stream, as text."""
    kinds = (None, 3, None, 4, None)
    X, y = mixed(1500, kinds, missing=0.05)
    run, learner = by_chunks(lambda: named(getattr(thalweg, name)(**options, limit_bytes=80_000), kinds), X, y, 1500)
    assert learner._pool.turns[:2].min() > 0
    tables = [run[table] for table in ("answers", "tally", "stats")]
    return " ".join(v.hex() for table in tables for v in table.ravel().tolist())


def plain_bits(name, options):
    """The same with the compiler off."""
    here = Path(__file__).parent
    code = f"import sys; sys.path[:0] = {[str(here), str(here.parents[1])]!r}\nimport shadowing\n"
    run = subprocess.run(
        [sys.executable, "-W", "ignore::RuntimeWarning", "-c", f"{code}print(shadowing.bits({name!r}, {options!r}))"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()
