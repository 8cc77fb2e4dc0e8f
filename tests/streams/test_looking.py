"""What is said about columns, and that nothing is said about columns that are all right."""

import logging
import warnings
from pathlib import Path

import numpy as np
import pytest

import thalweg
from thalweg import ArrayStream, ColumnWarning, MajorityClass, look_at, open_file, prequential
from thalweg.registry import DATASETS
from thalweg.registry.typed import open_stream
from thalweg.streams.any_data import as_stream
from thalweg.streams.looking import ROWS

pd = pytest.importorskip("pandas")

N = 2000


def good(n: int = N) -> pd.DataFrame:
    """A frame that nobody needs to say anything about."""
    r = np.random.default_rng(5)
    plan = r.choice(["basic", "plus", "pro"], n)
    calls = r.poisson(3, n)
    late = r.random(n) < 0.1 + 0.1 * calls
    return pd.DataFrame(
        {"plan": plan, "tenure": r.gamma(2, 12, n).round(2), "calls": calls, "zip": r.integers(10_000, 10_300, n),
         "class": np.where(late, "yes", "no")}
    )  # fmt: skip


def odd(**columns: object) -> pd.DataFrame:
    return good().assign(**columns)


NUMBERS = np.random.default_rng(6)
CASES = {
    "an id that is text": ("id", {"customer": [f"C{i:05d}" for i in NUMBERS.permutation(N)]}),
    "an id that is a number": ("id", {"account": NUMBERS.permutation(N) + 500_000}),
    "an id by its name": ("id", {"userId": NUMBERS.choice(10**9, N, replace=False)}),
    "a counter": ("counter", {"row": np.arange(N)}),
    "a clock": ("growing", {"seconds": np.cumsum(NUMBERS.random(N))}),
    "dates as text": ("date", {"day": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024" for i in range(N)]}),
    "dates and times as text": ("date", {"at": [f"2024-03-{1 + i % 28:02d}T{i % 24:02d}:15:00Z" for i in range(N)]}),
    "dates as numbers": ("date", {"day": [20240100 + 1 + i % 28 for i in NUMBERS.permutation(N)]}),
    "free text": ("text", {"review": [f"it was fine on day {i} again" for i in range(N)]}),
    "numbers as text": ("number", {"price": [f"{v:.2f}" for v in NUMBERS.gamma(2, 9, N)]}),
    "a word among numbers": (
        "stray", {"price": [f"{v:.2f}" if i % 20 else "none given" for i, v in enumerate(NUMBERS.gamma(2, 9, N))]}),
    "true and false": ("boolean", {"paid": NUMBERS.random(N) < 0.5}),
    "one value": ("constant", {"country": "DE"}),
    "one number": ("constant", {"version": 3}),
    "no value": ("constant", {"empty": np.nan}),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "columns"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("form", ["frame", "parquet", "csv", "jsonl", "records"])
def test_each_kind_is_found_and_only_it(kind: str, columns: dict, form: str, tmp_path: Path) -> None:
    frame = odd(**columns)
    (name,) = columns
    path = tmp_path / f"mine.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
        if kind in ("date", "number") and isinstance(frame[name].iloc[0], str):
            pytest.skip("the reader of CSV knows dates and numbers itself")
    elif form == "parquet":
        frame.to_parquet(path)
    elif form == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    held = {"frame": frame, "records": frame.to_dict("records")}.get(form)
    stream = as_stream(held, "class") if held is not None else open_file(path, "class")
    found = look_at(stream)
    if form == "records" and kind == "constant":
        assert not found  # not all records are looked at
        return
    assert [(r.kind, r.columns) for r in found] == [(kind, (name,))]
    assert (name in found[0].option and name in found[0].argument) or kind == "stray"
    assert stream.take(N).y.tolist() == frame["class"].tolist()  # all are still read


def test_nothing_is_said_of_good_columns_nor_of_those_that_somebody_decided_about(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    odd(account=np.arange(N), paid=[True, False] * (N // 2)).to_csv(path, index=False)
    assert [r.kind for r in look_at(open_file(path))] == ["counter", "boolean"]
    assert look_at(open_file(path, drop=["account"], nominal=["paid"])) == []
    assert look_at(open_file(path, nominal=["account", "paid"])) == []
    assert look_at(open_file(path, time="account", nominal=["paid"])) == []
    schema = open_file(path).schema
    assert look_at(open_file(path, schema=schema)) == []
    assert look_at(as_stream(good())) == []
    assert look_at(thalweg.SEA()) == []


@pytest.mark.parametrize("leak", [
    lambda y: np.where(y == "yes", "left", "stays"),
    lambda y: np.where(y == "yes", 1.0, 0.0),
    lambda y: np.where(y == "yes", NUMBERS.random(len(y)) + 1.0, NUMBERS.random(len(y))),
    lambda y: np.where(y == "yes", NUMBERS.random(len(y)), np.nan),
], ids=["words", "flag", "threshold", "known only then"])  # fmt: skip
def test_a_column_that_gives_the_target_away(leak) -> None:
    frame = good()
    frame["after"] = leak(frame["class"].to_numpy())
    (found,) = look_at(as_stream(frame))
    assert (found.kind, found.columns) == ("leak", ("after",))
    frame.loc[frame.index[frame["class"] == "yes"][5], "after"] = frame["after"][frame["class"] == "no"].iloc[0]
    assert "leak" not in [r.kind for r in look_at(as_stream(frame))]  # one exception, and it tells nothing for sure


def test_classes_that_come_one_after_another_are_no_leak() -> None:
    X = np.sort(np.random.default_rng(1).normal(size=(N, 1)), axis=0)
    X = np.c_[X + np.repeat([0.0, 10.0], N // 2)[:, None], np.random.default_rng(2).normal(size=(N, 2))]
    kinds = [r.kind for r in look_at(ArrayStream(X, np.repeat([0, 1], N // 2)))]
    assert "leak" not in kinds


@pytest.mark.parametrize(("labels", "words"), [
    (lambda r: r.normal(size=N), "holds numbers such as"),
    (lambda r: r.choice([0.5, 1.5], N), "holds numbers such as"),
    (lambda r: r.integers(0, 900, N), "different values in 2,000 records"),
    (lambda r: r.gamma(5, 7, N).astype(int), "different values in 2,000 records"),
    (lambda r: [f"w{i}" for i in r.integers(0, 500, N)], "different values in 2,000 records"),
    (lambda r: ["yes"] * N, "has one value, 'yes', so there is nothing to learn"),
])  # fmt: skip
def test_a_target_that_is_no_class(labels, words: str) -> None:
    r = np.random.default_rng(7)
    (found,) = look_at(ArrayStream(r.normal(size=(N, 2)), labels(r)))
    assert found.kind == "target"
    assert words in found.text
    assert "--target" in found.option


@pytest.mark.parametrize("labels", [
    lambda r: r.integers(0, 100, N), lambda r: r.integers(3, 10, N), lambda r: r.random(N) < 0.5,
    lambda r: r.choice([1.0, 2.0], N), lambda r: r.choice(["a", "b"], N),
])  # fmt: skip
def test_a_target_of_classes(labels) -> None:
    r = np.random.default_rng(7)
    assert look_at(ArrayStream(r.normal(size=(N, 2)), labels(r))) == []


def test_a_warning_is_given_once_and_can_be_silenced() -> None:
    frame = odd(row=np.arange(N))
    with pytest.warns(ColumnWarning, match=r"row counts the records: drop=\['row'\]") as caught:
        prequential(frame, MajorityClass(), target="class")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)
        prequential(frame, MajorityClass(), target="class")
    stream = as_stream(frame)
    with pytest.warns(ColumnWarning):
        prequential(stream, MajorityClass(), limit=100)
    prequential(stream, MajorityClass(), limit=100)  # whoever was told is not told again
    with pytest.warns(ColumnWarning, match="row counts") as caught:
        thalweg.compare(["majority", "no-change"], on={"mine": frame}, target="class")
    assert len(caught) == 1
    assert prequential(frame, MajorityClass(), target="class", drop=["row"]).rows == N
    assert logging.getLogger("thalweg").level == logging.NOTSET


def test_what_is_looked_at_is_bounded_and_read_all_the_same(tmp_path: Path) -> None:
    frame = good(ROWS + 5000)
    frame.to_csv(tmp_path / "mine.csv", index=False)
    stream = open_file(tmp_path / "mine.csv")
    seen = stream.peek(ROWS, 1 << 20)
    assert len(seen.chunk) == ROWS
    assert not seen.complete
    before = stream.state()
    assert stream.take(len(frame)).y.tolist() == frame["class"].tolist()
    stream.restore(before)
    assert stream.take(len(frame)).y.tolist() == frame["class"].tolist()
    wide = ArrayStream(np.random.default_rng(1).normal(size=(300, 50_000)), [0, 1] * 150)
    assert len(wide.peek(ROWS, 1 << 20).chunk) == 20


def test_a_bad_record_is_told_when_it_is_read(tmp_path: Path) -> None:
    lines = good().to_csv(index=False).splitlines()
    lines[300] = "basic,1.0,2"
    (tmp_path / "mine.csv").write_text("\n".join(lines))
    stream = open_file(tmp_path / "mine.csv")
    assert look_at(stream) == []
    with pytest.raises(ValueError, match="line 301 of mine.csv"):
        stream.take(N)


@pytest.mark.parametrize("name", [n for n in DATASETS if n in ("digits", "flights", "shuttle", "weather")])
def test_nothing_is_said_of_the_data_sets_in_the_package(name: str) -> None:
    assert look_at(open_stream(name)) == []


def test_nothing_is_said_of_real_streams_but_what_is_true(real_data: Path) -> None:
    told = {}
    for path in sorted(real_data.iterdir()):
        if path.suffix in (".parquet", ".npz"):
            found = look_at(open_stream(str(path)))
            told |= {path.stem: [(r.kind, r.columns) for r in found]} if found else {}
    # In luxembourg the class is a coarser grading of one of the features.
    assert told in ({}, {"luxembourg": [("leak", ("at3",))]})
