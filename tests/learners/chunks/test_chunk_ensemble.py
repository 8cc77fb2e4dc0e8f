"""The ensemble of chunk trees: what it keeps, how it weighs, and that the index changes no bit."""

import numpy as np
import pytest

from thalweg import SEA, Agrawal, ChunkEnsemble, HyperCube, load, registry, save
from thalweg.registry import INDEXES


def agrawal(n=3_000, seed=1):
    stream = Agrawal(seed=seed)
    chunk = stream.read(n)
    return chunk.X, chunk.y, stream.schema


@pytest.mark.parametrize("weights", ["equal", "accuracy", "decay"])
@pytest.mark.parametrize("votes", ["soft", "hard"])
def test_every_index_gives_the_same_bits(weights, votes):
    X, y, schema = agrawal()
    expected = None
    for kind in ("linear-rules", "auto", "linear-trees", "e-tree(most=5)", "bitmap", "compiled-trees"):
        learner = ChunkEnsemble(size=4, chunk=250, index=kind, weights=weights, votes=votes).declare(schema)
        proba = learner.test_then_train(X, y)
        expected = proba if expected is None else expected
        assert np.array_equal(proba, expected)
        assert (learner.trained, len(learner.trees), learner.waiting) == (12, 4, 0)
        assert list(learner.rule_index.classifiers) == [8, 9, 10, 11]
        if kind.startswith("e-tree"):
            learner.rule_index.validate()
        frozen = learner.compile()
        assert np.array_equal(frozen.predict_proba(X), learner.predict_proba(X))


def test_scores_are_the_weighted_mean_of_the_trees():
    X, y, schema = agrawal()
    learner = ChunkEnsemble(size=3, chunk=500, weights="accuracy").declare(schema).partial_fit(X, y)
    nominal = np.array([f.nominal for f in schema.features])
    total, say = np.zeros((len(X), 2)), list(learner.rule_index.classifiers.values())
    for tree, w in zip(learner.trees, say, strict=True):
        rules = tree.rules(nominal, 2)
        total += w * rules.payload[rules.holds(X).argmax(axis=1)]
    assert np.allclose(learner.predict_proba(X), total / sum(say), rtol=0, atol=1e-12)
    assert learner.score(X, y) > 0.9


def test_weights_by_accuracy_follow_a_drift():
    before, after = SEA(function=1, noise=0.0, seed=1).read(2_000), SEA(function=1, noise=0.0, seed=2).read(500)
    learner = ChunkEnsemble(size=5, chunk=500, weights="accuracy").partial_fit(before.X, before.y)
    learner.partial_fit(after.X, 1 - after.y)  # all labels turned round
    say = list(learner.rule_index.classifiers.values())
    assert say[:4] == [0.0] * 4
    assert say[4] > 0.0
    assert learner.score(after.X, 1 - after.y) > 0.95
    shares = np.bincount(after.y) / 500
    assert say[4] == pytest.approx(float((shares * (1 - shares) ** 2).sum()))


def test_weights_by_decay():
    X, y, _ = agrawal(1_000)
    learner = ChunkEnsemble(size=3, chunk=250, weights="decay", decay=0.5).partial_fit(X, y)
    assert list(learner.rule_index.classifiers.values()) == [0.25, 0.5, 1.0]


def test_before_the_first_tree_all_classes_are_alike():
    X = np.zeros((5, 1))
    proba = ChunkEnsemble(chunk=10).test_then_train(X, list("abacc"))
    assert proba.tolist() == [[0, 0, 0], [1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0], [1 / 3] * 3]


def test_keeps_all_without_a_size():
    X, y, _ = agrawal(1_000)
    learner = ChunkEnsemble(size=None, chunk=50).partial_fit(X, y)
    assert len(learner.trees) == learner.trained == 20


def test_auto_changes_its_index_as_rules_come():
    chunk = HyperCube(seed=1).read(8_000)
    given = {"size": 20, "chunk": 400, "confidence": None, "min_leaf": 1}
    learner = ChunkEnsemble(**given).partial_fit(chunk.X[:400], chunk.y[:400])
    assert learner.index_reason.startswith("LinearRules: ")
    twin = ChunkEnsemble(**given, index="linear-rules").partial_fit(chunk.X, chunk.y)
    learner.partial_fit(chunk.X[400:], chunk.y[400:])
    assert learner.index_reason.startswith("BitmapIndex: ")
    assert str(learner.rule_index.n_rules) in learner.index_reason
    assert np.array_equal(learner.predict_proba(chunk.X), twin.predict_proba(chunk.X))


def test_names_are_the_papers():
    kinds = {"le-tree": (30, "e-tree"), "ge-tree": (None, "e-tree"), "l-ensemble": (30, "linear-rules")}
    for name, (size, index) in (kinds | {"g-ensemble": (None, "linear-rules")}).items():
        learner = registry.LEARNERS[name].make()
        assert (learner.size, learner.index, learner.chunk, learner.votes) == (size, index, 10_000, "hard")


@pytest.mark.parametrize("kind", INDEXES)
def test_a_frozen_ensemble_can_be_saved(kind, tmp_path):
    X, y, schema = agrawal(1_000)
    learner = ChunkEnsemble(size=3, chunk=300, index=kind).declare(schema).partial_fit(X, y)
    expected = learner.predict_proba(X)
    frozen = learner.compile()
    save(frozen, tmp_path / "frozen")
    learner.partial_fit(X, 1 - y)
    again = load(tmp_path / "frozen")
    assert again.kind == kind
    assert np.array_equal(frozen.predict_proba(X), expected)
    assert np.array_equal(again.predict_proba(X), expected)
    assert not np.array_equal(learner.predict_proba(X), expected)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"size": 0}, "size must lie in"),
        ({"chunk": 0}, "chunk must lie in"),
        ({"index": "b-tree"}, "index must be one of 'auto', 'linear-rules'"),
        ({"index": "e-tree(most=1)"}, "cannot be made: most must lie in"),
        ({"weights": "best"}, "weights must be one of"),
        ({"confidence": 0.7}, "confidence must lie in"),
        ({"decay": 0.0}, "decay must lie in"),
    ],
)
def test_bad_parameters(given, words):
    with pytest.raises(ValueError, match=words):
        ChunkEnsemble(**given)


def test_a_damaged_state_is_refused():
    X, y, _ = agrawal(500)
    learner = ChunkEnsemble(chunk=200).partial_fit(X, y)
    expected = learner.predict_proba(X)
    for name, value in (("nodes", ("left", 10_000)), ("missing", 99), ("sizes", 1), ("votes", np.nan), ("head", 0)):
        state = learner.state()
        if isinstance(value, tuple):
            state[name][value[0]][0] = value[1]
        else:
            state[name].reshape(-1)[0] = value
        with pytest.raises(ValueError, match="state must be what ChunkEnsemble"):
            learner.restore(state)
    assert np.array_equal(learner.predict_proba(X), expected)


def test_features_that_join_are_missing_before():
    records = [{"a": float(i % 7)} for i in range(60)]
    learner = ChunkEnsemble(chunk=50, index="bitmap", min_leaf=1)
    for i, record in enumerate(records):
        learner.learn_one(record, i % 7 > 3)
    before = learner.predict_proba_one({"a": 5.0})
    learner.learn_one({"a": 1.0, "b": 2.0}, False)
    assert learner.predict_proba_one({"a": 5.0, "b": 1.0}) == before
    for i in range(60):
        learner.learn_one({"a": float(i % 7), "b": float(i % 2)}, i % 2 == 0)
    assert learner.trained == 2
    assert learner.compile().predict_proba_one({"a": 5.0, "b": 1.0}) == learner.predict_proba_one({"a": 5.0, "b": 1.0})


def test_rules_of_the_target_class_alone():
    chunk = HyperCube(seed=1).read(6_000)
    given = {"size": 5, "chunk": 500, "votes": "hard", "confidence": None}
    whole = ChunkEnsemble(**given).partial_fit(chunk.X, chunk.y)
    expected = whole.predict_proba(chunk.X)
    said = None
    for kind in ("linear-rules", "auto", "linear-trees", "e-tree(most=5)", "bitmap", "compiled-trees"):
        learner = ChunkEnsemble(indexed="target", index=kind, **given)
        proba = learner.test_then_train(chunk.X, chunk.y)
        said = proba if said is None else said
        assert np.array_equal(proba, said)
        assert 0 < learner.rule_index.n_rules < whole.rule_index.n_rules / 2 + 1
        assert np.allclose(learner.predict_proba(chunk.X), expected, rtol=0, atol=1e-12)
        frozen = learner.compile()
        assert np.array_equal(frozen.predict_proba(chunk.X), learner.predict_proba(chunk.X))
        again = ChunkEnsemble(indexed="target", index=kind, **given)
        again.restore(learner.state())
        assert np.array_equal(again.predict_proba(chunk.X), learner.predict_proba(chunk.X))


def test_the_target_changes_and_goes():
    rng = np.random.default_rng(5)
    X = rng.random((6_000, 3))
    y = np.where(X[:, 0] > 0.5, "a", "b")
    few = (X[:, 1] * 20).astype(int) % 2 == 1
    y[:2_000][few[:2_000] & (y[:2_000] == "a")] = "b"
    learner = ChunkEnsemble(size=1, chunk=500, votes="hard", indexed="target", index="linear-rules", confidence=None)
    learner.partial_fit(X, y)
    proba = learner.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1.0)
    learner.partial_fit(X[:500], np.where(X[:500, 0] > 0.7, "c", y[:500]))
    assert learner.rule_index.n_rules == sum(len(tree.votes) for tree in learner.trees)  # three classes: all rules
    assert learner.predict_proba(X).shape == (6_000, 3)
    with pytest.raises(ValueError, match="votes must be 'hard' for an index of the target class alone, got 'soft'"):
        ChunkEnsemble(indexed="target")


@pytest.mark.parametrize("index", ["e-tree", "linear-rules", "bitmap"])
def test_labels_by_votes_that_are_counted_no_further_than_needed(index):
    """Also where trees are even: half of the votes are no majority."""
    chunk = HyperCube(features=3, noise=0.2, seed=2).read(6_000)
    learner = ChunkEnsemble(size=6, chunk=1_000, index=index, votes="hard", indexed="target")
    learner.partial_fit(chunk.X, chunk.y)
    still, X = learner.compile(), HyperCube(features=3, seed=3).read(3_000).X
    proba = still.predict_proba(X)
    assert (proba[:, 0] == 0.5).any()
    assert np.array_equal(proba, learner.predict_proba(X))
    assert np.array_equal(still.predict(X), learner.predict(X))
    assert [still.predict_one(x) for x in X[:50]] == learner.predict(X[:50]).tolist()


@pytest.mark.parametrize("kind", ["auto", "linear-rules", "linear-trees", "e-tree", "bitmap", "compiled-trees"])
def test_what_is_published_does_not_depend_on_a_restart(kind):
    X, y, schema = agrawal(900)
    steady, restarted = (ChunkEnsemble(size=3, chunk=100, index=kind).declare(schema) for _ in range(2))
    for at in range(0, 900, 150):
        steady.partial_fit(X[at : at + 150], y[at : at + 150])
        restarted.partial_fit(X[at : at + 150], y[at : at + 150])
        state, restarted = restarted.state(), ChunkEnsemble(**restarted.get_params(deep=False))
        restarted.restore(state)
        for one, other in ((steady, restarted), (steady.compile(), restarted.compile())):
            a, b = one.state(), other.state()
            assert list(a) == list(b)
            assert all(a[name].tobytes() == b[name].tobytes() for name in a)


def test_damaged_trees_and_waiting_rows_are_refused():
    X, y, schema = agrawal(550)
    learner = ChunkEnsemble(chunk=100).declare(schema).partial_fit(X, y)
    nominal = int(np.flatnonzero(schema.nominal)[0])
    state = learner.state()
    first, second = np.flatnonzero(state["nodes"]["feature"][: state["sizes"][0, 0]] != -1)[:2]

    def shared(state):
        state["nodes"]["left"][first] = state["nodes"]["left"][second]

    def many_ways(state):
        state["nodes"]["feature"][first], state["nodes"]["threshold"][first] = -2 - nominal, -2.5

    def rows(value):
        return lambda state: state["rows"].__setitem__((0, nominal), value)

    def codes(value):
        return lambda state: state["codes"].__setitem__(0, value)

    changes = (shared, many_ways, rows(-5.0), rows(0.5), rows(1e6), codes(2), codes(-1), codes(2**40))
    for change in changes:
        state = learner.state()
        change(state)
        with pytest.raises(ValueError, match="state must be what ChunkEnsemble"):
            learner.restore(state)
