"""Bad input, case by case: each is refused with one clear sentence, and nothing changes."""

import gzip
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from thalweg import (
    ADWIN,
    SEA,
    Agrawal,
    ArrayStream,
    CSVStream,
    DriftStream,
    Feature,
    HoeffdingTree,
    Hyperplane,
    MajorityClass,
    NaiveBayes,
    NoChange,
    ParquetStream,
    RandomRBF,
    Schema,
    cli,
    load,
    load_dataset,
    prequential,
    registry,
    save,
)
from thalweg.evaluate.metrics import Metrics
from thalweg.evaluate.result import Result
from thalweg.keeping.arrays_file import write_arrays
from thalweg.streams.files.opening import open_file

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

NAN, INF, HUGE = float("nan"), float("inf"), 10**400
INTERNAL = (
    "umba", "ArrowInvalid", "ArrowType", "ArrowNot", "msgspec", "ufunc", "NoneType", "object has no attribute",
    "not iterable", "unsized", "not callable", "subscriptable", "inhomogeneous", "truth value", "ambiguous", "cast",
    "codec", "invalid literal",
    "__init__", "argument must be a string, a bytes-like", "Traceback",
)  # fmt: skip
"""What only someone who knows the inside could make sense of."""


def bits(obj: Any) -> dict[str, tuple[Any, ...]]:
    """Everything an object knows, to be compared."""
    return {name: (table.dtype, table.shape, table.tobytes()) for name, table in obj.state().items()}


def refused(call: Callable[[], Any], sentence: str, *watched: Any) -> None:
    """Demand one sentence that fits, in words for people, and that nothing watched has changed."""
    before = [bits(obj) for obj in watched]
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        call()
    text = str(caught.value)
    assert type(caught.value).__module__.partition(".")[0] in ("builtins", "thalweg"), type(caught.value)
    assert re.search(sentence, text), text
    assert text.isprintable(), repr(text)  # so it is one line
    assert 10 < len(text) < 400, len(text)
    assert not [word for word in INTERNAL if word in text], text
    assert [bits(obj) for obj in watched] == before


def table(cases: dict[str, Any]) -> Any:
    """Make a parameter of each case, with its sentence for a name."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), id=name) for name, case in cases.items()]


class Hostile:
    """A container that fails whatever it is asked."""

    def __array__(self, *_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError("no array")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __repr__(self) -> str:
        return "a hostile\n thing " * 99


# -- learners: rows, labels, weights, events, records, schemas, states ------------------------------------------------

RNG = np.random.default_rng(7)
ROWS = 300
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=ROWS).round(3),
        "weight": RNG.normal(size=ROWS).round(3),
        "colour": np.array(["red", "green", "blue"])[RNG.integers(0, 3, ROWS)],
    }
)
LABELS = np.where(FRAME["size"] + (FRAME["colour"] == "red") > 0.3, "yes", "no")
LEARNERS = {
    "HoeffdingTree": lambda: HoeffdingTree(grace_period=50),
    "NaiveBayes": NaiveBayes,
    "MajorityClass": MajorityClass,
    "NoChange": NoChange,
}
_TRAINED: dict[str, Any] = {}

X2 = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
Y2 = ["yes", "no"]
DICT = {"size": 1.0, "weight": 2.0, "colour": "red"}


@pytest.fixture(params=LEARNERS)
def learner(request: pytest.FixtureRequest) -> Any:
    """A learner trained on numbers and words."""
    name = request.param
    if name not in _TRAINED:
        _TRAINED[name] = LEARNERS[name]().partial_fit(FRAME, LABELS)
    return _TRAINED[name].copy()


def two(**columns: Any) -> pd.DataFrame:
    """Two good rows as a frame, but for some columns."""
    return FRAME[:2].assign(**columns)


def arrow(**columns: Any) -> pa.Table:
    """Two good rows as an Arrow table, but for some columns."""
    return pa.table({"size": [1.0, 2.0], "weight": [1.0, 2.0], "colour": ["red", "blue"]} | columns)


BAD_ROWS: dict[str, tuple[Any, str]] = {
    "X is None": (None, "^X must be rows .* got None"),
    "X is text": ("rows", "^X must be rows .* got str"),
    "X is bytes": (b"rows", "^X must be rows .* got bytes"),
    "X is a number": (5, "^X must have two dimensions .* got 0"),
    "X is a dict": ({"size": 1.0}, "^X must be rows .* got dict"),
    "X is a set": ({1.0, 2.0}, "^X must be rows .* got {"),
    "X is a class": (pd.DataFrame, "^X must be rows .* got <class"),
    "X is a container that fails": (Hostile(), "^X must be rows .* got a hostile thing"),
    "X is one row": (X2[0], "^X must have two dimensions .* got 1"),
    "X is a column of pandas": (pd.Series([1.0, 2.0]), "^X must have two dimensions .* got 1"),
    "X is a column of polars": (pl.Series([1.0, 2.0]), "^X must have two dimensions .* got 1"),
    "X is a column of Arrow": (pa.array([1.0, 2.0]), "^X must be rows .* got DoubleArray"),
    "X is a stack of empty tables": (X2[:, :, None][:, :, :0], "^X must hold tensors .* none of them empty, got"),
    "X is a sparse matrix": (scipy.sparse.csr_matrix(X2), "^X must be dense"),
    "X is a lazy frame": (pl.DataFrame(X2).lazy(), "^X must be rows .* got <LazyFrame"),
    "X has no rows and no columns": ([], "^X must have two dimensions .* got 1"),
    "X has no columns": (np.zeros((2, 0)), "^X has 0 feature"),
    "X has a feature too few": (X2[:, :2], "^X has 2 features, .* expecting 3"),
    "X has a feature too many": (np.c_[X2, X2], "^X has 6 features, .* expecting 3"),
    "X has rows of different widths": ([[1.0, 2.0, 0.0], [1.0]], "^X must have rows of one width"),
    "X has a number among its rows": ([[1.0, 2.0, 0.0], 1.0], "^X must have rows of one width"),
    "X has an infinity": ([[1.0, 2.0, 0.0], [INF, 2.0, 0.0]], "^X must be finite .* got inf in row 1, feature 'size'"),
    "X has a negative infinity": ([[1.0, -INF, 0.0]] * 2, "^X must be finite .* -inf in row 0, feature 'weight'"),
    "X has an infinity in text": (np.array([["inf", 1, 0]] * 2, dtype=object), "^X must be finite"),
    "X has a whole number beyond float64": ([[HUGE, 1, 0]] * 2, "^X must hold numbers that float64 can hold, got 1000"),
    "X has a long double beyond float64": (np.array([[np.longdouble("1e400"), 1, 0]] * 2), "^X must be finite"),
    "X has text": (np.array([["a", "b", "c"]] * 2), "^X must hold numbers, got <U1"),
    "X has text among objects": (np.array([["a", 1, 0]] * 2, dtype=object), "^X must hold numbers .* got 'a'"),
    "X has bytes": (np.array([[b"a", b"b", b"c"]] * 2), "^X must hold numbers, got .S1"),
    "X has complex numbers": (X2 + 1j, "^X must hold real numbers"),
    "X has a complex number among objects": (np.array([[1j, 1, 0]] * 2, dtype=object), "^X must hold numbers .* 1j"),
    "X has a NumPy complex among objects": (np.array([[np.complex128(1j), 1, 0]] * 2, dtype=object), "^X must hold"),
    "X has dates": (np.zeros((2, 3), "M8[s]"), "^X must hold numbers, got datetime64"),
    "X has dates among objects": (np.array([[np.datetime64("2020"), 1, 0]] * 2, dtype=object), "^X must hold numbers"),
    "X has records": (np.zeros((2, 3), [("a", "f8")]), "^X must hold numbers, got "),
    "X has lists in its cells": ([[{}, 1, 0]] * 2, "^X must hold numbers .* got {}"),
    "X has a thing with a long name": ([[Hostile, 1, 0]] * 2, "^X must hold numbers .* got <class"),
    "X has a signalling NaN": ([[Decimal("sNaN"), 1, 0]] * 2, "^X must hold numbers .* got Decimal"),
    "X has a negative code": ([[1.0, 2.0, -1.0]] * 2, "^X must hold whole codes .* got -1.0 .* 'colour'"),
    "X has half a code": ([[1.0, 2.0, 0.5]] * 2, "^X must hold whole codes .* got 0.5 .* 'colour'"),
    "X has a code beyond all": ([[1.0, 2.0, 1e300]] * 2, "^X must hold whole codes .* got 1e.300 .* 'colour'"),
    "the frame is empty": (pd.DataFrame(), "^X must have the columns .* lacks .*'size'"),
    "the frame lacks a column": (FRAME[["size", "colour"]][:2], r"^X must have the columns .* lacks \['weight'\]"),
    "the frame has a new column": (two(new=1.0), r"^X must have the columns .* has \['new'\] in addition"),
    "the frame has a column twice": (pd.concat([two(), two()[["size"]]], axis=1), "^X must have columns .* 'size'"),
    "the Arrow table has a column twice": (
        pa.table([pa.array([1.0, 2.0])] * 4, names=["size", "weight", "colour", "size"]), "^X must .* 'size' appears",
    ),
    "the frame has columns of two levels": (
        pd.DataFrame(X2, columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c"), ("d", "e")])), "^X must have the",
    ),
    "the frame has numbered columns": (pd.DataFrame(X2), "^X must have the columns .* lacks .*'size'"),
    "the frame has text in a numeric column": (two(size=["1", "2"]), "^X must hold numbers or text.* column 'size'"),
    "the frame has words and numbers in a column": (two(size=["a", 1]), "^X must hold numbers or text.* column 'size'"),
    "the frame has objects": (two(size=[object(), object()]), "^X must hold numbers or text.* column 'size'"),
    "the frame has lists": (two(size=[[1], [2, 3]]), "^X must hold numbers or text, got list.* column 'size'"),
    "the frame has dates": (two(size=pd.to_datetime(["2020", "2021"])), "^X must .* timestamp.* column 'size'"),
    "the frame has complex numbers": (two(size=[1j, 2j]), "^X must .* complex128 in column 'size'"),
    "the frame has whole numbers beyond 64 bits": (two(size=[HUGE, HUGE]), "^X must .* object in column 'size'"),
    "the frame has an infinity": (two(size=[1.0, INF]), "^X must be finite .* row 1, feature 'size'"),
    "the frame has sparse numbers": (two(size=pd.arrays.SparseArray([0.0, 1.0])), "^X must .* Sparse.* 'size'"),
    "the frame has half a character": (two(colour=pd.Series(["\ud800", "x"], dtype=object)), "^X must .* 'colour'"),
    "the frame has bytes for words": (two(colour=[b"red", b"blue"]), "^X must hold numbers or text, got .*binary"),
    "the frame has categories of dates": (
        two(colour=pd.Categorical(pd.to_datetime(["2020", "2021"]))), "^X must .*timestamp.* 'colour'",
    ),
    "the frame has categories of two types": (two(colour=pd.Categorical([1, "red"])), "^X must .* category.*'colour'"),
    "the Arrow table has records in a column": (arrow(size=[{"a": 1}] * 2), "^X must .* struct.* column 'size'"),
    "the Arrow table has an infinite category": (
        arrow(colour=pa.DictionaryArray.from_arrays([0, 1], [INF, 1.0])), "^feature 'colour' must .* got inf",
    ),
    "the polars frame has lists": (
        pl.DataFrame({"size": [[1], [2]], "weight": [1.0, 2.0], "colour": ["red", "red"]}), "^X must .*list.* 'size'",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("X", "sentence"), table(BAD_ROWS))
def test_rows(learner: Any, X: Any, sentence: str) -> None:
    refused(lambda: learner.partial_fit(X, Y2), sentence, learner)
    refused(lambda: learner.test_then_train(X, Y2), sentence, learner)
    refused(lambda: learner.play(X, Y2, [0, ~0]), sentence, learner)
    refused(lambda: learner.predict(X), sentence, learner)
    refused(lambda: learner.predict_proba(X), sentence, learner)
    refused(lambda: learner.score(X, Y2), sentence, learner)


BAD_LABELS: dict[str, tuple[Any, str]] = {
    "y is None": (None, "^y must .* got None"),
    "y is text": ("yes", "^y must be a sequence of labels, got 'yes'"),
    "y is a number": (1, "^y must be a sequence of labels, got 1"),
    "y is a set": ({"yes", "no"}, "^y must be a sequence of labels, got {"),
    "y is a dict": ({"yes": 1, "no": 2}, "^y must be a sequence of labels, got {"),
    "y is a generator": ((v for v in Y2), "^y must be a sequence of labels, got <generator"),
    "y is a class": (list, "^y must be a sequence of labels, got <class 'list'>"),
    "y is a container that fails": (Hostile(), "^y must be a sequence of labels, got a hostile thing"),
    "y is one label without a row": (np.array("yes"), "^y must have one dimension, got 0"),
    "y has no labels": ([], "^y must hold (a|at least one) label .* got (0|none)"),
    "y has a label too few": (["yes"], "^y must hold a label for each of the 2 rows of X, got 1"),
    "y has a label too many": (["yes"] * 3, "^y must hold a label for each of the 2 rows of X, got 3"),
    "y has two columns": (np.array([Y2, Y2]), "^y must have one dimension, got 2"),
    "y has three dimensions": (np.zeros((2, 1, 1)), "^y must have one dimension, got 3"),
    "y has two types": (["yes", 1], "^y must hold labels of one type, got int and str"),
    "y has a missing label": (["yes", None], "^y must hold no missing label, got None at index 1"),
    "y has NaN among words": (["yes", NAN], "^y must hold no missing label, got nan at index 1"),
    "y has NaN": (np.array([1.0, NAN]), "^y must hold no missing or infinite label .* index 1"),
    "y has an infinite label": (np.array([INF, 1.0]), "^y must hold no missing or infinite label .* index 0"),
    "y has a masked label": (np.ma.array(Y2, mask=[False, True]), "^y must hold no missing label, got None at index 1"),
    "y has NA of pandas": (pd.Series(["yes", pd.NA], dtype="string"), "^y must hold no missing label, got <NA>"),
    "y has a null of Arrow": (pa.array(["yes", None]), "^y must hold no missing label, got None at index 1"),
    "y has NaT": (np.array(["NaT", "2021"], "M8[D]"), "^y must hold no missing label, got None at index 0"),
    "y has lists": ([["yes"], ["no"]], r"^y must hold hashable labels, got \['yes'\] at index 0"),
    "y has dicts": ([{}, {}], "^y must hold hashable labels, got {} at index 0"),
    "y has tuples of lists": ([([],), ([],)], "^y must hold hashable labels, got .* at index 0"),
    "y has arrays": ([np.zeros(2), np.zeros(2)], "^y must hold hashable labels, got array"),
    "y has lists of Arrow": (pa.array([["yes"], ["no"]]), "^y must hold hashable labels"),
    "y has records of Arrow": (pa.array([{"a": 1}] * 2), "^y must hold hashable labels"),
    "y has a signalling NaN": ([Decimal("sNaN")] * 2, "^y must hold hashable labels, got Decimal"),
    "y has half a character": (["\ud800", "yes"], r"^each label in y must be text of whole characters .* '.ud800'"),
    "y has a label that ends with a zero": (["yes\0", "no"], "^y must hold labels that do not end with a zero"),
}
OTHER_TYPES: dict[str, tuple[Any, str]] = {
    "y has whole numbers where words were": ([0, 1], "^y must hold labels of one type: .* are str, got int 0"),
    "y has numbers where words were": ([0.5, 1.5], "^y must hold labels of one type: .* are str, got float 0.5"),
    "y has truth values where words were": (
        [True, False],
        "^y must hold labels of one type: .* are str, got bool True",
    ),
    "y has bytes where words were": ([b"yes", b"no"], "^y must hold labels of one type: .* are str, got bytes"),
    "y has tuples where words were": ([("yes",), ("no",)], "^y must hold labels of one type: .* are str, got tuple"),
    "y has complex numbers where words were": ([1j, 2j], "^y must hold labels of one type: .* are str, got complex"),
    "y has numbers of 400 digits": ([HUGE, HUGE], "^y must hold labels of one type: .* are str, got int 1000"),
}


@pytest.mark.parametrize(("y", "sentence"), table(BAD_LABELS | OTHER_TYPES))
def test_labels(learner: Any, y: Any, sentence: str) -> None:
    refused(lambda: learner.partial_fit(X2, y), sentence, learner)
    refused(lambda: learner.test_then_train(X2, y), sentence, learner)
    refused(lambda: learner.play(X2, y, [~0, ~1]), f"{sentence}|^events must be .* of the [01] rows", learner)
    refused(lambda: learner.score(X2, y), sentence, learner)


@pytest.mark.parametrize(("y", "sentence"), table(BAD_LABELS))
def test_labels_to_fit_anew(learner: Any, y: Any, sentence: str) -> None:
    refused(lambda: learner.fit(X2, y), sentence if y is not None else "y to be passed, but .* y is None", learner)


@pytest.mark.parametrize(
    ("y", "sentence"),
    table(
        {
            "the label is None": (None, "^y must hold no missing label, got None"),
            "the label is NaN": (NAN, "^y must hold no missing label, got nan"),
            "the label is a list": (["yes"], "^y must hold hashable labels, got"),
            "the label is an array": (np.zeros(2), "^y must hold hashable labels, got"),
            "the label is of another type": (1, "^y must hold labels of one type"),
            "the label is half a character": ("\ud800", "^each label in y must be text of whole characters"),
        }
    ),
)
def test_one_label(learner: Any, y: Any, sentence: str) -> None:
    refused(lambda: learner.learn_one(X2[0], y), sentence, learner)
    refused(lambda: learner.learn_one(DICT, y), sentence, learner)


@pytest.mark.parametrize(
    ("y", "sentence"),
    table({"classes are a word": ("yes", "^classes must be a sequence of labels, got 'yes'"),
           "classes are a set": ({"yes"}, "^classes must be a sequence of labels, got"),
           "classes are a number": (2, "^classes must be a sequence of labels, got 2"),
           "classes are of another type": ([0, 1], "^classes must hold labels of one type"),
           "classes have a missing one": (["yes", None], "^classes must hold no missing label, got None"),
           "classes have two dimensions": (np.array([Y2, Y2]), "^classes must have one dimension, got 2")}),
)  # fmt: skip
def test_classes(learner: Any, y: Any, sentence: str) -> None:
    refused(lambda: learner.partial_fit(X2, Y2, classes=y), sentence, learner)


def test_a_label_that_was_not_declared() -> None:
    for make in LEARNERS.values():
        learner = make().declare(Schema.numeric(1, classes=("a", "b"))).partial_fit([[0.0]], ["a"])
        sentence = r"^y must hold one of the declared classes \['a', 'b'\], got 'c'"
        refused(lambda learner=learner: learner.partial_fit([[0.0]], ["c"]), sentence, learner)
        refused(lambda learner=learner: learner.learn_one([0.0], "c"), sentence, learner)


BAD_WEIGHTS: dict[str, tuple[Any, str]] = {
    "the weights are text": ("heavy", "^sample_weight must hold numbers, got 'heavy'"),
    "the weights are bytes": (b"12", "^sample_weight must hold numbers, got b'12'"),
    "the weights are words": (["1", "2"], "^sample_weight must hold numbers, got"),
    "the weights are a thousand words": (["x"] * 1000, "^sample_weight must hold numbers, got"),
    "the weights are a dict": ({}, "^sample_weight must hold numbers, got {}"),
    "the weights are a set": ({1, 2}, "^sample_weight must hold numbers, got {"),
    "the weights are a generator": ((1 for _ in X2), "^sample_weight must hold numbers, got <generator"),
    "the weights are a container that fails": (Hostile(), "^sample_weight must hold numbers, got a hostile"),
    "the weights are complex": (np.array([1j, 1]), "^sample_weight must hold numbers, got array"),
    "the weights are dates": (np.array(["2020", "2021"], "M8[s]"), "^sample_weight must hold numbers, got array"),
    "the weights are records": (np.zeros(2, [("a", "f8")]), "^sample_weight must hold numbers, got array"),
    "the weights are beyond float64": ([HUGE, 1], "^sample_weight must hold numbers, got"),
    "the weights have two dimensions": ([[1.0, 2.0]], r"^sample_weight must have one number .* got shape \(1, 2\)"),
    "the weights are too few": (np.ones(1), "^sample_weight must have one number for each of the 2 rows"),
    "the weights are too many": (np.ones(3), "^sample_weight must have one number for each of the 2 rows"),
    "a weight is negative": ([1.0, -1.0], "^sample_weight must hold finite numbers .* got -1.0 at index 1"),
    "a weight is NaN": ([1.0, NAN], "^sample_weight must hold finite numbers .* got nan at index 1"),
    "a weight is infinite": ([1.0, INF], "^sample_weight must hold finite numbers .* got inf at index 1"),
    "a weight is missing": ([1.0, None], "^sample_weight must hold finite numbers .* got nan at index 1"),
    "a weight is masked": (np.ma.array([1.0, 2.0], mask=[False, True]), "^sample_weight must hold .* nan at index 1"),
    "a weight is heavier than all the world": (
        [1.0, 1e300],
        "^sample_weight must hold finite .* got 1e.300 at index 1",
    ),
    "a weight is a long double beyond float64": (np.array([1, np.longdouble("1e400")]), "^sample_weight must hold fin"),
}


@pytest.mark.parametrize(("w", "sentence"), table(BAD_WEIGHTS))
def test_weights(learner: Any, w: Any, sentence: str) -> None:
    refused(lambda: learner.partial_fit(X2, Y2, sample_weight=w), sentence, learner)
    refused(lambda: learner.test_then_train(X2, Y2, w), sentence, learner)
    refused(lambda: learner.play(X2, Y2, [~0, ~1], w), sentence, learner)
    refused(lambda: learner.fit(X2, Y2, w), sentence, learner)
    refused(lambda: learner.score(X2, Y2, w), sentence, learner)


@pytest.mark.parametrize(
    "w", table({"the weight is text": "w", "the weight is negative": -1, "the weight is NaN": NAN,
                "the weight is infinite": INF, "the weight is two numbers": np.ones(2), "the weight is complex": 1j,
                "the weight is a frame": FRAME, "the weight is a column of polars": pl.Series([1.0, 2.0]),
                "the weight is beyond float64": HUGE, "the weight is a container that fails": Hostile()})
)  # fmt: skip
def test_one_weight(learner: Any, w: Any) -> None:
    refused(lambda: learner.learn_one(X2[0], "yes", w), "^sample_weight must ", learner)


@pytest.mark.parametrize(
    "events",
    table({"the events are None": None, "the events are text": "0", "the events are words": ["0"],
           "the events are fractions": [0.5], "the events are NaN": [NAN], "the events are missing": [None],
           "the events are truth values": [True], "the events are a set": {0}, "the events are one number": 0,
           "the events have two dimensions": [[0]], "the events differ in length": [[0], [0, 1]],
           "an event is beyond the rows": [0, 2], "an event is before the rows": [0, -3], "an event is huge": [HUGE],
           "an event wraps around": np.array([2**64 - 1], dtype=np.uint64), "the events fail": Hostile()}),
)  # fmt: skip
def test_events(learner: Any, events: Any) -> None:
    refused(lambda: learner.play(X2, Y2, events), "^events must be row numbers .* of the 2 rows, got ", learner)


BAD_RECORDS: dict[str, tuple[Any, str]] = {
    "the record is None": (None, "^x must be a dict or a row .* got 0: None"),
    "the record is text": ("abc", "^x must be a dict or a row .* got 0: 'abc'"),
    "the record is a number": (7, "^x must be a dict or a row .* got 0: 7"),
    "the record is a set": ({1.0, 2.0}, "^x must be a dict or a row .* got 0: {"),
    "the record is a class": (dict, "^x must be a dict or a row .* got 0: <class 'dict'>"),
    "the record is a container that fails": (Hostile(), "^x must be a dict or a row .* got a hostile thing"),
    "the record is a table": ([[1.0, 2.0, 0.0]], "^x must be a dict or a row with one dimension, got 2"),
    "the record is a frame of two rows": (FRAME[:2], "^x must be one record, got a frame of 2 rows"),
    "the record is ragged": ([1.0, [2.0], 0.0], "^x must be a dict or a row of numbers, got"),
    "the record is short": ([1.0, 2.0], "^X has 2 features, .* expecting 3"),
    "the record is long": ([1.0, 2.0, 0.0, 0.0], "^X has 4 features, .* expecting 3"),
    "the record has an infinity": ([1.0, INF, 0.0], "^X must be finite .* got inf .* feature 'weight'"),
    "the record has words": ([1.0, 2.0, "red"], "^X must hold numbers, got <U"),
    "the record has a negative code": ([1.0, 2.0, -1.0], "^X must hold whole codes .* got -1.0"),
    "the record is beyond float64": ([HUGE, 2.0, 0.0], "^X must hold numbers that float64 can hold"),
    "the record is complex": ([1j, 2.0, 0.0], "^X must hold real numbers"),
    "the record has dates": (np.zeros(3, "M8[s]"), "^X must hold numbers, got datetime64"),
    "the dict has a new feature": (DICT | {"new": 1.0}, "^x must have the features .* got 'new' too"),
    "the dict has a number for a name": ({1: 1.0} | DICT, "^x must have the features .* got 1 too"),
    "the dict has text for a number": (DICT | {"size": "1"}, "^x must hold a number for feature 'size', got '1'"),
    "the dict has a list for a number": (DICT | {"size": [1]}, r"^x must hold a number for feature 'size', got \[1\]"),
    "the dict has a dict for a number": (DICT | {"size": {}}, "^x must hold a number for feature 'size', got {}"),
    "the dict has an array for a number": (DICT | {"size": np.ones(3)}, "^x must hold a number for feature 'size'"),
    "the dict has an array of one number": (DICT | {"size": np.ones(1)}, "^x must hold a number for feature 'size'"),
    "the dict has bytes for a word": (DICT | {"colour": b"red"}, "^x must hold .* feature 'colour', got b'red'"),
    "the dict has a list for a word": (DICT | {"colour": ["red"]}, "^x must hold a number for feature 'colour'"),
    "the dict has an infinity": (DICT | {"size": INF}, "^X must be finite .* got inf .* 'size'"),
    "the dict has a number beyond float64": (DICT | {"size": HUGE}, "^x must hold .* feature 'size', got 1000"),
    "the dict has a long double beyond": (DICT | {"size": np.longdouble("1e400")}, "^X must be finite"),
    "the dict has a complex number": (DICT | {"size": 1j}, "^x must hold a number for feature 'size', got 1j"),
    "the dict has a NumPy complex": (DICT | {"size": np.complex128(1)}, "^x must hold a number for feature 'size'"),
    "the dict has a date": (DICT | {"size": np.datetime64("2020")}, "^x must hold a number for feature 'size'"),
    "the dict has a time span": (DICT | {"size": np.timedelta64(1, "s")}, "^x must hold a number for feature 'size'"),
    "the dict has NA of pandas": (DICT | {"size": pd.NA}, "^x must hold a number for feature 'size', got <NA>"),
    "the dict has a thing that fails": (DICT | {"size": Hostile()}, "^x must hold a number .* got a hostile"),
    "the dict has a number for a word": (DICT | {"colour": 0.5}, "^feature 'colour' must hold .* text, got 0.5"),
    "the dict has a tuple of lists for a word": (DICT | {"colour": ([],)}, "^x must hold .* feature 'colour'"),
}  # fmt: skip


@pytest.mark.parametrize(("x", "sentence"), table(BAD_RECORDS))
def test_records(learner: Any, x: Any, sentence: str) -> None:
    refused(lambda: learner.learn_one(x, "yes"), sentence, learner)
    refused(lambda: learner.predict_one(x), sentence, learner)
    refused(lambda: learner.predict_proba_one(x), sentence, learner)


def test_half_characters_in_dicts_are_not_learned(learner: Any) -> None:
    refused(lambda: learner.learn_one(DICT | {"colour": "\ud800"}, "yes"), "^feature 'colour' must be text of", learner)
    fresh = type(learner)()
    refused(lambda: fresh.learn_one({"\ud800": 1.0}, "yes"), "^x must be text of whole characters", fresh)
    refused(
        lambda: fresh.learn_one({(1, 2): 1.0}, "yes"), r"^x must have feature names that are text, got \(1, 2\)", fresh
    )


def test_a_limit_too_small_for_the_first_rows_is_said_before_anything_is_learned() -> None:
    tree = HoeffdingTree(limit_bytes=1024)
    refused(lambda: tree.partial_fit(np.zeros((2, 500)), [0, 1]), "^limit_bytes must be at least .* got 1024", tree)
    assert tree.classes_.size == 0


# -- learners: schemas, parameters, states ----------------------------------------------------------------------------


def features(learner: Any, **change: Any) -> Schema:
    """The learner's schema with another third feature."""
    return Schema((*learner.schema.features[:2], Feature("colour", **change)))


@pytest.mark.parametrize(
    ("schema", "sentence"),
    table({"the schema is None": (None, "^schema must be a Schema, got None"),
           "the schema is text": ("schema", "^schema must be a Schema, got 'schema'"),
           "the schema is a dict": ({}, "^schema must be a Schema, got {}"),
           "the schema is a class": (Schema, "^schema must be a Schema, got <class"),
           "the schema is narrower": (Schema.numeric(2), "^schema must (have the 3 features .* got 2|be declared)"),
           "the schema has other names": (Schema.numeric(3), "^schema must (begin with .* got .*'x0'|be declared)")}),
)  # fmt: skip
def test_schemas(learner: Any, schema: Any, sentence: str) -> None:
    refused(lambda: learner.declare(schema), sentence, learner)
    refused(lambda: learner.grow(schema), sentence, learner)


def test_a_schema_may_not_forget_or_reorder_values(learner: Any) -> None:
    known = learner.schema.features[2].values
    for change in ({"values": known[:1]}, {"values": known[::-1]}, {"values": None}):
        wrong = features(learner, **change)
        refused(lambda wrong=wrong: learner.grow(wrong), "^schema must begin with .* got Feature", learner)


@pytest.mark.parametrize(
    ("make", "sentence"),
    table({"a feature is named by a number": (lambda: Feature(5), "^name must be text, got 5"),
           "a feature is named by half a character": (lambda: Feature("\ud800"), "^name must be text of whole"),
           "values are a word": (lambda: Feature("a", "abc"), "^values must be a tuple, got 'abc'"),
           "values are a number": (lambda: Feature("a", 3), "^values must be a tuple, got 3"),
           "values have a missing one": (lambda: Feature("a", (None,)), "^values must be text, numbers, .* got None"),
           "values have a list": (lambda: Feature("a", ([],)), r"^values must be text, numbers, .* got \[\]"),
           "values have NaN": (lambda: Feature("a", (NAN,)), "^values must be .* finite number, got nan"),
           "values have one twice": (lambda: Feature("a", ("x", "x")), "^values of feature 'a' must be distinct, 'x'"),
           "open is a word": (lambda: Feature("a", open="yes"), "^open must be True or False, got 'yes'"),
           "features are a number": (lambda: Schema(3), "^features must be a tuple of Feature, got 3"),
           "features are words": (lambda: Schema(("a", "b")), "^features must be a tuple of Feature, got"),
           "features have one twice": (lambda: Schema((Feature("a"), Feature("a"))), "^features must be distinct, 'a'"),
           "classes are a word": (lambda: Schema((), classes="ab"), "^classes must be a tuple, got 'ab'"),
           "classes have one twice": (lambda: Schema((), classes=(1, 1)), "^classes must be distinct, 1 appears"),
           "classes have None": (lambda: Schema((), classes=(None,)), "^classes must be text, numbers, .* got None"),
           "classes have two types": (lambda: NaiveBayes().declare(Schema((), classes=(1, "a"))), "^classes must hold"),
           "the shape is a number": (lambda: Schema((), shape=3), "^shape must be a tuple of whole numbers, got 3"),
           "the shape is empty along an axis": (lambda: Schema((), shape=(2, 0)), "^shape must lie in .* got 0"),
           "n is negative": (lambda: Schema.numeric(-1), "^n must lie in .* got -1"),
           "n is a fraction": (lambda: Schema.numeric(1.5), "^n must be a whole number .* got 1.5"),
           "n is astronomic": (lambda: Schema.numeric(10**18), "^n must lie in .* got 1000000000000000000"),
           "the JSON is none": (lambda: Schema.from_json(b"junk"), "^schema must be the JSON of a Schema"),
           "the JSON is cut off": (lambda: Schema.from_json(b'{"features":['), "^schema must be the JSON of a Schema"),
           "the JSON is a number": (lambda: Schema.from_json(5), "^schema must be the JSON of a Schema")}),
)  # fmt: skip
def test_making_schemas(make: Callable[[], Any], sentence: str) -> None:
    refused(make, sentence)


def test_parameters_that_do_not_exist(learner: Any) -> None:
    refused(lambda: learner.set_params(colour="red"), "^Invalid parameter 'colour' for", learner)


@pytest.mark.parametrize(
    ("name", "value"), [("delta", 2.0), ("delta", "x"), ("leaf", "oak"), ("seed", -1), ("tau", NAN)]
)
def test_set_params_keeps_what_is_learned_when_it_refuses(name: str, value: Any) -> None:
    tree = HoeffdingTree(grace_period=50).partial_fit(FRAME, LABELS)
    before = tree.get_params()
    refused(lambda: tree.set_params(**{"tau": 0.1} | {name: value}), f"^{name} must ", tree)
    assert tree.get_params() == before


@pytest.mark.parametrize(
    "state", table({"the state is None": None, "the state is a list": [], "the state is text": "state",
                    "the state is empty": {}, "the state has lists for arrays": {"labels": [1, 2]},
                    "the state is a detector's": ADWIN().state(), "the state has numbers for names": {1: np.zeros(2)}})
)  # fmt: skip
def test_states_of_something_else(learner: Any, state: Any) -> None:
    refused(lambda: learner.restore(state), rf"^state must be what {type(learner).__name__}.state\(\) gave", learner)


def test_states_that_lack_a_part_or_have_a_wrong_one(learner: Any) -> None:
    good = learner.state()
    mine = rf"^state must be what {type(learner).__name__}.state\(\) gave"
    for name, array in good.items():
        wrong: list[Any] = [None, array.tolist(), np.array(["a", "b"]), array[None, None], np.zeros(0, np.float32)]
        if array.dtype.kind in "biuf":
            wrong.append(array.astype(np.complex128))
        for value in wrong:
            if name in ("labels", "schema") and isinstance(value, np.ndarray) and value.tobytes() == array.tobytes():
                continue  # the same text in another shape
            refused(lambda value=value, name=name: learner.restore(good | {name: value}), mine, learner)
    for name in ("labels", "schema"):
        lacking = {key: array for key, array in good.items() if key != name}
        refused(lambda lacking=lacking: learner.restore(lacking), f"{mine}: it lacks '{name}'", learner)
        damaged = good | {name: np.frombuffer(b"\xff" * 40, np.uint8)}
        refused(lambda damaged=damaged: learner.restore(damaged), mine, learner)


def test_states_with_damaged_tables_are_refused_or_harmless(learner: Any) -> None:
    good = learner.state()
    rng = np.random.default_rng(3)
    for name in good:
        for _ in range(10):
            raw = np.frombuffer(good[name].tobytes(), np.uint8).copy()
            raw[rng.integers(0, len(raw), 3)] ^= rng.integers(1, 256, 3).astype(np.uint8)
            damaged = good | {name: raw.view(good[name].dtype).reshape(good[name].shape)}
            twin = learner.copy()
            try:
                twin.restore(damaged)
            except (ValueError, TypeError):
                assert bits(twin) == bits(learner)
            else:  # a number was changed, no pointer
                twin.predict_proba(np.zeros((2, twin.schema.n_features)))


def test_a_read_only_state_can_be_learned_from(learner: Any) -> None:
    frozen = learner.state()
    for array in frozen.values():
        array.flags.writeable = False
    learner.restore(frozen)
    learner.partial_fit(X2, Y2)
    learner.learn_one(X2[0], "yes")


# -- constructors -----------------------------------------------------------------------------------------------------

ODD = (None, "a", True, [1], HUGE, -HUGE, NAN, INF, -INF, 1j, Decimal("0.5"), np.ones(2), pd.Series([1]), Hostile())
NUMBERS: dict[tuple[Any, str], tuple[Any, ...]] = {
    (HoeffdingTree, "grace_period"): (0, -1),
    (HoeffdingTree, "delta"): (0, 1, -0.1, 1.5),
    (HoeffdingTree, "tau"): (-0.1, 1.1),
    (HoeffdingTree, "min_branch_share"): (-0.1, 0.5),
    (HoeffdingTree, "n_split_points"): (0, -1, 1.5, 10_001, 2.0),
    (HoeffdingTree, "bayes_from"): (-1,),
    (HoeffdingTree, "subspace"): (0, -1, 1.5),
    (HoeffdingTree, "limit_bytes"): (0, 1023, 1e6),
    (HoeffdingTree, "seed"): (-1, 0.5),
    (ADWIN, "delta"): (0, 1, -0.1),
    (ADWIN, "clock"): (0, 1.5, 10**7),
    (ADWIN, "min_window"): (-1, 1.5),
    (ADWIN, "min_side"): (0, 1.5),
    (ADWIN, "max_buckets"): (1, 1.5, 1001),
    (SEA, "function"): (0, 5, 1.5),
    (SEA, "noise"): (-0.1, 1.1),
    (SEA, "seed"): (-1, 0.5),
    (SEA, "limit"): (-1, 0.5),
    (Agrawal, "function"): (0, 11),
    (Agrawal, "perturbation"): (-0.1, 1.1),
    (Agrawal, "seed"): (-1,),
    (Agrawal, "limit"): (-1,),
    (RandomRBF, "classes"): (1, 2.5, 2**70),
    (RandomRBF, "features"): (0, 2.5, 2**70),
    (RandomRBF, "centroids"): (0, 2.5, 2**70),
    (RandomRBF, "speed"): (-1,),
    (RandomRBF, "drifting"): (-1, 51),
    (RandomRBF, "model_seed"): (-1,),
    (RandomRBF, "seed"): (-1,),
    (Hyperplane, "features"): (0, 1.5, 2**70),
    (Hyperplane, "drifting"): (-1, 11),
    (Hyperplane, "magnitude"): (-0.1, 1.1),
    (Hyperplane, "noise"): (-0.1, 1.1),
    (Hyperplane, "reversal"): (-0.1, 1.1),
    (Hyperplane, "seed"): (-1,),
}
CHOICES = [
    (HoeffdingTree, "criterion"), (HoeffdingTree, "leaf"), (HoeffdingTree, "bound"), (HoeffdingTree, "null_merit"),
    (HoeffdingTree, "on_limit"), (ADWIN, "direction"), (SEA, "rng"), (Agrawal, "rng"), (Agrawal, "compat"),
    (RandomRBF, "rng"), (Hyperplane, "rng"),
]  # fmt: skip
FLAGS = [
    (HoeffdingTree, "binary_splits"), (HoeffdingTree, "prune"), (HoeffdingTree, "drop_poor"),
    (HoeffdingTree, "leaf_range"), (SEA, "balance"), (Agrawal, "balance"),
]  # fmt: skip
MAY_BE_NONE = {"subspace", "limit_bytes", "limit", "drifting", "compat"}


def parameters() -> Iterator[Any]:
    """Every parameter of every class with everything it must not be."""
    tables: list[tuple[Any, str, tuple[Any, ...]]] = [
        *((cls, name, (*outside, *ODD)) for (cls, name), outside in NUMBERS.items()),
        *((cls, name, ("other", "", None, 0, True, ["gain"], b"gain", NAN, Hostile())) for cls, name in CHOICES),
        *((cls, name, (None, 0, 1, "yes", NAN, [True], np.True_, Hostile())) for cls, name in FLAGS),
    ]
    for cls, name, values in tables:
        for value in values:
            if value is None and name in MAY_BE_NONE:
                continue
            shown = str(value).partition("\n")[0]
            yield pytest.param(cls, name, value, id=f"{cls.__name__} must not have {name}={shown[:20]}")


@pytest.mark.parametrize(("cls", "name", "value"), list(parameters()))
def test_parameters(cls: Any, name: str, value: Any) -> None:
    refused(lambda: cls(**{name: value}), f"^{name} must .*, got ")


@pytest.mark.parametrize("cls", [*LEARNERS.values(), ADWIN, SEA, Agrawal, RandomRBF, Hyperplane])
def test_parameters_have_names_that_exist(cls: Any) -> None:
    with pytest.raises(TypeError, match=r"'colour'|takes 0 positional|no arguments"):
        cls(colour="red") if cls is not LEARNERS["HoeffdingTree"] else HoeffdingTree(colour="red")


@pytest.mark.parametrize("number", [np.int8(3), np.uint64(3), np.int64(3), Fraction(3), np.float16(3)])
def test_numbers_of_other_types_are_no_bad_input(number: Any) -> None:
    rows, y = SEA(seed=1).take(500).X, SEA(seed=1).take(500).y
    HoeffdingTree(grace_period=number).partial_fit(rows, y)
    RandomRBF(speed=number).take(3)
    if not isinstance(number, (Fraction, np.floating)):
        for cls in (SEA, Agrawal, RandomRBF, Hyperplane):
            for rng in ("splitmix", "java"):
                assert cls(seed=number, rng=rng).take(5).X.tobytes() == cls(seed=3, rng=rng).take(5).X.tobytes()
        assert ADWIN(max_buckets=number).state()["table"].shape == ADWIN(max_buckets=3).state()["table"].shape


# -- detector ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def detector() -> ADWIN:
    """A detector that has seen a change."""
    adwin = ADWIN()
    adwin.update_many(np.r_[np.zeros(300), np.ones(100)])
    return adwin


@pytest.mark.parametrize(
    "value",
    table({"the value is NaN": NAN, "the value is infinite": INF, "the value is minus infinity": -INF,
           "the value is NaN of NumPy": np.float32("nan"), "the value is too large to square": 1e101,
           "the value is beyond float64": HUGE, "the value is None": None, "the value is text": "0.5",
           "the value is a list": [0.5], "the value is an array": np.ones(2), "the value is complex": 1j,
           "the value is a date": np.datetime64("2020"), "the value is a time span": np.timedelta64(1, "s"),
           "the value is NA": pd.NA, "the value is a thing that fails": Hostile()}),
)  # fmt: skip
def test_one_value(detector: ADWIN, value: Any) -> None:
    refused(lambda: detector.update(value), "^value must be a .*number.* got ", detector)


@pytest.mark.parametrize(
    "values",
    table({"a value is NaN": [0.0, NAN], "a value is infinite": [0.0, INF], "a value is too large": [0.0, 1e101],
           "a value is masked": np.ma.array([0.0, 1.0], mask=[0, 1]), "a value is missing": [0.0, None],
           "a value is null": pa.array([0.0, None]), "a value is beyond float64": [HUGE],
           "a value is a long double beyond": np.array([np.longdouble("1e400")]), "values are None": None,
           "values are text": "0101", "values are words": ["0", "1"], "values are one number": 0.5,
           "values have two dimensions": np.zeros((2, 2)), "values differ in length": [[0.0], [0.0, 1.0]],
           "values are complex": [1j], "values are dates": np.zeros(2, "M8[s]"), "values are a set": {0.0},
           "values are a generator": (v for v in [0.0]), "values are a dict": {},
           "values are words of Arrow": pa.array(["a"]),
           "values are a sparse matrix": scipy.sparse.csr_matrix(np.ones((1, 2))), "values fail": Hostile()}),
)  # fmt: skip
def test_many_values(detector: ADWIN, values: Any) -> None:
    refused(lambda: detector.update_many(values), "^values must .*(got |dimension)", detector)


@pytest.mark.parametrize(
    "state",
    table({"the state is None": None, "the state is a list": [], "the state is empty": {},
           "the state is of other parameters": ADWIN(clock=5).state(), "the state has no array": {"table": None},
           "the state has a list": {"table": [1.0]},
           "the state is of another type": {"table": np.zeros((1, 428), "f4")},
           "the state is of another width": {"table": np.zeros((1, 427))},
           "the state is zero": {"table": np.zeros((1, 428))}}),
)  # fmt: skip
def test_states_of_another_detector(detector: ADWIN, state: Any) -> None:
    refused(
        lambda: detector.restore(state), "^state must be what state.* of an ADWIN with the same parameters", detector
    )


def test_states_of_a_damaged_detector_are_refused_or_harmless(detector: ADWIN) -> None:
    good = detector.state()["table"]
    for column in range(good.shape[1]):
        for value in (-1.0, 0.5, 1e9, 1e300, NAN):
            damaged = good.copy()
            damaged[0, column] = value
            twin = ADWIN()
            try:
                twin.restore({"table": damaged})
            except ValueError:
                assert bits(twin) == bits(ADWIN())
            else:
                twin.update_many(np.random.default_rng(column).random(200))


# -- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n", table({"n is None": None, "n is negative": -1, "n is a fraction": 1.5, "n is NaN": NAN, "n is text": "10",
                "n is a truth value": True, "n is beyond float64": HUGE})
)  # fmt: skip
def test_how_many_to_read(n: Any) -> None:
    stream = SEA(limit=100)
    stream.read(10)
    for verb in (stream.read, stream.take, lambda n: list(stream.chunks(n))):
        refused(lambda verb=verb: verb(n), "^n must .* got ", stream)


STREAMS = {
    "SEA": SEA, "Agrawal": Agrawal, "RandomRBF": lambda: RandomRBF(speed=0.1), "Hyperplane": Hyperplane,
    "DriftStream": lambda: DriftStream(SEA(), SEA(function=2, seed=2), 50),
    "ArrayStream": lambda: ArrayStream(X2, Y2),
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_states_of_another_stream(name: str) -> None:
    stream = STREAMS[name]()
    stream.read(1)
    good = stream.state()
    bad: list[Any] = [None, [], "state", {}, {"given": None}, {"given": [1]}, ADWIN().state()]
    for key, array in good.items():
        bad += [good | {key: wrong} for wrong in (None, array.tolist(), array.astype("S"), np.zeros((3, 4, 5)))]
        bad += [{k: a for k, a in good.items() if k != key}]
        if array.dtype.kind == "f" and array.size:
            bad.append(good | {key: np.full_like(array, NAN)})
    bad.append(good | {"given": np.array([-1])})
    for state in bad:
        refused(lambda state=state: stream.restore(state), r"^state must be what \w+.state\(\) gave", stream)


@pytest.mark.parametrize(
    ("make", "sentence"),
    table({"old is None": (lambda: DriftStream(None, SEA(), 5), "^old must be a stream, got None"),
           "new is a name": (lambda: DriftStream(SEA(), "sea", 5), "^new must be a stream, got 'sea'"),
           "new is a class": (lambda: DriftStream(SEA(), SEA, 5), "^new must be a stream, got <class"),
           "old is a thing that fails": (lambda: DriftStream(Hostile(), SEA(), 5), "^old must be a stream, got a host"),
           "old and new are one": (lambda: DriftStream(*[SEA()] * 2, 5), "^new must be another stream than old"),
           "new has other features": (lambda: DriftStream(SEA(), Agrawal(), 5), "^new must have .* features .* got 9"),
           "new has other classes": (lambda: DriftStream(RandomRBF(features=3, classes=3), SEA(), 5), "^new must "),
           "the position is negative": (lambda: DriftStream(SEA(), SEA(), -1), "^position must lie in .* got -1"),
           "the position is a fraction": (lambda: DriftStream(SEA(), SEA(), 0.5), "^position must be .* got 0.5"),
           "the position is a truth value": (lambda: DriftStream(SEA(), SEA(), True), "^position must .* got True"),
           "the width is 0": (lambda: DriftStream(SEA(), SEA(), 5, 0), "^width must lie in .* got 0"),
           "the width is NaN": (lambda: DriftStream(SEA(), SEA(), 5, NAN), "^width must lie in .* got nan"),
           "the generator is unknown": (lambda: DriftStream(SEA(), SEA(), 5, rng="c"), "^rng must be .* got 'c'"),
           "the seed is negative": (lambda: DriftStream(SEA(), SEA(), 5, seed=-1), "^seed must lie in .* got -1"),
           "the limit is text": (lambda: DriftStream(SEA(), SEA(), 5, limit="9"), "^limit must be .* got '9'")}),
)  # fmt: skip
def test_drifts(make: Callable[[], Any], sentence: str) -> None:
    refused(make, sentence)


ARRAY_ROWS = {
    name: case
    for name, case in BAD_ROWS.items()
    if not any(word in name for word in ("code", "a feature too", "column", "in a numeric", "infinity", "sparse"))
}


@pytest.mark.parametrize(("X", "sentence"), table(ARRAY_ROWS))
def test_rows_of_a_stream(X: Any, sentence: str) -> None:
    refused(lambda: ArrayStream(X, Y2), sentence if "columns" not in sentence else "^X (must|has)")


@pytest.mark.parametrize(("y", "sentence"), table({k: v for k, v in BAD_LABELS.items() if k not in ("y is text",)}))
def test_labels_of_a_stream(y: Any, sentence: str) -> None:
    refused(lambda: ArrayStream(X2, y), sentence)


@pytest.mark.parametrize(
    ("options", "sentence"),
    table({"y names a column of an array": ({"y": "colour"}, "^y must hold labels; .* got 'colour'"),
           "y names a column that is not there": ({"X": FRAME, "y": "mood"}, "^y must be one of .* got 'mood'"),
           "the schema is text": ({"schema": "s"}, "^schema must be a Schema or None, got 's'"),
           "the schema is narrower": ({"schema": Schema.numeric(2)}, "^X has 3 features, .* 2 features"),
           "the schema has other classes": ({"schema": Schema.numeric(3, classes=("a",))}, "^y must hold one of"),
           "the times are too few": ({"time": [1.0]}, "^time must have a number for each of the 2 rows of X, got 1"),
           "the times are words": ({"time": ["a", "b"]}, "^time must hold numbers, dates or times"),
           "the times are missing": ({"time": [None, None]}, "^time must hold numbers, dates or times"),
           "the times are ragged": ({"time": [[1], [1, 2]]}, "^time must hold numbers, dates or times"),
           "the times are masked": ({"time": np.ma.array([1.0, 2.0], mask=[0, 1])}, "^time must hold numbers"),
           "the times are time spans": ({"time": np.array([1, 2], "m8[s]")}, "^time must hold numbers, dates or times"),
           "the times fail": ({"time": Hostile()}, "^time must hold numbers, dates or times"),
           "the label times are one number": ({"label_time": 3}, "^label_time must hold numbers, dates or times"),
           "the label times are complex": ({"label_time": [1j, 2j]}, "^label_time must hold numbers, dates or times"),
           "the limit is negative": ({"limit": -1}, "^limit must lie in .* got -1"),
           "the limit is a fraction": ({"limit": 0.5}, "^limit must be a whole number .* got 0.5")}),
)  # fmt: skip
def test_streams_of_arrays(options: dict[str, Any], sentence: str) -> None:
    refused(lambda: ArrayStream(**{"X": X2, "y": Y2} | options), sentence)


# -- files ------------------------------------------------------------------------------------------------------------

GOOD_CSV = b"size,colour,class\n1.5,red,yes\n2.5,blue,no\n,red,yes\n"


def drained(stream: Any) -> None:
    while stream.read(100) is not None:
        pass


@pytest.mark.parametrize(
    ("data", "sentence"),
    table({"the file is empty": (b"", "^bad.csv must have a header and records, it is empty"),
           "the file has a header only": (b"a,class\n", "^bad.csv must have records, it has a header only"),
           "a line is too short": (b"a,b,class\n1,2,x\n1,2\n", "^line 3 of bad.csv must have 3 values, .* got 2"),
           "a line is too long": (b"a,class\n1,x\n1,2,y\n", "^line 3 of bad.csv must have 2 values, .* got 3"),
           "a column appears twice": (b"a,a,class\n1,2,x\n", "^bad.csv must have columns of different names, 'a'"),
           "a label is missing": (b"a,class\n1,x\n1,\n", "must have a label .*(in record 2|it is missing)"),
           "the target is not there": (b"a,b\n1,2\n", "^target must be one of the columns 'a', 'b' .* got 'class'"),
           "there is only the target": (b"class\nx\n", "^bad.csv must have a feature"),
           "a column has dates": (b"a,class\n2020-01-01,x\n", "^column 'a' of bad.csv must hold numbers or text"),
           "the text is Latin-1": (b"a,class\n\xe9,x\n", "bad.csv must .* UTF-8"),
           "the file is a picture": (b"\x89PNG\r\n\x1a\n", "bad.csv must .*UTF-8")}),
)  # fmt: skip
def test_text_files(tmp_path: Path, data: bytes, sentence: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(data)
    refused(lambda: drained(CSVStream(path)), sentence)


OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "the target is None": ({"target": None}, "^target must name a column, got None"),
    "the target is a number": ({"target": 2}, "^target must name a column, got 2"),
    "the target is unknown": ({"target": "mood"}, "^target must be one of the columns .* got 'mood'"),
    "the time is the target": ({"time": "class"}, "^time must be another column than the target 'class'"),
    "the label time is the target": ({"label_time": "class"}, "^label_time must be another column than the target"),
    "the time is unknown": ({"time": "when"}, "^time must be one of the columns .* got 'when'"),
    "a column to drop is unknown": ({"drop": ["mood"]}, "^drop must be one of the columns .* got 'mood'"),
    "the column to drop is the target": ({"drop": ["class"]}, "^drop must not name 'class'"),
    "the columns to drop are text": ({"drop": "size"}, "^drop must be a list of columns, got the text 'size'"),
    "the columns to drop are a number": ({"drop": 1}, "^drop must be a list of columns, got 1"),
    "the columns to drop are numbers": ({"drop": [1]}, "^drop must name a column, got 1"),
    "a nominal column is unknown": ({"nominal": ["mood"]}, "^nominal must be one of the columns .* got 'mood'"),
    "the nominal columns are None": ({"nominal": None}, "^nominal must be a list of columns, got None"),
    "the schema is text": ({"schema": "s"}, "^schema must be a Schema or None, got 's'"),
    "the schema has other features": ({"schema": Schema.numeric(2)}, "^schema must have the features"),
    "the limit is negative": ({"limit": -1}, "^limit must lie in .* got -1"),
    "the limit is a truth value": ({"limit": True}, "^limit must be a whole number .* got True"),
}
CSV_OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "the delimiter is long": ({"delimiter": "::"}, "^delimiter must be one character, got '::'"),
    "the delimiter is a number": ({"delimiter": 1}, "^delimiter must be one character, got 1"),
    "the delimiter is a line break": ({"delimiter": "\n"}, "^delimiter must be .*character.* got '.n'"),
    "the delimiter is a quote": ({"delimiter": '"'}, "^delimiter must be .*character.* got"),
    "the delimiter is beyond ASCII": ({"delimiter": "é"}, "^delimiter must be .*character.* got 'é'"),
    "the missing texts are one text": ({"missing_words": "NA"}, "^missing_words must be a list of texts, got 'NA'"),
    "the missing texts are numbers": ({"missing_words": [0]}, r"^missing_words must be a list of texts, got \[0\]"),
    "the missing texts are None": ({"missing_words": None}, "^missing_words must be a list of texts, got None"),
}


@pytest.mark.parametrize(("options", "sentence"), table(OPTIONS))
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_options_of_files(tmp_path: Path, kind: str, options: dict[str, Any], sentence: str) -> None:
    cls: Any = {"csv": CSVStream, "parquet": ParquetStream}[kind]
    refused(lambda: drained(cls(good_file(tmp_path, kind), **options)), sentence)


@pytest.mark.parametrize(("options", "sentence"), table(CSV_OPTIONS))
def test_options_of_text_files(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    refused(lambda: drained(CSVStream(good_file(tmp_path, "csv"), **options)), sentence)


def good_file(folder: Path, kind: str) -> Path:
    path = folder / f"good.{kind}"
    if kind == "csv":
        path.write_bytes(GOOD_CSV)
    else:
        rows = {"size": [1.5, 2.5, None], "colour": ["red", "blue", "red"], "class": ["yes", "no", "yes"]}
        pq.write_table(pa.table(rows), path)
    return path


@pytest.mark.parametrize("cls", [CSVStream, ParquetStream, open_file])
@pytest.mark.parametrize(
    "path", table({"the path is None": None, "the path is a number": 1, "the path is a list": ["a.csv"],
                   "the path is bytes": b"a.csv", "the path is a class": str, "the path is NaN": NAN})
)  # fmt: skip
def test_paths(cls: Any, path: Any) -> None:
    refused(lambda: cls(path), "^path must name a file, got ")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    refused(lambda: CSVStream(tmp_path), "^path must name a file, .* is a folder")
    refused(lambda: ParquetStream(tmp_path / "no.parquet"), "^path must name a file, there is none at .*no.parquet")
    refused(lambda: open_file("notes.doc"), "^path must end with .csv.* got 'notes.doc'")
    refused(lambda: open_file("data.parquet.gz"), "^path must end with .csv.* got 'data.parquet.gz'")


def test_packed_files_that_are_damaged(tmp_path: Path) -> None:
    packed = gzip.compress(GOOD_CSV * 2000)
    for name, data in (
        ("cut", packed[: len(packed) // 2]),
        ("foreign", b"hello"),
        ("flipped", packed[:20] + b"\xff" * 9),
    ):
        path = tmp_path / f"{name}.csv.gz"
        path.write_bytes(data)
        refused(lambda path=path: drained(CSVStream(path)), f"^{name}.csv.gz (cannot|must) be ")


def test_parquet_files_that_are_damaged(tmp_path: Path) -> None:
    good = good_file(tmp_path, "parquet").read_bytes()
    path = tmp_path / "bad.parquet"
    for size in (0, 3, 4, 100, len(good) // 2, len(good) - 4, len(good) - 1):
        path.write_bytes(good[:size])
        refused(lambda: drained(ParquetStream(path)), "^bad.parquet must be a Parquet file: it is none, or damaged")
    for at in range(4, len(good), 41):
        path.write_bytes(good[:at] + bytes([good[at] ^ 255]) + good[at + 1 :])
        with suppress(ValueError):  # the pages have no checksum: a number may just be another one
            drained(ParquetStream(path))


@pytest.mark.parametrize(
    ("columns", "sentence"),
    table({"a column has lists": ({"a": [[1], [2]]}, "^column 'a' of bad.parquet must hold numbers or text, got list"),
           "a column has records": ({"a": [{"b": 1}] * 2}, "^column 'a' of bad.parquet must hold .* got struct"),
           "a column has bytes": ({"a": [b"\xff", b"x"]}, "^column 'a' of bad.parquet must hold .* got byt"),
           "a column has time spans": ({"a": pa.array([1, 2], pa.duration("s"))}, "^column 'a' .* got duration"),
           "a label is missing": ({"a": [1, 2], "class": ["x", None]}, "target 'class' must have .* none in record 2"),
           "a label is NaN": ({"a": [1, 2], "class": [1.0, NAN]}, "target 'class' must have .* none in record 2"),
           "a label is a list": ({"a": [1, 2], "class": [["x"], ["y"]]}, "^column 'class' .* got list"),
           "there are no records": ({"a": pa.array([], "f8"), "class": pa.array([], "str")}, "^bad.parquet must have"),
           "there is only the target": ({}, "^bad.parquet must have a feature")}),
)  # fmt: skip
def test_parquet_files_with_columns_that_are_no_features(
    tmp_path: Path, columns: dict[str, Any], sentence: str
) -> None:
    pq.write_table(pa.table({"class": ["x", "y"]} | columns), tmp_path / "bad.parquet")
    refused(lambda: drained(ParquetStream(tmp_path / "bad.parquet")), sentence)


def test_a_parquet_file_with_a_column_twice(tmp_path: Path) -> None:
    twice = pa.table([pa.array([1.0]), pa.array([2.0]), pa.array(["x"])], names=["a", "a", "class"])
    pq.write_table(twice, tmp_path / "bad.parquet")
    refused(lambda: ParquetStream(tmp_path / "bad.parquet"), "^bad.parquet must have columns of different names, 'a'")


@pytest.mark.parametrize(
    ("name", "sentence"),
    table({"the name is None": (None, "^name must be the name of a data set, got None"),
           "the name is a number": (3, "^name must be the name of a data set, got 3"),
           "the name is a thing that fails": (Hostile(), "^name must be the name of a data set, got a hostile"),
           "the name is empty": ("", "^name must be one of the data sets .* got ''"),
           "the name is misspelt": ("electrcity", "^name must be .*did you mean 'electricity'"),
           "the name is endless": ("x" * 9999, "^name must be one of the data sets .* got 'xxx")}),
)  # fmt: skip
def test_data_sets(name: Any, sentence: str) -> None:
    refused(lambda: load_dataset(name), sentence)


def test_data_sets_that_are_not_there_or_are_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THALWEG_DATA", raising=False)
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))  # so that no data set of this machine is found
    refused(lambda: load_dataset("electricity"), "^data set 'electricity' must lie .* THALWEG_DATA names .*not set")
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    refused(lambda: load_dataset("electricity"), "^data set 'electricity' must lie .* THALWEG_DATA names")
    (tmp_path / "electricity.parquet").write_bytes(b"junk")
    refused(lambda: load_dataset("electricity"), "^electricity.parquet must be a Parquet file")
    for wrong in ({"a": np.zeros(2)}, {"y": np.zeros(3)}, {"X": np.zeros((2, 2)), "y": np.array(["a", "b"])}):
        np.savez(tmp_path / "mnist.npz", **wrong)
        refused(lambda: load_dataset("mnist"), "^mnist.npz must be an NPZ file with X and y")
    np.savez(tmp_path / "usenet5931.npz", y=np.zeros(3))
    refused(lambda: load_dataset("usenet"), "^usenet5931.npz must be an NPZ file with X and y")
    np.savez(tmp_path / "mnist.npz", X=np.zeros((3, 2)), y=np.zeros(2))
    refused(lambda: load_dataset("mnist"), "^y must hold a label for each of the 3 rows of X, got 2")


# -- prequential ------------------------------------------------------------------------------------------------------

COUNTS = (-1, 0.5, NAN, INF, "9", True, [9], HUGE, Hostile())
PREQUENTIAL: dict[str, tuple[Any, ...]] = {
    "limit": COUNTS,
    "every": (0, None, *COUNTS),
    "window": (0, None, 10**15, *COUNTS),
    "chunk": (0, None, *COUNTS),
    "checkpoint_every": (0, None, "soon", *(count for count in COUNTS if count != "9")),
    "delay": (None, "never", "Time", *COUNTS[:-4], Hostile()),
    "seconds": (0, -1, NAN, INF, "9", True, [9], HUGE, Hostile()),
    "metrics": (3, "accuracies", ["accuracy", "mood"], [1], b"kappa", Hostile()),
    "checkpoint": (3, True, NAN, ["a"], b"run", str, Hostile()),
    "resume": (None, 1, "yes", NAN, Hostile()),
    "on_progress": (3, "print", [print], Hostile()),
    "name": (3, ["a"], b"a", Hostile()),
    "stream_name": (3, ["a"], b"a", Hostile()),
    "compat": ("weka", 3, True, Hostile()),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param(name, value, id=f"prequential must not have {name}={str(value).splitlines()[0][:20]}")
        for name, values in PREQUENTIAL.items()
        for value in values
    ],
)
def test_options_of_a_run(name: str, value: Any) -> None:
    stream, learner = SEA(limit=50), MajorityClass()
    refused(lambda: prequential(stream, learner, **{name: value}), f"^{name} must .*(got|at most)", stream, learner)


@pytest.mark.parametrize(
    ("stream", "learner", "sentence"),
    table({"the stream is None": (None, MajorityClass(), "^stream must be a stream, .* got None"),
           "the stream is a wrong name": ("see", MajorityClass(), "^stream must be a known name, got 'see'"),
           "the stream is a class": (SEA, MajorityClass(), "^stream must be a stream, .* got <class"),
           "the stream is a frame": (FRAME, MajorityClass(), "^target must name the column of stream .* got None"),
           "the learner is None": (SEA(), None, "^learner must be a Classifier, or .* or river, got None"),
           "the learner is a class": (SEA(), MajorityClass, "^learner must be a Classifier, or .* river, got <class"),
           "the learner is a detector": (SEA(), ADWIN(), r"^learner must be a Classifier, or .* river, got ADWIN\(\)"),
           "the two are swapped": (MajorityClass(), SEA(), r"^learner must be a Classifier, .* got SEA\(\)")}),
)  # fmt: skip
def test_runs_of_something_else(stream: Any, learner: Any, sentence: str) -> None:
    refused(lambda: prequential(stream, learner, limit=10), sentence)


@pytest.mark.parametrize("path", [3, True, b"a", ["a"], str, NAN, Hostile()])
def test_files_for_results(path: Any) -> None:
    result = prequential(SEA(), MajorityClass(), limit=10)
    refused(lambda: result.to_json(path), "^path must name a file, got ")
    refused(lambda: result.plot(path), "^path must name a file, got ")
    refused(lambda: Result.from_json(path), "^source must name a file, got ")


def test_results_that_are_something_else(tmp_path: Path) -> None:
    refused(lambda: Result.from_json("{"), "^source must be the JSON of a Result: ")
    refused(lambda: Result.from_json('{"rows": 3}'), "^source must be the JSON of a Result: ")
    result = prequential(SEA(), MajorityClass(), limit=10)
    refused(lambda: result.plot(tmp_path / "curve.doc"), "^path must end in one of .png, .svg, .pdf, got ")
    refused(lambda: result.plot(metric="mood"), "^metric must be one of .* got 'mood'")


def test_runs_that_cannot_be(tmp_path: Path) -> None:
    stream, learner = SEA(limit=50), MajorityClass()
    refused(lambda: prequential(stream, learner, resume=True), "^resume=True needs checkpoint", stream, learner)
    refused(lambda: prequential(stream, learner, delay="time"), '^delay="time" needs a stream that has time', learner)
    stream = SEA(limit=50)
    for path, sentence in (
        (tmp_path, "^checkpoint must name a file, got the folder"),
        (tmp_path / "no" / "run", "^checkpoint must be in a folder that exists"),
    ):
        refused(lambda path=path: prequential(stream, learner, checkpoint=path), sentence, stream, learner)
    missing = tmp_path / "none"
    refused(
        lambda: prequential(stream, learner, checkpoint=missing, resume=True), "none does not exist", stream, learner
    )


def test_checkpoints_of_something_else(tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    prequential(SEA(), MajorityClass(), limit=200, checkpoint=run)
    data = run.read_bytes()
    stream, learner = SEA(), MajorityClass()

    def resumed(path: Path, **options: Any) -> Callable[[], Any]:
        return lambda: prequential(stream, learner, checkpoint=path, resume=True, **{"limit": 300} | options)

    refused(resumed(run, window=5), "^checkpoint was made with window=1000, it cannot continue with 5", stream, learner)
    refused(resumed(run, delay=5), "^checkpoint was made with delay=0, it cannot continue with 5", stream, learner)
    for size in [*range(0, len(data), 4096), 1, 9, len(data) - 1]:
        other.write_bytes(data[:size])
        refused(resumed(other), "is not a file of arrays that this thalweg can read", stream, learner)
    save(MajorityClass().partial_fit(X2, Y2), other)
    refused(resumed(other), "^checkpoint must be a file that prequential wrote", stream, learner)
    stream = SEA(seed=2)
    refused(resumed(run), "^checkpoint was made with stream_params=", stream, learner)
    stream, learner = SEA(), NoChange()
    refused(resumed(run), "^checkpoint was made with learner='MajorityClass', .* 'NoChange'", stream, learner)


@pytest.mark.parametrize(
    ("y", "proba", "sentence"),
    table({"y is text": ("a", [[1.0]], "^y must hold class codes .* got 'a'"),
           "y has fractions": ([0.5], [[1.0]], "^y must hold class codes .* got"),
           "y is negative": ([-1], [[1.0]], "^y must hold class codes from 0 .* got -1"),
           "y is astronomic": ([10**12], [[1.0]], "^y must hold class codes .* got 1000000000000"),
           "y is missing": (None, [[1.0]], "^y must hold class codes .* got None"),
           "proba is text": ([0], "a", "^proba must hold rows of class probabilities, got 'a'"),
           "proba is ragged": ([0, 0], [[1.0], [1.0, 0.0]], "^proba must hold rows of class probabilities"),
           "proba has a row too few": ([0, 0], [[1.0]], "^proba must have one row .* got shape"),
           "proba has NaN": ([0], [[NAN]], "^proba must hold probabilities .* got .nan."),
           "proba is negative": ([0], [[-0.5]], "^proba must hold probabilities .* got .-0.5.")}),
)  # fmt: skip
def test_predictions_to_score(y: Any, proba: Any, sentence: str) -> None:
    metrics = Metrics(window=10)
    metrics.update([0, 1, 1], [[0.6, 0.4]] * 3)
    refused(lambda: metrics.update(y, proba), sentence, metrics)


def test_states_of_other_metrics() -> None:
    metrics = Metrics(window=10)
    metrics.update([0, 1, 1], [[0.6, 0.4]] * 3)
    good = metrics.state()
    bad: list[Any] = [None, [], {}, Metrics(window=5).state()]
    for name, array in good.items():
        wild = np.full_like(array, 2**40 if array.dtype.kind == "i" else 1e300)
        bad += [good | {name: wrong} for wrong in (array[:1, ..., None], array.astype(np.float32), np.zeros(17))]
        bad += [{k: a for k, a in good.items() if k != name}]
        bad += [good | {name: wild}] * (name in ("ring", "marks"))
    for state in bad:
        refused(lambda state=state: metrics.restore(state), "^state must (be what Metrics|have a window)", metrics)


# -- snapshots --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a saved tree, of many times 4 KB."""
    chunk = RandomRBF(features=60, classes=5, seed=3).take(2000)
    path = tmp_path_factory.mktemp("models") / "tree"
    save(HoeffdingTree(grace_period=50).partial_fit(chunk.X, chunk.y), path)
    data = path.read_bytes()
    assert len(data) > 15 * 4096
    return data


def test_snapshots_cut_off_every_4_kb_and_at_odd_places(tmp_path: Path, snapshot: bytes) -> None:
    path = tmp_path / "cut"
    header = int.from_bytes(snapshot[:8], "little")
    odd = (1, 7, 8, 9, 100, header, header + 7, header + 8, header + 9, len(snapshot) - 8, len(snapshot) - 1)
    for size in (*range(0, len(snapshot), 4096), *odd):
        path.write_bytes(snapshot[:size])
        refused(lambda: load(path), "cut is not a file of arrays that this thalweg can read: it ")


def test_snapshots_with_flipped_bytes(tmp_path: Path, snapshot: bytes) -> None:
    path = tmp_path / "flipped"
    for at in [*range(64), *range(64, len(snapshot), 1009), len(snapshot) - 1]:
        path.write_bytes(snapshot[:at] + bytes([snapshot[at] ^ (1 << at % 8)]) + snapshot[at + 1 :])
        refused(lambda: load(path), "flipped is not a file of arrays that this thalweg can read: ")


@pytest.mark.parametrize(
    "data",
    table({"the file is empty": b"", "the file is text": b"hello, world\n" * 9, "the file is zeros": b"\0" * 4096,
           "the file is ones": b"\xff" * 4096, "the file is a ZIP": b"PK\x03\x04" * 100,
           "the file is a pickle": b"\x80\x04}." * 9,
           "the file is JSON": b'{"class": "HoeffdingTree"}' * 9, "the file is twice as long": None}),
)  # fmt: skip
def test_foreign_files(tmp_path: Path, snapshot: bytes, data: bytes | None) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(snapshot * 2 if data is None else data)
    refused(lambda: load(path), "foreign is not a file of arrays that this thalweg can read: it")


def test_a_file_from_the_future(tmp_path: Path, snapshot: bytes) -> None:
    size = int.from_bytes(snapshot[:8], "little")
    text = json.loads(snapshot[8 : 8 + size])
    about = json.loads(text["__metadata__"]["thalweg"])
    text["__metadata__"]["thalweg"] = json.dumps(about | {"format_version": 99, "library_version": "9.9"})
    changed = json.dumps(text).encode()
    path = tmp_path / "future"
    path.write_bytes(len(changed).to_bytes(8, "little") + changed + snapshot[8 + size :])
    refused(lambda: load(path), "future is not .* written by the newer thalweg 9.9 .format 99")


@pytest.mark.parametrize(
    ("header", "sentence"),
    table({"the header is empty": ({}, "it lacks 'class'"),
           "an unknown class": ({"class": "thalweg.trees:Oak", "params": {}}, "'Oak' is not a class of this library"),
           "the class is someone else's": ({"class": "os:system", "params": {}}, "it holds a system from 'os'"),
           "a parameter is unknown": ({"class": "thalweg:ADWIN", "params": {"mood": 1}}, "mood"),
           "a parameter is out of range": ({"class": "thalweg:ADWIN", "params": {"delta": 7}}, "delta must lie in"),
           "the parameters are a list": ({"class": "thalweg:ADWIN", "params": [1]}, "its header must name a class"),
           "the class is a number": ({"class": 3, "params": {}}, "its header must name a class"),
           "the arrays are another class's": ({"class": "thalweg:ADWIN", "params": {}}, "state must be what state")}),
)  # fmt: skip
def test_headers(tmp_path: Path, header: dict[str, Any], sentence: str) -> None:
    path = tmp_path / "model"
    write_arrays(path, MajorityClass().partial_fit(X2, Y2).state(), header)
    refused_loosely(lambda: load(path), f"model is no snapshot that can be loaded: .*{sentence}")


def refused_loosely(call: Callable[[], Any], sentence: str) -> None:
    """One line that fits; a header made by hand may be explained in words from inside."""
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert str(caught.value).isprintable()


def test_classes_to_load(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(ADWIN(), path)
    refused(lambda: load(path, cls=NaiveBayes), "model is no snapshot .* it holds a ADWIN, and cls is NaiveBayes")
    refused(lambda: load(path, cls=dict), "model is no snapshot .* it holds a ADWIN, and cls is dict")
    refused(lambda: load(path, cls="ADWIN"), "^cls must be a class, got 'ADWIN'")
    refused(lambda: load(path, cls=ADWIN()), r"^cls must be a class, got ADWIN\(\)")


@pytest.mark.parametrize(
    "path", table({"the path is None": None, "the path is a number": 1, "the path is a truth value": True,
                   "the path is bytes": b"model", "the path is a list": ["model"], "the path is a class": str,
                   "the path has a zero": "mod\0el"})
)  # fmt: skip
def test_paths_of_snapshots(path: Any) -> None:
    refused(lambda: load(path), "^path must name a file, got ")
    refused(lambda: save(ADWIN(), path), "^path must name a file, got ")


def test_places_for_snapshots(tmp_path: Path) -> None:
    learner = MajorityClass().partial_fit(X2, Y2)
    refused(lambda: save(learner, tmp_path), "^path must name a file, got the folder", learner)
    refused(lambda: save(learner, tmp_path / "no" / "model"), "^path must be in a folder that exists", learner)
    refused(lambda: load(tmp_path), "is not a file of arrays .* it is a folder")
    refused(lambda: load(tmp_path / "model"), "model does not exist")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "obj", table({"the object is None": None, "the object is a class": HoeffdingTree, "the object is an array": X2,
                  "the object is a dict": {}, "the object is a stream of arrays": ArrayStream(X2, Y2),
                  "the object is a thing that fails": Hostile()})
)  # fmt: skip
def test_objects_that_cannot_be_saved(tmp_path: Path, obj: Any) -> None:
    refused(lambda: save(obj, tmp_path / "model"), "^(obj must have state|parameter 'X' of ArrayStream must be)")
    assert not list(tmp_path.iterdir())


def test_labels_that_cannot_be_saved(tmp_path: Path) -> None:
    learner = MajorityClass().partial_fit(X2, [("a", 1), ("b", 2)])
    refused(lambda: save(learner, tmp_path / "model"), "^labels of type tuple cannot be saved: use bool, int, float")


# -- names and the command line ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    table({"the name is None": (None, "^a name must read like .* got None"),
           "the name is a number": (3, "^a name must read like .* got 3"),
           "the name is empty": ("", "^a name must read like .* got ''"),
           "the name is two words": ("sea side", "^a name must read like .* got 'sea side'"),
           "the bracket is open": ("sea(function=1", "^a name must read like .* got 'sea"),
           "there is more after the bracket": ("sea(seed=1); quit", "^a name must read like .* got 'sea"),
           "a parameter has no name": ("sea(1)", r"^parameters must read like .* got '\(1\)'"),
           "a parameter has no value": ("sea(seed=)", "^parameters must read like .* got"),
           "a parameter is a call": ("sea(seed=open('x'))", "^seed must be a whole number .* got .open"),
           "a parameter is a name": ("sea(seed=other)", "^seed must be a whole number .* got 'other'"),
           "a parameter appears twice": ("sea(seed=1, seed=2)", "^parameters must read like .* got"),
           "the brackets are endless": ("sea(seed=" + "(" * 9999 + ")", "^parameters must read like .* got"),
           "the name is endless": ("x" * 9999, "^stream must be a known name, got 'xxx"),
           "the name is misspelt": ("hyperplan", "^stream must be a known name, .* did you mean 'hyperplane'"),
           "the parameter is unknown": ("sea(sed=1)", "^sea has no parameter 'sed': did you mean 'seed'"),
           "the parameter is unpacked": ("sea(**{})", r"^sea has no parameter '\*\*'"),
           "the value is out of range": ("sea(function=9)", "^function must lie in .* got 9"),
           "the value is of another type": ("sea(function={})", "^function must be a whole number .* got {}")}),
)  # fmt: skip
def test_names(text: Any, sentence: str) -> None:
    refused(lambda: registry.make("stream", text, registry.STREAMS), sentence)


@pytest.mark.parametrize(
    ("words", "sentence"),
    table({"the learner is misspelt": (("run", "naive-bayse", "sea"), "did you mean 'naive-bayes'"),
           "the stream is misspelt": (("run", "majority", "hyperplan"), "did you mean 'hyperplane'"),
           "a setting has no value": (("run", "hoeffding-tree", "sea", "--set", "delta"), "name=value"),
           "a setting is out of range": (("run", "hoeffding-tree", "sea", "--set", "delta=7"), "delta must lie in"),
           "a setting is unknown": (("run", "majority", "sea", "--set", "mood=1"), "majority has no parameter 'mood'"),
           "an option is unknown": (("run", "majority", "sea", "--mood", "good"), "--mood"),
           "the limit is a word": (("run", "majority", "sea", "--limit", "ten"), "--limit"),
           "the window is 0": (("run", "majority", "sea", "--window", "0"), "--window"),
           "the seconds are negative": (("run", "majority", "sea", "--seconds", "-1"), "seconds must lie in"),
           "the file is not there": (("run", "majority", "no.csv", "--target", "y"), "no.csv"),
           "the file is not there, nor its target": (("run", "majority", "no.csv"), "no.csv does not exist"),
           "the command is unknown": (("stroll",), "No such command")}),
)  # fmt: skip
def test_commands(
    words: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["thalweg", *words])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    out, err = capsys.readouterr()
    assert (stop.value.code, out) == (2, "")
    assert err.startswith("thalweg: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert not [word for word in INTERNAL if word in err]


# -- what looks bad and is not ----------------------------------------------------------------------------------------


def test_a_masked_value_is_a_missing_value() -> None:
    masked = np.ma.array(X2, mask=[[True, False, False], [False, False, False]])
    missing = np.where(masked.mask, NAN, X2)
    one, other = HoeffdingTree().partial_fit(masked, Y2), HoeffdingTree().partial_fit(missing, Y2)
    assert bits(one) == bits(other)
    assert one.predict_one(masked[0]) == other.predict_one(missing[0])
    integers = np.ma.array(X2.astype(int), mask=masked.mask)
    assert bits(HoeffdingTree().partial_fit(integers, Y2)) == bits(other)


def test_words_as_any_library_holds_them_are_the_same_words() -> None:
    words = ["red", "blue", "red", None]
    numbers = [1.0, 2.0, 3.0, 4.0]
    plain = NaiveBayes().partial_fit(pa.table({"n": numbers, "s": words}), [0, 1, 0, 1])
    for column in (
        pl.DataFrame({"n": numbers, "s": pl.Series(words, dtype=pl.Categorical)}),
        pl.DataFrame({"n": numbers, "s": pl.Series(words, dtype=pl.Enum(["blue", "red", "green"]))}),
        pd.DataFrame({"n": numbers, "s": pd.Categorical(words)}),
        pa.table({"n": numbers, "s": pa.DictionaryArray.from_arrays([1, 0, 1, 2], ["blue", "red", None])}),
        pa.table({"n": numbers, "s": pa.array(words).cast(pa.string_view())}),
    ):
        assert bits(NaiveBayes().partial_fit(column, [0, 1, 0, 1])) == bits(plain)


def test_labels_as_any_library_holds_them_are_the_same_labels() -> None:
    plain = NaiveBayes().partial_fit(X2, Y2)
    for y in (
        pa.array(Y2), pa.chunked_array([["yes"], ["no"]]), pa.array(Y2).dictionary_encode(), pl.Series(Y2),
        pl.Series(Y2, dtype=pl.Categorical), pd.Series(Y2), pd.Categorical(Y2), np.array(Y2),
        np.array(Y2, dtype=object), tuple(Y2), np.array(Y2).reshape(-1, 1), [np.str_(v) for v in Y2], np.ma.array(Y2),
    ):  # fmt: skip
        assert bits(NaiveBayes().partial_fit(X2, y)) == bits(plain)


def test_a_label_of_another_float_width_is_another_label() -> None:
    """0.1 in 32 bits is not 0.1, whether the other labels of the chunk are known or not."""
    single = np.array([0.1], dtype=np.float32)
    for start in ([0.1], [0.1, 0.2]):
        learner = MajorityClass().partial_fit(np.zeros((len(start), 1)), start)
        learner.partial_fit([[0.0]], single)
        assert learner.classes_.tolist() == [*start, float(single[0])]


def test_numbers_of_any_type_make_a_record() -> None:
    learner = NaiveBayes().partial_fit(FRAME, LABELS)
    expected = learner.predict_proba_one({"size": 2.0, "weight": 1.0, "colour": "red"})
    for two_ in (2, np.float32(2), np.int8(2), np.longdouble(2), Decimal(2), Fraction(2)):
        for word in ("red", np.str_("red")):
            for weight in (1, True, np.True_):
                assert learner.predict_proba_one({"size": two_, "weight": weight, "colour": word}) == expected
    fresh = NaiveBayes().learn_one({np.str_("a"): np.str_("b")}, "yes")
    NaiveBayes().restore(fresh.state())  # the names are Python's own
