"""The streaming deep forest: against a plain cascade of forests, and what it promises."""

import numpy as np
import pytest

import thalweg
from changing import changing, schema_of
from thalweg import (
    SEA,
    AdaptiveRandomForest,
    Feature,
    LeveragingBagging,
    OnlineBagging,
    Schema,
    StreamingDeepForest,
)
from thalweg.core import steps
from thalweg.learners.deep import outputs_jit

EAGER = {"grace_period": 20, "delta": 0.3, "tau": 0.2}
TWO = (
    AdaptiveRandomForest(subspace=0.6, warning="adwin(delta=0.5)", drift="adwin(delta=0.2)", **EAGER),
    AdaptiveRandomForest(subspace="all", criterion="gini", drift="ddm", warning="none", **EAGER),
)


def small(**options):
    return StreamingDeepForest(**{"layers": 3, "size": 3, "forests": TWO, "seed": 7} | options)


class Cascade:
    """Layers of forests, row after row, out of the library's own forests: slow and plain."""

    def __init__(self, d, *, layers, size, forests, seed, pass_on, output):
        self.d, self.pass_on, self.output = d, pass_on, output
        self.known, self.columns = 0, 2
        self.losses = np.zeros(layers)
        self.layers = []
        for k in range(layers):
            layer = []
            for j, forest in enumerate(forests):
                own = seed if k == j == 0 else int(np.random.SeedSequence([seed, k, j]).generate_state(1)[0])
                layer.append(type(forest)(**forest.get_params(deep=False) | {"size": size, "seed": own}))
                layer[-1].declare(self.schema(k, j))
            self.layers.append(layer)

    def schema(self, k, j):
        names = [f"x{i}" for i in range(self.d)]
        if k:
            each = 1 if self.pass_on == "mean" else len(self.layers[0])
            names += [f"a{i}" for i in range(self.columns * each)]
        return Schema(tuple(Feature(name) for name in names))

    def predict(self, x):
        """What each forest of each layer says, and what each layer was shown."""
        said, shown, z = [], [], x
        for layer in self.layers:
            shown.append(z)
            answers = np.zeros((len(layer), self.columns))
            for j, forest in enumerate(layer):
                p = forest.predict_proba(z.reshape(1, -1))[0]
                answers[j, : self.known] = p if len(p) == self.known else 1.0 / max(1, self.known)
            said.append(answers)
            passed = answers.mean(axis=0) if self.pass_on == "mean" else answers.T.reshape(-1)
            z = np.concatenate([x, passed])
        return said, shown

    def answer(self, said):
        layers = [s.mean(axis=0)[: self.known] for s in said]
        if self.output == "last":
            return layers[-1]
        if self.output == "mean":
            return sum(layers) / len(layers)
        if self.output == "best":
            return layers[int(np.argmin(self.losses))]
        weights = np.exp(-0.2 * (self.losses - self.losses.min()))
        return sum(w * p for w, p in zip(weights / weights.sum(), layers, strict=True))

    def learn(self, said, shown, y):
        for k, layer in enumerate(self.layers):
            for forest in layer:
                forest.partial_fit(shown[k].reshape(1, -1), [y])
            together = said[k].mean(axis=0)
            right = together.argmax() == y and together.max() > 0
            self.losses[k] = 0.999 * self.losses[k] + (not right)
        self.known = max(self.known, y + 1)
        if self.known > self.columns:
            self.columns = self.known
            for layer in self.layers[1:]:
                for j, forest in enumerate(layer):
                    forest.grow(self.schema(1, j))


@pytest.mark.parametrize("pass_on", ["mean", "forests"])
@pytest.mark.parametrize("output", ["last", "mean", "best", "weighted"])
def test_blocks_through_layers_are_rows_through_the_cascade(pass_on, output):
    X, y = changing(3, 700, kinds=(None,) * 4, classes=4, every=250, late=100)
    options = {"layers": 3, "size": 3, "forests": TWO, "seed": 7, "pass_on": pass_on, "output": output}
    twin = Cascade(4, **options)
    expected = np.zeros((len(X), 4))
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        said, shown = twin.predict(x)
        expected[i, : twin.known] = twin.answer(said)
        twin.learn(said, shown, label)
    forest = StreamingDeepForest(**options)
    got = forest.test_then_train(X, y)
    assert sum(forest.layer_drifts) > 0
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    for k, layer in enumerate(forest.layer_probas(X[:20])):
        for i in range(20):
            np.testing.assert_allclose(layer[:, i], twin.predict(X[i])[0][k], rtol=0, atol=1e-12)


def test_rows_are_predicted_right_before_they_are_learned():
    found = steps.unroll(np.array([0, 1, ~0, ~1, 2, ~2, ~3, 3, 3]))
    assert found.rows.tolist() == [0, 1, 0, 1, 2, 3, 3, 3]
    assert found.events.tolist() == [0, 1, 2, ~2, 3, ~3, 4, ~4, 5, ~5, 6, 7]
    assert found.asked.tolist() == [0, 1, 4, 6, 7]
    assert all(len(part) == 0 for part in steps.unroll(np.zeros(0, dtype=np.int64)))


def test_events_are_cut_where_something_changes():
    y = np.array([0, 0, 1, 0, 2])
    events = np.array([0, ~0, 1, ~1, 2, ~2, 3, ~3, 4, ~4])
    assert [steps.cut(events, y, known, 100) for known in (0, 1, 2, 3)] == [2, 6, 10, 10]
    assert steps.cut(events, y, 3, 2) == 4
    assert steps.cut(np.arange(5), np.zeros(0, dtype=np.int64), 3, 2) == 5
    assert steps.cut(np.zeros(10_000, dtype=np.int64), y, 3, 2) == steps.BLOCK


@pytest.mark.parametrize("late", [0, 1, 40])
def test_any_order_of_events_in_any_pieces(late):
    """Labels that come ``late`` rows later: one call, calls row by row, and other blocks give the same bits."""
    X, y = changing(5, 400, kinds=(None, 3, None), classes=3, every=150)
    schema = schema_of((None, 3, None), classes=(0, 1, 2))
    events = []
    for i in range(len(X) + late):
        events += [i] if i < len(X) else []
        events += [~(i - late)] if i >= late else []
    whole, single = small().declare(schema), small().declare(schema)
    P = whole.play(X, y, events)
    for i, e in enumerate(events):
        if e >= 0:
            assert single.predict_proba_one(X[e]) == dict(enumerate(P[e].tolist())), i
        else:
            single.learn_one(X[~e], int(y[~e]))
    states = [forest.state() for forest in (whole, single)]
    assert all(np.array_equal(states[0][name], table) for name, table in states[1].items())


def test_threads_and_blocks_change_nothing(monkeypatch):
    X, y = changing(9, 1_500, kinds=(None,) * 5, classes=3, every=300)
    results = []
    for jobs, block in ((1, 2_048), (4, 2_048), (2, 7)):
        monkeypatch.setattr(steps, "BLOCK", block)
        forest = small(size=20, layers=2, n_jobs=jobs)
        results.append((forest.test_then_train(X, y), forest.state()))
    for P, state in results[1:]:
        assert np.array_equal(P, results[0][0])
        assert all(np.array_equal(state[name], table) for name, table in results[0][1].items())


def test_one_layer_of_one_forest_is_that_forest():
    X, y = changing(4, 1_000, classes=3)
    schema = schema_of((None, 3, None, 5, None, 2))
    cascade_ = StreamingDeepForest(layers=1, size=5, forests=["arf(grace_period=20, delta=0.3)"], seed=3, output="last")
    forest = AdaptiveRandomForest(size=5, grace_period=20, delta=0.3, seed=3)
    P, Q = (learner.declare(schema).test_then_train(X, y) for learner in (cascade_, forest))
    assert np.array_equal(P, Q)
    assert [m.depth for m in cascade_.layer_forests(0)[0].members] == [m.depth for m in forest.members]


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_no_label_leaks_into_the_next_layer(preset):
    """With coin flips for labels every layer stays at chance."""
    rng = np.random.default_rng(1)
    n = 6_000
    X, y = rng.random((n, 3)), rng.integers(0, 2, n)
    forest = StreamingDeepForest(layers=3, size=4, preset=preset, output="last")
    forest.declare(Schema.numeric(3, classes=(0, 1)))
    errors = np.zeros(3)
    for i in range(n):
        faded = forest._losses.copy() if i else np.zeros(3)
        forest.learn_one(X[i], y[i])
        errors += forest._losses - outputs_jit.FADE * faded  # was the layer wrong about the row it then learned?
    assert np.abs(errors / n - 0.5).max() < 3 * np.sqrt(0.25 / n)


def test_classes_that_come_late_get_columns():
    X, y = changing(2, 900, kinds=(None,) * 4, classes=5, every=300, late=150)
    forest = small(pass_on="forests", layers=2).partial_fit(X, y)
    names = forest.layer_forests(1)[0].schema.names
    assert len(names) == 4 + 5 * 2
    assert names[:4] == ("x0", "x1", "x2", "x3")
    assert forest.layer_forests(0)[0].schema.names == names[:4]
    first = forest.layer_forests(1)[0]
    assert first._shards[0].pool.watched.shape[1] == round(0.6 * 14)
    assert len(small(layers=2).partial_fit(X, y).layer_forests(1)[0].schema.names) == 4 + 5


def test_predicting_changes_nothing():
    """A class that is new widens the layers when the next row is learned, not when somebody predicts."""
    rng = np.random.default_rng(0)
    rows = [
        ({"a": float(a), "b": float(b)}, int(c)) for a, b, c in zip(*rng.random((2, 60)), [0, 1, 2] * 20, strict=True)
    ]
    quiet, asked = small(layers=2), small(layers=2)
    for i, (record, label) in enumerate(rows):
        if i > 30:
            record["c"] = record["a"] * 2.0
        for forest in (quiet, asked):
            forest.learn_one(record, label)
        before = asked.state()
        asked.predict_one(record)
        assert all(np.array_equal(table, before[name]) for name, table in asked.state().items())
    assert quiet.layer_forests(1)[0].schema.names == asked.layer_forests(1)[0].schema.names
    states = quiet.state(), asked.state()
    assert all(np.array_equal(table, states[1][name]) for name, table in states[0].items())


def test_before_the_first_row_all_classes_are_alike():
    schema = Schema.numeric(2, classes=tuple(range(5)))
    forest = StreamingDeepForest(layers=2, size=2, forests=["arf", "arf", "arf"]).declare(schema)
    P = forest.play(np.zeros((3, 2)), [0, 0, 1], [0, 1, ~2, 2])
    assert (P[:2] == 0.2).all()


def test_a_layer_that_joins_has_a_record():
    """It begins with the loss of the layer before: with none it would have the whole say."""
    X, y = changing(3, 600, kinds=(None,) * 4, classes=3)
    forest = small(layers=1, max_layers=2).partial_fit(X[:300], y[:300])
    forest._duel[:] = [1.0, 999.0, 100.0, 0.0]
    forest.partial_fit(X[300:], y[300:])
    assert forest.n_layers == 2
    assert 0.01 < min(forest.layer_weights)


def test_a_layer_without_room_is_not_tried():
    X, y = changing(3, 400, kinds=(None,) * 4, classes=3)
    forest = small(layers=1, size=1, max_layers=4, forests=["arf"]).partial_fit(X[:300], y[:300])
    forest._duel[:] = [1.0, 999.0, 100.0, 0.0]
    forest.forests = ["arf(limit_bytes=1024)"]  # as if there were no room for one more
    forest.partial_fit(X[300:302], y[300:302])
    assert (forest.n_layers, len(forest._layers)) == (2, 2)
    assert forest.predict_proba(X[:3]).shape == (3, 3)
    assert forest.partial_fit(X[302:], y[302:]).n_layers == 2


def test_features_that_join_are_seen_by_all_layers():
    rng = np.random.default_rng(0)
    forest = small(layers=2)
    for i in range(300):
        record = {"a": float(rng.random()), "b": float(rng.random())}
        if i >= 100:
            record["c"] = float(rng.random())
        forest.learn_one(record, "high" if record.get("c", record["a"]) > 0.5 else "low")
    names = forest.layer_forests(1)[0].schema.names
    assert names == ("a", "b", "answer 0", "answer 1", "c")
    assert forest.predict_one({"a": 0.1, "b": 0.5, "c": 0.95}) == "high"
    assert forest.predict_one({"a": 0.9, "b": 0.5, "c": 0.05}) == "low"


def test_a_feature_may_have_the_name_of_an_answer():
    forest = small(layers=2).learn_one({"answer 0": 1.0, "x": 2.0}, "no")
    assert forest.layer_forests(1)[0].schema.names == ("answer 0", "x", "answer 0'", "answer 1")


@pytest.mark.parametrize("options", [{}, {"pass_on": "forests", "max_layers": 5, "layers": 1}])
def test_saved_halfway_it_goes_on_as_before(options, tmp_path):
    X, y = changing(6, 3_000, kinds=(None,) * 4, classes=3, every=900)
    names = np.array(["red", "green", "blue"])[y]
    forest = small(**options).partial_fit(X[:1_500], names[:1_500])
    thalweg.save(forest, tmp_path / "deep.safetensors")
    again = thalweg.load(tmp_path / "deep.safetensors")
    assert again.n_layers == forest.n_layers
    assert again.layer_weights == forest.layer_weights
    P, Q = (f.test_then_train(X[1_500:], names[1_500:]) for f in (forest, again))
    assert np.array_equal(P, Q)
    assert (tmp_path / "deep.safetensors").stat().st_size < 1.2 * sum(
        t.nbytes for t in forest.state().values()
    ) + 20_000


def test_a_damaged_state_is_refused():
    chunk = SEA(seed=1).read(300)
    forest = small(max_layers=4).partial_fit(chunk.X, chunk.y)
    before = forest.predict_proba(chunk.X)
    good = forest.state()
    bad = [
        good | {"columns": good["columns"][:-1]},
        good | {"columns": good["columns"].astype(np.int32)},
        good | {"columns": np.concatenate([good["columns"], [99]])},
        good | {"losses": good["losses"][:-1]},
        good | {"losses": good["losses"] - 1e6},
        good | {"duel": good["duel"] + 0.5},
        good | {"duel": np.zeros(4)},
        {name: table for name, table in good.items() if not name.startswith("1.0.")},
        {name: table for name, table in good.items() if name != "duel"},
        good | {"2.1.members": good["2.1.members"][:-1]},
    ]
    for state in bad:
        with pytest.raises(ValueError, match="state must be what StreamingDeepForest.state"):
            forest.restore(state)
    assert np.array_equal(forest.predict_proba(chunk.X), before)


def test_a_layer_joins_where_it_helps():
    X, y = changing(3, 1_200, kinds=(None,) * 4, classes=3)
    forest = small(layers=1, max_layers=3).partial_fit(X[:300], y[:300])
    assert (forest.n_layers, len(forest.layer_probas(X[:1]))) == (1, 2)  # one is on trial
    chance = np.array([1.0, 990.0, 60.0, 50.0])  # layers that vote; rows; right alone: the one on trial, the last one
    forest._duel[:] = chance
    assert forest.partial_fit(X[300:320], y[300:320]).n_layers == 1
    assert forest._duel[outputs_jit.ROWS] == 10
    better = np.array([1.0, 990.0, 100.0, 50.0])
    forest._duel[:] = better
    single = forest.copy()
    P = forest.test_then_train(X[320:], y[320:])
    assert (forest.n_layers, len(forest.layer_probas(X[:1]))) == (2, 3)
    Q = np.concatenate([single.test_then_train(X[i : i + 1], y[i : i + 1]) for i in range(320, len(X))])
    assert np.array_equal(P, Q)
    assert all(np.array_equal(table, single.state()[name]) for name, table in forest.state().items())


def test_no_layer_joins_by_chance():
    rng = np.random.default_rng(3)
    forest = small(layers=1, max_layers=3, size=2).partial_fit(rng.random((6_000, 3)), rng.integers(0, 2, 6_000))
    assert forest.n_layers == 1


def test_what_can_be_seen():
    X, y = changing(3, 2_000, kinds=(None,) * 4, classes=2, every=400)
    forest = small(layers=2)
    assert (forest.n_layers, forest.layer_drifts, forest.replacements, forest.memory()) == (2, [], [], {})
    assert forest.layer_weights == [0.5, 0.5]
    for look in (lambda: forest.layer_probas(X[:2]), lambda: forest.layer_forests(0)):
        with pytest.raises(ValueError, match="has not seen a row yet"):
            look()
    forest.partial_fit(X, y)
    assert sum(forest.layer_weights) == pytest.approx(1.0)
    assert len(forest.layer_drifts) == len(forest.layer_warnings) == 2
    assert sum(forest.layer_drifts) == sum(m.drifts for k in (0, 1) for f in forest.layer_forests(k) for m in f.members)
    assert sum(forest.layer_drifts) > 0
    rows, trees = zip(*forest.replacements, strict=True)
    assert rows == tuple(sorted(rows))
    assert set(trees) <= set(range(2 * 2 * 3))
    assert sum(forest.memory().values()) == forest.state_bytes > 0
    assert forest.layer_forests(1)[0].importances()["answer 0"] > 0.0
    copies = forest.layer_forests(1)
    copies[0].partial_fit(np.zeros((5, 6)), [0] * 5)  # a copy goes its own way
    assert forest.copy().predict_proba(X[:9]).tolist() == forest.predict_proba(X[:9]).tolist()
    with pytest.raises(ValueError, match=r"layer must lie in \[0, 2\), got 2"):
        forest.layer_forests(2)


def test_forests_of_many_trees_can_be_looked_at_too():
    """The cascade divides its forests in fewer parts than a forest on its own would be; a copy keeps to these."""
    chunk = SEA(seed=1).read(200)
    forest = small(layers=1, size=20).partial_fit(chunk.X, chunk.y)
    for copied, said in zip(forest.layer_forests(0), forest.layer_probas(chunk.X)[0], strict=True):
        assert copied.predict_proba(chunk.X).tolist() == said.tolist()
        assert copied.history.rows == 200
        again = copied.fresh()
        again.restore(copied.state())
        assert again.predict_proba(chunk.X).tolist() == said.tolist()


def test_deep_layers_may_be_smaller():
    chunk = SEA(seed=1).read(200)
    forest = small(size=6, deep_size=2).partial_fit(chunk.X, chunk.y)
    assert [[f.size for f in forest.layer_forests(k)] for k in range(3)] == [[6, 6], [2, 2], [2, 2]]


def test_forests_of_any_kind_by_name_or_object():
    chunk = SEA(seed=1).read(2_000)
    forest = StreamingDeepForest(layers=2, size=3, forests=(LeveragingBagging(), "online-bagging", "srp(subspace=0.6)"))
    P = forest.test_then_train(chunk.X, chunk.y)
    assert (forest.classes_[P.argmax(axis=1)] == chunk.y).mean() > 0.8
    assert type(forest.layer_forests(1)[1]) is OnlineBagging


def test_weights_follow_losses():
    weights = np.empty(3)
    weigh = getattr(outputs_jit.weigh, "py_func", outputs_jit.weigh)
    for rule, expected in (
        (outputs_jit.LAST, [0, 0, 1]),
        (outputs_jit.MEAN, [1 / 3] * 3),
        (outputs_jit.BEST, [0, 1, 0]),
        (outputs_jit.WEIGHTED, np.exp([-0.4, 0.0, -0.2]) / np.exp([-0.4, 0.0, -0.2]).sum()),
    ):
        weigh(np.array([5.0, 3.0, 4.0]), 3, rule, weights)
        assert weights == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"layers": 0}, r"layers must lie in \[1, 100\], got 0"),
        ({"layers": 2.5}, "layers must be a whole number .* got 2.5"),
        ({"size": 0}, "size must lie in .* got 0"),
        ({"deep_size": -1}, "deep_size must lie in .* got -1"),
        ({"forests": []}, r"forests must be a list of one or more forests or names, got \[\]"),
        ({"forests": "arf"}, "forests must be a list of one or more forests or names, got 'arf'"),
        ({"forests": ["oak"]}, "forests must be one of arf, .* got 'oak'"),
        ({"forests": [3]}, "forests must hold forests or their names, got 3"),
        ({"forests": ["arf(subspace=0)"]}, r"forests 'arf\(subspace=0\)' cannot be made: subspace must be"),
        ({"forests": ["arf(colour=1)"]}, r"forests 'arf\(colour=1\)' cannot be made: .*colour"),
        ({"forests": ["arf(("]}, r"forests must read like arf or arf\(subspace=0.6\)"),
        ({"pass_on": "all"}, "pass_on must be one of 'mean', 'forests', None, got 'all'"),
        ({"output": "first"}, "output must be one of 'last', 'mean', 'best', 'weighted', None, got 'first'"),
        ({"preset": "2020"}, "preset must be one of 'default', 'paper', got '2020'"),
        ({"max_layers": 2}, r"max_layers must lie in \[3, 100\], got 2"),
        ({"seed": -1}, r"seed must lie in \[0, ∞\), got -1"),
        ({"n_jobs": 0}, "n_jobs must be a number of threads"),
    ],
)
def test_bad_parameters(options, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        StreamingDeepForest(**options)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_no_rows_get_no_answers(preset):
    chunk = SEA(seed=1).read(200)
    forest = StreamingDeepForest(layers=2, size=2, preset=preset).partial_fit(chunk.X, chunk.y)
    assert forest.predict_proba(chunk.X[:0]).shape == (0, 2)
