"""Where rules come from: this library's trees and forests, scikit-learn's, LightGBM's and XGBoost's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.params import shown
from thalweg.index import trees_jit as jit
from thalweg.index.rules import Floats, Ints, Rules, boxes_of_tree
from thalweg.pool.pool_jit import LEAF, NODE
from thalweg.pool.tree import Tree

_NEEDS = (
    "model must be a tree or a forest of this library, of scikit-learn, LightGBM or XGBoost, whose tests look at one "
    "feature each"
)


def rules_of(model: Any) -> list[Rules]:
    """Take a model apart into rules: a ``Rules`` for each tree, whose ``say`` is the tree's weight.

    A rule votes what its leaf has counted: the share of each class. Leaves that answer by naive Bayes say more than
    that: ``compile`` a forest to keep it. Of a Hoeffding adaptive tree its own leaves are taken, not the alternates.
    LightGBM's and XGBoost's rules vote with the leaf's raw score, for the class that the tree is for.

    Parameters
    ----------
    model : object
        A tree or a forest of this library, or one of LightGBM, XGBoost or scikit-learn.

    Examples
    --------
    >>> from thalweg import SEA, AdaptiveRandomForest
    >>> chunk = SEA(seed=1).read(2_000)
    >>> len(rules_of(AdaptiveRandomForest(size=3).partial_fit(chunk.X, chunk.y)))
    3
    """
    home = type(model).__module__.partition(".")[0]
    if hasattr(model, "_grown_trees") or isinstance(model, Tree):
        return _from_pools(model)
    if hasattr(model, "estimators_") and home == "sklearn":
        parts = np.ravel(model.estimators_).tolist()
        if not all(hasattr(part, "tree_") and hasattr(part, "classes_") for part in parts):
            raise TypeError(f"{_NEEDS}, got {shown(model)}")
        return [_from_sklearn(part.tree_, 1.0 / len(parts)) for part in parts]
    if hasattr(model, "tree_") and hasattr(model, "classes_"):
        return [_from_sklearn(model.tree_, 1.0)]
    if home == "lightgbm":
        return _from_lightgbm(model)
    if home == "xgboost":
        return _from_xgboost(model)
    raise TypeError(f"{_NEEDS}, got {shown(model)}")


# -- ours -------------------------------------------------------------------------------------------------------------


def trees_of(model: Any) -> list[tuple[Any, int, float, Ints]]:
    """The trees of a model of this library: pool, root, weight, and which vote is for each class (-1: none)."""
    if not model._started:
        raise ValueError("model must have seen a row, got one that has not")
    if hasattr(model, "_grown_trees"):
        return list(model._grown_trees())
    return [(model._pool, 0, 1.0, plain_sides(model._pool, len(model._labels)))]


def plain_sides(pool: Any, classes: int) -> Ints:
    """Vote c is for class c, as far as the pool has room for classes."""
    which = np.arange(classes)
    return np.where(which < pool.tally.shape[1] - 1, which, -1)


def _from_pools(model: Any) -> list[Rules]:
    found = []
    for pool, root, weight, sides in trees_of(model):
        nodes, missing, origin = jit.unfold(pool.nodes, pool.tally, root)
        i, parent = origin[:, 0], origin[:, 1]
        i = np.where((parent >= 0) & (pool.tally[i, 0] == 0.0), parent, i)
        counts = np.where(sides >= 0, pool.tally[i][:, 1 + np.maximum(sides, 0)], 0.0)
        found.append((nodes, missing, _shares(counts), pool.tally[origin[:, 0], 0].copy(), weight))
    values = np.array([int(feature.nominal) for feature in model._schema.features], dtype=np.int64)
    for nodes, *_ in found:
        np.maximum(values, _values(nodes, len(values)), out=values)
    return [boxes_of_tree(n, m, values, shares, support, w) for n, m, shares, support, w in found]


def _values(nodes: NDArray[np.void], d: int) -> Ints:
    """How many values of each nominal feature the tests know."""
    values = np.zeros(d, dtype=np.int64)
    for f, t in zip(nodes["feature"].tolist(), nodes["threshold"].tolist(), strict=True):
        if f < LEAF:
            values[-2 - f] = max(values[-2 - f], int(t) + 1 if t >= 0.0 else int(-t))
    return values


def _shares(counts: Floats) -> Floats:
    total = counts.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(np.divide(counts, total, out=np.zeros_like(counts), where=total > 0.0))


# -- others -----------------------------------------------------------------------------------------------------------


def as_double(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """The test that a 64-bit x must pass so that x rounded to 32 bits is ≤ t: then no record need be rounded.

    >>> import numpy as np
    >>> t = as_double(np.array([0.1]))
    >>> [float(np.float32(x)) <= 0.1 for x in (t[0], np.nextafter(t[0], 1.0))]
    [True, False]
    """
    with np.errstate(over="ignore"):
        u = t.astype(np.float32)
    u = np.where(u.astype(np.float64) > t, np.nextafter(u, np.float32(-np.inf)), u)
    v = np.nextafter(u, np.float32(np.inf))
    finite = np.isfinite(v)
    middle = (u.astype(np.float64) + np.where(finite, v, u).astype(np.float64)) / 2.0
    even = u.view(np.uint32) % 2 == 0
    return np.where(finite & np.isfinite(u), np.where(even, middle, np.nextafter(middle, -np.inf)), t)


class _Sprout:
    """A tree that is written node by node, siblings side by side."""

    def __init__(self) -> None:
        self.tests: list[tuple[float, int, int]] = [(0.0, LEAF, 0)]
        self.missing = [-1]
        self.leaves = 0

    def split(self, i: int, f: int, t: float, missing_left: bool) -> int:
        """Let node i test x_f ≤ t; give its first child."""
        first = len(self.tests)
        self.tests[i] = (t, f, first)
        self.tests += [(0.0, LEAF, 0), (0.0, LEAF, 0)]
        self.missing[i] = first if missing_left else first + 1
        self.missing += [-1, -1]
        return first

    def end(self, i: int) -> None:
        """Let node i be the next leaf."""
        self.tests[i] = (0.0, LEAF, self.leaves)
        self.leaves += 1

    def rules(self, d: int, payload: list[Floats], support: list[float], say: float) -> Rules:
        nodes, missing = np.array(self.tests, dtype=NODE), np.array(self.missing, dtype=np.int64)
        return boxes_of_tree(nodes, missing, np.zeros(d, dtype=np.int64), np.array(payload), np.array(support), say)


def _from_sklearn(tree: Any, say: float) -> Rules:
    if tree.n_outputs != 1:
        raise TypeError(f"{_NEEDS}, and which has one output, got {tree.n_outputs}")
    sprout, payload, support = _Sprout(), [], []
    left, right, thresholds = tree.children_left, tree.children_right, as_double(tree.threshold)
    goes_left = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count))
    pending = [(0, 0)]
    while pending:
        i, at = pending.pop(0)
        if left[i] < 0:
            sprout.end(at)
            counts = tree.value[i, 0]
            payload.append(counts / counts.sum())
            support.append(float(tree.weighted_n_node_samples[i]))
        else:
            first = sprout.split(at, int(tree.feature[i]), float(thresholds[i]), bool(goes_left[i]))
            pending += [(left[i], first), (right[i], first + 1)]
    return sprout.rules(int(tree.n_features), payload, support, say)


def _from_lightgbm(model: Any) -> list[Rules]:
    dump = getattr(model, "booster_", model).dump_model()
    d, per_round = dump["max_feature_idx"] + 1, dump["num_tree_per_iteration"]
    classes = max(2, dump["num_class"])
    found = []
    for k, info in enumerate(dump["tree_info"]):
        sprout, payload, support = _Sprout(), [], []
        pending = [(info["tree_structure"], 0)]
        while pending:
            node, at = pending.pop(0)
            if "split_feature" not in node:
                sprout.end(at)
                payload.append(_score(node["leaf_value"], k % per_round if per_round > 1 else 1, classes))
                support.append(float(node.get("leaf_count", 0.0)))
                continue
            kind = node.get("missing_type", "None")
            if node["decision_type"] != "<=" or kind == "Zero":
                raise TypeError(f"{_NEEDS}, by ≤, got a test {node['decision_type']!r} with missing values {kind!r}")
            t = float(node["threshold"])
            first = sprout.split(at, int(node["split_feature"]), t, node["default_left"] if kind == "NaN" else t >= 0.0)
            pending += [(node["left_child"], first), (node["right_child"], first + 1)]
        found.append(sprout.rules(d, payload, support, 1.0))
    return found


def _from_xgboost(model: Any) -> list[Rules]:
    import json

    booster = model.get_booster() if hasattr(model, "get_booster") else model
    learner = json.loads(booster.save_raw("json"))["learner"]
    d, groups = int(learner["learner_model_param"]["num_feature"]), learner["gradient_booster"]["model"]
    classes = max(2, int(learner["learner_model_param"]["num_class"]))
    found = []
    for tree, group in zip(groups["trees"], groups["tree_info"], strict=True):
        if any(tree.get("split_type", ())):
            raise TypeError(f"{_NEEDS}, by <, got a test for a set of categories")
        below = np.nextafter(np.array(tree["split_conditions"], dtype=np.float32), np.float32(-np.inf))
        thresholds = as_double(below.astype(np.float64))
        sprout, payload, support = _Sprout(), [], []
        pending = [(0, 0)]
        while pending:
            i, at = pending.pop(0)
            if tree["left_children"][i] < 0:
                sprout.end(at)
                value = float(tree["split_conditions"][i])
                payload.append(_score(value, group if classes > 2 else 1, classes))
                support.append(float(tree["sum_hessian"][i]))
            else:
                goes_left = bool(tree["default_left"][i])
                first = sprout.split(at, int(tree["split_indices"][i]), float(thresholds[i]), goes_left)
                pending += [(tree["left_children"][i], first), (tree["right_children"][i], first + 1)]
        found.append(sprout.rules(d, payload, support, 1.0))
    return found


def _score(value: float, c: int, classes: int) -> Floats:
    votes = np.zeros(classes)
    votes[c] = value
    return votes
