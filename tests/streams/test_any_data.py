"""Frames, records, pairs, names and files go straight into the verbs, and all mean the same."""

import numpy as np
import pyarrow as pa
import pytest

import thalweg
from thalweg import ArrayStream, HoeffdingTree, NaiveBayes, compare, describe_stream, prequential
from thalweg.streams.any_data import as_stream

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

R = np.random.default_rng(4)
FRAME = pd.DataFrame(
    {"sky": R.choice(["clear", "rain", None], 400), "degrees": R.normal(15, 5, 400).round(1),
     "play": R.choice(["y", "n"], 400)}
)  # fmt: skip
FRAME.loc[3, "degrees"] = np.nan
RECORDS = [{k: v for k, v in r.items() if v == v} for r in FRAME.to_dict("records")]
PAIRS = [({k: v for k, v in r.items() if k != "play"}, r["play"]) for r in RECORDS]

FORMS = {
    "pandas": (lambda: FRAME, "play"),
    "polars": (lambda: pl.from_pandas(FRAME), "play"),
    "Arrow": (lambda: pa.Table.from_pandas(FRAME), "play"),
    "batch": (lambda: pa.RecordBatch.from_pandas(FRAME), "play"),
    "list of dicts": (lambda: RECORDS, "play"),
    "generator of dicts": (lambda: (r for r in RECORDS), "play"),
    "list of pairs": (lambda: PAIRS, None),
    "generator of pairs": (lambda: (p for p in PAIRS), None),
    "pairs with Series": (lambda: ((row.drop("play").dropna(), row["play"]) for _, row in FRAME.iterrows()), None),
    "(X, y)": (lambda: (FRAME.drop(columns="play"), FRAME["play"]), None),
    "a stream": (lambda: ArrayStream(FRAME, "play"), None),
}


@pytest.mark.parametrize(("make", "target"), FORMS.values(), ids=FORMS)
def test_all_forms_mean_the_same(make, target) -> None:
    expected = prequential(ArrayStream(FRAME, "play"), NaiveBayes(), keep=True)
    found = prequential(make(), NaiveBayes(), target=target, keep=True)
    assert found.rows == 400
    assert found.accuracy == expected.accuracy
    np.testing.assert_array_equal(found.predictions.proba, expected.predictions.proba)


def test_rows_and_labels_may_come_as_pairs() -> None:
    X, y = R.normal(size=(300, 3)), R.integers(0, 2, 300)
    expected = prequential(ArrayStream(X, y), HoeffdingTree())
    for pairs in (zip(X, y, strict=True), list(zip(X.tolist(), y.tolist(), strict=True))):
        assert prequential(pairs, HoeffdingTree()).accuracy == expected.accuracy


def test_names_and_files(tmp_path) -> None:
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    assert prequential(tmp_path / "a.csv", "naive-bayes", target="play").rows == 400
    assert prequential("sea", "naive-bayes", limit=100).rows == 100


def test_columns_can_be_chosen() -> None:
    stream = as_stream(FRAME, "play", drop=["sky"])
    assert stream.schema.names == ("degrees",)
    assert as_stream(RECORDS, "play", drop=["sky"]).schema.names == ("degrees",)
    assert as_stream(iter(PAIRS), drop=["sky"]).schema.names == ("degrees",)
    numbers = FRAME.assign(when=np.arange(400.0), code=np.arange(400) % 3)
    stream = as_stream(numbers, "play", time="when", nominal=["code"])
    assert stream.schema.features[2].nominal
    assert stream.take(3).time.tolist() == [0.0, 1.0, 2.0]


def test_frames_in_a_comparison_and_in_a_picture() -> None:
    found = compare(["naive-bayes", "majority"], on={"mine": FRAME, "same": RECORDS}, target="play")
    scores = found.scores()
    assert scores.shape == (2, 2)
    assert (scores[0] == scores[1]).all()
    assert compare(["majority"], on=FRAME, target="play").scores().shape == (1, 1)
    assert describe_stream(FRAME, target="play").rows == 400


@pytest.mark.parametrize(("data", "options", "error", "words"), [
    (FRAME, {}, ValueError, r"target must name the column of stream .*, one of \['sky', 'degrees', 'play'\]"),
    (FRAME, {"target": "plays"}, ValueError, "target must be one of the columns .* got 'plays'"),
    (FRAME, {"target": "play", "drop": ["wind"]}, ValueError, "drop must be one of the columns .* got 'wind'"),
    (ArrayStream(FRAME, "play"), {"target": "play"}, ValueError, "target must not be given here: stream is a stream"),
    (RECORDS, {}, TypeError, r"pair 0 of records must be \(dict, label\)"),
    ([1, 2], {"target": "play"}, TypeError, "record 0 of stream must be a dict, as target is given, got 1"),
    (RECORDS, {"target": "plays"}, ValueError, "must have a label in each pair, it is missing"),
    (FRAME["degrees"], {"target": "play"}, TypeError, "record 0 of stream must be a dict"),
    (np.zeros((3, 2)), {}, TypeError, r"stream must be a stream, .*\(X, y\)"),
    (5, {}, TypeError, "stream must be a stream, the name of one or of a file"),
    ("nosuch", {}, ValueError, "stream must be a known name, got 'nosuch'"),
])  # fmt: skip
def test_what_is_no_data_gets_a_sentence(data, options, error, words) -> None:
    with pytest.raises(error, match=words):
        prequential(data, NaiveBayes(), **options)


def test_a_stream_is_a_loop_of_records_and_labels() -> None:
    one, many = HoeffdingTree(), HoeffdingTree()
    right = 0
    for x, y in ArrayStream(FRAME.dropna(), "play"):
        right += one.predict_one(x) == y
        one.learn_one(x, y)
    result = prequential(FRAME.dropna(), many, target="play")
    assert right == round(result.accuracy * result.rows)
    assert len(list(thalweg.SEA(limit=1500))) == 1500
    x, _ = next(iter(thalweg.SEA()))
    assert list(x) == ["x0", "x1", "x2"]


def test_tensors_and_sparse_rows_stay_what_they_are_in_a_loop() -> None:
    import scipy.sparse

    (x, y), *_ = ArrayStream(np.arange(24.0).reshape(2, 3, 4), ["a", "b"])
    assert x.shape == (3, 4)
    assert y == "a"
    (x, y), *_ = ArrayStream(scipy.sparse.csr_array(np.eye(3)), [0, 1, 2])
    assert x.shape == (1, 3)
    assert x.nnz == 1
