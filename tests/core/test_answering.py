"""The verbs of whatever answers, over the two methods that it writes."""

import numpy as np
import pytest

from thalweg.core.answering import Answering
from thalweg.core.labels import Labels
from thalweg.core.schema import Schema


class Halves(Answering):
    """Is sure of the first label for rows that begin with less than 0, of the last one for others."""

    def __init__(self, labels):
        self.labels = Labels(labels)

    def _proba(self, x, one):
        X = np.atleast_2d(np.asarray(x, dtype=float))
        proba = np.zeros((len(X), len(self.labels)))
        if len(self.labels):
            proba[np.arange(len(X)), np.where(X[:, 0] < 0.0, 0, len(self.labels) - 1)] = 1.0
        return proba, self.labels

    def _known(self):
        return self.labels, Schema.numeric(1)


def test_all_verbs_say_the_same():
    halves = Halves(["no", "yes"])
    assert halves.predict_proba([[-1.0], [1.0]]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert halves.predict([[-1.0], [1.0]]).tolist() == ["no", "yes"]
    assert halves.predict_proba_one([1.0]) == {"no": 0.0, "yes": 1.0}
    assert halves.predict_one([-1.0]) == "no"
    assert halves.classes_.tolist() == ["no", "yes"]
    assert halves.schema.n_features == 1


def test_without_labels_there_is_no_answer():
    nobody = Halves([])
    assert nobody.predict([[1.0], [2.0]]).tolist() == [None, None]
    assert nobody.predict_one([1.0]) is None
    assert nobody.predict_proba_one([1.0]) == {}


def test_it_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Answering()
