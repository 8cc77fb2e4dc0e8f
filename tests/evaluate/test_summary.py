"""The sentences above a result: true of the numbers, for every kind of problem."""

import html
import json

import numpy as np
import pytest

from thalweg import NoChange
from thalweg.evaluate.per_class import PerClass
from thalweg.evaluate.prequential import prequential
from thalweg.evaluate.result import Result
from tiny_stream import Moving, TinyStream, rows

EMPTY = prequential(TinyStream(np.zeros((0, 2)), np.zeros(0, dtype=int)), Moving())


def made(confusion, classes, *, no_change=0.5, final=None, **more):
    """Make a result with a confusion matrix; the other numbers follow from it."""
    table = np.array(confusion, dtype=np.float64)
    n = int(table.sum())
    numbers = dict.fromkeys(EMPTY.final, 0.0) | {"accuracy": float(np.trace(table)) / n} | (final or {})
    fields = {name: getattr(EMPTY, name) for name in EMPTY.__dataclass_fields__}
    baselines = {"majority": float(table.sum(axis=1).max()) / n, "no_change": no_change}
    given = {
        "rows": n,
        "classes": classes,
        "confusion": table,
        "final": numbers,
        "baselines": baselines,
        "labels_used": n,
    }
    return Result(**(fields | given | more))


KINDS = {
    "a rare class, worse than the majority": (
        made([[18552, 16], [1434, 9]], ["no", "yes"], no_change=0.86),
        "rare class",
        "Finds 9 of 1,443 'yes' (0.6 %); 36.0 % of the 25 rows that it calls 'yes' are. Always saying 'no' "
        "would be right "
        "more often (92.79 % against 92.75 %).",
    ),
    "a rare class, found well": (
        made([[900, 10], [20, 70]], [0, 1], no_change=0.83),
        "rare class",
        "Finds 70 of 90 rows of class 1 (77.8 %); 87.5 % of the 80 rows that it calls class 1 are. It is "
        "right on 97.0 % "
        "of all rows; always saying class 0 would be right on 91.0 %.",
    ),
    "a rare class, never found, better ranked": (
        made([[990, 0], [10, 0]], ["ok", "fraud"], no_change=0.98, final={"recall_at_budget": 0.3}),
        "rare class",
        "Never says 'fraud': finds none of 10 'fraud'. It is right on 99.0 % of all rows; always saying 'ok' would be "
        "right on 99.0 %. The 1 % of the rows with the highest probability of 'fraud' hold 30.0 % of them: "
        "rank rows by "
        "predict_proba to find more.",
    ),
    "a rare class that comes in bursts": (
        made([[850, 50], [50, 50]], ["dry", "wet"], no_change=0.97),
        "rare class",
        "Finds 50 of 100 'wet' (50.0 %); 50.0 % of the 100 rows that it calls 'wet' are. Repeating the last "
        "label would "
        "be right more often (97.0 % against 90.0 %).",
    ),
    "balanced, worse than the last label": (
        made([[20000, 6054], [1105, 18153]], ["UP", "DOWN"], no_change=0.853),
        "two classes",
        "Right on 84.2 % of 45,312 rows; always saying 'UP' would be right on 57.5 %, repeating the last "
        "label on 85.3 %: "
        "it does worse than repeating the last label.",
    ),
    "balanced, better than both": (
        made([[40, 10], [5, 45]], ["a", "b"]),
        "two classes",
        "Right on 85.0 % of 100 rows; always saying 'a' would be right on 50.0 %, repeating the last label on 50.0 %.",
    ),
    "balanced, worse than both": (
        made([[20, 40], [30, 10]], ["a", "b"], no_change=0.7),
        "two classes",
        "Right on 30.0 % of 100 rows; always saying 'a' would be right on 60.0 %, repeating the last label on"
        " 70.0 %: it "
        "does worse than always saying 'a' and than repeating the last label.",
    ),
    "many classes, some hard": (
        made([[90, 5, 5], [5, 90, 5], [60, 20, 20]], ["a", "b", "c"]),
        "many classes",
        "Right on 66.7 % of 300 rows; always saying 'a' would be right on 33.3 %, repeating the last label on"
        " 50.0 %. The "
        "hardest class is 'c' (20.0 % found).",
    ),
    "many classes, some never found": (
        made(np.outer(np.full(7, 10), [1, 0, 0, 0, 0, 0, 0]), list(range(7)), no_change=0.1),
        "many classes",
        "Right on 14.3 % of 70 rows; always saying class 0 would be right on 14.3 %, repeating the last label"
        " on 10.0 %. It "
        "never recognises class 1, class 2, class 3 and 3 more.",
    ),
    "one class": (
        made([[430]], ["a"]),
        "one class",
        "All 430 rows are 'a': with only one class there is nothing to tell apart, and the accuracy means little.",
    ),
    "no rows": (EMPTY, "nothing", "No rows were scored, so there is nothing to report."),
    "labels pending": (
        made([[40, 10], [5, 45]], ["a", "b"], labels_pending=5, labels_used=95),
        "two classes",
        "Right on 85.0 % of 100 rows; always saying 'a' would be right on 50.0 %, repeating the last label on"
        " 50.0 %. 5 "
        "labels had not arrived by the end of the run.",
    ),
    "all labels pending": (
        made([[50, 0], [50, 0]], ["a", "b"], labels_pending=100, labels_used=0),
        "two classes",
        "Right on 50.0 % of 100 rows; always saying 'a' would be right on 50.0 %, repeating the last label on"
        " 50.0 %. No "
        "label had arrived by the end of the run, so nothing was learned.",
    ),
}


@pytest.mark.parametrize("what", KINDS)
def test_a_result_says_what_it_means(what):
    result, kind, words = KINDS[what]
    assert result.kind == kind
    assert result.summary == words
    assert json.loads(result.to_json())["summary"] == words
    assert Result.from_json(result.to_json()) == result
    text = str(result)
    assert " ".join(text.split()).startswith(words)
    assert max(map(len, text.splitlines())) <= 80
    page = result._repr_html_()
    assert 0 < page.index(html.escape(words)) < page.index("<table")


def test_a_rare_class_is_shown_by_its_recall_and_precision():
    result = KINDS["a rare class, worse than the majority"][0]
    lines = [" ".join(line.split()) for line in str(result.table()).splitlines()]
    assert "recall of 'yes' 0.62 %" in lines
    assert "precision of 'yes' 36.00 %" in lines
    assert any(line.startswith("PR-AUC") for line in lines)
    assert "kappa-T" not in str(result)
    assert "kappa-T" in str(result.table(all=True))


def test_what_somebody_chose_is_shown():
    X, y, _ = rows(60)
    assert "G-mean" in str(prequential(TinyStream(X, y), Moving(), metrics=["g_mean"]))


def test_classes_of_a_run_with_rows_that_had_no_prediction():
    X, y, _ = rows(430, labels=["a", "b", "c"])
    result = prequential(TinyStream(X, y), Moving(), every=100)
    scores = result.per_class
    for label in "abc":
        assert scores[label].support == (y == label).sum()
    assert result.confusion.sum() < 430  # the first row was not predicted
    found = {entry["class"]: entry["recall"] for entry in json.loads(result.to_json())["per_class"]}
    assert found == {label: scores[label].recall for label in scores}
    assert "precision" in result._repr_html_()


def test_a_class_that_is_never_predicted_has_no_precision():
    scores = PerClass(["a", "b"], np.array([[3.0, 0.0], [2.0, 0.0]]))
    assert np.isnan(scores["b"].precision)
    assert (scores["b"].recall, scores["b"].f1) == (0.0, 0.0)
    assert "–" in str(scores)


def test_the_rules_of_a_result_are_those_of_the_learners_that_follow_them():
    X, y, _ = rows(300)
    result = prequential(TinyStream(X, y), NoChange())
    assert result.baselines["no_change"] == pytest.approx(result.accuracy)


def test_results_of_earlier_versions_can_be_read():
    old = json.loads(KINDS["balanced, better than both"][0].to_json())
    for name in ("summary", "per_class", "support", "baselines"):
        del old[name]
    assert Result.from_json(json.dumps(old)).summary == (
        "Right on 85.0 % of 100 rows; always saying 'a' would be right on 50.0 %."
    )


@pytest.mark.parametrize("chunk", [7, 1000])
def test_predictions_are_kept_where_asked_for(chunk, tmp_path):
    X, y, w = rows(200, labels=["a", "b", "c"], weights=True)
    assert prequential(TinyStream(X, y), Moving()).predictions is None
    result = prequential(TinyStream(X, y, w), Moving(), keep=True, chunk=chunk)
    kept = result.predictions
    live = w > 0
    assert kept.label[live].tolist() == y[live].tolist()
    assert set(kept.label[~live]) == {None}
    right = kept.label[live] == kept.prediction[live]
    assert np.average(right, weights=w[live]) == pytest.approx(result.accuracy)
    assert kept.prediction[live][0] is None
    assert kept.probability[live][1:].min() > 0
    assert "predictions" not in json.loads(result.to_json())
    for name in ("out.csv", "out.parquet"):
        kept.write(tmp_path / name)
    from pyarrow import csv, parquet

    for table in (csv.read_csv(tmp_path / "out.csv"), parquet.read_table(tmp_path / "out.parquet")):
        assert table.column_names == ["row", "label", "prediction", "probability_a", "probability_b", "probability_c"]
        assert table.num_rows == 200
    with pytest.raises(ValueError, match=r"path must end in \.csv or \.parquet"):
        kept.write(tmp_path / "out.txt")
    with pytest.raises(ValueError, match="resume=True must not be given"):
        prequential(TinyStream(X, y), Moving(), keep=True, resume=True, checkpoint=tmp_path / "x")
