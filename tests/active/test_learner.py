"""A learner that asks for labels, in evaluations: what is learned, what is counted, and that chunks do not matter."""

import numpy as np
import pytest

from thalweg import (
    AVU,
    SEA,
    ActiveLearner,
    AdaptiveRandomForest,
    ArrayStream,
    Classifier,
    DelayedLabels,
    FixedUncertainty,
    HoeffdingTree,
    MajorityClass,
    NoChange,
    Random,
    SelectiveSampling,
    Split,
    StreamingDeepForest,
    VariableRandomisedUncertainty,
    VariableUncertainty,
    WindowKNN,
    checks,
    load,
    load_dataset,
    prequential,
    registry,
    save,
)

EAGER = {"grace_period": 20, "delta": 0.2, "tau": 0.2}
LEARNERS = {
    "majority": MajorityClass,
    "tree": lambda: HoeffdingTree(**EAGER),
    "forest": lambda: AdaptiveRandomForest(size=3, **EAGER),
}
INSIDE = {
    "deep forest": lambda: StreamingDeepForest(layers=2, size=2),
    "deep forest of the paper": lambda: StreamingDeepForest(layers=3, size=1, preset="paper"),
    "deep forest that grows": lambda: StreamingDeepForest(layers=1, size=1, max_layers=2),
    "leveraging bagging": lambda: registry.LEARNERS["leveraging-bagging"].make(size=3, **EAGER),
    "smooth boost": lambda: registry.LEARNERS["smooth-boost"].make(size=3, **EAGER),
    "forest with little memory": lambda: AdaptiveRandomForest(size=3, limit_bytes=60_000, **EAGER),
    "adaptive tree": lambda: registry.LEARNERS["hoeffding-adaptive-tree"].make(**EAGER),
    "efdt": lambda: registry.LEARNERS["efdt"].make(**EAGER),
    "neighbours": lambda: WindowKNN(window=50),
    "neighbours of single precision": lambda: WindowKNN(window=1_000, precision="float32", scale=None),
}
"""Learners that decide inside their compiled loop, in all the ways that there are."""
STRATEGIES = {
    name: entry.make(budget=0.4, **({"mode": "full"} if name == "avu" else {}))
    for name, entry in registry.STRATEGIES.items()
} | {"avu, more": AVU(budget=0.8), "window": FixedUncertainty(budget=0.3, window=20, warmup=5)}


def rows(n=400, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), np.linspace(-1, 1, classes - 1))
    return X, np.array(["low", "middle", "high", "top", "beyond"])[y]


def bits(learner):
    return {name: table.tobytes() for name, table in learner.state().items()}


def slow_loop(learner, strategy, X, y):
    """Predict, ask, learn, row by row, with public verbs alone."""
    learner, strategy = type(learner)(**learner.get_params(deep=False)), strategy.fresh()
    probas, asked = [], []
    for i in range(len(X)):
        P = learner.predict_proba(X[i : i + 1])
        probas.append(P[0])
        asked.append(bool(strategy.ask(P)[0]))
        if asked[-1]:
            learner.partial_fit(X[i : i + 1], y[i : i + 1])
    out = np.zeros((len(X), len(learner.classes_)))
    for i, p in enumerate(probas):
        out[i, : len(p)] = p
    return out, np.array(asked), learner, strategy


@pytest.mark.parametrize("strategy", ["avu, more", "window", "split"])
@pytest.mark.parametrize("make", INSIDE.values(), ids=INSIDE)
def test_deciding_inside_compiled_code_equals_a_slow_loop(make, strategy):
    test_equals_a_slow_loop_at_any_chunk_size(make, STRATEGIES[strategy])


def test_some_learners_do_decide_inside_compiled_code(monkeypatch):
    """Only the rows with a label that was new, and the first one, are played event by event."""
    X, y = rows()
    for make in (LEARNERS["tree"], LEARNERS["forest"], INSIDE["deep forest"], INSIDE["neighbours"]):
        walked = []
        whole = ActiveLearner._walk
        learner = ActiveLearner(learner=make(), strategy=AVU(budget=0.8))
        monkeypatch.setattr(ActiveLearner, "_walk", lambda *given, w=whole, n=walked: n.extend(given[5]) or w(*given))
        learner.test_then_train(X, y)
        monkeypatch.undo()
        assert len(walked) < 40


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_equals_a_slow_loop_at_any_chunk_size(make, strategy):
    X, y = rows()
    expected, asked, model, policy = slow_loop(make(), strategy, X, y)
    assert 0 < asked.sum() < len(X)
    for size in (1, 13, 400):
        learner = ActiveLearner(learner=make(), strategy=strategy)
        parts, wanted = [], []
        for i in range(0, len(X), size):
            parts += list(learner.test_then_train(X[i : i + size], y[i : i + size]))
            wanted.append(learner.asked_rows)
        got = np.zeros_like(expected)
        for i, p in enumerate(parts):
            got[i, : len(p)] = p
        assert np.array_equal(np.concatenate(wanted), asked)
        assert np.array_equal(learner.asked_why > 0, learner.asked_rows)
        assert got.tobytes() == expected.tobytes()
        assert learner.classes_.tolist() == model.classes_.tolist()
        assert bits(learner.model) == bits(model)
        assert bits(learner.policy) == bits(policy)
        assert learner.labels_asked == asked.sum()


def test_predicting_asks_for_nothing():
    X, y = rows()
    learner = ActiveLearner(learner=HoeffdingTree(), strategy=AVU()).partial_fit(X, y)
    before = bits(learner)
    learner.predict_proba(X)
    learner.predict(X)
    learner.predict_one(X[0])
    assert bits(learner) == before


def test_with_all_labels_it_is_the_learner_alone():
    X, y = rows(800)
    for make in LEARNERS.values():
        alone, learner = make(), ActiveLearner(learner=make(), strategy=AVU(budget=1.0))
        assert learner.test_then_train(X, y).tobytes() == alone.test_then_train(X, y).tobytes()
        assert bits(learner.model) == bits(alone)


def test_without_labels_it_learns_nothing():
    X, y = rows()
    learner = ActiveLearner(learner=HoeffdingTree(), strategy=AVU(budget=0.0))
    assert learner.test_then_train(X, y).shape == (400, 0)
    assert learner.classes_.tolist() == []
    assert learner.predict_one(X[0]) is None


def test_a_class_that_was_never_asked_for_stays_unknown():
    X, y = rows()
    strategy = Random(budget=0.1, seed=5)
    unasked = np.flatnonzero(~strategy.copy().ask(np.ones((400, 2))))
    y[unasked[[50, 200]]] = "rare"
    learner = ActiveLearner(learner=MajorityClass(), strategy=strategy)
    proba = learner.test_then_train(X, y)
    assert "rare" not in learner.classes_.tolist()
    assert proba.shape == (400, len(learner.classes_))


def test_labels_that_are_not_wanted_do_not_matter():
    X, y = rows(1000)
    learner = ActiveLearner(learner=HoeffdingTree(**EAGER), strategy=AVU(budget=0.3))
    expected = learner.test_then_train(X, y)
    other = np.where(learner.asked_rows, y, "noise")
    again = ActiveLearner(learner=HoeffdingTree(**EAGER), strategy=AVU(budget=0.3))
    assert again.test_then_train(X, other).tobytes() == expected.tobytes()
    assert bits(again) == bits(learner)


# -- evaluation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0, 1, 37])
@pytest.mark.parametrize("budget", [0.1, 0.7])
def test_prequential_counts_labels_that_were_asked_for(budget, delay):
    results, states = [], []
    for chunk in (1, 64, 1000):
        learner = ActiveLearner(learner=HoeffdingTree(**EAGER), strategy=AVU(budget=budget))
        result = prequential(SEA(seed=1), learner, limit=1500, every=500, chunk=chunk, delay=delay)
        results.append((result.final, result.labels_used, result.labels_pending, result.curve["labels_used"].tolist()))
        states.append(bits(learner))
        assert result.labels_used + result.labels_pending == learner.labels_asked
        assert learner.labels_asked < budget * 1500 + 1
        assert learner.labels_asked > 0.95 * budget * 1500
        assert result.labels_pending <= delay
    assert results[0] == results[1] == results[2]
    assert states[0] == states[1] == states[2]
    used = results[0][3]
    assert len(used) == 3
    assert all(u < budget * k + 1 for u, k in zip(used, (500, 1000, 1500), strict=True))


def delayed_loop(learner, strategy, X, y, delay):
    """Decide on arrival; learn right after the row so many later has been predicted."""
    probas, waiting = [], {}
    for i in range(len(X)):
        P = learner.predict_proba(X[i : i + 1])
        probas.append(P[0])
        if strategy.ask(P)[0]:
            waiting[i + delay] = i
        if i in waiting:
            j = waiting.pop(i)
            learner.partial_fit(X[j : j + 1], y[j : j + 1])
    return probas, waiting


def test_late_labels_are_decided_on_when_the_row_arrives():
    X, y = rows(600)
    model, policy = HoeffdingTree(**EAGER), AVU(budget=0.4)
    _, waiting = delayed_loop(model, policy, X, y, 25)
    learner = ActiveLearner(learner=HoeffdingTree(**EAGER), strategy=AVU(budget=0.4))
    result = prequential(ArrayStream(X, y), learner, delay=25, chunk=50)
    assert bits(learner.policy) == bits(policy)
    assert result.labels_pending == len(waiting)
    state, other = learner.model.state(), model.state()
    assert all(state[k].tobytes() == other[k].tobytes() for k in other if k not in ("schema", "labels"))


@pytest.mark.parametrize("budget", [0.15, 0.8])
@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_play_equals_a_slow_loop_that_decides_on_arrival(make, budget):
    """Labels out of order, some never, five classes that appear one after the other."""
    X, y = rows(500, classes=5, seed=2)
    rng = np.random.default_rng(2)
    due = np.arange(500) + rng.integers(0, 60, 500) + 0.5
    when = [(float(i), i) for i in range(500)] + [(t, ~i) for i, t in enumerate(due.tolist()) if i % 7]
    events = [e for _, e in sorted(when)]
    learner = ActiveLearner(learner=make(), strategy=Split(budget=budget))
    got = learner.play(X, y, events)
    model, policy, asked = make(), Split(budget=budget), np.zeros(500, dtype=bool)
    for e in events:
        if e >= 0:
            P = model.predict_proba(X[e : e + 1])
            asked[e] = policy.ask(P)[0]
            assert got[e, : P.shape[1]].tobytes() == P[0].tobytes()
            assert not got[e, P.shape[1] :].any()
        elif asked[~e]:
            model.partial_fit(X[~e : ~e + 1], y[~e : ~e + 1])
    assert np.array_equal(learner.asked_rows, asked)
    assert bits(learner.model) == bits(model)
    assert bits(learner.policy) == bits(policy)


def test_labels_by_time_out_of_order():
    runs = []
    for chunk in (1, 100, 1000):
        stream = DelayedLabels(SEA(seed=3), 20, jitter=30, seed=1)
        learner = ActiveLearner(learner=HoeffdingTree(), strategy=AVU(budget=0.5))
        result = prequential(stream, learner, limit=2000, delay="time", chunk=chunk)
        assert result.labels_used + result.labels_pending == learner.labels_asked
        assert 0 < result.labels_pending < 50
        runs.append((result.final, result.labels_used, bits(learner)))
    assert runs[0] == runs[1] == runs[2]


def test_labels_that_never_come_are_charged_and_pending():
    learner = ActiveLearner(learner=HoeffdingTree(), strategy=Random(budget=0.5))
    X, y = rows(3000)
    time = np.arange(3000.0)
    stream = ArrayStream(X, y, time=time, label_time=np.where(time % 3 == 0, np.nan, time + 5))
    result = prequential(stream, learner, delay="time")
    assert result.labels_used + result.labels_pending == learner.labels_asked
    assert result.labels_pending == pytest.approx(learner.labels_asked / 3, rel=0.1)


@pytest.mark.parametrize("delay", [0, 30])
def test_a_run_goes_on_from_a_checkpoint(tmp_path, delay):
    def make():
        return ActiveLearner(learner=HoeffdingTree(**EAGER), strategy=VariableRandomisedUncertainty(budget=0.6))

    whole = prequential(SEA(seed=1), make(), limit=2000, delay=delay)
    file = tmp_path / "run"
    prequential(SEA(seed=1), make(), limit=700, delay=delay, checkpoint=file)
    rest = prequential(SEA(seed=1), make(), limit=2000, delay=delay, checkpoint=file, resume=True)
    assert rest.final == whole.final
    assert (rest.labels_used, rest.labels_pending) == (whole.labels_used, whole.labels_pending)


def test_rows_of_weight_zero_are_not_asked_about():
    X, y = rows()
    w = np.ones(400)
    w[::2] = 0.0
    learner = ActiveLearner(learner=MajorityClass(), strategy=Random(budget=1.0))
    learner.test_then_train(X, y, w)
    assert learner.asked_rows.tolist() == [i % 2 == 1 for i in range(400)]
    assert learner.labels_asked == 200


def test_on_electricity(real_data):
    """Proposition 1 on real data, and AVU's budget; published: VU and VRU fall to one half."""
    n = 45_312
    shares = {}
    for strategy in (
        VariableUncertainty(budget=0.7), VariableUncertainty(budget=0.9), VariableRandomisedUncertainty(budget=0.7),
        VariableRandomisedUncertainty(budget=0.9), AVU(budget=0.7), AVU(budget=0.9),
    ):  # fmt: skip
        learner = ActiveLearner(learner=HoeffdingTree(), strategy=strategy)
        result = prequential(load_dataset("electricity"), learner)
        assert result.rows == n
        assert result.final["accuracy"] > 0.76
        shares[strategy] = result.labels_used / n
        assert all(
            u < strategy.budget * k + 1
            for u, k in zip(*(result.curve[c] for c in ("labels_used", "rows")), strict=True)
        )
    for strategy, share in shares.items():
        if isinstance(strategy, AVU):
            assert 0.995 * strategy.budget <= share <= strategy.budget + 1 / n
        else:
            assert share == pytest.approx(0.4975, abs=0.005)


# -- a learner like any other -----------------------------------------------------------------------------------------

# Late labels: the row is decided on when it arrives, not when its label comes, so play is not the two verbs.
PROMISES = [c for c in checks.CLASSIFIER_CHECKS if c.__name__ != "late_labels_equal_a_slow_loop"]


def active_tree():
    return ActiveLearner(learner=HoeffdingTree(**EAGER), strategy=AVU(budget=0.7), max_open=50, max_age=100)


@pytest.mark.parametrize("check", PROMISES, ids=lambda check: check.__name__)
def test_keeps_the_promises_of_a_learner(check):
    check(active_tree)


def test_save_in_the_middle(tmp_path):
    X, y = rows(600)
    for strategy in STRATEGIES.values():
        learner = ActiveLearner(learner=HoeffdingTree(**EAGER), strategy=strategy)
        learner.test_then_train(X[:300], y[:300])
        save(learner, tmp_path / "learner")
        again = load(tmp_path / "learner")
        assert repr(again) == repr(learner)
        assert again.test_then_train(X[300:], y[300:]).tobytes() == learner.test_then_train(X[300:], y[300:]).tobytes()
        assert bits(again) == bits(learner)


def test_looks_inside_the_learner():
    learner = ActiveLearner(learner=AdaptiveRandomForest(size=3, **EAGER), strategy=AVU(budget=0.9))
    assert learner.replacements == []
    assert isinstance(learner.model, AdaptiveRandomForest)
    X, y = rows(3000)
    y[1500:] = y[1500:][::-1]
    learner.test_then_train(X, y)
    assert learner.replacements == learner.model.replacements
    assert learner.drifts == []
    assert learner.policy.seen == 3000
    learner.model.partial_fit(X, y)  # a copy
    learner.policy.ask(np.zeros((5, 2)))
    assert learner.policy.seen == 3000


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"learner": "tree"}, "learner must be a learner, got 'tree'"),
        ({"learner": HoeffdingTree}, "learner must be a learner"),
        ({"strategy": "avu"}, "strategy must be a strategy or None, got 'avu'"),
        ({"max_open": 0}, "max_open must lie in"),
        ({"max_age": 0}, "max_age must lie in"),
        ({"max_age": 1.5}, "max_age must be a whole number"),
    ],
)
def test_bad_parameters(params, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        ActiveLearner(**{"learner": NoChange()} | params)


def test_it_is_a_classifier_with_avu_by_default():
    learner = ActiveLearner(learner=NoChange())
    assert isinstance(learner, Classifier)
    assert isinstance(learner.policy, AVU)
    assert repr(learner) == "ActiveLearner(learner=NoChange())"


def test_a_fixed_threshold_can_starve_a_learner_that_is_certain_too_early():
    X, y = rows(1000)
    asked = []
    for warmup in (0, 100):
        learner = ActiveLearner(learner=HoeffdingTree(), strategy=FixedUncertainty(budget=0.5, warmup=warmup))
        learner.test_then_train(X, y)
        asked.append(learner.labels_asked - warmup)
    assert asked[0] < 10 < asked[1]


def test_other_strategies_work_in_a_learner():
    X, y = rows(1000)
    for strategy in (SelectiveSampling(budget=0.2), Split(budget=0.2), VariableUncertainty(budget=0.2)):
        learner = ActiveLearner(learner=HoeffdingTree(), strategy=strategy)
        learner.test_then_train(X, y)
        assert 100 < learner.labels_asked <= 200


def test_a_row_that_is_learned_twice_keeps_its_label():
    X, y = rows(4)
    y[:] = ["a", "b", "c", "d"]
    learner = ActiveLearner(learner=MajorityClass())
    learner.play(X, y, [~3, ~1, ~3, ~1, ~0, ~3])
    assert learner.classes_.tolist() == ["d", "b", "a"]
    assert learner.predict_proba_one(X[0]) == {"d": 3 / 6, "b": 2 / 6, "a": 1 / 6}


def test_the_rows_that_chance_has_chosen_are_an_unbiased_sample():
    X, y = rows(4000)
    learner = ActiveLearner(learner=HoeffdingTree(), strategy=Split(budget=0.3, share=0.5))
    proba = learner.test_then_train(X, y)
    wrong = learner.classes_[proba.argmax(axis=1)] != y
    chance, uncertain = learner.asked_why == 2, learner.asked_why == 1
    assert chance.sum() + uncertain.sum() == learner.labels_asked
    assert wrong[chance].mean() == pytest.approx(wrong.mean(), abs=0.04)
    assert wrong[uncertain].mean() > wrong.mean() + 0.04


def test_a_row_is_decided_on_once():
    """However often a row is predicted before it is learned, its label is asked for at most once."""
    learner = ActiveLearner(learner=NoChange(), strategy=AVU(budget=1.0))
    learner.play(np.zeros((2, 1)), ["a", "b"], [0] * 10 + [1, ~0, 0, ~1])
    assert learner.labels_asked == 2
    assert learner.asked_rows.tolist() == [True, True]
