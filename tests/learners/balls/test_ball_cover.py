"""A cover of balls: against a slow twin, the published guarantee, prototypes' accuracies, and in trouble."""

import math
from itertools import product

import numpy as np
import pytest

from rows_to_try import ball_rows, real_rows, schema_of
from thalweg import SEA, Schema, load, save
from thalweg.checks import parts
from thalweg.learners.balls import ball_index_jit
from thalweg.learners.balls.ball_cover import BallCover
from twins.ball_cover import SlowBallCover, soft

KINDS = (None, 3, None, None, 4)
"""Numbers, and how many values the nominal features have."""
NUMBERS = (None,) * 5


def rows_of(seed, n, kinds=NUMBERS, **options):
    return ball_rows(seed, n, kinds, **options)


def compare(X, y, kinds=NUMBERS, *, w=None, exact=True, **options):
    """Let learner and twin go through the rows side by side; every probability and every ball must be the same."""
    fast = BallCover(**options).declare(schema_of(kinds))
    slow = SlowBallCover([k is not None for k in kinds], **options)
    w = np.ones(len(y)) if w is None else w
    got = fast.test_then_train(X, y, w)
    for r in range(len(y)):
        if slow.classes:
            expected = slow.proba(X[r])
            if exact:
                np.testing.assert_array_equal(got[r, : slow.classes], expected, err_msg=f"row {r}")
            else:
                np.testing.assert_allclose(got[r, : slow.classes], expected, rtol=1e-6, err_msg=f"row {r}")
        if w[r] > 0:
            slow.learn(X[r], int(y[r]), w[r])
    assert fast.n_balls == len(slow.balls)
    for ball, other in zip(fast.balls, slow.balls, strict=True):
        assert ball.id == other.id
        assert ball.counts == other.counts
        assert ball.mistakes == other.mistakes
        np.testing.assert_allclose(ball.centre, other.centre, rtol=0 if exact else 1e-6, atol=0 if exact else 1e-9)
        np.testing.assert_allclose(ball.radius, slow.radius(other), rtol=1e-14 if exact else 1e-6)
    assert fast.n_outside == slow.outside
    if options.get("variant", "").startswith("base"):
        assert fast.phase == (slow.phase, slow.dhat)
    return fast, slow


# -- the slow twin ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [NUMBERS, KINDS])
@pytest.mark.parametrize("scale", ["online", "minmax", None])
@pytest.mark.parametrize("variant", ["base", "base-adj", "auto", "auto-adj"])
def test_it_does_what_its_slow_twin_does(variant, scale, kinds):
    X, y = rows_of(1, 260, kinds, classes=2 if variant == "base" else 3)
    w = np.random.default_rng(2).integers(0, 4, len(y)) / 2
    for start, weights in product(("samples", "labels"), (None, w)):
        compare(X, y, kinds, w=weights, variant=variant, scale=scale, start=start)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "hamming", "cosine", "angular", "mahalanobis"])
def test_metrics(metric):
    X, y = rows_of(3, 300, whole=metric == "hamming")
    for variant, scale in product(("auto", "auto-adj"), ("online", None)):
        if metric != "hamming" or variant == "auto":
            compare(X, y, metric=metric, variant=variant, scale=scale, exact=metric != "mahalanobis")
    if metric in ("manhattan", "chebyshev", "hamming"):
        compare(*rows_of(4, 300, KINDS, whole=True), KINDS, metric=metric, variant="auto")


@pytest.mark.parametrize("discard", ["rate", "count", "uniform", "oldest", "least-recent"])
def test_a_bounded_cover(discard):
    X, y = rows_of(5, 500)
    for limit in (2, 20):
        fast, _ = compare(X, y, max_balls=limit, discard=discard, seed=3)
        assert fast.n_balls == limit


def test_ties_go_to_the_lowest_id():
    X, y = rows_of(6, 400, whole=True)
    compare(X, y, scale=None)
    compare(X, y, scale=None, max_balls=30)
    compare(X, y, scale=None, start="labels")


def test_base_goes_through_phases():
    rng = np.random.default_rng(7)
    X = rng.random((3000, 5))
    X[:, 2] = 0.0
    y = (X[:, 0] > 0.5).astype(int)
    y[:2] = 0, 1
    fast, slow = compare(X, y, variant="base", scale=None, diameter=2.0)
    assert fast.phase[0] > 1
    assert fast.phase[0] <= fast.phase[1] <= 4
    assert fast.n_balls <= 4**slow.dhat * slow.t ** (slow.dhat / (2 + slow.dhat)) + 1
    wide, _ = compare(X * 10, y, variant="base-adj", scale=None, diameter=0.5)
    assert wide.n_outside > 0


def test_the_tree_of_balls_changes_no_bit(monkeypatch):
    rng = np.random.default_rng(8)
    X, y = rng.random((6000, 3)), rng.integers(0, 2, 6000)
    X[:, 2] *= 0.1
    options = {"dimension": 0.0, "scale": None}
    runs = []
    for least in (128, 1 << 40):
        monkeypatch.setattr(ball_index_jit, "LEAST_TREE", least)
        learner = BallCover(**options)
        P = np.vstack([learner.test_then_train(X[i : i + 700], y[i : i + 700]) for i in range(0, 4900, 700)])
        runs.append((P, learner))
    assert runs[0][1]._index.tables.head[ball_index_jit.I_ROOT] >= 0
    assert runs[1][1]._index.tables.head[ball_index_jit.I_ROOT] < 0
    assert runs[0][1].n_balls > 500
    assert runs[0][0].tobytes() == runs[1][0].tobytes()
    parts.same_state(runs[0][1].state(), runs[1][1].state(), "tree or not")
    monkeypatch.setattr(ball_index_jit, "LEAST_TREE", 128)
    twin = BallCover(**options)
    twin.restore(runs[0][1].state())  # makes another tree
    last = X[4900:], y[4900:]
    assert twin.copy().test_then_train(*last).tobytes() == runs[0][1].test_then_train(*last).tobytes()
    bounded = [BallCover(**options, max_balls=600).partial_fit(X, y) for _ in range(2)]
    monkeypatch.setattr(ball_index_jit, "LEAST_TREE", 1 << 40)
    plain = BallCover(**options, max_balls=600).partial_fit(X, y)
    assert bounded[0]._index.tables.head[ball_index_jit.I_ROOT] >= 0
    parts.same_state(bounded[0].state(), plain.state(), "a bounded cover, tree or not")


# -- the paper --------------------------------------------------------------------------------------------------------


def test_a_ball_shrinks_as_it_errs_and_a_pure_one_never():
    learner = BallCover(scale=None).partial_fit([[0.0], [1.0]], ["a", "b"])
    assert [ball.radius for ball in learner.balls] == [1.0, 1.0]
    learner.partial_fit([[0.1], [0.3], [0.2]], ["a"] * 3)
    np.testing.assert_allclose(learner.balls[0].centre, np.mean([0.0, 0.1, 0.3, 0.2]))
    assert learner.balls[0].radius == 1.0
    for mistakes, radius in ((1, 1.0), (2, 0.841), (3, 0.760)):
        learner.partial_fit([[0.1]], ["b"])
        assert learner.balls[0].mistakes == mistakes
        np.testing.assert_allclose(learner.balls[0].radius, radius, atol=1e-3)
        np.testing.assert_allclose(learner.balls[0].centre, 0.15)
    learner.partial_fit([[5.0]], ["c"])
    assert learner.balls[2].radius == 4.0  # the distance from the nearest centre


def test_the_start_by_samples_and_by_labels():
    X = [[0.0], [0.5], [2.0]]
    assert [b.radius for b in BallCover(scale=None).partial_fit(X, [0, 0, 1]).balls] == [0.5, 0.5, 1.5]
    literal = BallCover(scale=None, start="labels").partial_fit(X, [0, 0, 1])
    assert [(b.radius, b.counts) for b in literal.balls] == [(2.0, {0: 2.0}), (2.0, {1: 1.0})]
    waiting = BallCover(scale=None, start="labels").partial_fit([[1.0]] * 3, [0, 1, 1])
    assert [b.counts for b in waiting.balls] == [{0: 1.0, 1: 2.0}]
    np.testing.assert_allclose(waiting.predict_proba([[1.0]]), [[2 / 5, 3 / 5]])


def test_the_soft_threshold():
    assert soft(0, 0) == soft(5, 10) == 0.5
    assert (soft(0, 10), soft(10, 10)) == (0.0, 1.0)
    y = (np.arange(400) % 4 == 3).astype(int)  # all at one place, every fourth is 1
    p = (
        BallCover(variant="base", diameter=1.0)
        .declare(Schema.numeric(1, classes=(0, 1)))
        .test_then_train(np.zeros((400, 1)), y)
    )
    assert abs(np.abs(y - p[:, 1]).sum() - y.sum() - 0.8) < 0.5  # 51.5 for Laplace's estimate itself


@pytest.mark.parametrize("labels", ["noisy", "adversary", "clean"])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_regret_inequality(d, labels):
    rng = np.random.default_rng(d)
    X, n = rng.random((1200, d)), 1200
    smooth = np.clip(2 * (X[:, 0] - 0.25), 0, 1)  # a rule that is 2-Lipschitz
    learner = BallCover(variant="base", scale=None, diameter=math.sqrt(d)).declare(Schema.numeric(d, classes=(0, 1)))
    slow = SlowBallCover([False] * d, variant="base", scale=None, diameter=math.sqrt(d))
    slow.classes = 2
    loss, y, draws = 0.0, np.zeros(n, dtype=int), rng.random(n)
    for t in range(n):
        p = learner.predict_proba(X[t : t + 1])[0, 1] if t else 0.5
        y[t] = {"noisy": draws[t] < smooth[t], "adversary": p < 0.5, "clean": X[t, 0] > 0.5}[labels]
        loss += abs(y[t] - p)
        learner.partial_fit(X[t : t + 1], y[t : t + 1])
        slow.learn(X[t], int(y[t]))
    assert learner.n_balls == len(slow.balls)
    inside = sum(e for kind, e in slow.log if kind == "inside")
    sizes = [n for kind, n in slow.log if kind == "closed"] + [b.total for b in slow.balls]
    extra = sum(math.sqrt(n + 1) + 1.5 for n in sizes) + 1
    for rule, lipschitz in ((smooth, 2.0), (np.full(n, 0.5), 0.0)):
        assert loss <= np.abs(y - rule).sum() + lipschitz * inside + extra


def test_discards_follow_the_rate_of_mistakes():
    X, y = rows_of(9, 300)
    learner = BallCover(max_balls=12, scale=None, seed=5).partial_fit(X, y)
    rates = np.array([(b.mistakes + 1) / (sum(b.counts.values()) + 2) for b in learner.balls])
    before, gone, n = [b.id for b in learner.balls], np.zeros(12), 4000
    state = learner.state()
    for i in range(n):
        state["seeds"] = np.array([i * 7919], dtype=np.uint64)
        learner.restore(state)
        learner.partial_fit([[1e4] * 5], [0])
        gone[[a != b.id for a, b in zip(before, learner.balls, strict=True)].index(True)] += 1
    expected = n * rates / rates.sum()
    assert ((gone - expected) ** 2 / expected).sum() < 31.3  # chi square, 11 degrees, 0.1 %


# -- accuracies of the prototypes -------------------------------------------------------------------------------------

REACHED = {"electricity": 0.749, "gas_sensor_drift_no7no10": 0.967, "spambase": 0.856, "magic": 0.800}


@pytest.mark.parametrize("name", REACHED)
def test_it_reaches_the_accuracy_of_the_prototype(name):
    X, y = real_rows(name)
    X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1e-300)
    learner = BallCover(scale=None, start="labels")
    guesses = learner.test_then_train(X, y).argmax(axis=1)
    assert abs((learner.classes_[guesses] == y).mean() - REACHED[name]) < 0.01


# -- classes, novelty, confidence -------------------------------------------------------------------------------------


def test_classes_that_appear_one_by_one_are_named_after_their_first_record():
    rng = np.random.default_rng(10)
    centres = np.stack(np.divmod(np.arange(50), 8), axis=1) * 10.0
    learner = BallCover(scale=None)
    for c in range(50):
        learner.learn_one(centres[c], f"class {c}")
        assert learner.predict_one(centres[c] + 0.1) == f"class {c}"
        known = rng.integers(0, c + 1, 30)
        learner.partial_fit(centres[known] + rng.normal(0, 0.5, (30, 2)), [f"class {k}" for k in known])
    X = np.repeat(centres, 20, axis=0) + rng.normal(0, 0.5, (1000, 2))
    assert (learner.predict(X) == np.repeat([f"class {c}" for c in range(50)], 20)).mean() > 0.98


def test_the_limit_is_never_exceeded_and_memory_stays():
    chunk = SEA(seed=2).read(60_000)
    learner, sizes = BallCover(max_balls=100), []
    for i in range(0, 60_000, 5_000):
        learner.partial_fit(chunk.X[i : i + 5_000], chunk.y[i : i + 5_000])
        assert learner.n_balls <= 100
        sizes.append(learner.state_bytes)
    assert sizes[-1] == sizes[1]


def test_confidence_and_probabilities_tell_where_it_errs():
    chunk = SEA(seed=3).read(20_000)
    learner = BallCover(max_balls=300).partial_fit(chunk.X[:10_000], chunk.y[:10_000])
    X, y = chunk.X[10_000:], chunk.y[10_000:]
    right = learner.predict(X) == y
    for sure in (learner.confidence(X), learner.predict_proba(X).max(axis=1)):
        assert ((sure >= 0) & (sure <= 1)).all()
        low, high = np.array_split(np.argsort(sure, kind="stable"), 2)
        assert right[high].mean() > right[low].mean() + 0.05


def test_what_lies_outside_the_cover_is_new_and_uncertain():
    learner = BallCover(scale=None)
    assert np.isinf(learner.novelty([[0.0]])).all()
    assert learner.confidence([[0.0]]).tolist() == [0.0]
    learner.partial_fit([[0.0], [1.0], [0.1], [0.9]], ["a", "b", "a", "b"])
    novelty = learner.novelty([[0.0], [1.0], [3.0], [300.0]])
    assert novelty[0] == novelty[1] == 0.0
    assert 0 < novelty[2] < novelty[3]
    sure = learner.predict_proba([[1.0], [2.1], [3.0], [300.0]])[:, 1]
    assert (np.diff(sure) <= 0).all()
    assert sure[0] > sure[2] > 0.5  # the nearest ball decides, however far it is
    assert sure[3] > 0.5


# -- a metric of one's own --------------------------------------------------------------------------------------------


def taxicab(a, b):
    return float(sum(abs(u - v) for u, v in zip(a.tolist(), b.tolist(), strict=True)))


@pytest.mark.parametrize("options", [{}, {"max_balls": 15}, {"variant": "base-adj", "diameter": 30.0}])
def test_a_function_does_what_the_metric_of_that_name_does(options):
    X, y = rows_of(11, 250)
    own, named = BallCover(metric=taxicab, **options), BallCover(metric="manhattan", **options)
    assert own.test_then_train(X, y).tobytes() == named.test_then_train(X, y).tobytes()
    parts.same_state(own.state(), named.state(), "a function of one's own")
    np.testing.assert_array_equal(own.novelty(X), named.novelty(X))
    rows = BallCover(metric=taxicab, **options)
    for i in range(0, 250, 50):
        rows.partial_fit(X[i : i + 50], y[i : i + 50])
    parts.same_state(rows.state(), own.state(), "by chunks")


def test_a_function_that_fails_changes_nothing(tmp_path):
    calls = []

    def broken(a, b):
        calls.append(1)
        return float("nan") if len(calls) > 300 else taxicab(a, b)

    X, y = rows_of(12, 100)
    learner = BallCover(metric=broken).partial_fit(X[:10], y[:10])
    with parts.unchanged(learner, "a metric that fails"), pytest.raises(ValueError, match="metric must give a finite"):
        learner.partial_fit(X, y + 5)
    with pytest.raises(TypeError, match="parameter 'metric' of BallCover must be text"):
        save(learner, tmp_path / "model")


@pytest.mark.parametrize("said", [None, "far", np.zeros(2), -1.0])
def test_a_metric_that_gives_no_number(said: object) -> None:
    X, y = rows_of(12, 10)
    with pytest.raises(ValueError, match="metric must give a finite number ≥ 0, got .* for "):
        BallCover(metric=lambda a, b: said).partial_fit(X, y)


# -- trouble ----------------------------------------------------------------------------------------------------------


def test_base_takes_two_classes():
    X, y = rows_of(13, 100)
    learner = BallCover(variant="base").partial_fit(X[:60], y[:60] % 2)
    with parts.unchanged(learner, "a third class"):
        for call in (lambda: learner.partial_fit(X, y), lambda: learner.learn_one(X[0], 7)):
            with pytest.raises(ValueError, match="at most two classes"):
                call()
    with pytest.raises(ValueError, match="at most two classes"):
        BallCover(variant="base").declare(Schema.numeric(2, classes=("a", "b", "c")))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"variant": "auto-fix"}, "variant must be one of"),
        ({"max_balls": 1}, "max_balls must lie in"),
        ({"discard": "newest"}, "discard must be one of"),
        ({"metric": "cosines"}, "metric must be one of"),
        ({"metric": "hamming"}, "variant must be 'auto' or 'base' for metric 'hamming'"),
        ({"scale": "window"}, "scale must be one of"),
        ({"dimension": -1}, "dimension must lie in"),
        ({"diameter": 0.0}, "diameter must lie in"),
        ({"metric": taxicab, "variant": "base"}, "diameter must be given"),
    ],
)
def test_bad_parameters_get_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        BallCover(**options)


def test_metrics_of_numbers_refuse_nominal_features():
    with pytest.raises(ValueError, match="'f1' is nominal"):
        BallCover(metric="cosine").declare(schema_of(KINDS)).partial_fit(np.zeros((1, 5)), [0])


def test_damaged_tables_are_refused():
    X, y = rows_of(14, 100)
    learner = BallCover().partial_fit(X, y)

    def loop(state):
        state["entries"][0, 1] = 0

    def many(state):
        state["head"][0] = 10**6

    def infinite(state):
        state["points"][0, 0] = np.inf

    def narrow(state):
        state["balls"] = state["balls"][:, :3].copy()

    for damage in (loop, many, infinite, narrow):
        state = learner.state()
        damage(state)
        with parts.unchanged(learner, damage.__name__), pytest.raises(ValueError, match="its (table|links)"):
            learner.restore(state)


def test_features_may_join():
    learner = BallCover()
    for i in range(30):
        learner.learn_one({"a": float(i % 5), "b": float(i % 3)}, i % 2)
    learner.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, 0)
    assert learner.balls[0].centre.shape == (3,)
    assert set(learner.predict_proba_one({"a": 1.0, "b": 2.0, "c": 3.0})) == {0, 1}


@pytest.mark.parametrize("options", [{"variant": "base-adj"}, {"metric": "mahalanobis", "max_balls": 20}])
def test_the_same_without_compilation_and_after_a_save(options, tmp_path):
    learner = BallCover(**options)
    parts.same_uncompiled(learner)
    X, y = rows_of(15, 260)
    learner.partial_fit(X[:150], y[:150])
    save(learner, tmp_path / "model")
    twin = load(tmp_path / "model")
    assert twin.test_then_train(X[150:], y[150:]).tobytes() == learner.test_then_train(X[150:], y[150:]).tobytes()
