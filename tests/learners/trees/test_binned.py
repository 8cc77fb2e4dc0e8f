"""Trees on binned numbers: against a slow twin, the numbers of the bounds, growth, and tables that were damaged."""

import math

import numpy as np
import pytest

from thalweg.learners.trees import binned_jit as o
from thalweg.learners.trees.binned import BinnedTrees, cut_points
from twins import binned_tree as slow

ONES = np.ones(10_000)


def stream(seed, n, features=4, classes=3):
    """Rows whose class follows two features, with noise, few-valued and constant ones beside them."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, features))
    F[:, 1] = np.round(F[:, 1])
    F[:, -1] = 2.0
    y = np.digitize(F[:, 0] + 0.5 * F[:, 1], np.linspace(-1, 1, classes - 1))
    y = np.where(rng.random(n) < 0.1, rng.integers(0, classes, n), y)
    return F, y.astype(np.int64)


def both(F, y, w=ONES, known=None, begin=100, **options):
    """Test then train with both versions; give the probabilities of both, and both."""
    n, K = len(y), int(y.max()) + 1
    fast, twin = BinnedTrees(**options), slow.SlowBinnedTree(**options)
    fast.begin(0, F[:begin])
    twin.begin(F[:begin].tolist())
    out = np.zeros((n, K))
    events = np.stack([np.arange(n), ~np.arange(n)], axis=1).reshape(-1)
    fast.play(F, y, w, events, out, known or K)
    expected = np.zeros((n, K))
    for r in range(n):
        expected[r, : known or K] = twin.proba(F[r].tolist(), known or K)
        twin.learn(F[r].tolist(), int(y[r]), float(w[r]))
    return out, expected, fast, twin


# -- the twin ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", ["majority", "bayes", "adaptive"])
@pytest.mark.parametrize("bound", ["mcdiarmid", "gaussian", "lcb", "hoeffding"])
def test_it_does_what_its_slow_twin_does(bound, leaf):
    F, y = stream(1, 1200)
    w = np.random.default_rng(2).exponential(1.0, len(y))
    eager = {"mcdiarmid": {"delta": 0.9, "tau": 0.1}, "hoeffding": {"delta": 0.3, "tau": 0.1}}.get(
        bound, {"delta": 0.2}
    )
    got, expected, fast, twin = both(F, y, w, bound=bound, leaf=leaf, grace_period=20, bins=9, **eager)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-300)
    assert fast.n_leaves[0] == twin.leaves > 4
    assert fast.importances(0).tolist() == [twin.gains.get(f, 0.0) for f in range(4)]
    assert all(fast.path(0, x) == twin.path(x.tolist()) for x in F[:200])


def test_classes_by_the_dozen_limits_and_missing_values():
    F, y = stream(3, 1500, features=5, classes=40)
    F[np.random.default_rng(4).random(F.shape) < 0.1] = np.nan
    for limit in ({"max_leaves": 7}, {"max_depth": 2}):
        got, expected, fast, twin = both(F, y, grace_period=25, delta=0.3, **limit)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-300)
        assert fast.n_leaves[0] == twin.leaves
        assert fast.n_leaves[0] == 7 if "max_leaves" in limit else fast.depth[0] == 2
    assert fast.tables()["classes"].shape[3] >= 40


def test_many_features_do_not_underflow():
    rng = np.random.default_rng(5)
    F, y = rng.normal(size=(120, 300)), rng.integers(0, 2, 120)
    got, expected, _, _ = both(F, y, leaf="bayes", max_leaves=1)
    assert np.isfinite(got).all()
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    heavy, _, _, _ = both(F, y, np.full(120, 1e100), leaf="bayes", max_leaves=1)
    np.testing.assert_allclose(heavy.sum(axis=1), 1.0)


def test_features_join():
    F, y = stream(6, 1200)
    fast, twin = BinnedTrees(grace_period=25), slow.SlowBinnedTree(grace_period=25)
    fast.begin(0, F[:100, 2:3])
    twin.begin(F[:100, 2:3].tolist())
    first, both_features = np.ascontiguousarray(F[:, 2:3]), np.ascontiguousarray(F[:, [2, 0, 1]])
    fast.learn(0, first[:500], y[:500], ONES[:500])
    fast.add_features(0, both_features[400:500, 1:])
    fast.learn(0, both_features[500:], y[500:], ONES[500:1200])
    for r in range(500):
        twin.learn(first[r].tolist(), int(y[r]))
    twin.add_features(both_features[400:500, 1:].tolist())
    for r in range(500, 1200):
        twin.learn(both_features[r].tolist(), int(y[r]))
    assert fast.n_leaves[0] == twin.leaves > 2
    assert fast.importances(0)[1] > 0.05  # the feature that matters came later
    got = fast.proba(0, both_features[:100], 3)
    np.testing.assert_allclose(got, [twin.proba(x, 3) for x in both_features[:100].tolist()], rtol=1e-12)


def test_trees_share_tables_and_nothing_else():
    F, y = stream(7, 1500)
    alone, three = BinnedTrees(grace_period=25), BinnedTrees(trees=3, grace_period=25)
    alone.begin(0, F[:100])
    alone.learn(0, F, y, ONES[:1500])
    for t in (2, 0, 1):
        three.begin(t, F[:100] if t == 1 else F[100:200, :2])
    for rows in np.array_split(np.arange(1500), 20):
        for t in range(3):
            three.learn(t, F[rows], y[rows], ONES[rows] if t == 1 else (rows % 3).astype(float))
    np.testing.assert_array_equal(three.proba(1, F, 3), alone.proba(0, F, 3))
    assert three.n_features[0] == 2 != three.n_features[1]
    three.begin(1, F[:50])
    assert (three.n_leaves[1], three.depth[1], three.importances(1).sum()) == (1, 0, 0.0)
    assert three.n_leaves[0] > 2
    np.testing.assert_array_equal(three.proba(1, F[:2], 3), 1 / 3)


# -- the numbers of the rules -----------------------------------------------------------------------------------------


def decided(bound, gain, n, second=0.0, delta=0.05, tau=0.0, error=0.0, second_error=0.0):
    """Ask the compiled rule, and the twin's, which must agree."""
    trees = BinnedTrees(bound=bound, delta=delta, tau=tau)
    found = np.zeros(o.FOUND)
    found[o.BEST_GAIN], found[o.BEST_WEIGHT], found[o.SECOND_GAIN] = gain, n, second
    found[o.BEST_ERROR], found[o.SECOND_ERROR] = error, second_error
    answer = bool(o.decide(found, trees._rules))
    rules = {"delta": delta, "grace_period": 50, "tau": tau}
    assert answer == slow.enough(bound, gain, error, second, second_error, n, **rules)
    return answer


@pytest.mark.parametrize(
    ("delta", "rows"),
    [
        (0.05, (96, 600, 2_397, 9_587, 59_915, 239_659)),
        (1e-3, (222, 1_382, 5_527, 22_105, 138_156, 552_621)),
        (1e-7, (516, 3_224, 12_895, 51_578, 322_362, 1_289_448)),
    ],
)
def test_rows_that_mcdiarmid_needs(delta, rows):
    for gap, n in zip((0.5, 0.2, 0.1, 0.05, 0.02, 0.01), rows, strict=True):
        assert decided("mcdiarmid", gap, n, delta=delta)
        assert not decided("mcdiarmid", gap, n - 1, delta=delta)
        assert decided("mcdiarmid", gap + 0.2, n, second=0.2, delta=delta)
        assert decided("hoeffding", gap, math.ceil(n / 16), delta=delta)  # a sixteenth of it


def test_ties():
    assert decided("mcdiarmid", 0.06, 9_587, second=0.06, tau=0.05)
    assert not decided("mcdiarmid", 0.06, 9_580, second=0.06, tau=0.05)
    assert not decided("mcdiarmid", 0.04, 9_587, second=0.04, tau=0.05)
    assert decided("lcb", 0.05, 100, second=0.05, error=0.02, second_error=0.02, tau=0.01)  # 0.05 - 1.645 · 0.02 > 0.01
    assert not decided("lcb", 0.05, 99, second=0.05, error=0.02, second_error=0.02, tau=0.01)
    assert not decided("lcb", 0.05, 100, second=0.05, error=0.03, second_error=0.02, tau=0.01)
    assert not decided("gaussian", 0.05, 100, second=0.05, error=0.02, second_error=0.02, tau=0.01)
    for bound in ("gaussian", "lcb"):
        assert decided(bound, 0.1, 50, second=0.03, error=0.02, second_error=0.02)
        assert not decided(bound, 0.1, 50, second=0.04, error=0.02, second_error=0.02)


def test_the_gain_is_the_paper_s():
    rng = np.random.default_rng(8)
    for _ in range(50):
        left, right = rng.integers(0, 9, 4).astype(float), rng.integers(0, 9, 4).astype(float)
        total = left + right
        got = o.gain_of(left, total, total.sum(), (total**2).sum())
        written = slow.gain_as_written(dict(enumerate(left)), dict(enumerate(right)))
        assert got == pytest.approx(written, abs=1e-14)
    assert o.gain_of(np.array([5.0, 0.0]), np.array([5.0, 5.0]), 10.0, 50.0) == 0.5
    assert o.gain_of(np.zeros(2), np.array([5.0, 5.0]), 10.0, 50.0) == 0.0


def cells(p_left):
    """Shares of two classes left of a cut and in all, with equal classes, of which p and 1 - p lie on the left."""
    return np.array([p_left / 2, (1 - p_left) / 2]), np.array([0.5, 0.5])


def test_rows_that_a_gap_of_0_135_needs():
    """A feature with gain .18 against one with .045: p = (1 + √(2 gain)) / 2."""
    a, b = (cells((1 + math.sqrt(2 * gain)) / 2) for gain in (0.18, 0.045))
    gains = [o.gain_of(left, total, 1.0, 0.5) for left, total in (a, b)]
    assert gains == pytest.approx([0.18, 0.045])
    errors = [o.error_of(left, total, 1.0) for left, total in (a, b)]

    def rows(bound, delta):
        low, high = 1, 100_000
        while low < high:
            n = (low + high) // 2
            scaled = {"error": errors[0] / math.sqrt(n), "second_error": errors[1] / math.sqrt(n)}
            low, high = (low, n) if decided(bound, gains[0], n, gains[1], delta, **scaled) else (n + 1, high)
        return low

    assert [rows("mcdiarmid", delta) for delta in (0.05, 1e-3)] == [1_315, 3_033]
    assert [rows("gaussian", delta) for delta in (0.05, 1e-3)] == pytest.approx([87, 308], rel=0.05)


def test_the_studentised_gain_is_standard_normal():
    """At n = 200 the spec measured mean -.01, sd 1.02, a share of .053 above 1.645."""
    rng = np.random.default_rng(9)
    shares = np.array([0.4, 0.15, 0.1, 0.35])  # left and right of the cut, of two classes: (L0, L1, R0, R1)
    true = o.gain_of(shares[:2], shares[:2] + shares[2:], 1.0, float(((shares[:2] + shares[2:]) ** 2).sum()))
    z = []
    for counts in rng.multinomial(200, shares, size=3000).astype(float):
        left, total = counts[:2], counts[:2] + counts[2:]
        gain = o.gain_of(left, total, 200.0, float((total**2).sum()))
        z.append((gain - true) / o.error_of(left, total, 200.0))
    assert abs(np.mean(z)) < 0.1
    assert np.std(z) == pytest.approx(1.02, abs=0.06)
    assert np.mean(np.array(z) > 1.645) == pytest.approx(0.053, abs=0.02)


def test_cut_points():
    assert cut_points(np.array([3.0, 1.0, 2.0, 1.0]), 3).tolist() == [1.0, 2.0]
    assert cut_points(np.full(50, 7.0), 32).tolist() == []
    assert cut_points(np.full(5, np.nan), 32).tolist() == []
    many = cut_points(np.random.default_rng(0).normal(size=1000), 32)
    assert len(many) == 31
    assert (np.diff(many) > 0).all()
    skewed = np.r_[np.zeros(990), np.arange(1.0, 41.0)]
    assert cut_points(skewed, 32).tolist() == slow.cut_points(skewed.tolist(), 32)


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"trees": 0}, "trees must"),
        ({"bound": "exact"}, "bound must be one of"),
        ({"delta": 1.0}, "delta must lie in"),
        ({"grace_period": 0}, "grace_period must lie in"),
        ({"tau": -0.1}, "tau must lie in"),
        ({"leaf": "nb"}, "leaf must be one of"),
        ({"max_leaves": 0}, "max_leaves must lie in"),
        ({"max_depth": -1}, "max_depth must lie in"),
        ({"bins": 1}, "bins must lie in"),
    ],
)
def test_bad_parameters(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        BinnedTrees(**options)


def test_bad_calls():
    trees = BinnedTrees()
    trees.begin(0, np.random.default_rng(0).random((10, 3)))
    for call, sentence in (
        (lambda: trees.begin(1, np.zeros((5, 2))), "tree must lie in"),
        (lambda: trees.begin(0, np.zeros(5)), "sample must be"),
        (lambda: trees.proba(0, np.zeros((5, 2)), 2), "F must have the 3 features"),
    ):
        with pytest.raises(ValueError, match=sentence):
            call()
    assert trees.n_features[0] == 3


@pytest.fixture(scope="module")
def grown():
    F, y = stream(11, 1500)
    trees = BinnedTrees(trees=2, grace_period=25)
    trees.begin(0, F[:100])
    trees.learn(0, F, y, ONES[:1500])
    assert trees.n_leaves[0] > 4
    return trees, F


def test_the_true_tables_are_taken(grown):
    trees, F = grown
    twin = BinnedTrees(trees=2, grace_period=25)
    twin.adopt({name: table.copy() for name, table in trees.tables().items()})
    np.testing.assert_array_equal(twin.proba(0, F, 3), trees.proba(0, F, 3))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("links", (0, 0, o.NODE_FEATURE), 4),
        ("links", (0, 0, o.NODE_FEATURE), 3),  # the constant one
        ("links", (0, 0, o.NODE_FEATURE), -2),
        ("links", (0, 0, o.NODE_NEXT), 0),
        ("links", (0, 0, o.NODE_NEXT), 3),
        ("links", (0, 1, o.NODE_NEXT), 10**6),
        ("links", (0, 1, o.NODE_DEPTH), 0),
        ("links", (1, 0, o.NODE_NEXT), 1),
        ("sizes", (0, o.TREE_LEAVES), 10**9),
        ("sizes", (0, o.TREE_LEAVES), 1),
        ("sizes", (0, o.TREE_FEATURES), 5),
        ("sizes", (0, o.TREE_FEATURES), 0),
        ("sizes", (1, o.TREE_LEAVES), 0),
        ("n_cuts", (0, 0), 32),
        ("n_cuts", (0, 0), -1),
        ("n_cuts", (1, 0), 3),
        ("cuts", (0, 0, 3), -1e9),
        ("cuts", (0, 0, 3), np.nan),
        ("counts", (0, 0, 0, 0, 0, 0), -1.0),
        ("counts", (0, 1, 0, 0, 1, 0), np.nan),
        ("classes", (0, 0, 0, 0), np.inf),
        ("leaves", (0, 0, 0), np.nan),
        ("thresholds", (0, 0), np.nan),
        ("gains", (0, 0), -1.0),
    ],
)
def test_damaged_tables_are_refused(grown, name, place, value):
    damaged = {key: table.copy() for key, table in grown[0].tables().items()}
    damaged[name][place] = value
    with pytest.raises(ValueError, match="its table"):
        BinnedTrees(trees=2).adopt(damaged)


@pytest.mark.parametrize("name", sorted(BinnedTrees().tables()))
def test_tables_of_another_form_are_refused(grown, name):
    whole = {key: table.copy() for key, table in grown[0].tables().items()}
    for other in (whole[name].astype(np.float32), whole[name][:-1].copy(), whole[name].ravel()):
        with pytest.raises(ValueError, match="its table"):
            BinnedTrees(trees=2).adopt(whole | {name: other})
    with pytest.raises(KeyError):
        BinnedTrees(trees=2).adopt({key: table for key, table in whole.items() if key != name})
    for options in ({"bins": 16}, {"leaf": "majority"}, {"max_leaves": 3}):
        with pytest.raises(ValueError, match="its table"):
            BinnedTrees(trees=2, **options).adopt(whole)
