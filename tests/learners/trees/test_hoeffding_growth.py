"""Tables that grow under a tree: classes, nominal values, features. The twin has no tables and cannot notice."""

import numpy as np
import pytest
from growing import by_appearance, check_leaves, declared, follow, mixed_stream, numeric_stream, structure, tree_stream

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


class Coder:
    """Turns dict rows into the twin's rows; ``learning`` lets new features and new words join, as the library does."""

    def __init__(self, twin):
        self.twin, self.names, self.words = twin, {}, {}

    def __call__(self, row, learning):
        for name in row if learning else ():
            if name not in self.names:
                self.names[name] = len(self.names)
                self.twin.join(0 if name == "colour" else None)
        if learning and "colour" in row:
            self.words.setdefault(row["colour"], len(self.words))
        x = [float("nan")] * len(self.names)
        for name, v in row.items():
            if name in self.names:
                x[self.names[name]] = float(self.words.get(v, len(self.words))) if name == "colour" else v
        return x


@pytest.mark.parametrize("leaf", ["adaptive", "bayes", "majority"])
def test_features_that_join_with_dict_rows(leaf):
    X, y = numeric_stream(4, 1200, d=6)
    colours = np.random.default_rng(5).integers(0, 4, 1200)
    y = by_appearance((y + colours) % 2)
    options = EAGER | {"leaf": leaf}
    tree, twin = HoeffdingTree(**options), SlowHoeffdingTree([], **options)
    code = Coder(twin)
    for r in range(1200):
        row = {f"x{k}": float(X[r, k]) for k in range(1 + min(5, r // 150))}
        if r >= 400:
            row["colour"] = "rgbk"[colours[r]]
        if r % 9 == 0:
            del row["x0"]
        if r:
            got = list(tree.predict_proba_one(row).values())
            np.testing.assert_allclose(got, twin.proba(code(row, learning=False)), rtol=1e-9, err_msg=f"row {r}")
        tree.learn_one(row, int(y[r]))
        twin.learn(code(row, learning=True), int(y[r]))
    assert tree.schema.names == tuple(code.names)
    assert structure(tree._pool) == twin.structure()
    check_leaves(tree._pool, twin)
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


def test_what_a_leaf_was_born_with_is_all_that_its_children_do_not_get():
    X, y = tree_stream(3, 6_000)
    tree = HoeffdingTree(grace_period=50, tau=0.2, leaf="majority")
    born, lost = {(): 0.0}, 0.0  # by the branches on the way: nodes move when tables grow
    for r in range(len(X)):
        tree.learn_one(X[r], int(y[r]))
        view, ways = tree._view(), {}
        for i, _, parent, branch in view.walk():
            ways[i] = (*ways[parent], branch) if parent >= 0 else ()
            if ways[i] not in born:  # its parent has just split
                born[ways[i]] = float(view.tally[i, 0])
                lost += born[ways[parent]] if branch == 0 else 0.0
    ends = [i for i, *_ in view.walk() if view.is_leaf(i)]
    assert lost > 500.0
    assert tree.describe().startswith("6,000 rows")
    assert view.tally[ends, 0].sum() == pytest.approx(6_000 - lost)
