from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from thalweg import Classifier, Feature, HoeffdingTree, MajorityClass, NaiveBayes, NoChange, Schema

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 3))
Y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "up", "down")


def test_a_class_that_is_not_known_yet_has_probability_zero() -> None:
    proba = NaiveBayes().test_then_train(X[:3], ["a", "b", "c"])
    assert proba[0].tolist() == [0.0, 0.0, 0.0]
    assert proba[1].tolist() == [1.0, 0.0, 0.0]
    assert proba[2, :2].sum() == 1.0


def test_declared_classes_are_known_from_the_start() -> None:
    tree = HoeffdingTree().declare(Schema.numeric(3, classes=("down", "up")))
    assert tree.predict_proba(X[:2]).tolist() == [[0.5, 0.5]] * 2
    assert tree.test_then_train(X[:1], ["up"]).tolist() == [[0.5, 0.5]]
    with pytest.raises(ValueError, match="declared classes"):
        tree.partial_fit(X[:1], ["sideways"])


def test_classes_may_be_announced_as_in_scikit_learn() -> None:
    tree = HoeffdingTree().partial_fit(X[:2], ["up", "up"], classes=["down", "up"])
    assert tree.classes_.tolist() == ["down", "up"]
    tree.partial_fit(X[:1], ["new"])
    assert tree.classes_.tolist() == ["down", "up", "new"]


def test_play_carries_out_any_order() -> None:
    late = NoChange()
    proba = late.play(X[:4], ["a", "b", "c", "never learned"], [0, 1, ~0, 2, ~1, 3, ~2])
    assert late.classes_.tolist() == ["a", "b", "c"]
    assert proba.tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("events", [[4], [-5], [[0]], [0, 9]])
def test_events_beyond_the_rows_are_refused(events: list[int]) -> None:
    with pytest.raises(ValueError, match="events must be row numbers"):
        NoChange().play(X[:4], list("abcd"), events)


def test_rows_of_weight_zero_change_nothing_not_even_the_classes() -> None:
    tree = HoeffdingTree().partial_fit(X, Y)
    before = tree.state()
    tree.partial_fit(X[:2], ["new", "newer"], sample_weight=[0.0, 0.0])
    tree.learn_one(X[0], "newest", weight=0.0)
    after = tree.state()
    assert all(np.array_equal(before[k], after[k]) for k in before)


def test_fit_forgets_and_sorts_the_classes() -> None:
    tree = HoeffdingTree().partial_fit(X, np.where(Y == "up", "b", "c"))
    tree.fit(X, Y)
    assert tree.classes_.tolist() == ["down", "up"]
    assert tree.score(X, Y) > 0.8


def test_a_failed_fit_leaves_the_model() -> None:
    tree = HoeffdingTree().fit(X, Y)
    expected = tree.predict_proba(X)
    with pytest.raises(ValueError, match="finite"):
        tree.fit(np.full((2, 3), np.inf), ["a", "b"])
    assert np.array_equal(tree.predict_proba(X), expected)


def test_set_params_starts_anew_and_refuses_bad_values_untouched() -> None:
    tree = HoeffdingTree().fit(X, Y)
    with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\), got 2"):
        tree.set_params(delta=2)
    assert tree.delta == 1e-7
    assert tree.score(X, Y) > 0.8
    with pytest.raises(ValueError, match="Invalid parameter 'zeta'"):
        tree.set_params(zeta=2)
    tree.set_params(delta=0.01)
    assert tree.delta == 0.01
    assert tree.predict(X[:1])[0] is None


def test_repr_shows_what_differs_from_the_defaults() -> None:
    assert repr(HoeffdingTree(tau=0.1)) == "HoeffdingTree(tau=0.1)"


def test_declare_is_for_the_beginning() -> None:
    tree = MajorityClass().partial_fit(X, Y)
    with pytest.raises(ValueError, match="before the first row"):
        tree.declare(Schema.numeric(3))
    with pytest.raises(TypeError, match="must be a Schema"):
        MajorityClass().declare("x0,x1")


def test_grow_takes_over_more_values() -> None:
    small = Schema((Feature("s", values=("a",), open=True),))
    large = Schema((Feature("s", values=("a", "b", "c"), open=True),))
    bayes = NaiveBayes().declare(small)
    bayes.partial_fit([[0.0]], [1])
    bayes.grow(large).partial_fit([[2.0], [1.0]], [2, 2])
    assert bayes.schema == large
    with pytest.raises(ValueError, match="must begin with"):
        bayes.grow(Schema((Feature("t"),)))


def test_a_state_of_something_else_is_refused_and_changes_nothing() -> None:
    tree = HoeffdingTree().partial_fit(X, Y)
    expected = tree.predict_proba(X)
    good = tree.state()
    for broken in (
        {},
        {"labels": good["labels"]} | {"nodes": good["nodes"]},
        {k: v for k, v in good.items() if k != "stats"},
        good | {"labels": np.zeros(3, dtype=np.uint8)},
        good | {"schema": np.zeros(3, dtype=np.uint8)},
    ):
        with pytest.raises(ValueError, match="state must be what HoeffdingTree"):
            tree.restore(broken)
        assert np.array_equal(tree.predict_proba(X), expected)


@pytest.mark.parametrize("make", [NaiveBayes, lambda: HoeffdingTree(grace_period=20, delta=0.2, tau=0.2)])
def test_words_of_rows_that_are_not_learned_are_not_admitted(make) -> None:
    rng = np.random.default_rng(36)
    words = [f"word{rng.integers(0, 3 + i // 20)}" for i in range(300)]
    table = pa.table({"size": X[:, 0], "word": words})
    w = rng.choice([0.0, 1.0], 300)
    runs = []
    for size in (1, 13, 300):
        learner, proba = make(), np.zeros((300, 2))
        for i in range(0, 300, size):
            part = slice(i, i + size)
            got = learner.test_then_train(table.slice(i, size), Y[part], w[part])
            proba[part, : got.shape[1]] = got
        runs.append((proba, learner.state()))
    for proba, state in runs[1:]:
        assert np.array_equal(proba, runs[0][0])
        assert all(np.array_equal(state[k], v) for k, v in runs[0][1].items())
    learned = {word for word, weight in zip(words, w, strict=True) if weight > 0}
    assert set(learner.schema.features[1].values) == learned


def test_many_threads_may_predict_with_one_learner() -> None:
    tree = HoeffdingTree(grace_period=20, delta=0.1).partial_fit(X, Y)
    expected, before = tree.predict_proba(X), tree.state()
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: tree.predict_proba(X), range(64)))
        labels = list(threads.map(tree.predict_one, X))
    assert all(np.array_equal(a, expected) for a in answers)
    assert labels == tree.predict(X).tolist()
    assert all(np.array_equal(before[k], v) for k, v in tree.state().items())


def test_a_users_own_learner_needs_four_methods() -> None:
    class Coin(Classifier):
        def _start(self, schema: Schema) -> None:
            pass

        def _play(self, X, y, w, events, out, known):
            for e in events:
                if e >= 0:
                    out[e, :known] = 1.0 / max(1, known)
                else:
                    known = max(known, y[~e] + 1)

        def _tables(self):
            return {"nothing": np.zeros(1)}

        def _adopt(self, tables, schema, classes):
            pass

    coin = Coin()
    assert coin.test_then_train(X[:3], ["a", "b", "a"])[2].tolist() == [0.5, 0.5]
    assert coin.copy().predict_one(X[0]) == "a"
