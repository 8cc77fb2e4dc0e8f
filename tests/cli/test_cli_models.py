"""The commands that take a saved model, as a person types them."""

import io
import json
import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

import thalweg
from thalweg import Agrawal, ChunkEnsemble, HoeffdingTree, MajorityClass, OnlineBagging
from thalweg.cli.index_report import describe_index, draw_records
from thalweg.serve.answers import stream_records, table_records, write_answers

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A saved tree, of words and numbers."""
    stream = Agrawal(seed=1)
    chunk = stream.read(4_000)
    tree = HoeffdingTree(grace_period=50, tau=0.5).declare(stream.schema).partial_fit(chunk.X, chunk.y)
    thalweg.save(tree, tmp_path / "tree.safetensors")
    return tmp_path / "tree.safetensors"


def table(rows: int) -> pa.Table:
    """Records by name, with some values missing."""
    stream = Agrawal(seed=2)
    chunk = stream.read(rows)
    columns = {}
    for f, feature in enumerate(stream.schema.features):
        values = chunk.X[:, f].tolist()
        words = values if feature.values is None else [feature.values[int(v)] for v in values]
        columns[feature.name] = [None if (r + f) % 13 == 0 else w for r, w in enumerate(words)]
    return pa.table(columns)


def expected(model: Path, records: pa.Table) -> tuple[list[object], np.ndarray]:
    tree = thalweg.load(model)
    return tree.predict(records).tolist(), tree.predict_proba(records)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "tsv", "parquet", "arrow", "-", "-.tsv"])
def test_records_without_labels(
    run: Run, model: Path, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = table(20_000 if kind == "csv" else 500)
    extra = records.append_column("a comment", pa.array(["so, so"] * len(records)))  # more than the model knows
    path, words = tmp_path / f"records.{kind.strip('-.') or 'csv'}", []
    if kind == "parquet":
        pq.write_table(extra, path)
    elif kind == "arrow":
        with pa.ipc.new_file(str(path), extra.schema) as file:
            file.write_table(extra)
    else:
        options = arrow_csv.WriteOptions(delimiter="\t" if "tsv" in kind else ",")
        with pa.output_stream(str(path)) as file:
            arrow_csv.write_csv(extra, file, options)
    where: object = path
    if kind.startswith("-"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        where, words = "-", ["--format", kind[2:] or "csv"]
    out = tmp_path / "answers.parquet"
    code, said, err = run("predict", model, where, "--out", out, "--proba", *words)
    assert (code, err, said) == (0, "", f"written: {out}, {len(records):,} rows\n")
    answers = pq.read_table(out)
    labels, proba = expected(model, records)
    assert answers.column_names == ["prediction", "p(0)", "p(1)"]
    assert answers["prediction"].to_pylist() == labels
    assert np.array_equal(np.stack([answers["p(0)"], answers["p(1)"]], axis=1), proba)


def test_a_stream_to_standard_output(run: Run, model: Path) -> None:
    code, out, err = run("predict", model, "agrawal(seed=7)", "--limit", 10_000, "--proba")
    assert code == 0
    assert err.startswith("Right on 8")  # a stream has labels
    header, *lines = out.splitlines()
    assert header == "prediction,p(0),p(1)"
    chunk, tree = Agrawal(seed=7).read(10_000), thalweg.load(model)
    assert [[float(v) for v in line.split(",")[1:]] for line in lines] == tree.predict_proba(chunk.X).tolist()
    assert [line.split(",")[0] for line in lines] == [str(v) for v in tree.predict(chunk.X).tolist()]


def test_words_are_known_by_name_not_by_code(run: Run, tmp_path: Path) -> None:
    learned, asked = tmp_path / "learned.csv", tmp_path / "asked.csv"
    learned.write_text("colour,class\n" + "red,warm\nblue,cold\n" * 50, "utf-8")
    asked.write_text("colour,class\n" + "blue,?\nred,?\ngreen,?\n", "utf-8")
    model = tmp_path / "m.safetensors"
    assert run("run", "naive-bayes", learned, "--target", "class", "--save", model)[0] == 0
    assert run("predict", model, asked)[1].split()[1:3] == ["cold", "warm"]
    (tmp_path / "asked.jsonl").write_text(
        '{"colour": "blue", "class": "?"}\n{"colour": "red", "class": "?"}\n', "utf-8"
    )
    assert run("predict", model, tmp_path / "asked.jsonl", "--target", "class")[1].split()[1:] == ["cold", "warm"]


def test_sparse_rows_for_a_model_that_takes_dense_ones(tmp_path: Path) -> None:
    rows = csr_array(np.eye(50)[np.random.default_rng(1).integers(0, 50, 400)])
    bayes = thalweg.NaiveBayes().partial_fit(rows.toarray(), np.arange(400) % 2)
    stream = thalweg.ArrayStream(rows, np.zeros(400, dtype=np.int64))
    assert write_answers(bayes, stream_records(stream, bayes.schema), tmp_path / "a.csv") == 400
    assert (tmp_path / "a.csv").read_text("utf-8").split()[1:] == [str(v) for v in bayes.predict(rows.toarray())]


def test_what_cannot_be_predicted_is_one_sentence(run: Run, model: Path, tmp_path: Path) -> None:
    good, bad, other = tmp_path / "good.csv", tmp_path / "bad.csv", tmp_path / "other.csv"
    records = table(20)
    arrow_csv.write_csv(records, good)
    lines = good.read_text("utf-8").splitlines()
    bad.write_text("\n".join([*lines[:10], "rich" + lines[10], *lines[11:]]) + "\n", "utf-8")
    other.write_text("a,b\n1,2\n", "utf-8")
    thalweg.save(thalweg.ADWIN(), tmp_path / "detector")
    for words, sentence in (
        ((model, bad), "bad.csv must hold a number for feature 'salary', got 'rich"),
        ((model, other), "other.csv must have the features of the model as columns, it lacks"),
        ((model, tmp_path / "none.csv"), "none.csv does not exist"),
        ((tmp_path / "none", good), "none does not exist"),
        ((good, good), "good.csv is not a file of arrays"),
        ((tmp_path / "detector", good), "must hold a learner, it holds a ADWIN"),
        ((model, good, "--out", tmp_path / "a.doc"), "out must end with .csv or .parquet"),
        ((model, good, "--out", tmp_path / "no" / "a.csv"), "must lie in a folder that exists"),
        ((model, "agrawl"), "did you mean 'agrawal'?"),
        ((model, "sea"), "X has 3 features"),
    ):
        code, out, err = run("predict", *words)
        assert (code, out) == (2, ""), words
        assert sentence in err
        assert err.count("\n") == 1
    assert not list(tmp_path.glob("*.unfinished"))
    assert run("predict", model, bad, "--out", tmp_path / "a.csv")[0] == 2
    assert not (tmp_path / "a.csv").exists()


def test_a_line_of_standard_input_is_answered_when_it_comes(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    header, *lines = _csv(table(3))
    out, into = os.pipe()
    given: queue.Queue[int] = queue.Queue()
    tables = table_records("-", thalweg.load(model).schema)
    reader = threading.Thread(target=lambda: [given.put(len(t)) for t in tables], daemon=True)
    with os.fdopen(out, encoding="utf-8") as standard_input, os.fdopen(into, "wb", buffering=0) as writer:
        monkeypatch.setattr("sys.stdin", standard_input)
        reader.start()
        writer.write(header + lines[0] + lines[1][:5])
        assert given.get(timeout=60) == 1
        writer.write(lines[1][5:])
        assert given.get(timeout=60) == 1
        writer.write(lines[2].rstrip())
        writer.close()
        assert given.get(timeout=60) == 1
        reader.join()


def _csv(records: pa.Table) -> list[bytes]:
    arrow_csv.write_csv(records, text := io.BytesIO())
    return text.getvalue().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["1,red", "", "x,red"], "line 4 of {} must hold a number for feature 'size', got 'x'"),
        (["1,red", "2"], "line 3 of {} must have 3 values, as the header has, got 1"),
        (["1,red", "2,blue,3,4"], "line 3 of {} must have 3 values, as the header has, got 4"),
    ],
)
def test_a_bad_line_is_named(run: Run, tmp_path: Path, lines: list[str], sentence: str) -> None:
    frame = pa.table({"size": [1.0, 2.0], "colour": ["red", "blue"]})
    model, path = tmp_path / "m.safetensors", tmp_path / "asked.csv"
    thalweg.save(thalweg.NaiveBayes().partial_fit(frame, ["a", "b"]), model)
    text = ["note,size,colour", *(f"so,{line}" if line.count(",") == 1 else line for line in lines)]
    path.write_text("\n".join(text) + "\n", "utf-8")
    code, out, err = run("predict", model, path)
    assert (code, out, err) == (2, "", f"thalweg: {sentence.format(path)}\n")


def coloured(tmp_path: Path, learner: thalweg.Classifier) -> Path:
    """A saved model of sizes and colours."""
    sizes = pa.table({"size": [1.0, 2.0, 1.1, 2.1] * 20, "colour": ["red", "blue"] * 40})
    thalweg.save(learner.partial_fit(sizes, ["a", "b"] * 40), tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


BAD = "size,colour\n1,red\nx,red\n\n2,blue\n2\n2,blue,3\n1,red\n"


@pytest.mark.parametrize("kind", ["-", "bad.csv"])
def test_bad_lines_are_reported_and_have_an_empty_answer(
    run: Run, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, data = coloured(tmp_path, thalweg.NaiveBayes()), kind
    if kind == "-":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    else:
        data = str(tmp_path / kind)
        Path(data).write_text(BAD, "utf-8")
    where = "standard input" if kind == "-" else data
    code, out, err = run("predict", model, data, "--on-bad-row", "skip")
    assert (code, out) == (0, "prediction\na\n\nb\n\n\na\n")
    assert err.splitlines() == [
        f"thalweg: line 3 of {where} must hold a number for feature 'size', got 'x'",
        f"thalweg: line 6 of {where} must have 2 values, as the header has, got 1",
        f"thalweg: line 7 of {where} must have 2 values, as the header has, got 3",
    ]


def test_records_that_the_model_refuses_have_no_answer(run: Run, tmp_path: Path) -> None:
    model, data = coloured(tmp_path, thalweg.McDiarmidTree(window=10)), tmp_path / "gaps.csv"
    data.write_text("size,colour\n1,red\n,red\n2,blue\n1,\nx,red\n1,red\n", "utf-8")
    assert run("predict", model, data, "--proba")[0] == 2
    out = tmp_path / "answers.parquet"
    for words in ((), ("--out", out)):
        code, said, err = run("predict", model, data, "--proba", "--on-bad-row", "skip", *words)
        assert code == 0
        assert [line.split(":")[1].split(" of ")[0] for line in err.splitlines()] == [
            " line 6",
            " record 2",
            " record 4",
        ]
        if not words:
            lines = said.splitlines()
            assert [line.split(",")[0] for line in lines] == ["prediction", "a", "", "b", "", "", "a"]
            assert lines[2] == ",,"
    answers = pq.read_table(out)
    assert answers["prediction"].to_pylist() == ["a", None, "b", None, None, "a"]
    assert answers["p(b)"].null_count == 3
    code, said, _ = run("predict", model, data, "--on-bad-row", "skip", "--limit", 5)
    assert len(said.splitlines()) == 6


def test_other_words_for_bad_rows_are_refused(run: Run, model: Path) -> None:
    for words, sentence in (
        (("-", "--on-bad-row", "stop"), "--on-bad-row must be one of 'raise', 'skip', got 'stop'"),
        (("agrawal", "--on-bad-row", "skip"), "--on-bad-row skip needs records with named columns"),
    ):
        code, out, err = run("predict", model, *words)
        assert (code, out) == (2, "")
        assert sentence in err


def test_a_header_without_records_has_no_answers(run: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    arrow_csv.write_csv(table(1).slice(0, 0), path)
    assert run("predict", model, path) == (0, "prediction\n", "")


LABELLED = pa.table({
    "id": ["a,1", "b", "c", "d"], "size": [1.0, 2.0, 1.1, 2.1], "colour": ["red", "blue", "red", "blue"],
    "truth": ["a", "a", None, "b"],
})  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "jsonl", "-"])
@pytest.mark.parametrize("out", ["-", "csv", "parquet"])
def test_labels_are_scored_and_columns_carried_along(
    run: Run, tmp_path: Path, kind: str, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = coloured(tmp_path, thalweg.NaiveBayes()), tmp_path / f"asked.{kind.strip('-') or 'csv'}"
    if kind in ("csv", "-"):
        arrow_csv.write_csv(LABELLED, path)
    elif kind == "parquet":
        pq.write_table(LABELLED, path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in LABELLED.to_pylist()), "utf-8")
    else:
        with pa.ipc.new_file(str(path), LABELLED.schema) as file:
            file.write_table(LABELLED)
    where: object = path
    if kind == "-":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        where = "-"
    words = [] if out == "-" else ["--out", tmp_path / f"said.{out}"]
    code, said, err = run("predict", model, where, "--target", "truth", "--keep", "id,size", *words)
    assert code == 0
    score = err if out == "-" else said
    assert "66.7 %" in score  # two of the three that have a label
    if out == "parquet":
        assert pq.read_table(tmp_path / "said.parquet")["id"].to_pylist() == ["a,1", "b", "c", "d"]
        assert pq.read_table(tmp_path / "said.parquet")["prediction"].to_pylist() == ["a", "b", "a", "b"]
    else:
        text = said if out == "-" else (tmp_path / "said.csv").read_text("utf-8")
        number = "2" if kind in ("csv", "-") else "2.0"
        assert text.splitlines()[:3] == ["id,size,prediction", f'"a,1",{number.replace("2", "1")},a', f"b,{number},b"]
    quiet = run("predict", model, path, "--target", "truth", "--quiet")
    assert quiet[2] == ""
    code, _, err = run("predict", model, path, "--keep", "name")
    assert (code, err.count("\n")) == (2, 1) or kind == "jsonl"


def test_many_words_are_carried_along_block_by_block(run: Run, tmp_path: Path) -> None:
    model, path = coloured(tmp_path, thalweg.NaiveBayes()), tmp_path / "many.csv"
    lines = [f"customer {i},{1 + i % 2},{'red' if i % 2 == 0 else 'blue'}" for i in range(30_000)]
    path.write_text("\n".join(["id,size,colour", *lines]), "utf-8")
    code, out, _ = run("predict", model, path, "--keep", "id")
    assert code == 0
    assert out.splitlines()[1:] == [f"customer {i},{'ab'[i % 2]}" for i in range(30_000)]


def test_records_as_json_lines_need_no_label(run: Run, tmp_path: Path) -> None:
    model, path = coloured(tmp_path, thalweg.NaiveBayes()), tmp_path / "asked.jsonl"
    path.write_text('{"size": 1, "colour": "red", "more": [1]}\n\nnone\n{"colour": "blue"}\n[2]', "utf-8")
    code, out, err = run("predict", model, path, "--on-bad-row", "skip")
    assert (code, out) == (0, "prediction\na\n\nb\n\n")
    assert [line.split(" of ")[0] for line in err.splitlines()] == ["thalweg: line 3", "thalweg: line 5"]
    assert run("predict", model, path)[0] == 2


def test_index_says_what_the_rules_are_like(run: Run, model: Path, tmp_path: Path) -> None:
    code, out, err = run("index", model)
    assert (code, err) == (0, "")
    for word in ("1 tree,", "of 9 features", "linear-rules", "e-tree", "bitmap", "compiled-trees", "auto chooses"):
        assert word in out
    assert "bitmap" not in run("index", model, "--kind", "e-tree")[1].split("auto chooses")[0]
    thalweg.save(MajorityClass().partial_fit([[1.0]], [1]), tmp_path / "bayes")
    for words, sentence in (
        ((tmp_path / "bayes",), "model must be a tree or a forest"),
        ((model, "--kind", "fast"), "kind must be one of 'auto', 'linear-rules'"),
        ((tmp_path / "none",), "does not exist"),
    ):
        code, out, err = run("index", *words)
        assert (code, out) == (2, "")
        assert sentence in err


def test_a_report_of_a_forest_and_of_chunks() -> None:
    chunk = Agrawal(seed=3).read(3_000)
    forest = OnlineBagging(size=3, grace_period=50).partial_fit(chunk.X, chunk.y)
    report = describe_index(forest)
    assert [line.name for line in report.lines][-1] == "compile()"
    assert report.trees == 3
    assert all(line.one is not None and line.one > 0 for line in report.lines)
    ensemble = ChunkEnsemble(chunk=500, size=4).partial_fit(chunk.X, chunk.y)
    report = describe_index(ensemble, max_bytes=1)
    assert report.trees == 4
    assert next(line for line in report.lines if line.name == "bitmap").one is None
    X = draw_records(ensemble.rules, 50)
    held = np.sum([rules.holds(X).sum(axis=1) for rules in ensemble.rules], axis=0)
    assert (held == 4).all()
    with pytest.raises(ValueError, match="waits for its first chunk"):
        describe_index(ChunkEnsemble(chunk=5_000).partial_fit(chunk.X, chunk.y))
