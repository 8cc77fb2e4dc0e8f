"""Rules as boxes: the boxes of one tree hold every record exactly once, and it is the record's own leaf."""

import numpy as np
import pytest

from thalweg import (
    STAGGER,
    AdaptiveRandomForest,
    Agrawal,
    ExtremelyFastDecisionTree,
    HoeffdingAdaptiveTree,
    HoeffdingTree,
    LeveragingBagging,
    RandomRBF,
)
from thalweg.index.rules import Rules, box
from thalweg.index.sources import as_double, rules_of, trees_of
from thalweg.index.trees_jit import unfold
from twins import rules as twin


def hard_rows(rules, X, rng):
    """Rows on thresholds and just beside them, at ±∞, with missing values and values never seen."""
    X = X.copy()
    for f in range(X.shape[1]):
        here = rng.random(len(X))
        if rules[0].values[f]:
            X[here < 0.1, f] = rules[0].values[f] + rng.integers(0, 3)
        else:
            ends = np.concatenate([np.concatenate([r.lo[:, f], r.hi[:, f]]) for r in rules])
            ends = ends[np.isfinite(ends)]
            if len(ends):
                chosen = rng.choice(ends, len(X))
                X[here < 0.4, f] = chosen[here < 0.4]
                X[here < 0.1, f] = np.nextafter(chosen[here < 0.1], rng.choice([-np.inf, np.inf]))
            X[here > 0.97, f], X[here > 0.985, f] = np.inf, -np.inf
        X[rng.random(len(X)) < 0.08, f] = np.nan
    return X


def learned(learner, stream, rows=6_000):
    chunk = stream.read(rows)
    rng = np.random.default_rng(5)
    X = chunk.X.copy()
    X[rng.random(X.shape) < 0.02] = np.nan
    return learner.declare(stream.schema).partial_fit(X, chunk.y), chunk.X


TREES = {
    "tree, nominal": lambda: learned(HoeffdingTree(grace_period=50, delta=0.01, tau=0.5), Agrawal(seed=1)),
    "tree, binary": lambda: learned(HoeffdingTree(binary_splits=True, grace_period=50, tau=0.5), Agrawal(seed=1)),
    "tree, only nominal": lambda: learned(HoeffdingTree(grace_period=50, tau=0.5), STAGGER(seed=1)),
    "adaptive tree": lambda: learned(HoeffdingAdaptiveTree(grace_period=50, tau=0.5), Agrawal(seed=1)),
    "efdt": lambda: learned(ExtremelyFastDecisionTree(grace_period=50), RandomRBF(classes=3, seed=1)),
    "arf": lambda: learned(AdaptiveRandomForest(size=4), Agrawal(seed=1)),
    "codes": lambda: learned(LeveragingBagging(size=3, codes=True, tau=0.5), RandomRBF(classes=4, seed=1)),
}


@pytest.mark.parametrize("name", TREES)
def test_each_row_is_in_one_box_and_it_is_its_leaf(name):
    model, X = TREES[name]()
    ensemble, trees = rules_of(model), trees_of(model)
    assert sum(map(len, ensemble)) > len(ensemble)
    X = hard_rows(ensemble, X[:800], np.random.default_rng(1))
    for rules, (pool, root, weight, _) in zip(ensemble, trees, strict=True):
        found = rules.holds(X)
        assert (found.sum(axis=1) == 1).all()
        _, _, origin = unfold(pool.nodes, pool.tally, root)
        leaf_of_rule = np.full(len(rules), -1)
        leaf_of_rule[rules.leaf_rule[rules.leaf_rule >= 0]] = origin[rules.leaf_rule >= 0, 0]
        for x, i in zip(X[:200], found.argmax(axis=1), strict=False):
            assert leaf_of_rule[i] == twin.find_leaf(pool.nodes, pool.tally, root, x)
            assert [twin.holds(rules, j, x) for j in range(len(rules))].count(True) == 1
        assert rules.say == weight
        total = rules.payload.sum(axis=1)
        assert np.all(np.isclose(total, 1.0) | (total == 0.0)) or name == "codes"


def test_an_impossible_path_is_left_out():
    nodes = np.array([(1.0, 0, 1), (2.0, 0, 3), (0.0, -1, 2), (0.0, -1, 0), (0.0, -1, 1)], dtype=rules_dtype())
    from thalweg.index.rules import boxes_of_tree

    missing = np.array([2, 3, -1, -1, -1])
    rules = boxes_of_tree(nodes, missing, np.zeros(1, dtype=np.int64), np.eye(3), np.ones(3))
    assert len(rules) == 2  # x ≤ 1 and x > 2 at once
    assert rules.leaf_rule.tolist() == [0, -1, 1]
    missing[0], missing[1] = 1, 4
    rules = boxes_of_tree(nodes, missing, np.zeros(1, dtype=np.int64), np.eye(3), np.ones(3))
    assert len(rules) == 3  # but missing values come there
    assert rules.holds([[np.nan], [0.0], [3.0]]).argmax(axis=1).tolist() == [1, 0, 2]


def rules_dtype():
    from thalweg.pool.pool_jit import NODE

    return NODE


def test_scikit_learn_s_forest_to_the_last_bit():
    ensemble = pytest.importorskip("sklearn.ensemble")
    chunk = RandomRBF(classes=4, seed=2).read(2_000)
    X = chunk.X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    forest = ensemble.RandomForestClassifier(7, random_state=1).fit(X, chunk.y)
    ours = rules_of(forest)
    rows = hard_rows(ours, X, np.random.default_rng(3))
    rows[np.isinf(rows)] = 0.0
    scores = np.zeros((len(rows), 4))
    for rules, tree in zip(ours, forest.estimators_, strict=True):
        found = rules.holds(rows)
        assert (found.sum(axis=1) == 1).all()
        answer = rules.payload[found.argmax(axis=1)]
        assert np.array_equal(answer, tree.predict_proba(rows.astype(np.float32)))
        scores += rules.say * answer
    assert np.allclose(scores, forest.predict_proba(rows), atol=1e-15)


def test_a_test_in_32_bits_as_one_in_64():
    rng = np.random.default_rng(0)
    t = np.concatenate([rng.normal(size=500), rng.normal(size=200) * 1e-40, [0.0, -0.0, 1.0, 3e38]])
    ours = as_double(t)
    for x in (ours, np.nextafter(ours, -np.inf)):
        assert (x.astype(np.float32) <= t).all()
    assert (np.nextafter(ours, np.inf).astype(np.float32) > t).all()


def test_hard_votes_targets_and_more_values():
    model, X = TREES["tree, nominal"]()
    [rules] = rules_of(model)
    hard = rules.hard()
    assert set(hard.payload.ravel()) <= {0.0, 1.0}
    assert len(rules.only(0)) + len(rules.only(1)) == (hard.payload.sum(axis=1) > 0).sum()
    wider = rules.widened(np.where(rules.values > 0, rules.values + 40, 0))
    X = hard_rows([rules], X[:300], np.random.default_rng(2))
    assert np.array_equal(wider.holds(X), rules.holds(X))
    assert rules.bounded > 0.5
    with pytest.raises(ValueError, match="values must be"):
        rules.widened(rules.values + 1)
    with pytest.raises(ValueError, match="target must lie"):
        rules.only(2)


def test_lightgbm_s_dump():
    """LightGBM need not be here: what its ``dump_model`` gives is documented."""

    def leaf(v):
        return {"leaf_value": v, "leaf_count": 3}

    inner = {
        "split_feature": 1, "threshold": 0.5, "decision_type": "<=", "default_left": True, "missing_type": "NaN",
        "left_child": leaf(-0.25), "right_child": leaf(0.75),
    }  # fmt: skip
    dump = {"max_feature_idx": 1, "num_tree_per_iteration": 1, "num_class": 1, "tree_info": [{"tree_structure": inner}]}
    model = type("Booster", (), {"dump_model": lambda self: dump, "__module__": "lightgbm.basic"})()
    [rules] = rules_of(model)
    found = rules.holds([[0, 0.5], [0, np.nextafter(0.5, 1)], [0, np.nan]]).argmax(axis=1)
    assert rules.payload[found, 1].tolist() == [-0.25, 0.75, -0.25]
    inner["decision_type"] = "=="
    with pytest.raises(TypeError, match="model must be"):
        rules_of(model)


def test_xgboost_s_json():
    """The same for XGBoost: x < t in 32 bits."""
    import json

    tree = {
        "left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_conditions": [0.1, -1.0, 2.0],
        "split_indices": [0, 0, 0], "default_left": [0, 0, 0], "sum_hessian": [5.0, 2.0, 3.0], "split_type": [0, 0, 0],
    }  # fmt: skip
    text = {"learner": {"learner_model_param": {"num_feature": "1", "num_class": "0"},
                        "gradient_booster": {"model": {"trees": [tree], "tree_info": [0]}}}}  # fmt: skip

    def raw(_self, _kind):
        return json.dumps(text).encode()

    model = type("Booster", (), {"save_raw": raw, "__module__": "xgboost.core"})()
    [rules] = rules_of(model)
    t = np.float32(0.1)
    rows = [[np.nextafter(t, np.float32(-1))], [float(t)], [np.nan]]
    assert rules.payload[rules.holds(rows).argmax(axis=1), 1].tolist() == [-1.0, 2.0, 2.0]


def test_what_is_no_tree_is_refused():
    with pytest.raises(TypeError, match="model must be a tree or a forest"):
        rules_of(3)
    with pytest.raises(ValueError, match="must have seen a row"):
        rules_of(HoeffdingTree())
    with pytest.raises(ValueError, match="bounds must be pairs"):
        box([(2.0, 1.0)], [1.0])
    assert isinstance(box([(1.0, 1.0)], [1.0]), Rules)
