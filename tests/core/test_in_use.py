"""A learner in use says so: who learns needs it for itself."""

import os
import threading

import numpy as np
import pytest

from soak.threads import attack
from thalweg import ActiveLearner, MajorityClass, NaiveBayes, Random, Schema, registry

X, Y = np.random.default_rng(1).normal(size=(6, 3)), np.array(["a", "b"] * 3)


class Waiting(MajorityClass):
    """Stands still in the middle of ``_play`` until it is let go."""

    met = None

    def _play(self, X, y, w, events, out, known):
        if self.met is not None:
            self.met.set()
            assert self.go.wait(20)
        super()._play(X, y, w, events, out, known)


def busy(call, learner=None):
    """Give a learner in whose ``_play`` another thread stands, with the functions that let it go."""
    learner = Waiting() if learner is None else learner
    learner.met = None
    learner.partial_fit(X, Y)
    learner.met, learner.go = threading.Event(), threading.Event()
    failed = []

    def run():
        try:
            call(learner)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert learner.met.wait(20)

    def end():
        learner.go.set()
        thread.join()
        assert not failed
        learner.met = None

    return learner, end


CHANGES = {
    "partial_fit": lambda it: it.partial_fit(X, Y),
    "test_then_train": lambda it: it.test_then_train(X, Y),
    "play": lambda it: it.play(X, Y, np.array([0, -1])),
    "learn_one": lambda it: it.learn_one(X[0], "a"),
    "restore": lambda it: it.restore({"labels": np.zeros(0, dtype=np.uint8)}),
    "reset": lambda it: it.reset(),
    "declare": lambda it: it.declare(Schema.numeric(3)),
    "grow": lambda it: it.grow(Schema.numeric(3)),
    "fit": lambda it: it.fit(X, Y),
}
LOOKS = {
    "predict": lambda it: it.predict(X),
    "predict_proba": lambda it: it.predict_proba(X),
    "predict_one": lambda it: it.predict_one(X[0]),
    "state": lambda it: it.state(),
    "copy": lambda it: it.copy(),
}


@pytest.mark.parametrize("verb", CHANGES | LOOKS)
def test_while_it_learns_every_call_is_refused(verb):
    learner, end = busy(CHANGES["partial_fit"])
    before = learner._counts.copy()
    with pytest.raises(RuntimeError, match="^this Waiting is in use by another call"):
        (CHANGES | LOOKS)[verb](learner)
    np.testing.assert_array_equal(learner._counts, before)
    end()
    assert learner.predict_proba_one(X[0]) == {"a": 0.5, "b": 0.5}


@pytest.mark.parametrize("verb", ["partial_fit", "learn_one", "restore", "reset"])
def test_while_it_predicts_it_does_not_learn(verb):
    learner, end = busy(LOOKS["predict_proba"])
    with pytest.raises(RuntimeError, match="one that learns needs it for itself"):
        CHANGES[verb](learner)
    end()
    CHANGES["partial_fit"](learner)


@pytest.mark.parametrize("verb", ["state", "copy"])
def test_while_it_predicts_others_may_look(verb):
    learner, end = busy(LOOKS["predict_proba"])
    LOOKS[verb](learner)
    end()


def test_a_refusal_leaves_nothing_behind():
    learner = NaiveBayes()
    with pytest.raises(ValueError, match="y must hold a label"):
        learner.partial_fit(X, Y[:2])
    learner.partial_fit(X, Y).predict(X)
    with pytest.raises(ValueError, match="X must"):
        learner.predict([["word"]])
    learner.partial_fit(X, Y)


def test_asking_and_telling_change_the_learner():
    learner = ActiveLearner(learner=MajorityClass(), strategy=Random(budget=1.0))
    with learner._use.looking:
        with pytest.raises(RuntimeError, match="in use"):
            learner.ask(X)
        with pytest.raises(RuntimeError, match="in use"):
            learner.tell([0], ["a"])
    assert learner.ask(X).tolist() == list(range(6))


@pytest.mark.parametrize("name", registry.LEARNERS if os.environ.get("THALWEG_SOAK") else ["naive-bayes", "knn", "arf"])
def test_threads_get_a_sentence_or_right_answers(name):
    counts, failures = attack(name, seconds=0.5, readers=4)
    assert not failures
    assert counts["learned"] + counts["learning refused"] > 0
