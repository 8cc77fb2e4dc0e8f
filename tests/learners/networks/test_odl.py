"""Online deep learning: against its slow twin, against the paper's promises, and in trouble."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from thalweg import DDM, SEA, Feature, Schema, checks
from thalweg.learners.networks import odl_jit as o
from thalweg.learners.networks.odl import OnlineDeepLearning
from twins.odl import SlowNetwork, SlowOnlineDeepLearning

MIXED = (None, 3, None, 5)
"""Numbers, and how many values the nominal features have."""


def schema_of(kinds, *, open=False):
    values = [None if k is None else tuple(range(k)) for k in kinds]
    return Schema(tuple(Feature(f"f{i}", values=v, open=open) for i, v in enumerate(values)))


def changing(seed, n, kinds=MIXED, *, classes=3, every=250, missing=0.0):
    """Rows whose classes, which appear one after the other, change their meaning ``every`` so many rows."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(3, 5, n) if k is None else rng.integers(0, k, n) for k in kinds]).astype(float)
    concept = np.arange(n) // every
    y = ((X[:, 0] > 3).astype(int) + (X[:, 1] > 0) + concept) % classes
    y = np.minimum(y, np.arange(n) // 40)  # class c appears at row 40 c
    first = list(dict.fromkeys(y.tolist()))
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.array([first.index(c) for c in y])


def tables(network):
    """What the network's tables are in the twin's terms: W, b, theta, c."""
    net = network._net
    W = [net["inputs"].T, *(W.T for W in net["hidden"])]
    return W, list(net["bias"]), [net["first"], *net["theta"]], list(net["shift"])


def network_of(**options):
    """Make a network in which the linear classifier on the input takes part."""
    return OnlineDeepLearning(**{"input_classifier": True} | options)


def accuracy(network, X, y):
    guesses = network.test_then_train(X, y).argmax(axis=1)
    return float((network.classes_[guesses] == y).mean())


# -- the slow twin ----------------------------------------------------------------------------------------------------

WAYS = {
    "hedge": {"on_drift": "hedge", "delta": 0.3},
    "reset": {"on_drift": "reset", "delta": 0.3},
    "authors": {"input_classifier": False, "on_drift": "none", "delta": 0.3},
    "zero-one": {"hedge_loss": "zero_one", "beta": 0.9, "layers": 1},
    "clipped": {"hedge_loss": "clipped", "floor": 0.0},
    "raw": {"scale": False, "rate": 0.002},
    "ten layers": {"layers": 10, "units": 100, "rate": 0.01},
    "nineteen layers": {"layers": 19, "units": 20, "input_classifier": False, "rate": 0.01},
    "too fast": {"rate": 40.0, "layers": 2},
}


@pytest.mark.parametrize("way", WAYS)
def test_it_does_what_its_slow_twin_does(way):
    options = {"layers": 3, "units": 11, "rate": 0.05, "seed": 5} | WAYS[way]
    delta = options.pop("delta", 0.002)
    X, y = changing(1, 600, missing=0.03)
    w = np.random.default_rng(2).exponential(1.0, len(y))
    fast = network_of(**options, drift=f"adwin(delta={delta})").declare(schema_of(MIXED))
    slow = SlowOnlineDeepLearning(MIXED, delta=delta, **options)
    got = fast.test_then_train(X, y, w)
    for r in range(len(y)):
        wanted = slow.proba(X[r])
        np.testing.assert_allclose(got[r, : slow.classes], wanted, rtol=1e-7, atol=1e-9, err_msg=f"row {r}")
        assert not got[r, slow.classes :].any()
        slow.learn(X[r], y[r], w[r])
    for mine, its in zip(tables(fast), (slow.net.W, slow.net.b, slow.net.theta, slow.net.c), strict=True):
        for a, b in zip(mine, its, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(list(fast.depth_weights.values()), slow.net.alpha[list(slow.net.depths)], rtol=1e-9)
    assert (fast.n_drifts, fast.n_recoveries) == (slow.drifts, slow.net.recoveries)
    assert fast.n_drifts > 0 or "delta" not in WAYS[way]
    assert fast.n_recoveries > 0 or way != "too fast"


def test_a_step_goes_down_the_gradient_that_differences_show():
    X, y = changing(3, 60, (None, None, None, None))
    network = network_of(layers=3, units=6, scale=False, drift=None).partial_fit(X / 5, y)
    before = tables(network.copy())
    twin = SlowNetwork(before)
    twin.alpha = network._net["alpha"].copy()
    x, label, h = X[7] / 5, int(y[7]), 1e-6
    wanted = []
    for table in twin.parameters():
        slope = np.zeros_like(table)
        for at in np.ndindex(table.shape):
            kept = table[at]
            table[at] = kept + h
            above = twin.loss(x, label)
            table[at] = kept - h
            slope[at] = (above - twin.loss(x, label)) / (2 * h)
            table[at] = kept
        wanted.append(slope)
    network.partial_fit([x], [label])
    after = SlowNetwork(tables(network)).parameters()
    for then, now, slope in zip(twin.parameters(), after, wanted, strict=True):
        got = (then - now) / network.rate
        np.testing.assert_allclose(got, slope, rtol=1e-5, atol=1e-5 * np.abs(slope).max())
    assert all(np.abs(slope).max() > 1e-6 for slope in wanted)


def test_one_layer_alone_is_a_plain_network_trained_by_gradient_descent():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    y[:2] = 0, 1
    network = network_of(layers=1, units=8, rate=0.1, input_classifier=False, scale=False, drift=None)
    network.partial_fit(X[:1], y[:1])  # with one class there is nothing to learn
    drawn = SlowOnlineDeepLearning((None,) * 3, layers=1, units=8).dice.draw((None,) * 3, 1, 8, 2)
    (W,), (b,), (_, V), (_, c) = drawn
    V, b, c = np.array(V), b.copy(), c.copy()
    got = network.test_then_train(X[1:], y[1:])
    assert list(network.depth_weights.values()) == [1.0]
    for r in range(1, 500):
        h = np.maximum(W @ X[r] + b, 0)
        z = np.exp(V @ h + c)
        p = z / z.sum()
        if r > 1:
            np.testing.assert_allclose(got[r - 1], p, rtol=1e-8)
        e = p - np.eye(2)[y[r]]
        g = (V.T @ e) * (h > 0)
        V, c, W, b = V - 0.1 * np.outer(e, h), c - 0.1 * e, W - 0.1 * np.outer(g, X[r]), b - 0.1 * g


# -- the weights of the depths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["minmax", "zero_one", "clipped"])
def test_weights_sum_to_one_and_keep_their_floor(loss):
    L, s = 4, 0.2
    network = network_of(layers=L, units=5, beta=0.8, floor=s, hedge_loss=loss)
    X, y = changing(6, 400, (None, None))
    for r in range(0, 400, 10):
        network.partial_fit(X[r : r + 10], y[r : r + 10])
        alpha = np.array(list(network.depth_weights.values()))
        assert abs(alpha.sum() - 1) < 1e-12
        assert alpha.min() >= s / L / (1 + s * (L + 1) / L)
    assert alpha.max() > 2 * alpha.min()


def test_without_discount_and_floor_weights_stay_alike():
    X, y = changing(7, 300, (None, None))
    network = network_of(layers=3, units=5, beta=1.0, floor=0.0, drift=None).partial_fit(X, y)
    assert np.allclose(list(network.depth_weights.values()), 0.25, rtol=1e-12)


@pytest.mark.parametrize("beta", [0.5, 0.9, 0.99])
def test_the_hedge_loses_little_more_than_the_best_depth(beta):
    rng = np.random.default_rng(8)
    K, T = 6, 2000
    losses = np.clip(rng.normal(np.linspace(0.2, 0.8, K), 0.3, (T, K)), 0, 1)
    losses[: T // 4] = losses[: T // 4, ::-1]  # the best at first is the worst in the end
    net, work, rules = hedge_tables(K, beta)
    hedge = getattr(o.hedge, "py_func", o.hedge)
    lost = 0.0
    for row in losses:
        lost += float(net.alpha @ row)
        work.losses[:] = row
        hedge(net, work, rules, 1.0)
    best = losses.sum(axis=0).min()
    assert best < lost <= (np.log(K) + np.log(1 / beta) * best) / (1 - beta)


def hedge_tables(K, beta):
    """Tables of a network of K depths with no floor, of which only the weights matter."""
    made = network_of(layers=K - 1, units=1, beta=beta, floor=0.0).partial_fit([[0.0]], [0])
    net = o.Net(*(made._net[name] for name in o.Net._fields))
    return net, made._work(made._net), made._rules


def test_linear_data_are_left_to_shallow_classifiers_and_xor_is_not():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(5000, 2))
    linear, xor = (X.sum(axis=1) > 0).astype(int), (X[:, 0] * X[:, 1] > 0).astype(int)
    shallow = network_of(layers=5, units=30).partial_fit(X, linear).depth_weights
    assert max(shallow, key=shallow.__getitem__) <= 1
    deep = network_of(layers=5, units=30, rate=0.05).partial_fit(X, xor).depth_weights
    assert deep[0] == min(deep.values()) < 1.001 * 0.2 / 5
    assert max(deep.values()) > 0.2


def test_it_learns_what_a_linear_classifier_cannot():
    rng = np.random.default_rng(10)
    X = rng.uniform(-1, 1, (12_000, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    assert accuracy(network_of(layers=4, units=30, rate=0.05), X, y) > 0.9


# -- records ----------------------------------------------------------------------------------------------------------


def test_scale_and_shift_of_the_numbers_do_not_matter():
    chunk = SEA(seed=1).read(2000)
    network, moved = network_of(layers=2, units=10), network_of(layers=2, units=10)
    wanted = network.test_then_train(chunk.X, chunk.y)
    got = moved.test_then_train(chunk.X * [1024, 0.25, 1] + [0, 0, 64], chunk.y)
    np.testing.assert_allclose(got, wanted, atol=1e-6)


def test_a_missing_value_is_the_mean_and_teaches_the_mean_nothing():
    X, y = changing(11, 300, (None, None))
    network = network_of(layers=2, units=7).partial_fit(X, y)
    mean = X.mean(axis=0)
    holes = np.array([[np.nan, X[0, 1]], [X[0, 0], np.nan], [np.nan, np.nan]])
    filled = np.where(np.isnan(holes), mean, holes)
    np.testing.assert_allclose(network.predict_proba(holes), network.predict_proba(filled), rtol=1e-9)
    before = network.state()["stats"]
    after = network.partial_fit(holes[:1], y[:1]).state()["stats"]
    assert (after[:, o.S_COUNT] - before[:, o.S_COUNT]).tolist() == [0, 1]
    raw = network_of(layers=2, units=7, scale=False).partial_fit(X, y)
    np.testing.assert_array_equal(raw.predict_proba(holes), raw.predict_proba(np.nan_to_num(holes)))


def test_a_nominal_value_is_no_number_and_one_never_seen_is_none():
    rng = np.random.default_rng(12)
    X = rng.integers(0, 4, (3000, 1)).astype(float)
    y = (X[:, 0] % 2).astype(int)  # no order among the values
    network = network_of(layers=2, units=10, rate=0.05).declare(schema_of((9,)))
    assert accuracy(network, X, y) > 0.98
    proba = network.predict_proba([[7.0], [8.0], [5000.0], [np.nan]])
    assert (proba == proba[0]).all()


def test_values_beyond_a_thousand_share_columns():
    schema = schema_of((2,), open=True)
    network = network_of(layers=1, units=4).declare(schema)
    network.partial_fit([[0.0], [3.0], [1.0], [2.0]], [0, 1, 0, 1])
    assert len(network.state()["stats"]) == 4
    network.partial_fit([[100_000.0 + i] for i in range(3000)], [i % 2 for i in range(3000)])
    assert len(network.state()["stats"]) == o.MOST_VALUES
    one, other = network.predict_proba([[100_000.0], [100_000.0 % o.MOST_VALUES]])
    assert one.tolist() == other.tolist()


@pytest.mark.parametrize("on_drift", ["hedge", "reset"])
def test_when_values_are_met_does_not_matter(on_drift):
    X, y = changing(13, 600, (4, None, 30))
    options = {"layers": 2, "units": 6, "drift": "adwin(delta=0.5, clock=8)", "on_drift": on_drift, "rate": 0.1}
    whole, rows = (network_of(**options).declare(schema_of((2, None, 1), open=True)) for _ in range(2))
    wanted = whole.test_then_train(X, y)
    got = [rows.test_then_train(X[r : r + 1], y[r : r + 1])[0] for r in range(600)]
    for r in range(600):
        assert got[r].tolist() == wanted[r, : len(got[r])].tolist()
    assert all(np.array_equal(a, b) for a, b in zip(whole.state().values(), rows.state().values(), strict=True))
    assert whole.n_drifts > 0


def test_features_may_join():
    rng = np.random.default_rng(14)
    network = network_of(layers=2, units=10, rate=0.05)
    for _ in range(300):
        network.learn_one({"noise": rng.normal()}, bool(rng.random() < 0.5))
    before = network.predict_proba_one({"noise": 0.5})
    for _ in range(2000):
        a, colour = rng.normal(), str(rng.choice(["red", "green"]))
        network.learn_one({"noise": rng.normal(), "a": a, "colour": colour}, bool((a > 0) == (colour == "red")))
    seen = [network.predict_one({"noise": 0.0, "a": a, "colour": c}) for a in (-1, 1) for c in ("red", "green")]
    assert seen == [False, True, True, False]
    assert network.predict_proba_one({"noise": 0.5}) != before
    assert network.state()["stats"].shape == (4, 3)


def test_a_class_that_joins_hardly_moves_what_was_known():
    X, y = changing(15, 400, (None, None), classes=2)
    network = network_of(layers=3, units=8, drift=None).partial_fit(X, y)
    before = network.predict_proba(X)
    after = network.partial_fit(X[:1], [9]).predict_proba(X)
    assert after.shape == (400, 3)
    assert 0 < after[:, 2].mean() < 0.1
    assert np.abs(after[:, :2] - before).max() < 0.15
    rng = np.random.default_rng(16)
    Z = rng.normal(30, 1, (300, 2))
    network.partial_fit(Z, np.full(300, 9))
    assert (network.predict(Z) == 9).all()


# -- drift and trouble ------------------------------------------------------------------------------------------------


def test_at_a_drift_depths_are_alike_again_and_the_rate_comes_back_slowly():
    X, y = changing(17, 1000, (None, None), classes=2, every=500)
    network = network_of(layers=2, units=10, rate=0.02, floor=0.0, beta=0.9)
    since = []
    for r in range(1000):
        drifts, before = network.n_drifts, network.depth_weights
        network.partial_fit(X[r : r + 1], y[r : r + 1])
        since.append(int(network.state()["head"][o.H_SINCE]))
        if network.n_drifts > drifts:
            assert max(before.values()) > 0.5
            assert set(network.depth_weights.values()) == {1 / 3}
            assert since[-1] == 0
    assert network.n_drifts > 0
    assert min(since[:500]) == 500 > since[-1]


def test_reset_draws_another_network_each_time():
    X, y = changing(18, 2000, (None, None), classes=2, every=500)
    network = network_of(layers=2, units=10, rate=0.1, on_drift="reset")
    found = {network.partial_fit(X[r : r + 50], y[r : r + 50]).state()["dice"].tobytes() for r in range(0, 2000, 50)}
    assert network.n_drifts >= 2
    assert len(found) == network.n_drifts + 1


def test_adapting_pays_after_a_change_and_none_only_counts():
    rng = np.random.default_rng(19)
    X = rng.normal(size=(6000, 5))
    y = ((X[:, 0] + X[:, 1] > 0) ^ (np.arange(6000) >= 3000)).astype(int)
    right = {}
    for how in ("hedge", "reset", "none"):
        network = network_of(layers=4, units=20, on_drift=how)
        right[how] = accuracy(network, X, y)
        assert network.n_drifts > 0
    assert min(right["hedge"], right["reset"]) > right["none"] + 0.01
    off = network_of(layers=4, units=20, drift="none")
    assert accuracy(off, X, y) == right["none"]
    assert off.n_drifts == 0


def test_any_detector_will_do():
    X, y = changing(20, 800, (None, None), classes=2, every=200)
    by_name = network_of(layers=1, units=6, drift="ddm", rate=0.1)
    itself = network_of(layers=1, units=6, drift=DDM(), rate=0.1)
    assert by_name.test_then_train(X, y).tobytes() == itself.test_then_train(X, y).tobytes()
    assert by_name.n_drifts == itself.n_drifts > 0


def test_a_rate_far_too_high_is_halved_until_it_learns():
    chunk = SEA(seed=2).read(3000)
    network = network_of(layers=3, units=20, rate=1000.0)
    assert accuracy(network, chunk.X, chunk.y) > 0.7
    assert 5 < network.n_recoveries <= 20
    assert all(np.isfinite(table).all() for table in network.state().values())


def test_what_halving_cannot_help_is_an_error_and_leaves_a_network_that_predicts():
    X, y = np.array([[1e300], [-1e300]] * 30), np.array([0, 1] * 30)
    network = network_of(layers=2, units=5, scale=False)
    with pytest.raises(FloatingPointError, match="rate must be smaller for these rows: .*, got 0.01"):
        network.partial_fit(X, y)
    assert network.n_recoveries == 20
    assert np.isfinite(network.predict_proba(X)).all()
    before = network.state()
    with pytest.raises(FloatingPointError):
        network.partial_fit(X[:1], y[:1])
    assert all(np.array_equal(a, b) for a, b in zip(before.values(), network.state().values(), strict=True))
    network.partial_fit([[0.5]], [0])


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("layers", 0, "layers must lie in"),
        ("units", 1.5, "units must be a whole number"),
        ("rate", 0.0, "rate must lie in"),
        ("beta", 1.1, "beta must lie in"),
        ("floor", -0.1, "floor must lie in"),
        ("hedge_loss", "log", "hedge_loss must be one of 'minmax'"),
        ("on_drift", "panic", "on_drift must be one of 'hedge'"),
        ("drift", "adwin(delta=2)", "drift 'adwin(delta=2)' cannot be made"),
        ("scale", 1, "scale must be True or False"),
        ("input_classifier", None, "input_classifier must be True or False"),
    ],
)
def test_wrong_parameters_get_a_sentence(name, value, sentence):
    with pytest.raises((ValueError, TypeError)) as error:
        OnlineDeepLearning(**{name: value})
    assert str(error.value).startswith(sentence)


def test_states_of_no_network_are_refused():
    X, y = changing(21, 100)
    network = network_of(layers=2, units=4).declare(schema_of(MIXED)).partial_fit(X, y)
    state = network.state()
    broken = {
        "inputs": state["inputs"][:, :3], "hidden": state["hidden"] * np.nan, "theta": state["theta"].astype("f4"),
        "alpha": state["alpha"] * 2, "stats": -state["stats"], "layout": state["layout"][::-1],
        "head": state["head"] - 1, "drift": state["drift"] + 0.5, "dice": state["dice"].astype(np.int64),
        "shift": state["shift"][:1], "first": state["first"][:, ::2], "bias": np.full_like(state["bias"], np.inf),
    }  # fmt: skip
    for name, table in broken.items():
        with pytest.raises(ValueError, match="state must be what OnlineDeepLearning.state"):
            network.restore(state | {name: table})
        with pytest.raises(ValueError, match=f"it lacks '{name}'"):
            network.restore({k: v for k, v in state.items() if k != name})
    with pytest.raises(ValueError, match="state must be what"):
        network_of(layers=3, units=4).restore(state)
    assert all(np.array_equal(a, b) for a, b in zip(state.values(), network.state().values(), strict=True))


# -- promises ---------------------------------------------------------------------------------------------------------

LEARNERS = {
    "hedge": lambda: network_of(layers=3, units=10, drift="adwin(delta=0.5, clock=8)", rate=0.05),
    "reset": lambda: network_of(
        layers=2, units=7, drift="adwin(delta=0.5, clock=8)", on_drift="reset", rate=0.1, hedge_loss="clipped"
    ),
    "authors": lambda: network_of(layers=1, units=9, drift=None, input_classifier=False, hedge_loss="zero_one"),
}


@pytest.mark.parametrize("check", checks.CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", LEARNERS)
def test_it_keeps_the_promises_of_a_learner(name, check):
    check(LEARNERS[name])


@pytest.mark.parametrize("on_drift", ["hedge", "reset"])
def test_a_pickled_network_goes_on_as_if_nothing_had_been(on_drift):
    X, y = changing(24, 600, classes=2)
    network = network_of(layers=2, units=8, drift="adwin(delta=0.3)", on_drift=on_drift, rate=0.05)
    whole = network.copy().declare(schema_of(MIXED)).test_then_train(X, y)
    network.declare(schema_of(MIXED))
    for r in range(0, 600, 100):
        network = pickle.loads(pickle.dumps(network))
        assert network.test_then_train(X[r : r + 100], y[r : r + 100]).tobytes() == whole[r : r + 100].tobytes()
    assert network.n_drifts > 0


def bits(name):
    """Every probability and every cell of the tables after a short stream, as text."""
    X, y = changing(22, 300, missing=0.05)
    network = LEARNERS[name]().declare(schema_of(MIXED, open=True))
    proba = network.test_then_train(X, y, np.random.default_rng(23).exponential(1.0, 300))
    assert network.n_drifts > 0 or network.drift is None
    tables = {"proba": proba} | network._net
    return [f"{key} {' '.join(float(v).hex() for v in table.ravel())}" for key, table in tables.items()]


def test_compiled_and_plain_agree_bit_for_bit():
    here = Path(__file__).parent
    code = f"import sys; sys.path[:0] = {[str(here), str(here.parents[1])]!r}\nimport test_odl\n"
    code += "for name in test_odl.LEARNERS: print('\\n'.join(test_odl.bits(name)))"
    run = subprocess.run(
        [sys.executable, "-W", "ignore::RuntimeWarning", "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert [line for name in LEARNERS for line in bits(name)] == run.stdout.strip().split("\n")
