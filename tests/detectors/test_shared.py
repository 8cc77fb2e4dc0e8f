"""What all detectors share: levels, state, parameters, refusals, and the way of a forest to them."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from thalweg import ADWIN, DDM, EDDM, HDDMA, HDDMW, KSWIN, PageHinkley, checks, load, registry, save
from thalweg.core.protocols import Detector as Protocol
from thalweg.detectors import any_jit
from thalweg.detectors.detector import Detector
from thalweg.jit.compile import compiled

KINDS = (ADWIN, DDM, EDDM, HDDMA, HDDMW, PageHinkley, KSWIN)
SHARES = (DDM, EDDM, HDDMA, HDDMW)
ONE_WAY = (DDM, EDDM)
STEP = np.r_[np.zeros(1000), np.ones(1000)]

every = pytest.mark.parametrize("kind", KINDS)


def errors(seed, *parts):
    """Errors of a given rate for so many values, one part after the other."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.random(n) < rate for n, rate in parts]).astype(float)


def drifts(detector, values):
    return np.flatnonzero(detector.update_many(values) == 2)


def bits(detector):
    return detector.state()["table"].tobytes()


# -- names ------------------------------------------------------------------------------------------------------------


def test_names():
    names = ["adwin", "ddm", "eddm", "hddm-a", "hddm-w", "page-hinkley", "kswin"]
    assert list(registry.DETECTORS) == names
    assert [entry.cls for entry in registry.DETECTORS.values()] == list(KINDS)
    assert [kind.code for kind in KINDS] == list(range(7))


@every
def test_keeps_the_protocol(kind):
    assert isinstance(kind(), Protocol)
    assert isinstance(kind(), Detector)


# -- what they find ---------------------------------------------------------------------------------------------------


@every
def test_a_fall_is_no_drift(kind):
    assert len(drifts(kind(), 1.0 - STEP)) == 0


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ONE_WAY])
def test_a_fall_is_a_drift_where_both_directions_are_asked_for(kind):
    up, down = drifts(kind(direction="both"), STEP), drifts(kind(direction="both"), 1.0 - STEP)
    assert len(down) >= 1
    assert down[0] == up[0]
    assert 1000 <= down[0] < 1100


@pytest.mark.parametrize("kind", [HDDMA, HDDMW])
def test_a_fall_that_is_forgotten_helps_to_see_the_next_rise(kind):
    values = errors(0, (3000, 0.7), (600, 0.05), (600, 0.4))
    first = {d: drifts(kind(direction=d, delta=1e-6, warning_delta=1e-5), values) for d in ("up", "forget", "both")}
    assert all(at >= 3600 for d in ("up", "forget") for at in first[d])
    assert first["forget"][0] == next(at for at in first["both"] if at >= 3600)
    assert kind is HDDMW or len(first["up"]) == 0 or first["up"][0] > first["forget"][0]


@pytest.mark.parametrize(
    ("make", "delay"),
    [(DDM, 80), (EDDM, 80), (HDDMA, 55), (HDDMW, 40), (PageHinkley, 150),
     (lambda: PageHinkley(threshold=15), 50), (KSWIN, 45)],
    ids=["ddm", "eddm", "hddm-a", "hddm-w", "page-hinkley", "page-hinkley 15", "kswin"],
)  # fmt: skip
def test_median_delay(make, delay):
    """From 10 to 50 % errors after 2,000 values."""
    found = []
    for seed in range(20):
        at = drifts(make(), errors(seed, (2000, 0.1), (1000, 0.5)))
        found.append(min(at[at >= 2000], default=9999) - 2000)
    assert 5 <= np.median(found) <= delay


@pytest.mark.parametrize(
    ("make", "most"),
    [(DDM, 1.5), (EDDM, 30), (HDDMA, 0.6), (HDDMW, 1.5), (PageHinkley, 0.3), (KSWIN, 1.0)],
    ids=["ddm", "eddm", "hddm-a", "hddm-w", "page-hinkley", "kswin"],
)
def test_false_alarms_on_a_constant_rate(make, most):
    """Per 10,000 values with 20 % errors."""
    count = sum(len(drifts(make(), errors(100 + seed, (10_000, 0.2)))) for seed in range(20))
    assert count / 20 <= most


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in (ADWIN, KSWIN)])
def test_starts_anew_after_a_drift(kind):
    """What was before a drift does not matter after it; ADWIN and KSWIN keep the newest values."""
    values = errors(3, (800, 0.05), (800, 0.6), (800, 0.9))
    detector = kind()
    levels = detector.update_many(values)
    for at in np.flatnonzero(levels == 2):
        rest = kind().update_many(values[at + 1 :])
        assert np.array_equal(levels[at + 1 :], rest)
    assert detector.n_detections == np.count_nonzero(levels == 2) >= 1


@every
def test_estimate_at_the_drift_is_that_before_the_restart(kind):
    """A forest replaces the member with the greatest estimate when one reports a drift: it must be known then."""
    detector = kind()
    for x in errors(1, (500, 0.1), (1000, 0.7)):
        if detector.update(x):
            break
    assert detector.drift_detected
    assert 0.05 < detector.estimate < 1.0


# -- values -----------------------------------------------------------------------------------------------------------


@every
def test_one_by_one_equals_many_at_any_chunk_size(kind):
    values = errors(1, (700, 0.1), (700, 0.6), (700, 0.2), (700, 0.9))
    whole, single, chunked = kind(), kind(), kind()
    levels = whole.update_many(values)
    assert levels.dtype == np.int8
    assert (levels == 2).any()
    for x, level in zip(values.tolist(), levels, strict=True):
        assert single.update(x) is bool(level == 2)
        assert (single.drift_detected, single.warning_detected) == (level == 2, level == 1)
    assert np.array_equal(np.concatenate([chunked.update_many(values[i : i + 13]) for i in range(0, 2800, 13)]), levels)
    assert bits(whole) == bits(single) == bits(chunked)
    assert whole.n_detections == np.count_nonzero(levels == 2)


@every
@pytest.mark.parametrize(
    "bad", [np.nan, np.inf, -np.inf, 1e200, 10**400, "1", None, [1.0], 1j, np.timedelta64(1, "s")], ids=repr
)
def test_bad_value_changes_nothing(kind, bad):
    detector, reference = kind(), ADWIN()
    detector.update_many(STEP[:1010])
    before = bits(detector)
    with pytest.raises((ValueError, TypeError), match="value must be a") as caught:
        detector.update(bad)
    assert bits(detector) == before
    with pytest.raises(type(caught.value)) as expected:
        reference.update(bad)
    assert str(caught.value) == str(expected.value)


@every
@pytest.mark.parametrize(
    "bad", [[0.0, np.nan], [np.inf], [0.0, -1e101], [[0.0]], 1.0, "abc", ["a"], None, [None], [[1], [1, 2]], [1j]],
    ids=repr,
)  # fmt: skip
def test_bad_values_change_nothing(kind, bad):
    detector, reference = kind(), ADWIN()
    detector.update_many(STEP[:1010])
    before = bits(detector)
    with pytest.raises((ValueError, TypeError), match="values must") as caught:
        detector.update_many(bad)
    assert bits(detector) == before
    with pytest.raises(type(caught.value)) as expected:
        reference.update_many(bad)
    assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("kind", SHARES)
def test_values_that_are_no_shares(kind):
    detector = kind()
    with pytest.raises(ValueError, match=r"^value must lie in \[0, 1\], got 1\.5$"):
        detector.update(1.5)
    with pytest.raises(ValueError, match=r"^values must lie in \[0, 1\], got -2\.0 at index 1$"):
        detector.update_many([0, -2])
    assert bits(detector) == bits(kind())


@pytest.mark.parametrize("kind", [PageHinkley, KSWIN])
def test_extreme_values_stay_finite(kind):
    detector = kind(direction="both")
    with np.errstate(all="raise"):
        detector.update_many(np.tile([1e100, -1e100, 5e-324, 0.0], 500))
        detector.update_many(np.full(500, 1e100))
    assert np.isfinite(detector.state()["table"]).all()
    detector.copy()


def test_half_an_error_is_an_error_for_eddm():
    values = errors(0, (500, 0.1), (500, 0.4))
    assert np.array_equal(EDDM().update_many(0.49 + 0.01 * values), EDDM().update_many(values))


def test_only_an_error_changes_the_level_of_eddm():
    values = errors(0, (2000, 0.1), (500, 0.4))
    levels = EDDM().update_many(values)
    right = np.flatnonzero(values[1:] == 0.0) + 1
    assert (levels == 1).any()
    assert np.array_equal(levels[right], levels[right - 1] % 2)  # a warning stays, a drift is over


# -- state ------------------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("cut", [0, 1, 29, 531, 760])
def test_state_restore_and_copy_continue_identically(kind, cut):
    values = errors(5, (500, 0.1), (500, 0.5), (500, 0.9))
    whole, first, second = kind(), kind(), kind()
    levels = whole.update_many(values)
    first.update_many(values[:cut])
    second.restore(first.state())
    copy = first.copy()
    first.update_many(np.ones(100))
    for twin in (second, copy):
        assert np.array_equal(twin.update_many(values[cut:]), levels[cut:])
        assert bits(twin) == bits(whole)


@every
def test_every_state_on_the_way_is_taken_back(kind):
    params = {} if kind in ONE_WAY else {"direction": "both"}
    detector, twin = kind(**params), kind(**params)
    for x in errors(7, (150, 0.2), (150, 0.9), (150, 0.1)):
        detector.update(x)
        twin.restore(detector.state())
    assert bits(twin) == bits(detector)


@every
def test_save_and_load(kind, tmp_path):
    detector = kind()
    values = errors(8, (500, 0.1), (500, 0.6))
    detector.update_many(values[:700])
    save(detector, tmp_path / "detector")
    loaded = load(tmp_path / "detector")
    assert type(loaded) is kind
    assert np.array_equal(loaded.update_many(values[700:]), detector.update_many(values[700:]))
    assert bits(loaded) == bits(detector)


@every
def test_foreign_state_is_refused(kind):
    detector = kind()
    detector.update_many(STEP)
    before, table = bits(detector), detector.state()["table"]
    wrong = [None, [], {}, {"table": None}, {"table": table[0]}, {"table": table.astype("f4")}, {"table": table[:, 1:]},
             {"table": np.asfortranarray(np.repeat(table, 2, axis=0))[:1]}, {"table": table - 0.5}]  # fmt: skip
    for state in wrong:
        article = "an" if kind in (ADWIN, EDDM, HDDMA, HDDMW) else "a"
        words = rf"^state must be what state\(\) of {article} {kind.__name__} with the same parameters gave$"
        with pytest.raises(ValueError, match=words):
            detector.restore(state)
        assert bits(detector) == before


@every
def test_states_of_a_damaged_detector_are_refused_or_harmless(kind):
    detector = kind()
    detector.update_many(errors(2, (300, 0.1), (77, 0.4)))
    good = detector.state()["table"]
    refused = 0
    for column in range(good.shape[1]):
        for value in (-1.0, 0.5, 3.0, 1e9, 1e300, np.nan):
            damaged = good.copy()
            damaged[0, column] = value
            twin = kind()
            try:
                twin.restore({"table": damaged})
            except ValueError:
                assert bits(twin) == bits(kind())
                refused += 1
            else:
                twin.update_many(np.random.default_rng(column).random(150))
                assert np.isfinite(twin.estimate)
    assert refused > 2 * good.shape[1] if kind is not ADWIN else refused > good.shape[1]


@pytest.mark.parametrize(
    ("kind", "mine", "other"),
    [(KSWIN, {}, {"seed": 2}), (KSWIN, {}, {"window": 90}), (KSWIN, {}, {"recent": 31}), (ADWIN, {}, {"clock": 8})],
)
def test_state_of_other_constants_is_refused(kind, mine, other):
    with pytest.raises(ValueError, match="with the same parameters"):
        kind(**mine).restore(kind(**other).state())


@every
def test_reset_forgets(kind):
    detector = kind()
    detector.update_many(STEP)
    assert bits(detector.reset()) == bits(kind())


# -- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "params", "words"),
    [
        (DDM, {"min_values": 0}, r"min_values must lie in \[1, 1000000\], got 0"),
        (DDM, {"min_values": 1.5}, "min_values must be a whole number"),
        (DDM, {"warning_level": 0}, "warning_level must lie in"),
        (DDM, {"drift_level": 1.5}, r"drift_level must lie in \[2.0, 1000\], got 1.5"),
        (EDDM, {"min_errors": -1}, "min_errors must lie in"),
        (EDDM, {"warning_level": 1}, r"warning_level must lie in \(0, 1\), got 1"),
        (EDDM, {"drift_level": 0.96}, r"drift_level must lie in \(0, 0.95\], got 0.96"),
        (HDDMA, {"delta": 0}, r"delta must lie in \(0, 1\), got 0"),
        (HDDMA, {"warning_delta": 0.0005}, r"warning_delta must lie in \[0.001, 1\), got 0.0005"),
        (HDDMA, {"direction": "down"}, "direction must be one of 'up', 'forget', 'both', got 'down'"),
        (HDDMW, {"weight": 1}, r"weight must lie in \(0, 1\), got 1"),
        (HDDMW, {"delta": "x"}, "delta must be a number"),
        (HDDMW, {"direction": None}, "direction must be one of"),
        (PageHinkley, {"slack": -0.1}, "slack must lie in"),
        (PageHinkley, {"threshold": 0}, "threshold must lie in"),
        (PageHinkley, {"fading": 1.1}, r"fading must lie in \(0, 1\], got 1.1"),
        (PageHinkley, {"direction": "forget"}, "direction must be one of 'up', 'both', got 'forget'"),
        (KSWIN, {"delta": float("nan")}, "delta must lie in"),
        (KSWIN, {"window": 9}, "window must lie in"),
        (KSWIN, {"recent": 51}, r"recent must lie in \[5, 50\], got 51"),
        (KSWIN, {"seed": -1}, "seed must lie in"),
    ],
)
def test_bad_parameters(kind, params, words):
    with pytest.raises((ValueError, TypeError), match=words):
        kind(**params)


def test_parameters_and_repr():
    expected = {
        DDM: {"min_values": 30, "warning_level": 2.0, "drift_level": 3.0},
        EDDM: {"min_errors": 30, "min_values": 30, "warning_level": 0.95, "drift_level": 0.9},
        HDDMA: {"delta": 0.001, "warning_delta": 0.005, "direction": "up"},
        HDDMW: {"weight": 0.05, "delta": 0.001, "warning_delta": 0.005, "direction": "up"},
        PageHinkley: {"min_values": 30, "slack": 0.005, "threshold": 50.0, "fading": 0.9999, "direction": "up"},
        KSWIN: {"delta": 0.005, "window": 100, "recent": 30, "direction": "up", "seed": 1},
    }
    for kind, params in expected.items():
        assert kind().get_params() == params
        assert repr(kind()) == f"{kind.__name__}()"
        assert repr(kind(**params)) == f"{kind.__name__}()"
    assert repr(HDDMW(weight=0.1, direction="both")) == "HDDMW(weight=0.1, direction='both')"


# -- rows of one table, as a forest has them --------------------------------------------------------------------------


@compiled
def feed_row(code, table, i, values, rules, out):
    for k in range(len(values)):
        out[k] = any_jit.feed(code, table, i, values[k], rules)


@compiled
def ask_row(code, table, i, forget):
    if forget:
        any_jit.forget(code, table, i)
    return any_jit.mean_error(code, table, i)


@every
def test_a_row_of_a_forest_is_a_detector(kind):
    values = errors(11, (700, 0.1), (700, 0.6), (700, 0.2), (700, 0.9))
    params = [{}] if kind in ONE_WAY else [{}, {"direction": "both"}]
    for chosen in params:
        detector = kind(**chosen)
        table, rules, levels = detector.new_rows(3), detector.rules(), np.empty(len(values), dtype=np.int8)
        assert (table.dtype, rules.dtype, rules.ndim) == (np.float64, np.float64, 1)
        fresh, row = table.copy(), 0 if kind is KSWIN else 1  # the first row of KSWIN draws as the detector does
        feed_row(kind.code, table, row, values, rules, levels)
        assert np.array_equal(levels, detector.update_many(values))
        assert (levels == 2).any()
        assert table[row].tobytes() == bits(detector)
        others = [i for i in range(3) if i != row]
        assert np.array_equal(table[others], fresh[others])
        assert ask_row(kind.code, table, row, False) == detector.estimate
        assert ask_row(kind.code, table, row, True) == 0.0
        assert np.array_equal(table, fresh)


@every
def test_a_table_of_a_forest_is_checked(kind):
    detector, values, levels = kind(), errors(12, (300, 0.1), (300, 0.6)), np.empty(600, dtype=np.int8)
    table, rules = detector.new_rows(4), detector.rules()
    for row in range(3):
        feed_row(kind.code, table, row, values[: 150 * row], rules, levels)
    assert detector.fits(table)
    assert detector.fits(table[[2, 0, 0, 1]])  # members change places
    for column in (detector._last, detector._changes):
        damaged = table.copy()
        damaged[2, column] = 0.5
        assert not detector.fits(damaged)
    for wrong in (None, table.astype("f4"), table[0], table[:, :-1], np.asfortranarray(table), table * np.nan):
        assert not detector.fits(wrong)


def test_adwin_is_as_fast_through_feed_as_direct():
    values, levels = errors(0, (300_000, 0.2)), np.empty(300_000, dtype=np.int8)
    detector = ADWIN()

    def seconds(through):
        start = time.process_time()
        if through:
            feed_row(0, detector.new_rows(1), 0, values, detector.rules(), levels)
        else:
            ADWIN().update_many(values)
        return time.process_time() - start

    seconds(True), seconds(False)
    pairs = np.array([[seconds(False), seconds(True)] for _ in range(9)])
    assert pairs[:, 1].min() < 1.5 * pairs[:, 0].min()


# -- compiled and not, fast -------------------------------------------------------------------------------------------


def test_same_without_compilation():
    """Every level and every bit of every row, also with the direction that is not the default."""
    code = (
        "import json, numpy as np, thalweg\n"
        "rng = np.random.default_rng(2); v = (rng.random(900) < np.repeat([.1, .7, .2], 300)).astype(float)\n"
        "ways = lambda k: [{}] if k in ('ddm', 'eddm') else [{}, {'direction': 'both'}]\n"
        "out = []\n"
        "for name, entry in thalweg.registry.DETECTORS.items():\n"
        "    for params in ways(name):\n"
        "        d = entry.make(**params); levels = d.update_many(v).tolist()\n"
        "        out.append([name, levels.index(2), levels, d.state()['table'].tobytes().hex(), d.estimate])\n"
        "print(json.dumps(out))"
    )
    answers = [
        json.loads(
            subprocess.run(
                [sys.executable, "-W", "ignore", "-c", code],
                env=os.environ | extra, capture_output=True, text=True, check=True,
            ).stdout
        )
        for extra in ({}, {"NUMBA_DISABLE_JIT": "1"})
    ]  # fmt: skip
    assert len(answers[0]) == 12
    assert answers[0] == answers[1]


@pytest.mark.parametrize(("kind", "nanoseconds"), [(DDM, 25), (EDDM, 24), (HDDMA, 330), (HDDMW, 260), (PageHinkley, 34),
                                                    (KSWIN, 20_000)])  # fmt: skip
def test_speed(kind, nanoseconds):
    """A twentieth of what river takes per value on the machine where both were measured; KSWIN far below a tenth."""
    values = errors(0, (100_000, 0.2))
    kind().update_many(values[:200])
    seconds = []
    for _ in range(5):
        start = time.process_time()
        kind().update_many(values)
        seconds.append(time.process_time() - start)
    assert min(seconds) / len(values) < 2e-9 * nanoseconds  # twice: machines differ


@every
def test_promises(kind):
    checks.check_detector(kind, skip=["same_detector_without_compilation"])


def test_promises_that_are_broken():
    promises = {check.__name__: check for check in checks.DETECTOR_CHECKS}

    def both():
        return KSWIN(direction="both")

    def chance():
        return KSWIN(delta=0.1, seed=int(np.random.randint(1000)))  # noqa: NPY002  what is not allowed

    with pytest.raises(AssertionError, match="zeros after ones must not be a drift"):
        promises["a_fall_is_no_drift"](both)
    with pytest.raises(AssertionError, match="must give the same levels|must not touch"):
        promises["detector_leaves_global_random_alone"](chance)
