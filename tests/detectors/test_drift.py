"""The drift detector for tensors: against its plain twin, in every form, at its bars, and with bad input."""

import numpy as np
import pytest

from compiler_off import printed_with_and_without
from thalweg.detectors import tensor_drift as drift_module
from thalweg.detectors.tensor_drift import TensorDriftDetector
from thalweg.detectors.tensor_reference import mean_tensor
from thalweg.streams.generators.sim_tensor import SimTensor
from thalweg.tensors.bases import Decomposition
from thalweg.tensors.forms import CPTensors, SparseTensors
from thalweg.tensors.joining import join, tensors_from, tensors_state
from twins.tensor_drift import TensorDrift

FORMS = ("dense", "cp", "sparse")
RULES = ("cusum", "paper")


def in_form(tensors, form):
    """The same tensors as arrays or factors; as coordinates all but one in eight values is 0."""
    if form == "sparse":
        X = tensors.dense()
        X.reshape(len(X), -1)[:, np.arange(X[0].size) % 8 != 3] = 0.0
        return SparseTensors.from_dense(X)
    return tensors.dense() if form == "dense" else tensors


def written_out(tensors):
    return tensors if isinstance(tensors, np.ndarray) else tensors.dense()


def small(n=500, drift="sudden", seed=3):
    return SimTensor(order=3, size=5, limit=n, drift=drift, changes=1, seed=seed).read_tensors(n)[0]


def same(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


# -- against the twin, and itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_equals_the_twin(form, rule, norm):
    for seed in (3, 4):
        X = in_form(small(seed=seed), form)
        twin = TensorDrift(rule, 40, norm)
        expected = [twin.update(A) for A in written_out(X)]
        detector = TensorDriftDetector(rule=rule, window=40, norm=norm)
        assert detector.update_many(X).tolist() == expected
        assert detector.n_detections == twin.changes > 0 or not norm
        assert detector.level == expected[-1]


@pytest.mark.parametrize("window", [40, 3])
def test_the_paper_window_that_is_summed_up_afresh_equals_the_twin(window):
    X = np.random.default_rng(1).normal(size=(1500, 6))
    twin = TensorDrift("paper", window)
    expected = [twin.update(A) for A in X]
    assert TensorDriftDetector(rule="paper", window=window).update_many(X).tolist() == expected


@pytest.mark.parametrize("options", [{}, {"rule": "paper"}, {"chordal": True}])
@pytest.mark.parametrize("form", FORMS)
def test_chunks_and_states_change_no_bit(form, options):
    X = in_form(small(300), form)
    whole = TensorDriftDetector(window=30, **options)
    levels = whole.update_many(X)
    for sizes in ([1], [7, 1, 64]):
        detector, found, at, k = TensorDriftDetector(window=30, **options), [], 0, 0
        while at < len(X):
            size = sizes[k % len(sizes)]
            found.append(detector.update_many(X[at : at + size]))
            at, k = at + size, k + 1
            if k % 5 == 0:  # a detector that continues elsewhere
                moved = TensorDriftDetector(window=30, **options)
                moved.restore(detector.state())
                detector = moved
        assert np.concatenate(found).tolist() == levels.tolist()
        assert same(detector.state(), whole.state())


def test_a_state_is_a_copy():
    detector = TensorDriftDetector(rule="paper", window=20)
    X = np.random.default_rng(1).normal(size=(100, 4, 4))
    detector.update_many(X[:50])
    kept = detector.state()
    before = {name: part.copy() for name, part in kept.items()}
    detector.update_many(X[50:])
    assert same(kept, before)


def test_blocks_are_only_for_speed(monkeypatch):
    X = small(400)
    expected = TensorDriftDetector(window=20).update_many(X)
    monkeypatch.setattr(drift_module, "BLOCK", 3)
    assert TensorDriftDetector(window=20).update_many(X).tolist() == expected.tolist()


def test_stop_takes_no_tensor_behind_the_first_drift():
    X = small(600)
    once, again = TensorDriftDetector(window=40), TensorDriftDetector(window=40)
    levels = once.update_many(X, stop=True)
    assert levels[-1] == 2
    assert (levels[:-1] < 2).all()
    assert len(levels) < 600
    assert once.n_detections == 1
    assert not once.ready
    assert once.level == 2
    assert again.update_many(X)[: len(levels)].tolist() == levels.tolist()
    rest = once.update_many(X[len(levels) :])
    assert np.concatenate([levels, rest]).tolist() == TensorDriftDetector(window=40).update_many(X).tolist()


def test_a_given_reference_is_the_one_that_would_have_been_collected():
    X = small(300)
    given, own = TensorDriftDetector(window=50), TensorDriftDetector(window=50)
    given.reference(X[:50])
    own.update_many(X[:50])
    assert given.ready
    assert same(given.state(), own.state())
    own.reference(X[100:130])  # any number of them, at any time
    fresh = TensorDriftDetector().reference(X[100:130])
    assert same(fresh.state(), own.state())
    own.reset()
    assert same(own.state(), TensorDriftDetector().state())


def test_tensors_of_a_higher_rank_are_compared_as_they_are():
    rng = np.random.default_rng(2)
    low = CPTensors(np.ones((40, 1)), [rng.normal(size=(40, size, 1)) for size in (4, 3)])
    high = CPTensors(np.ones((40, 3)), [rng.normal(size=(40, size, 3)) for size in (4, 3)])
    for rule in RULES:
        detector, dense = TensorDriftDetector(rule=rule, window=30), TensorDriftDetector(rule=rule, window=30)
        for X in (low, high, low, high):
            assert detector.update_many(X).tolist() == dense.update_many(X.dense()).tolist()


# -- bars -------------------------------------------------------------------------------------------------------------

STILL = {
    "normal, 100": lambda rng, n: rng.normal(size=(n, 100)),
    "gamma, 100": lambda rng, n: rng.gamma(2.0, size=(n, 100)),
    "normal, 8 x 8": lambda rng, n: rng.normal(size=(n, 8, 8)),
    "normal, 3,072": lambda rng, n: rng.normal(size=(n, 32, 32, 3)),
}


@pytest.mark.parametrize("name", STILL)
def test_no_more_than_one_false_drift_in_5_000_tensors(name):
    rng, detector = np.random.default_rng(1), TensorDriftDetector()
    for _ in range(20 if name != "normal, 3,072" else 5):
        detector.update_many(STILL[name](rng, 1000))
    assert detector.n_detections <= (4 if name != "normal, 3,072" else 1)


@pytest.mark.parametrize("name", ["normal, 100", "gamma, 100"])
def test_the_rates_of_the_paper_rule_are_those_of_the_specification(name):
    rng, detector = np.random.default_rng(1), TensorDriftDetector(rule="paper")
    levels = np.concatenate([detector.update_many(STILL[name](rng, 1000)) for _ in range(20)])
    known = {"normal, 100": 46, "gamma, 100": 113}[name]
    assert known / 2 <= detector.n_detections <= known * 2
    compared = len(levels) - 100 * (detector.n_detections + 1)
    assert 0.12 < (levels == 1).sum() / compared < 0.2


@pytest.mark.parametrize(("name", "shift", "delay"), [("normal, 100", 0.5, 12), ("normal, 100", 1.0, 5),
                                                      ("gamma, 100", 0.5, 22), ("gamma, 100", 1.0, 5)])  # fmt: skip
def test_delays_are_those_of_the_specification(name, shift, delay):
    found = []
    for seed in range(15):
        rng = np.random.default_rng([seed, 7])
        detector = TensorDriftDetector(norm=False).reference(STILL[name](rng, 100))
        moved = STILL[name](rng, 300) + shift * (np.sqrt(2.0) if name == "gamma, 100" else 1.0)
        found.append(len(detector.update_many(moved, stop=True)))
    assert delay / 2 <= np.median(found) <= delay * 2


def hits(order, drift, within, n, width, norm=True):
    """For each of a few changes: was it found in time?"""
    found = []
    for seed in range(1, 13):
        stream = SimTensor(order=order, size=20, limit=n, drift=drift, changes=1, width=width, seed=seed)
        levels = TensorDriftDetector(norm=norm).update_many(stream.read_tensors(n)[0])
        at = np.flatnonzero(levels == 2)
        (change,) = stream.drifts
        assert (at >= change).all(), "a false drift"
        found.append(bool(((at >= change) & (at < change + within)).any()))
    return np.mean(found)


@pytest.mark.parametrize("order", [3, 6, 15])
def test_sudden_drifts_are_found_within_100_tensors(order):
    assert hits(order, "sudden", 100, 500, 0.1) >= 0.95


@pytest.mark.parametrize("order", [3, 6, 15])
def test_incremental_drifts_are_found_within_their_width(order):
    assert hits(order, "incremental", 300, 1200, 0.5) >= 0.8


def test_without_the_norm_tensors_that_shrink_are_missed():
    assert hits(6, "sudden", 100, 500, 0.1, norm=False) < 0.8


def test_the_share_of_a_tensor_in_its_own_mean_is_made_up_for(monkeypatch):
    X = np.random.default_rng(1).normal(size=(3000, 1000))
    detector = TensorDriftDetector(window=50, norm=False)
    detector.update_many(X)
    assert detector.n_detections == 0
    monkeypatch.setattr(drift_module, "left_out", lambda measures: measures)
    detector.reset().update_many(X)
    assert detector.n_detections > 10


# -- subspaces --------------------------------------------------------------------------------------------------------


def lines(rng, n, direction, scale):
    """Rank 1 and a little noise, of any scale."""
    size = scale * rng.uniform(0.1, 10.0, size=(n, 1, 1))
    return size * (direction[None, :, :] + 0.1 * rng.normal(size=(n, *direction.shape)))


def test_the_old_word_for_chordal_still_works():
    with pytest.warns(DeprecationWarning, match="'subspace' of TensorDriftDetector is now called 'chordal'"):
        assert TensorDriftDetector(subspace=True).chordal


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_subspaces_see_no_scale_but_a_turn(form):
    rng = np.random.default_rng(1)
    one, other = (np.outer(rng.normal(size=6), rng.normal(size=8)) for _ in range(2))
    make = SparseTensors.from_dense if form == "sparse" else np.asarray
    detector = TensorDriftDetector(chordal=True).reference(make(lines(rng, 100, one, 1.0)))
    assert (detector.update_many(make(lines(rng, 200, one, 50.0))) < 2).all()
    levels = detector.update_many(make(lines(rng, 50, other, 1.0)), stop=True)
    assert levels[-1] == 2
    assert len(levels) < 20


@pytest.mark.parametrize("n", [10, 30])  # of rank 2: means by both routes
def test_the_mean_of_factor_tensors_has_the_subspaces_of_the_array(n):
    rng = np.random.default_rng(4)
    X = CPTensors(rng.normal(size=(n, 2)), [rng.normal(size=(n, size, 2)) for size in (5, 6, 4)])
    for rank in (1, 2):
        how = Decomposition(rank=rank)
        mean, dense = how.of(mean_tensor(X)), how.of(mean_tensor(X.dense()))
        a, b = how.of(X).distances(mean), how.of(X.dense()).distances(dense)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)
        np.testing.assert_allclose(mean.logs, dense.logs, atol=1e-12)


def test_factor_tensors_by_subspaces_equal_arrays():
    X = small(300)
    cp, dense = (TensorDriftDetector(chordal=True, window=60).reference(in_form(X, f)[:60]) for f in ("cp", "dense"))
    np.testing.assert_allclose(cp.state()["table"], dense.state()["table"], atol=1e-8)


# -- odd and bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", FORMS)
def test_a_constant_stream_gives_no_alarm_until_it_changes(form, rule):
    X = small(2)[:1]
    still = in_form(join([X] * 200), form)
    detector = TensorDriftDetector(rule=rule, window=50)
    assert not detector.update_many(still).any()
    other = in_form(join([small(2, seed=9)[:1]] * 10), form)
    assert 2 in detector.update_many(other)


def test_zeros_and_huge_numbers_are_tensors_too():
    with np.errstate(all="ignore"):
        for value in (0.0, 1e200, -1e308):
            for rule in RULES:
                detector = TensorDriftDetector(rule=rule, window=10)
                detector.update_many(np.full((30, 3, 3), value))
                assert not np.isnan(detector.state()["table"]).any()


@pytest.mark.parametrize("form", FORMS)
def test_tensors_written_down_come_back(form):
    tensors = in_form(small(60), form)
    again = tensors_from(tensors_state(join([tensors[:20], tensors[20:]])))
    assert type(again) is type(tensors)
    assert (written_out(again) == written_out(tensors)).all()


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (np.zeros((3, 4, 5)), r"tensors of shape \(4, 4\), got tensors of shape \(4, 5\)"),
        (np.zeros((3, 4)), "tensors of order 2"),
        (np.full((3, 4, 4), np.nan), r"tensors must be finite, got nan at \[0, 0, 0\]"),
        (np.zeros((3, 4, 4), dtype=complex), "tensors must hold real numbers"),
        (SparseTensors.from_dense(np.ones((1, 4, 4))), "form of the reference, dense, got sparse tensors"),
    ],
)
@pytest.mark.parametrize("seen", [5, 30])
def test_bad_tensors_get_a_sentence_and_change_nothing(bad, sentence, seen):
    detector = TensorDriftDetector(window=20)
    detector.update_many(np.random.default_rng(1).normal(size=(seen, 4, 4)))
    before = detector.state()
    with pytest.raises((ValueError, TypeError), match=sentence):
        detector.update_many(bad)
    assert same(detector.state(), before)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rule": "3 sigma"}, "rule must be one of 'cusum', 'paper', got '3 sigma'"),
        ({"window": 1}, r"window must lie in \[2, 1000000\], got 1"),
        ({"norm": 1}, "norm must be True or False, got 1"),
        ({"chordal": True, "rule": "paper"}, "chordal must be False where rule is 'paper'"),
        ({"chordal": True, "window": 3}, "window with chordal must lie in"),
        ({"seed": -1}, "seed must lie in"),
    ],
)
def test_bad_parameters_get_a_sentence(options, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        TensorDriftDetector(**options)


def test_a_reference_needs_two_tensors():
    with pytest.raises(ValueError, match="the number of tensors must lie in"):
        TensorDriftDetector().reference(np.zeros((1, 4, 4)))


def test_a_state_of_something_else_is_refused():
    detector = TensorDriftDetector(window=5)
    detector.update_many(np.ones((3, 2, 2)))
    before = detector.state()
    for state, kind in (({}, ValueError), ({"table": np.zeros(3)}, ValueError), (None, TypeError)):
        with pytest.raises(kind, match="state must be what"):
            detector.restore(state)
    assert same(detector.state(), before)


PROGRAM = """
import numpy as np
from thalweg.detectors.tensor_drift import TensorDriftDetector
from thalweg.tensors.forms import CPTensors
rng = np.random.default_rng(1)
for rule in ("cusum", "paper"):
    factors = [np.concatenate([rng.normal(size=(80, n, 2)), rng.normal(1.0, size=(40, n, 2))]) for n in (4, 3, 2)]
    for X in (CPTensors(np.ones((120, 2)), factors), rng.normal(size=(120, 11)) + 2 * (np.arange(120) > 80)[:, None]):
        detector = TensorDriftDetector(rule=rule, window=20)
        print(detector.update_many(X).tolist(), detector.state()["table"].tolist())
"""


def test_the_same_with_the_compiler_off():
    assert "2, 0" in printed_with_and_without(PROGRAM, "-W", "error")
