"""Tables that grow under a tree: classes, nominal values, features. The twin has no tables and cannot notice."""

import numpy as np
import pytest
from growing import declared, follow, mixed_stream, numeric_stream, structure

from thalweg import HoeffdingTree
from twins.hoeffding import SlowHoeffdingTree

EAGER = {"grace_period": 20, "delta": 0.1, "tau": 0.4}


@pytest.mark.parametrize("leaf", ["adaptive", "majority"])
def test_forty_classes(leaf):
    X, _ = numeric_stream(1, 1200, classes=2)
    rng = np.random.default_rng(2)
    newest = np.arange(1200) // 30
    y = np.where(
        np.arange(1200) % 30 == 0, newest, np.minimum(newest, 2 * (X[:, 0] > X[:, 0].mean()) + rng.integers(0, 2, 1200))
    )
    options = EAGER | {"leaf": leaf}
    tree = HoeffdingTree(**options)
    assert follow(tree, SlowHoeffdingTree([None] * 5, **options), X, y) > 3
    assert len(tree.classes_) == 40


@pytest.mark.parametrize("binary_splits", [True, False])
def test_nominal_values_that_appear_in_mid_stream(binary_splits):
    X, y = mixed_stream(3, 1200, (8, None, 20))
    ceiling = 1 + np.arange(1200) // 100
    X[:, 0] = np.minimum(X[:, 0], ceiling)
    X[:, 2] = (np.arange(1200) * 7) % (1 + ceiling * 2)
    options = EAGER | {"binary_splits": binary_splits}
    tree = declared((1, None, 1), open=True, **options)
    assert follow(tree, SlowHoeffdingTree([0, None, 0], **options), X, y) > 10


@pytest.mark.parametrize(("leaf", "subspace"), [("adaptive", None), ("bayes", None), ("majority", None)])
def test_features_that_join_with_dict_rows(leaf, subspace):
    X, y = numeric_stream(4, 1200, d=6)
    rng = np.random.default_rng(5)
    colours = rng.integers(0, 4, 1200)
    y = (y + colours) % 2
    options = EAGER | {"leaf": leaf, "subspace": subspace}
    tree, twin = HoeffdingTree(**options), SlowHoeffdingTree([], **options)
    names = {}
    for r in range(1200):
        row = {f"x{k}": float(X[r, k]) for k in range(1 + min(5, r // 150))}
        if r >= 400:
            row["colour"] = "rgbk"[colours[r]]
        if r % 9 == 0:
            del row["x0"]
        if r:
            x = [float("nan")] * len(names)
            for name, v in row.items():
                if name in names:
                    x[names[name]] = float(seen.get(v, len(seen))) if name == "colour" else v
            got = list(tree.predict_proba_one(row).values())
            np.testing.assert_allclose(got, twin.proba(x), rtol=1e-9, err_msg=f"row {r}")
        else:
            seen = {}
        for name in row:
            if name not in names:
                names[name] = len(names)
                twin.join(0 if name == "colour" else None)
        if "colour" in row:
            seen.setdefault(row["colour"], len(seen))
        x = [float("nan")] * len(names)
        for name, v in row.items():
            x[names[name]] = float(seen[v]) if name == "colour" else v
        label = int(y[r]) if twin.known == 2 or r == 0 else int(y[r])
        tree.learn_one(row, label)
        twin.learn(x, tree.classes_.tolist().index(label))
    assert tree.schema.names == tuple(names)
    assert structure(tree._pool) == twin.structure()
    assert len(twin.splits) > 5


def test_no_features_at_all():
    tree = HoeffdingTree(**EAGER)
    for y in ("a", "b", "b", "b"):
        tree.learn_one({}, y)
    assert tree.predict_proba_one({}) == {"a": 0.25, "b": 0.75}
    for r in range(200):
        tree.learn_one({"x": float(r % 2) + 0.01 * (r % 7)}, "ab"[r % 2])
    assert tree.predict_one({"x": 0.0}) == "a"
    assert tree.predict_one({"x": 1.0}) == "b"
