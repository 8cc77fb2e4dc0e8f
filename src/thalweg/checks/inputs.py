"""Promises of a learner: what it takes, and what it refuses."""

from typing import Any

import numpy as np

from thalweg.checks.parts import Make, Promises, data, expect, refuses, same, same_state, trained, unchanged

CHECKS = promise = Promises()


@promise
def inputs_stay_untouched(make: Make) -> None:
    """Neither rows nor labels, weights or events are changed, and none is kept."""
    X, y = data(250, seed=19)
    w, events = np.ones(250), np.r_[np.arange(250), ~np.arange(250)]
    before = [a.copy() for a in (X, y, w, events)]
    learner = make()
    learner.test_then_train(X, y, w)
    learner.partial_fit(X, y, sample_weight=w)
    learner.play(X, y, events, w)
    learner.predict_proba(X)
    ok = all(np.array_equal(a, b) for a, b in zip(before, (X, y, w, events), strict=True))
    expect(ok, "inputs must stay as they are")
    with unchanged(learner, "what is done to an input later must not reach the learner"):
        X[:], y[:], w[:] = -1.0, 0, 9.0


@promise
def layout_does_not_matter(make: Make) -> None:
    """Read-only, Fortran-ordered and strided rows, other number types and lists give what float64 rows give."""
    X, y = data(250, seed=20)
    expected = make().test_then_train(X, y)
    read_only = X.copy()
    read_only.flags.writeable = False
    forms: dict[str, Any] = {
        "read-only rows": read_only,
        "Fortran-ordered rows": np.asfortranarray(X),
        "strided rows": np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
        "float32 rows": X.astype(np.float32),
        "lists": X.tolist(),
        "rows of objects": X.astype(object),
        "big-endian rows": X.astype(">f8"),
    }
    for name, form in forms.items():
        same(expected, make().test_then_train(form, y), f"{name} must give what float64 rows give")
    whole = np.round(X)
    expected = make().test_then_train(whole, y)
    for kind in (np.int64, np.int8, np.float16):
        got = make().test_then_train(whole.astype(kind), y)
        same(expected, got, f"{np.dtype(kind)} rows must give what float64 rows give")
    frozen = y.copy()
    frozen.flags.writeable = False
    for name, labels in {"a list": y.tolist(), "read-only": frozen, "int8": y.astype(np.int8)}.items():
        same(expected, make().test_then_train(whole, labels), f"labels as {name} must give the same")


@promise
def frames_equal_arrays(make: Make) -> None:
    """A pandas frame gives what an array gives; its columns go by name, not by place."""
    try:
        import pandas as pd
    except ImportError:
        return
    X, y = data(250, seed=21)
    names = ["d", "a", "c", "b"]
    frame, labels = pd.DataFrame(X, columns=names), pd.Series(y)
    learner = make()
    same(make().test_then_train(X, y), learner.test_then_train(frame, labels), "a frame must give what an array gives")
    expect(learner.schema is not None and learner.schema.names == tuple(names), "a frame must name the features")
    shuffled = frame[sorted(names)]
    same(learner.predict_proba(X), learner.predict_proba(shuffled), "columns of a frame must go by name")
    refuses(learner, "a frame that lacks a column", learner.partial_fit, frame[names[:3]], labels)


@promise
def bad_rows_change_nothing(make: Make) -> None:
    """Rows that cannot be used are refused with a sentence; the learner stays as it was."""
    learner = trained(make)
    X, y = data(6, seed=22)
    infinite, minus = X.copy(), X.copy()
    infinite[4, 1], minus[5, 3] = np.inf, -np.inf
    bad: dict[str, Any] = {
        "X with a feature too few": X[:, :3],
        "X with a feature too many": np.c_[X, X[:, :1]],
        "X with infinity": infinite,
        "X with minus infinity": minus,
        "X of one dimension": X[:, 0],
        "X of three dimensions and another width": np.repeat(X[:, :, None], 2, axis=2),
        "X of text": X.astype(str),
        "X of complex numbers": X + 1j,
        "X with rows of different widths": [[1.0, 2.0, 3.0, 4.0]] * 5 + [[1.0]],
        "X of dicts and a number": [*[{}] * 5, 5.0],
        "X of dicts with a field too many": [{"x0": 1.0, "no such feature": 1.0}] * 6,
        "X that is None": None,
        "X that is text": "rows",
        "X that is a number": 5,
    }
    for what, rows in bad.items():
        refuses(learner, f"{what} when learning", learner.partial_fit, rows, y)
        refuses(learner, f"{what} in test_then_train", learner.test_then_train, rows, y)
        refuses(learner, f"{what} in play", learner.play, rows, y, np.arange(6))
        refuses(learner, f"{what} when predicting", learner.predict_proba, rows)
    for what, row in {"infinity": infinite[4], "a value too few": X[0, :3], "text": "x", "None": None}.items():
        refuses(learner, f"a record with {what} in learn_one", learner.learn_one, row, 0)
        refuses(learner, f"a record with {what} in predict_one", learner.predict_one, row)


@promise
def bad_labels_change_nothing(make: Make) -> None:
    """Labels that cannot be used are refused with a sentence; the learner stays as it was."""
    learner = trained(make)
    X, y = data(6, seed=23)
    bad: dict[str, Any] = {
        "y that is None": None,
        "y that is a number": 1,
        "y that is text": "labels",
        "y with a label too few": y[:5],
        "y with a label too many": np.r_[y, 0],
        "y of another type": ["a"] * 6,
        "y of two types": [0, 1, "a", 1, 0, 0],
        "y with NaN": [0.0, 1.0, np.nan, 1.0, 0.0, 0.0],
        "y with None": [0, 1, None, 1, 0, 0],
        "y with lists": [[0], [1], [2], [1], [0], [0, 1]],
        "y of two dimensions": np.c_[y, y],
    }
    for what, labels in bad.items():
        refuses(learner, what, learner.partial_fit, X, labels)
        refuses(learner, f"{what} in test_then_train", learner.test_then_train, X, labels)
    for label in (None, np.nan, "a", [1]):
        refuses(learner, f"the label {label!r} in learn_one", learner.learn_one, X[0], label)
    for events in ([6], [-7], [[0]], ["a"], None):
        refuses(learner, f"events {events} for 6 rows", learner.play, X, y, events)


@promise
def bad_weights_change_nothing(make: Make) -> None:
    """Weights that cannot be used are refused with a sentence; the learner stays as it was."""
    learner = trained(make)
    X, y = data(6, seed=24)
    events = ~np.arange(6)
    bad: dict[str, Any] = {"text": "w", "two dimensions": np.ones((6, 2)), "a weight too few": np.ones(5)}
    bad |= {f"a weight of {v}": [1.0, 1.0, v, 1.0, 1.0, 1.0] for v in (-1.0, np.nan, np.inf)}
    for what, w in bad.items():
        refuses(learner, f"sample_weight with {what}", learner.partial_fit, X, y, w)
        refuses(learner, f"sample_weight with {what} in play", learner.play, X, y, events, w)
    for weight in (-1.0, np.nan, "w", [1.0, 2.0]):
        refuses(learner, f"weight {weight!r}", learner.learn_one, X[0], 0, weight)


@promise
def weight_zero_changes_nothing(make: Make) -> None:
    """A row of weight 0 is not learned, whatever its label, by any verb."""
    learner = trained(make)
    X, y = data(20, seed=25)
    nothing, new = np.zeros(20), y + 100
    with unchanged(learner, "rows of weight 0 must change nothing"):
        learner.partial_fit(X, new, sample_weight=nothing)
        learner.learn_one(X[0], 200, weight=0.0)
    with unchanged(learner, "rows of weight 0 must change nothing in test_then_train"):
        P = learner.test_then_train(X, new, nothing)
    expect(P.shape[0] == 20, f"test_then_train must predict rows of weight 0 too, got {P.shape[0]} of 20")
    same(P, learner.predict_proba(X), "test_then_train with weights of 0 must equal predict_proba")
    with unchanged(learner, "rows of weight 0 must change nothing in play"):
        learner.play(X, y, ~np.arange(20), nothing)


@promise
def weight_one_is_no_weight(make: Make) -> None:
    """Weights of 1, as an array or as one number, are the same as none."""
    X, y = data(250, seed=26)
    plain = make().partial_fit(X, y).state()
    for w in (np.ones(250), 1.0, [1] * 250):
        same_state(plain, make().partial_fit(X, y, sample_weight=w).state(), "weights of 1 must be the same as none")


@promise
def an_empty_chunk_changes_nothing(make: Make) -> None:
    """No rows: nothing is learned, nothing predicted, no error."""
    learner = trained(make)
    X, y = np.zeros((0, 4)), np.zeros(0, dtype=np.int64)
    with unchanged(learner, "an empty chunk must change nothing"):
        learner.partial_fit(X, y)
        for P in (learner.predict_proba(X), learner.test_then_train(X, y), learner.play(X, y, [])):
            expect(P.shape == (0, 3), f"no rows must give shape (0, classes), got {P.shape}")
        expect(len(learner.predict(X)) == 0, "predict of no rows must give no labels")
