"""Promises of a learner: one loop, what a prediction is, and streams of every sort."""

from typing import Any

import numpy as np

from thalweg.checks.parts import (
    Floats,
    Make,
    Promises,
    by_rows,
    data,
    expect,
    is_proba,
    loop_equals_chunks,
    pad,
    refuses,
    same,
    same_state,
    trained,
    unchanged,
)
from thalweg.core.schema import Feature, Schema

CHECKS = promise = Promises()


# -- one loop ---------------------------------------------------------------------------------------------------------


@promise
def chunks_equal_rows(make: Make) -> None:
    """test_then_train gives, at any chunk size, the bits of predicting and learning row by row."""
    loop_equals_chunks(make, *data(700))


@promise
def weighted_chunks_equal_rows(make: Make) -> None:
    """So it does with weights, some of them 0."""
    X, y = data(seed=1)
    loop_equals_chunks(make, X, y, np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(y)))


@promise
def text_chunks_equal_rows(make: Make) -> None:
    """So it does where columns are text, and new words appear all along."""
    try:
        import pyarrow as pa
    except ImportError:
        return
    X, y = data(300, seed=36)
    rng = np.random.default_rng(36)
    words = [f"word{rng.integers(0, 3 + i // 20)}" for i in range(len(y))]
    table = pa.table({"size": X[:, 0], "word": words})
    runs = []
    for size in (1, 13, len(y)):
        learner = make()
        rows: list[Floats] = []
        for i in range(0, len(y), size):
            part = slice(i, i + size)
            rows += list(learner.test_then_train(table.slice(i, size), y[part]))
        runs.append((pad(rows, len(learner.classes_)), learner.state()))
    for proba, state in runs[1:]:
        same(runs[0][0], proba, "text columns, by chunks, must equal row by row")
        same_state(runs[0][1], state, "text columns, by chunks, must lead to the state of row by row")


@promise
def learning_by_chunks_equals_learning_by_rows(make: Make) -> None:
    """partial_fit learns rows in order: how many at a time does not matter."""
    X, y = data(seed=2)
    whole = make().partial_fit(X, y)
    for size in (1, 7):
        learner = make()
        for i in range(0, len(y), size):
            learner.partial_fit(X[i : i + size], y[i : i + size])
        same_state(whole.state(), learner.state(), f"partial_fit by {size} rows must equal partial_fit of all")


@promise
def late_labels_equal_a_slow_loop(make: Make) -> None:
    """Play, with labels that come late, out of order or never, equals predicting and learning in that order."""
    X, y = data(250, seed=3)
    rng = np.random.default_rng(3)
    due = np.arange(len(y)) + rng.integers(0, 40, len(y)) + 0.5
    when = [(float(i), i) for i in range(len(y))]
    when += [(t, ~i) for i, t in enumerate(due.tolist()) if i % 5]  # every fifth label never comes
    events = np.array([e for _, e in sorted(when)])
    played, slow = make(), make()
    got = played.play(X, y, events)
    rows: list[Floats] = [np.zeros(0)] * len(y)
    for e in events.tolist():
        if e >= 0:
            rows[e] = slow.predict_proba(X[e : e + 1])[0]
        else:
            slow.partial_fit(X[~e : ~e + 1], y[~e : ~e + 1])
    same(pad(rows, len(slow.classes_)), got, "play must equal predicting and learning in the order of its events")
    same_state(slow.state(), played.state(), "play must lead to the state of the single events")


@promise
def one_record_equals_one_row(make: Make) -> None:
    """learn_one, predict_proba_one and predict_one give what the verbs for rows give, for a row and for a dict."""
    X, y = data(250, seed=4)
    rows, ones, named = make(), make(), make()
    expected = by_rows(rows, X, y)
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        record = {f"x{f}": float(v) for f, v in enumerate(x)}
        for learner, one in ((ones, x), (named, record)):
            proba = learner.predict_proba_one(one)
            got = np.array(list(proba.values()))
            same(expected[i : i + 1, : len(got)], got[None, :], "predict_proba_one must equal predict_proba")
            best = learner.predict_one(one)
            ok = best is None if not proba else proba[best] == max(proba.values())
            expect(ok, f"predict_one must give the most probable label, got {best!r} of {proba}")
            learner.learn_one(one, label)
    same_state(rows.state(), ones.state(), "learn_one must lead to the state of partial_fit")
    tables = [{k: v for k, v in one.state().items() if k != "schema"} for one in (rows, named)]
    same_state(tables[0], tables[1], "learn_one with a dict must lead to the state of partial_fit")


# -- what a prediction is ---------------------------------------------------------------------------------------------


@promise
def probabilities_sum_to_one(make: Make) -> None:
    """Probabilities are finite, at least 0, and sum to 1, at every moment after the first label."""
    X, y = data(seed=5)
    learner = make()
    P = learner.test_then_train(X, y)
    expect(not P[0].any(), "the first row must have probability 0 for every class: none is known")
    is_proba(P[1:], "while learning")
    is_proba(learner.predict_proba(X), "after learning")


@promise
def predict_gives_the_most_probable_label(make: Make) -> None:
    """Predict gives the label in classes_ with the highest probability, the first among equals."""
    X, y = data(seed=6)
    learner = make().partial_fit(X, y)
    best = learner.classes_[learner.predict_proba(X).argmax(axis=1)]
    expect(np.array_equal(learner.predict(X), best), "predict must give the most probable label")
    expect(learner.predict_proba(X).shape == (len(X), len(learner.classes_)), "predict_proba must be rows × classes_")
    share = float(np.mean(learner.predict(X) == y))
    expect(learner.score(X, y) == share, f"score must be the share of rows predicted right, {share}")


@promise
def predicting_changes_nothing(make: Make) -> None:
    """Predicting leaves the state as it is, and gives the same twice."""
    learner, X = trained(make), data(100, seed=7)[0]
    with unchanged(learner, "predicting must change nothing"):
        first = learner.predict_proba(X)
        learner.predict(X)
        learner.predict_one(X[0])
        learner.predict_proba_one(dict(zip(learner.schema.names, X[1], strict=True)) if learner.schema else X[1])
        same(first, learner.predict_proba(X), "predicting twice must give the same")
    same(first[::-1].copy(), learner.predict_proba(X[::-1]), "a prediction must not depend on the rows beside it")


@promise
def works_before_any_label(make: Make) -> None:
    """A learner that has seen nothing predicts: no columns, None for every row."""
    learner, X = make(), data(5)[0]
    with unchanged(learner, "predicting before any label must change nothing"):
        P = learner.predict_proba(X)
        expect(P.shape == (5, 0), f"predict_proba before any label must have shape (5, 0), got {P.shape}")
        names = learner.predict(X).tolist()
        expect(names == [None] * 5, f"predict before any label must give None for each row, got {names}")
        expect(learner.predict_one(X[0]) is None, "predict_one before any label must give None")
        expect(learner.predict_proba_one(X[0]) == {}, "predict_proba_one before any label must give {}")
    expect(learner.classes_.shape == (0,), "classes_ before any label must be empty")


# -- streams of every sort --------------------------------------------------------------------------------------------


@promise
def one_class_only(make: Make) -> None:
    """A stream with one class has probability 1 for it."""
    X, _ = data(300, seed=8)
    learner = make()
    P = learner.test_then_train(X, np.full(300, 7))
    expect(P.shape == (300, 1), f"one class must give one column, got shape {P.shape}")
    is_proba(P[1:], "with one class")
    expect((learner.predict(X) == 7).all(), "with one class it must be predicted")


@promise
def constant_features(make: Make) -> None:
    """Features that never change, one or all, are no trouble."""
    X, y = data(300, seed=9)
    X[:, 1] = 3.0
    is_proba(make().test_then_train(X, y)[1:], "with a constant feature")
    is_proba(make().test_then_train(np.zeros_like(X), y)[1:], "with constant features only")


@promise
def one_feature(make: Make) -> None:
    """One feature is enough."""
    X, y = data(300, features=1, seed=10)
    loop_equals_chunks(make, X, y)


@promise
def many_features(make: Make) -> None:
    """More features than rows are no trouble."""
    X, y = data(60, features=200, seed=11)
    is_proba(make().test_then_train(X, y)[1:], "with 200 features")


@promise
def new_class_in_mid_stream(make: Make) -> None:
    """A class that appears late gets a column of its own, with probability 0 in the rows before it."""
    X, y = data(400, seed=12)
    y = np.where(np.arange(400) < 300, y % 2, y + 3)
    learner = loop_equals_chunks(make, X, y)
    expect(sorted(learner.classes_.tolist()) == [0, 1, 3, 4, 5], f"classes_ must be those seen, {learner.classes_}")
    P = make().test_then_train(X, y)
    is_proba(P[1:], "with a class that appears late")
    expect(not P[:301, 2:].any(), "a class must have probability 0 before it appears")


@promise
def many_classes(make: Make) -> None:
    """A hundred classes are no trouble."""
    X, y = data(400, classes=100, seed=13)
    learner = loop_equals_chunks(make, X, y)
    is_proba(learner.predict_proba(X), "with many classes")


@promise
def labels_of_any_type(make: Make) -> None:
    """Labels may be text, numbers, truth values or bytes; only their identity matters."""
    X, y = data(250, classes=2, seed=14)
    expected = make().test_then_train(X, y)
    kinds: dict[str, list[Any]] = {
        "text": ["no", "yes"], "float": [0.5, -2.0], "bool": [False, True], "bytes": [b"n", b"y"], "int": [5, -3],
    }  # fmt: skip
    for kind, names in kinds.items():
        labels = [names[c] for c in y]
        learner = make()
        same(expected, learner.test_then_train(X, labels), f"{kind} labels must give the same probabilities")
        got = learner.predict(X[:5]).tolist()
        expect(all(v in names for v in got), f"predict must give the user's own labels {names}, got {got}")


@promise
def declared_classes(make: Make) -> None:
    """Classes that are declared have a column from the first row on, and no other may come."""
    X, y = data(250, seed=15)
    names = ("c", "a", "b", "never")
    labels = np.array(names)[y]
    schema = Schema.numeric(X.shape[1], classes=names)
    learner = loop_equals_chunks(lambda: make().declare(schema), X, labels)
    expect(tuple(learner.classes_.tolist()) == names, f"classes_ must be those declared, got {learner.classes_}")
    is_proba(make().declare(schema).test_then_train(X, labels), "with declared classes, from the first row")
    refuses(learner, "a class that was not declared", learner.partial_fit, X[:1], ["new"])


@promise
def nominal_features(make: Make) -> None:
    """Nominal features are taken as codes; a value never seen may come when predicting."""
    X, y = data(300, seed=16)
    X[:, 0], X[:, 1] = np.digitize(X[:, 0], [-3, 3]), y == 1
    words = Feature("colour", values=("red", "green", "blue")), Feature("flag", values=("no", "yes"))
    schema = Schema((*words, Feature("size"), Feature("weight")))
    learner = loop_equals_chunks(lambda: make().declare(schema), X, y)
    unseen = X[:5].copy()
    unseen[:, 0] = 3.0
    is_proba(learner.predict_proba(unseen), "for a nominal value never seen")
    for code in (-1.0, 0.5):
        unseen[2, 0] = code
        refuses(learner, f"the nominal code {code}", learner.partial_fit, unseen, y[:5])


@promise
def missing_values(make: Make) -> None:
    """NaN is refused, or where ``missing`` is "native" taken anywhere: single cells, whole rows, whole features."""
    X, y = data(300, seed=17)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[:, 2] = np.nan
    X[0], X[50] = np.nan, np.nan
    if make().missing != "native":
        learner = trained(make)
        refuses(learner, "NaN in X when learning", learner.partial_fit, X, y)
        refuses(learner, "NaN in X when predicting", learner.predict_proba, X)
        return
    learner = loop_equals_chunks(make, X, y)
    is_proba(make().test_then_train(X, y)[1:], "with missing values")
    is_proba(learner.predict_proba(np.full((1, 4), np.nan)), "for a row of missing values only")


@promise
def extreme_values(make: Make) -> None:
    """The largest and smallest numbers there are never lead to NaN."""
    X, y = data(300, seed=18)
    extremes = [1e300, -1e300, 5e-324, -1e-310, 1.7e308, 1e154, 0.0, -0.0]
    X[::3, 0] = np.resize(extremes, 100)
    X[:, 1] *= 1e-310
    X[:, 2] = np.where(y == 0, 1e300, -1e300)
    learner = make()
    is_proba(learner.test_then_train(X, y)[1:], "with extreme values")
    is_proba(learner.predict_proba(np.full((1, 4), 1.7e308)), "for an extreme row")
    is_proba(learner.partial_fit(*data(50)).predict_proba(X), "after extreme values")
