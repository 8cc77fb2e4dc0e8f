"""The stronger cover of balls: against a slow twin, the accuracies asked for, its parts, and in trouble."""

from itertools import product

import numpy as np
import pytest

from rows_to_try import ball_rows, real_rows, schema_of
from thalweg import SEA, BallCover, BallCoverPlus, load, plot_balls, save
from thalweg.checks import parts
from twins.ball_cover_plus import SlowBallCoverPlus

KINDS = (None, 3, None, None, 4)
"""Numbers, and how many values the nominal features have."""
NUMBERS = (None,) * 5


def rows_of(seed, n, kinds=NUMBERS, **options):
    return ball_rows(seed, n, kinds, **options)


def compare(X, y, kinds=NUMBERS, *, w=None, **options):
    """Let learner and twin go through the rows side by side."""
    fast = BallCoverPlus(**options).declare(schema_of(kinds))
    slow = SlowBallCoverPlus([k is not None for k in kinds], **options)
    w = np.ones(len(y)) if w is None else w
    got = fast.test_then_train(X, y, w)
    for r in range(len(y)):
        if slow.classes:
            expected = slow.proba(X[r])
            np.testing.assert_allclose(got[r, : slow.classes], expected, rtol=1e-7, atol=1e-12, err_msg=f"row {r}")
        if w[r] > 0:
            slow.learn(X[r], int(y[r]), w[r])
    assert fast.n_balls == len(slow.balls)
    for ball, other in zip(fast.balls, slow.balls, strict=True):
        assert ball.counts == {c: other.counts[c] for c in sorted(other.counts)}
        assert ball.mistakes == other.mistakes
        np.testing.assert_allclose(ball.centre, other.centre, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ball.radius, other.radius, rtol=1e-9)
    np.testing.assert_allclose(list(fast.errors.values()), slow.errors, rtol=1e-9)
    np.testing.assert_allclose(fast.relevance, slow.factors**2, rtol=1e-9)
    return fast, slow


@pytest.mark.parametrize("kinds", [NUMBERS, KINDS])
@pytest.mark.parametrize("scale", ["online", "minmax", None])
def test_it_does_what_its_slow_twin_does(scale, kinds):
    X, y = rows_of(1, 300, kinds)
    w = np.random.default_rng(2).integers(0, 4, len(y)) / 2
    for flags, weights in product(((False, False), (True, False), (False, True), (True, True)), (None, w)):
        options = {"open_on_mistake": flags[0], "recent": flags[1], "max_balls": 30}
        compare(X, y, kinds, w=weights, scale=scale, **options)
    compare(X, y, kinds, scale=scale)


def test_equal_distances_and_the_smallest_covers():
    X, y = rows_of(3, 400, whole=True)
    compare(X, y, scale=None)
    compare(X, y, scale=None, max_balls=2)
    compare(X, y, max_balls=5, recent=True, open_on_mistake=True)


def test_mistakes_open_balls_while_these_win():
    rng = np.random.default_rng(4)
    X, noise = rng.random((2000, 2)), rng.integers(0, 2, 2000)
    clean = ((np.floor(X[:, 0] * 8) + np.floor(X[:, 1] * 8)) % 2).astype(int)
    balls = {}
    for name, y in (("clean", clean), ("noise", noise)):
        plain, opening = (BallCoverPlus(open_on_mistake=flag).partial_fit(X, y) for flag in (False, True))
        balls[name] = opening.n_balls / plain.n_balls
    assert balls["clean"] > 5
    assert balls["noise"] < 2


def test_relevance_finds_the_features_that_matter():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 20))
    y = (X[:, 3] > 0).astype(int)
    plus, plain = (learner(max_balls=50).partial_fit(X[:1500], y[:1500]) for learner in (BallCoverPlus, BallCover))
    assert plus.relevance.argmax() == 3
    assert plus.relevance[3] > 10
    assert plus.relevance.min() > 1 / 3
    np.testing.assert_allclose(plus.relevance.mean(), 1.0)
    right, before = ((learner.predict(X[1500:]) == y[1500:]).mean() for learner in (plus, plain))
    assert right > before + 0.2


def test_whoever_errs_least_answers():
    rng = np.random.default_rng(6)
    X, y = rng.random((900, 2)), np.repeat(np.arange(9) % 2, 100)  # labels come in runs: the last one knows
    learner = BallCoverPlus(max_balls=20, recent=True).partial_fit(X, y)
    assert set(learner.errors) == {"vote", "signs", "last", "recent"}
    assert learner.answers in ("last", "recent", "signs")
    assert learner.errors[learner.answers] == min(learner.errors.values())


REACHED = {  # at 1 % of the rows, at 10 %
    "electricity": (0.88, 0.895), "gas_sensor_drift_no7no10": (0.975, None), "spambase": (0.79, 0.88),
    "magic": (0.785, 0.815),
}  # fmt: skip


@pytest.mark.parametrize("name", REACHED)
def test_it_reaches_what_was_asked(name):
    X, y = real_rows(name)
    for share, bar in zip((0.01, 0.1), REACHED[name], strict=True):
        if bar is not None:
            learner = BallCoverPlus(max_balls=int(share * len(y)))
            guesses = learner.test_then_train(X, y).argmax(axis=1)
            assert (learner.classes_[guesses] == y).mean() >= bar
            assert learner.n_balls <= share * len(y)


def test_the_limit_holds_and_memory_stays():
    chunk = SEA(seed=2).read(40_000)
    learner, sizes = BallCoverPlus(max_balls=100, recent=True, open_on_mistake=True), []
    for i in range(0, 40_000, 5_000):
        learner.partial_fit(chunk.X[i : i + 5_000], chunk.y[i : i + 5_000])
        assert learner.n_balls <= 50
        sizes.append(learner.state_bytes)
    assert sizes[-1] == sizes[1]


def test_classes_that_appear_one_by_one():
    rng = np.random.default_rng(10)
    centres = np.stack(np.divmod(np.arange(50), 8), axis=1) * 10.0
    learner = BallCoverPlus(scale=None, max_balls=200)
    for c in range(50):
        learner.learn_one(centres[c], f"class {c}")
        known = rng.integers(0, c + 1, 30)
        learner.partial_fit(centres[known] + rng.normal(0, 0.5, (30, 2)), [f"class {k}" for k in known])
    X = np.repeat(centres, 20, axis=0) + rng.normal(0, 0.5, (1000, 2))
    assert (learner.predict(X) == np.repeat([f"class {c}" for c in range(50)], 20)).mean() > 0.95


@pytest.mark.parametrize("options", [{}, {"max_balls": 20, "recent": True, "open_on_mistake": True}])
def test_the_same_without_compilation_and_after_a_save(options, tmp_path):
    learner = BallCoverPlus(**options)
    parts.same_uncompiled(learner)
    X, y = rows_of(15, 260)
    learner.partial_fit(X[:150], y[:150])
    save(learner, tmp_path / "model")
    twin = load(tmp_path / "model")
    assert twin.test_then_train(X[150:], y[150:]).tobytes() == learner.test_then_train(X[150:], y[150:]).tobytes()
    parts.same_state(twin.state(), learner.state(), "after a save")


def test_extreme_numbers():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 3)) * 10.0 ** rng.integers(-300, 300, (200, 1))
    for scale in ("online", "minmax", None):
        learner = BallCoverPlus(scale=scale, max_balls=10, recent=True)
        P = learner.test_then_train(X, rng.integers(0, 2, 200))
        assert np.isfinite(P).all()
        np.testing.assert_allclose(P[2:].sum(axis=1), 1.0)
        learner.copy().restore(learner.state())


def test_features_may_join():
    learner = BallCoverPlus(recent=True, max_balls=10)
    for i in range(30):
        learner.learn_one({"a": float(i % 5), "b": float(i % 3)}, i % 2)
    learner.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, 0)
    assert learner.balls[0].centre.shape == learner.relevance.shape == (3,)
    assert set(learner.predict_proba_one({"a": 1.0, "b": 2.0, "c": 3.0})) == {0, 1}


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"max_balls": 1}, ValueError, "max_balls must lie in"),
        ({"max_balls": 3, "recent": True}, ValueError, "max_balls must lie in"),
        ({"recent": 1}, TypeError, "recent must be True or False"),
        ({"open_on_mistake": "yes"}, TypeError, "open_on_mistake must be True or False"),
        ({"scale": "window"}, ValueError, "scale must be one of"),
    ],
)
def test_bad_parameters_get_a_sentence(options, error, sentence):
    with pytest.raises(error, match=sentence):
        BallCoverPlus(**options)


def test_damaged_tables_are_refused():
    X, y = rows_of(14, 100)
    learner = BallCoverPlus(recent=True, max_balls=20).partial_fit(X, y)

    def loop(state):
        state["entries"][0, 1] = 0

    def many(state):
        state["head"][0] = 10**6

    def infinite(state):
        state["tiles"][0, 0, 0] = np.inf

    def narrow(state):
        state["balls"] = state["balls"][:, :3].copy()

    def unknown(state):
        state["codes"][0] = 99

    def nobody(state):
        state["marks"][0, 3] = -1

    for damage in (loop, many, infinite, narrow, unknown, nobody):
        state = learner.state()
        damage(state)
        with parts.unchanged(learner, damage.__name__), pytest.raises(ValueError, match="its (table|links)"):
            learner.restore(state)


# -- novelty and confidence -------------------------------------------------------------------------------------------


def bits(learner):
    return {name: table.tobytes() for name, table in learner.state().items()}


def test_novelty_is_measured_from_the_nearest_ball():
    X, y = rows_of(31, 400)
    learner = BallCoverPlus(scale=None, max_balls=25).partial_fit(X[:300], y[:300])
    balls, stretched = learner.balls, np.r_[X[300:], X[:5] + 60.0] * np.sqrt(learner.relevance)
    far = np.linalg.norm(stretched[:, None] - np.stack([b.centre for b in balls])[None], axis=2)
    nearest = far.argmin(axis=1)
    radii = np.array([b.radius for b in balls])[nearest]
    expected = np.maximum(far.min(axis=1) - radii, 0.0) / radii
    assert (expected == 0).any()
    assert (expected > 1).any()
    np.testing.assert_allclose(learner.novelty(np.r_[X[300:], X[:5] + 60.0]), expected, rtol=1e-9, atol=1e-12)


def test_what_lies_outside_the_cover_is_new_and_uncertain():
    learner = BallCoverPlus(scale=None)
    assert np.isinf(learner.novelty([[0.0]])).all()
    assert learner.confidence([[0.0]]).tolist() == [0.0]
    assert np.isinf(learner.learn_one([0.0], "a").novelty([[0.0]])).all()  # one row makes no ball
    learner.partial_fit(np.tile([[1.0], [0.1], [0.9], [0.0]], (10, 1)), ["b", "a", "b", "a"] * 10)
    novelty = learner.novelty([[0.0], [1.0], [3.0], [300.0]])
    assert novelty[0] == novelty[1] == 0.0
    assert 0 < novelty[2] < novelty[3]
    sure = learner.confidence([[1.0], [2.1], [3.0], [300.0]])
    assert (np.diff(sure) <= 0).all()
    assert sure[0] > sure[2] > sure[3]


def test_confidence_and_probabilities_tell_where_it_errs():
    chunk = SEA(noise=0.0, seed=3).read(14_000)
    learner = BallCoverPlus(max_balls=300).partial_fit(chunk.X[:10_000], chunk.y[:10_000])
    X, y = chunk.X[10_000:], chunk.y[10_000:]
    before, right = bits(learner), learner.predict(X) == y
    for sure in (learner.confidence(X), learner.predict_proba(X).max(axis=1)):
        assert ((sure >= 0) & (sure <= 1)).all()
        order = np.argsort(sure, kind="stable")
        assert right[order[:1000]].mean() < 0.95  # nearly all mistakes are among the least sure quarter
        assert right[order[1000:]].mean() > 0.99
    assert bits(learner) == before  # looking changes nothing
    assert learner.confidence(X[:50], delta=1e-9).sum() < learner.confidence(X[:50], delta=0.5).sum()
    with pytest.raises(ValueError, match=r"delta must lie in \(0.0, 1.0\), got 1"):
        learner.confidence(X, delta=1)


def test_a_class_that_the_ball_does_not_count_is_not_sure():
    X = np.r_[np.zeros((40, 1)), np.ones((40, 1)), np.zeros((1, 1))]
    learner = BallCoverPlus(scale=None).partial_fit(X, ["a"] * 40 + ["b"] * 40 + ["b"])
    counts = learner.balls[0].counts
    assert counts["a"] > counts["b"]
    sure = learner.confidence([[0.0]])[0]
    assert (sure > 0) == (learner.predict([[0.0]])[0] == "a")


# -- pictures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [BallCover, BallCoverPlus])
@pytest.mark.parametrize("scale", ["online", "minmax", None])
def test_a_picture_of_the_balls(make, scale, tmp_path):
    pytest.importorskip("matplotlib")
    X, y = rows_of(20, 300)
    learner = make(scale=scale, max_balls=15)
    picture = plot_balls(learner, X, y, tmp_path / "balls.svg", times=(50, 300), features=(0, 3))
    assert learner.n_balls == 0  # a copy learned
    assert "15 after 300 rows" in picture.alt
    assert (tmp_path / "balls.svg").read_text().count("<title>") == 1
    drawn = [p for p in picture.figure.axes[1].patches if p.get_fill()]
    assert len(drawn) == 15
    centres = np.array([p.get_center() for p in drawn])
    low, high = X[:, [0, 3]].min(axis=0) - 1, X[:, [0, 3]].max(axis=0) + 1
    assert ((centres > low) & (centres < high)).all()  # in the units of the rows


def test_an_animation_of_the_balls(tmp_path):
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    X, y = rows_of(21, 200)
    plot_balls(BallCover(max_balls=10), X, y, tmp_path / "balls.gif", times=(50, 100, 200), features=(0, 3))
    with image.open(tmp_path / "balls.gif") as film:
        assert film.n_frames == 3


def test_pictures_refuse_what_cannot_be_drawn(tmp_path):
    X, y = rows_of(22, 50)
    with pytest.raises(ValueError, match="must have the metric 'euclidean'"):
        plot_balls(BallCover(metric="manhattan"), X, y)
    with pytest.raises(TypeError, match="learner must be a BallCover"):
        plot_balls(None, X, y)
    with pytest.raises(ValueError, match="times must rise"):
        plot_balls(BallCover(), X, y, times=(20, 10))
    with pytest.raises(ValueError, match="features must lie in"):
        plot_balls(BallCover(), X, y, features=(0, 9))
    with pytest.raises(ValueError, match=r"path must end in one of"):
        plot_balls(BallCover(), X, y, tmp_path / "balls.bmp")
