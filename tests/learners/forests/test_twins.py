"""The forests against their slow twins: every answer, every warning, every replacement."""

import numpy as np
import pytest

from changing import MIXED, by_appearance, changing, schema_of
from thalweg import (
    AdaptiveRandomForest,
    Feature,
    LeveragingBagging,
    OnlineBagging,
    OnlineSmoothBoost,
    Schema,
    StreamingRandomPatches,
)
from thalweg.detectors.any_jit import mean_error
from twins.ddm import SlowDDM
from twins.eddm import SlowEDDM
from twins.forest import (
    ErrorRise,
    Levels,
    SlowAdaptiveRandomForest,
    SlowLeveragingBagging,
    SlowOnlineBagging,
    SlowRandomPatches,
    SlowSmoothBoost,
)
from twins.hddm_a import SlowHDDMA
from twins.hddm_w import SlowHDDMW
from twins.page_hinkley import SlowPageHinkley

EAGER = {"grace_period": 30, "delta": 0.1, "tau": 0.2, "binary_splits": False, "smoothing": 0.0}


def rise(delta):
    """Make ADWINs."""
    return lambda: ErrorRise(delta=delta)


def adwin(delta):
    """The same for the fast forest."""
    return f"adwin(delta={delta})"


def follow(forest, twin, X, y, w=None, kinds=MIXED, *, open=False, pace=None):
    """Test, then train both; every answer must be the same, and at the end every member."""
    forest.declare(schema_of(kinds, open=open))
    n = len(y)
    pace = pace or n
    parts = [
        forest.test_then_train(X[a : a + pace], y[a : a + pace], None if w is None else w[a : a + pace])
        for a in range(0, n, pace)
    ]
    got = [row for part in parts for row in part]
    for r in range(n):
        x = X[r].tolist()
        if twin.known:
            wanted = twin.proba(x)
            np.testing.assert_allclose(got[r][: twin.known], wanted, rtol=1e-9, atol=1e-12, err_msg=f"row {r}")
            assert not got[r][twin.known :].any()
            if len(wanted) == 1 or np.diff(sorted(wanted))[-1] > 1e-9:
                assert got[r].argmax() == int(np.argmax(wanted))
        twin.learn(x, int(y[r]), 1.0 if w is None else float(w[r]))
    for member, slow in zip(forest.members, twin.members, strict=True):
        leaves = slow.tree.leaves()
        assert member.leaves == len(leaves)
        assert (member.warnings, member.drifts) == (slow.warnings, len(slow.replaced))
        assert member.age == twin.rows - slow.born
        assert member.background == (slow.background is not None)
        np.testing.assert_allclose(member.accuracy, slow.right / slow.seen if slow.seen else np.nan, rtol=1e-12)
    assert forest.replacements == sorted((row, t) for t, m in enumerate(twin.members) for row in m.replaced[-18:])
    if forest._plan.drift is not None:
        code, table = forest._plan.drift.code, forest._arrays["drift"]
        errors = [mean_error(code, table, t) for t in range(len(twin.members))]
        np.testing.assert_allclose(errors, [slow.drift.estimate for slow in twin.members], rtol=1e-9, atol=1e-12)
    return grown(twin), counted(twin)


def grown(twin):
    """Splits of the trees that stand at the end."""
    return sum(len(member.tree.leaves()) - 1 for member in twin.members)


def counted(twin):
    """How often what happened."""
    return {what: sum(kind == what for kind, *_ in twin.happened) for what in ("warning", "swap", "alone", "worst")}


def weights(seed, n):
    """Some rows weigh nothing, others a little or much."""
    rng = np.random.default_rng(seed)
    return rng.exponential(1.0, n) * (rng.random(n) < 0.9)


# -- bagging ----------------------------------------------------------------------------------------------------------


def test_online_bagging():
    X, y = changing(1, 900, missing=0.1, classes=4, late=120)
    w = weights(1, len(y))
    y = by_appearance(y, w)
    splits, happened = follow(
        OnlineBagging(size=17, seed=5, **EAGER), SlowOnlineBagging(MIXED, size=17, seed=5, **EAGER), X, y, w
    )
    assert splits > 30
    assert not any(happened.values())


@pytest.mark.parametrize("classes", [2, 4])
def test_adwin_bagging(classes):
    X, y = changing(2, 1600, classes=classes, missing=0.05, every=400)
    _, happened = follow(
        OnlineBagging(size=4, drift=adwin(0.1), seed=3, **EAGER),
        SlowOnlineBagging(MIXED, size=4, detector=rise(0.1), seed=3, **EAGER),
        X, y,
    )  # fmt: skip
    assert happened["worst"] > 3


@pytest.mark.parametrize("codes", [False, True])
@pytest.mark.parametrize("sampling", ["poisson", "missed", "half", "one_more", "any"])
def test_leveraging_bagging(sampling, codes):
    X, y = changing(3, 1200, classes=4, every=300, late=100)
    options = {"size": 3, "sampling": sampling, "codes": codes, "seed": 2, **EAGER}
    splits, happened = follow(
        LeveragingBagging(drift=adwin(0.9), **options),
        SlowLeveragingBagging(MIXED, detector=rise(0.9), **options),
        X, y, pace=300,
    )  # fmt: skip
    assert splits > 3
    assert happened["worst"] > 0


@pytest.mark.parametrize("codes", [False, True])
def test_leveraging_bagging_of_several_shards(codes):
    X, y = changing(4, 350, missing=0.2, classes=4)
    options = {"size": 17, "rate": 2.5, "codes": codes, **EAGER}
    forest = LeveragingBagging(drift=None, **options)
    splits, _ = follow(forest, SlowLeveragingBagging(MIXED, **options), X, y)
    assert splits > 10
    assert len(forest._shards) == 3


def test_output_codes_with_the_range_of_two_classes():
    X, y = changing(5, 1200, classes=5)
    options = {"size": 3, "codes": True, "leaf_range": False, **EAGER, "tau": 0.0}
    splits, _ = follow(
        LeveragingBagging(drift=None, **options), SlowLeveragingBagging(MIXED, **options), X, y
    )  # fmt: skip
    assert splits > 3


def test_a_branch_that_no_row_has_taken_answers_as_its_parent_did_after_learning_too():
    rng = np.random.default_rng(6)
    n = 1200
    X = np.column_stack([rng.choice([0, 1, 2, 2], n), rng.normal(size=n)]).astype(float)
    X[800::10, 0] = rng.integers(3, 12, 40)  # branches that are empty when their turn comes, and often the draw is 0
    y = by_appearance((X[:, 0] == 1.0).astype(int))
    kinds = (12, None)
    options = {"size": 6, **EAGER, "grace_period": 200}
    splits, _ = follow(
        OnlineBagging(drift=adwin(1e-6), **options),
        SlowOnlineBagging(kinds, detector=rise(1e-6), **options),
        X, y, kinds=kinds,
    )  # fmt: skip
    assert splits >= 6 * 11


# -- boosting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("classes", "gamma"), [(2, 0.1), (4, 0.3)])
@pytest.mark.parametrize("variant", ["plain", "ocp", "exp"])
def test_smooth_boost(variant, classes, gamma):
    X, y = changing(7, 1000, classes=classes, every=500, missing=0.05, late=60)
    w = weights(2, len(y))
    y = by_appearance(y, w)
    options = {"size": 5, "gamma": gamma, "weights": variant, **EAGER}
    forest, twin = OnlineSmoothBoost(**options), SlowSmoothBoost(MIXED, **options)
    splits, _ = follow(forest, twin, X, y, w, pace=130)
    assert splits > 5
    alphas = [member.alpha for member in twin.members]
    assert (len(set(alphas)) > 1) == (variant != "plain")


# -- adaptive random forest -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 4])
def test_adaptive_random_forest(classes):
    X, y = changing(8, 1500, classes=classes, every=375, missing=0.05, late=100)
    w = weights(3, len(y))
    y = by_appearance(y, w)
    splits, happened = follow(
        AdaptiveRandomForest(size=9, drift=adwin(0.1), warning=adwin(0.5), seed=4, **EAGER),
        SlowAdaptiveRandomForest(MIXED, size=9, m=3, drift=rise(0.1), warning=rise(0.5), seed=4, **EAGER),
        X, y, w,
    )  # fmt: skip
    assert splits > 20
    assert happened["warning"] > 5
    assert happened["swap"] > 3


@pytest.mark.parametrize(
    "options",
    [
        {"detect_before": True},
        {"background_sampled": True, "rate": 2.0},
        {"weighted_vote": False, "criterion": "gini"},
        {"leaf": "majority", "binary_splits": True},
        {"leaf": "bayes", "null_merit": "zero", "leaf_range": False},
    ],
    ids=str,
)
def test_adaptive_random_forest_with_other_options(options):
    X, y = changing(9, 1200, classes=3, every=400)
    _, happened = follow(
        AdaptiveRandomForest(size=3, subspace=2, drift=adwin(0.02), warning=adwin(0.2), **EAGER | options),
        SlowAdaptiveRandomForest(MIXED, size=3, m=2, drift=rise(0.02), warning=rise(0.2), **EAGER | options),
        X, y,
    )  # fmt: skip
    assert happened["swap"] > 0


@pytest.mark.parametrize("options", [{"smoothing": 0.03}, {"smoothing": 0.1, "leaf": "bayes"}], ids=str)
def test_a_smoothed_spread(options):
    X, y = changing(9, 1200, classes=3, every=400)
    _, happened = follow(
        AdaptiveRandomForest(size=3, subspace=3, drift=adwin(0.3), warning=adwin(0.6), **EAGER | options),
        SlowAdaptiveRandomForest(MIXED, size=3, m=3, drift=rise(0.3), warning=rise(0.6), **EAGER | options),
        X, y,
    )  # fmt: skip
    assert happened["warning"] > 0


@pytest.mark.parametrize("warning", [1e-9, None])
def test_drifts_that_find_no_background_tree(warning):
    X, y = changing(10, 1500, every=300)
    options = {"size": 4, "detect_before": True, **EAGER}
    _, happened = follow(
        AdaptiveRandomForest(warning="none" if warning is None else adwin(warning), drift=adwin(0.3), **options),
        SlowAdaptiveRandomForest(
            MIXED, m=3, drift=rise(0.3), warning=None if warning is None else rise(warning), **options
        ),
        X, y,
    )  # fmt: skip
    assert happened["alone"] > 3


def test_warnings_without_a_drift():
    X, y = changing(11, 1500, every=300)
    _, happened = follow(
        AdaptiveRandomForest(size=3, drift=adwin(1e-12), warning=adwin(0.9), **EAGER),
        SlowAdaptiveRandomForest(MIXED, size=3, m=3, drift=rise(1e-12), warning=rise(0.9), **EAGER),
        X, y,
    )  # fmt: skip
    assert happened["warning"] > 3


def test_a_forest_that_never_replaces():
    X, y = changing(12, 800, every=200)
    _, happened = follow(
        AdaptiveRandomForest(size=3, drift="none", subspace="all", **EAGER),
        SlowAdaptiveRandomForest(MIXED, size=3, m=6, **EAGER),
        X, y,
    )  # fmt: skip
    assert not any(happened.values())


def test_the_forest_of_several_shards():
    X, y = changing(13, 900, every=300, classes=3, missing=0.05)
    forest = AdaptiveRandomForest(size=17, drift=adwin(0.3), warning=adwin(0.9), seed=8, **EAGER)
    twin = SlowAdaptiveRandomForest(MIXED, size=17, m=3, drift=rise(0.3), warning=rise(0.9), seed=8, **EAGER)
    _, happened = follow(forest, twin, X, y)
    assert len(forest._shards) == 3
    assert happened["swap"] > 3


@pytest.mark.parametrize("pace", [None, 1])
def test_open_features_whose_values_come_one_after_the_other(pace):
    X, y = changing(14, 1000, kinds=(None, 40, 30), every=250, classes=3)
    rng = np.random.default_rng(14)
    n = np.arange(len(y))
    for f in (1, 2):  # new values all the time
        X[:, f] = np.where(rng.random(len(y)) < 0.7, X[:, f], (n // (25 + f * 10))).astype(int)
    kinds = (None, 0, 0)
    _, happened = follow(
        AdaptiveRandomForest(size=4, subspace=2, drift=adwin(0.5), warning=adwin(0.9), **EAGER),
        SlowAdaptiveRandomForest(kinds, size=4, m=2, drift=rise(0.5), warning=rise(0.9), **EAGER),
        X, y, kinds=kinds, open=True, pace=pace,
    )  # fmt: skip
    assert happened["swap"] > 0


@pytest.mark.parametrize("m", [2, 3])
def test_features_that_join(m):
    X, y = changing(21, 900, kinds=(None, 3, None, None), every=300)
    forest = AdaptiveRandomForest(size=3, subspace=m, drift=adwin(0.3), warning=adwin(0.9), **EAGER)
    twin = SlowAdaptiveRandomForest([None, 3, None], size=3, m=m, drift=rise(0.3), warning=rise(0.9), **EAGER)
    features = schema_of((None, 3, None)).features
    forest.declare(Schema(features))
    for r in range(len(y)):
        if r == 300:
            twin.values.append(None)
            forest.grow(Schema((*features, Feature("late"))))
        x = X[r, : len(twin.values)]
        if r:
            np.testing.assert_allclose(forest.predict_proba([x])[0], twin.proba(x.tolist()), rtol=1e-9, atol=1e-12)
        forest.partial_fit([x], y[r : r + 1])
        twin.learn(x.tolist(), int(y[r]))
    assert {f for member in twin.members for _, f, _ in member.tree.splits} >= {0, 1, 2, 3}


# -- random patches ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["patches", "subspaces", "resampling"])
def test_random_patches(method):
    X, y = changing(15, 1200, every=300, classes=3, missing=0.05, late=100)
    w = weights(4, len(y))
    y = by_appearance(y, w)
    splits, happened = follow(
        StreamingRandomPatches(size=7, method=method, drift=adwin(0.3), warning=adwin(0.9), seed=6, **EAGER),
        SlowRandomPatches(MIXED, size=7, k=4, method=method, drift=rise(0.3), warning=rise(0.9), seed=6, **EAGER),
        X, y, w,
    )  # fmt: skip
    assert splits > 10
    assert happened["swap"] > 2


def test_patches_are_drawn_anew_where_there_is_no_background_tree():
    X, y = changing(16, 1500, every=300)
    twin = SlowRandomPatches(MIXED, size=3, k=2, drift=rise(0.05), detect_before=True, **EAGER)
    first = [member.tree.patch for member in twin.members]
    options = {"size": 3, "subspace": 2, "drift": adwin(0.05), "warning": "none", "detect_before": True}
    _, happened = follow(StreamingRandomPatches(**options, **EAGER), twin, X, y)
    assert happened["alone"] > 3
    assert first != [member.tree.patch for member in twin.members]


def test_patches_of_many_features_and_more_members_than_subsets():
    kinds = (None,) * 24
    X, y = changing(17, 600, kinds=kinds, every=300)
    follow(
        StreamingRandomPatches(size=3, subspace=0.25, drift=adwin(0.05), warning=adwin(0.3), **EAGER),
        SlowRandomPatches(kinds, size=3, k=6, drift=rise(0.05), warning=rise(0.3), **EAGER),
        X, y, kinds=kinds,
    )  # fmt: skip
    kinds = (None,) * 3
    X, y = changing(18, 400, kinds=kinds)
    follow(
        StreamingRandomPatches(size=8, subspace=2, drift=None, **EAGER),
        SlowRandomPatches(kinds, size=8, k=2, **EAGER),
        X, y, kinds=kinds,
    )  # fmt: skip


# -- the other detectors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "slow"),
    [
        ("ddm", SlowDDM),
        ("eddm", SlowEDDM),
        ("hddm-a", SlowHDDMA),
        ("hddm-w(delta=0.05, warning_delta=0.1)", lambda: SlowHDDMW(delta=0.05, warning_delta=0.1)),
        ("page-hinkley(threshold=10)", lambda: SlowPageHinkley(threshold=10)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_detectors(name, slow):
    X, y = changing(19, 900, every=300)
    _, happened = follow(
        AdaptiveRandomForest(size=3, drift=name, warning=adwin(0.3), detect_before=True, rate=1.0, **EAGER),
        SlowAdaptiveRandomForest(
            MIXED, size=3, m=3, drift=lambda: Levels(slow()), warning=rise(0.3), detect_before=True, rate=1.0, **EAGER
        ),
        X, y,
    )  # fmt: skip
    assert happened["swap"] + happened["alone"] > 0
    X, y = changing(20, 700, every=300)
    _, happened = follow(
        OnlineBagging(size=3, drift=name, **EAGER),
        SlowOnlineBagging(MIXED, size=3, detector=lambda: Levels(slow()), **EAGER),
        X, y,
    )  # fmt: skip
    assert happened["worst"] > 0
