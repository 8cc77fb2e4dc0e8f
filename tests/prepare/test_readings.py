"""Dates and text are read in the same way from records, frames and files of every format."""

import csv
import json
import warnings
from datetime import datetime, timedelta

import numpy as np
import pytest

import thalweg
from thalweg import (
    ArrayStream,
    DateParts,
    HashedText,
    HoeffdingTree,
    IterableStream,
    NaiveBayes,
    compare,
    pipeline,
    prequential,
)
from thalweg.streams.files import text_table
from thalweg.streams.looking import look_at

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
N = 600


def records(seed=1):
    """Records with a date, a text that hardly comes twice, a number, a word and a label."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(N):
        day = datetime(2024, 1, 1) + timedelta(minutes=731 * i)
        good = rng.random() < 0.5
        words = [("good" if good else "bad"), *(f"w{j}" for j in rng.integers(0, 5_000, 3))]
        label = "yes" if good and day.weekday() >= 4 else "no"
        found.append({"signup": day.isoformat(), "review": " ".join(words), "size": float(rng.normal()),
                      "hue": str(rng.choice(["red", "blue"])), "class": label})  # fmt: skip
    found[7]["review"] = found[9]["signup"] = None
    return found


def learner():
    parts = DateParts("signup", parts=["weekday", "since_last"]), HashedText("review", width=16)
    return pipeline(*parts, HoeffdingTree(grace_period=50))


@pytest.fixture
def files(tmp_path):
    """The same records in files of every format, and in memory."""
    rows = records()
    with open(tmp_path / "a.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    table = pa.Table.from_pylist(rows)
    parquet.write_table(table, tmp_path / "a.parquet")
    dates = pa.array([None if r["signup"] is None else datetime.fromisoformat(r["signup"]) for r in rows])
    dated = table.set_column(0, "signup", dates)
    parquet.write_table(dated, tmp_path / "b.parquet")
    return tmp_path, rows, table, dated


def test_all_ways_to_the_same_rows(files, monkeypatch):
    monkeypatch.setattr(text_table, "FORGOTTEN", 100)
    folder, rows, table, dated = files
    one = learner()
    pairs = [({k: v for k, v in r.items() if k != "class"}, r["class"]) for r in rows]
    whole = ArrayStream(dated, "class", readings=one.readings).take(N)
    weekday = np.array(
        [np.nan if r["signup"] is None else datetime.fromisoformat(r["signup"]).timestamp() for r in rows]
    )
    assert np.isnan(whole.X[9, 0])
    np.testing.assert_array_equal(np.diff(whole.X[10:, 0]), np.diff(weekday[10:]))
    assert not whole.X[7, 1:17].any()
    streams = [thalweg.open_file(folder / name, readings=one.readings) for name in
               ("a.csv", "a.jsonl", "a.parquet", "b.parquet")]  # fmt: skip
    streams += [IterableStream(pairs, readings=one.readings), ArrayStream(table, "class", readings=one.readings)]
    for stream in streams:
        assert stream.schema.columns == ("signup", "review", "size", "hue")
        np.testing.assert_array_equal(stream.take(N).X, whole.X)
        position = stream.state()
        assert sum(len(t) for t in position.values()) < 10_000  # no text is kept
    single = learner()
    for x, y in pairs[:200]:
        single.learn_one(x, y)
    rowwise = learner().partial_fit(table.drop_columns("class").slice(0, 200), [y for _, y in pairs[:200]])
    np.testing.assert_array_equal(
        single.transform(table.drop_columns("class")), rowwise.transform(dated.drop_columns("class"))
    )
    assert single.predict_one(pairs[3][0]) == single.predict(table.drop_columns("class").slice(3, 1))[0]


def test_a_file_is_read_on_from_a_position(files, monkeypatch):
    monkeypatch.setattr(text_table, "FORGOTTEN", 50)
    monkeypatch.setattr("thalweg.streams.files.text.BLOCK", 8_000)
    folder, *_ = files
    readings = learner().readings
    for name in ("a.csv", "a.jsonl", "b.parquet"):
        whole = thalweg.open_file(folder / name, readings=readings).take(N)
        stream = thalweg.open_file(folder / name, readings=readings)
        first = stream.take(333)
        again = thalweg.open_file(folder / name, readings=readings)
        again.restore(stream.state())
        np.testing.assert_array_equal(np.concatenate([first.X, again.take(N).X]), whole.X)
        np.testing.assert_array_equal(
            np.concatenate([first.y, again.restore(stream.state()) or again.take(N).y]), whole.y
        )


def test_the_command_line(files, run, tmp_path):
    folder, *_ = files
    prep = ["--prep", "date-parts(signup, parts=[weekday])", "--prep", "hashed-text(review, width=16)"]
    found = []
    for name in ("a.csv", "a.jsonl", "b.parquet"):
        model = tmp_path / f"{name}.safetensors"
        code, out, err = run("run", "hoeffding-tree", folder / name, *prep, "--save", model, "--json", "-")
        assert (code, err) == (0, "")
        found.append(json.loads(out)["final"]["accuracy"])
        answers = []
        for other in ("a.csv", "b.parquet"):
            code, out, err = run("predict", model, folder / other, "--proba")
            assert (code, err[:8]) == (0, "Right on")
            answers.append(out)
        assert answers[0] == answers[1]
        assert run("run", model, folder / "a.csv", "--limit", 100, "--quiet")[0] == 0
    assert len(set(found)) == 1
    code, _, err = run("run", "hoeffding-tree", folder / "b.parquet")
    assert code != 0
    assert "use its parts by DateParts('signup') in a pipeline (--prep \"date-parts(signup)\")" in err


def test_in_a_comparison_all_learners_see_the_same_columns(files):
    folder, *_ = files
    found = compare(
        ["date-parts | hashed-text(review, width=8) | naive-bayes", "naive-bayes"], on=[str(folder / "b.parquet")]
    )
    assert not found.failures
    assert len(found.results) == 2


def test_all_columns_of_dates_without_their_names(files):
    _, _, table, dated = files
    rows = dated.drop_columns(["class", "review"])
    assert DateParts().partial_fit(rows).schema_out.names[0] == "signup[hour]"
    assert not DateParts().partial_fit(rows.drop_columns("signup")).schema_out.names[0].startswith("signup")
    text = DateParts().partial_fit(table.drop_columns(["class", "review"]))  # text is text, unless it is named
    assert text.schema_out.features[0].nominal


def test_sentences(files, tmp_path):
    folder, _, table, _ = files
    with pytest.raises(
        ValueError, match=r"^columns must be read in one way each, 'a' is to be read as a time and as text"
    ):
        pipeline(DateParts("a"), HashedText("a"), NaiveBayes())
    with pytest.raises(ValueError, match="^columns of HashedText must name columns of text, got None"):
        HashedText()
    with pytest.raises(ValueError, match="both are 0"):
        HashedText("a", words=0)
    with pytest.raises(
        ValueError, match="^columns of HashedText must be text, 'review' is nominal: open the stream with"
    ):
        pipeline(HashedText("review"), NaiveBayes()).declare(thalweg.open_file(folder / "a.jsonl").schema).partial_fit(
            np.zeros((1, 4)), ["no"]
        )
    bad = learner().partial_fit(table.drop_columns("class"), [r["class"] for r in records()])
    before = bad.state()
    with pytest.raises(ValueError, match=r"^x must have seconds, or a date .* in feature 'signup', got 'yesterday'"):
        bad.predict_one({"signup": "yesterday", "review": "x", "size": 1.0, "hue": "red"})
    with pytest.raises(TypeError, match="^X must hold text in column 'review', got 5"):
        bad.learn_one({"signup": "2024-01-01", "review": 5, "size": 1.0, "hue": "red"}, "yes")
    with pytest.raises(TypeError, match="^readings must be the readings of a pipeline"):
        thalweg.open_file(folder / "a.csv", readings="signup")
    (tmp_path / "c.csv").write_text("day,class\n31.01.2024,a\n01.02.2024,b\n")
    with pytest.raises(TypeError, match="^column 'day' must hold numbers, dates or times, got text"):
        thalweg.open_file(tmp_path / "c.csv", readings=DateParts("day").readings)
    for name, tables in before.items():
        np.testing.assert_array_equal(bad.state()[name], tables)


def test_data_go_straight_into_an_evaluation(files):
    folder, rows, table, dated = files
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nobody complains of a date that is wanted
        found = [
            prequential(data, learner(), target="class").accuracy
            for data in (table, dated, rows, folder / "a.csv", str(folder / "b.parquet"), folder / "a.jsonl")
        ]
    assert len(set(found)) == 1
    on = {"frame": dated, "records": rows}
    compared = compare([learner(), "naive-bayes"], on=on, target="class")
    assert not compared.failures


def test_what_is_advised_about_a_column_of_dates_and_one_of_text(files):
    folder, *_ = files
    advice = " ".join(str(remark) for remark in look_at(thalweg.open_file(folder / "a.jsonl")))
    assert "--prep 'date-parts(signup)'" in advice
    assert "--prep 'hashed-text(review)'" in advice
    assert not look_at(thalweg.open_file(folder / "a.jsonl", readings=learner().readings))
