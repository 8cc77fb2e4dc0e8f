"""What a new user once fell over, each as it was met: none of these may come back."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rare_streams
import thalweg
from thalweg import (
    AdaptiveRandomForest,
    ArrayStream,
    DriftStream,
    HoeffdingTree,
    IterableStream,
    NaiveBayes,
    prequential,
)

pd = pytest.importorskip("pandas")

R = np.random.default_rng(8)
N = 1200
CHURN = pd.DataFrame(
    {"signup": pd.date_range("2020-01-01", periods=N).astype(str), "plan": R.choice(["basic", "plus"], N),
     "tenure": R.gamma(2, 12, N).round(2), "churned": R.choice(["no", "yes"], N)}
)  # fmt: skip


@pytest.fixture
def churn(tmp_path: Path) -> Path:
    CHURN.to_csv(tmp_path / "churn.csv", index=False)
    return tmp_path / "churn.csv"


def test_a_drift_that_replaced_trees_is_in_the_result() -> None:
    drift = DriftStream(thalweg.Agrawal(function=1, seed=1), thalweg.Agrawal(function=2, seed=2), position=3000)
    result = prequential(drift, AdaptiveRandomForest(size=3, seed=1), limit=6000)
    assert [row for row in result.detected if row > 3000]
    assert result.detections().missed == 0


def test_nan_among_words_is_missing_and_no_word() -> None:
    stream = IterableStream(iter([({"w": "N"}, "a"), ({"w": float("nan")}, "b")]))
    assert np.isnan(stream.take(2).X[1, 0])
    assert stream.schema.features[0].values == ("N",)


def test_classes_are_the_third_argument_of_partial_fit() -> None:
    tree = HoeffdingTree().partial_fit([[1.0], [2.0]], [0, 1], [0, 1])
    assert tree.classes_.tolist() == [0, 1]
    assert tree.predict_proba([[1.0]]).tolist() != [[0.0, 1.0]]  # the first row was learned


@pytest.mark.parametrize("words", [("--plot", "x.png"), ("--report", "x.html")])
def test_a_missing_library_is_noticed_before_the_work(run, monkeypatch, tmp_path: Path, words) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, out, err = run("run", "majority", "sea", "--limit", 9, "--save", "m", *words)
    assert (code, out) == (2, "")
    assert "pip install" in err
    assert list(tmp_path.iterdir()) == []


def test_the_advice_about_a_date_can_be_taken_in_every_command(run, churn: Path, tmp_path: Path) -> None:
    out = tmp_path / "found"
    words = {"run": ("run", "majority", churn), "show": ("show", churn),
             "compare": ("compare", "majority", "naive-bayes", "--on", churn, "--out", out)}  # fmt: skip
    for command in words.values():
        code, _, err = run(*command, "--target", "churned")
        assert code == 2
        assert "--drop signup" in err
        assert "--time signup" in err
        for advice in (("--drop", "signup"), ("--time", "signup"), ("--nominal", "signup")):
            assert run(*command, "--target", "churned", *advice)[0] == 0


def test_the_title_says_what_ran(run) -> None:
    code, out, _ = run("run", "arf(size=3)", "sea", "--set", "size=2", "--limit", 50, "--json", "-")
    assert (code, json.loads(out)["learner"], json.loads(out)["params"]["size"]) == (0, "arf(size=2)", 2)


def test_a_comparison_has_objects_or_a_sentence() -> None:
    assert thalweg.compare([NaiveBayes()], on=[thalweg.SEA(limit=100)]).failures == {}
    for wrong in ({"learners": [3]}, {"on": [3]}):
        with pytest.raises(TypeError, match="must (be|hold) texts such as .*got 3"):
            thalweg.compare(**{"learners": ["majority"], "on": ["sea"]} | wrong)


@pytest.mark.parametrize("form", ["csv", "parquet", "frame", "dicts"])
def test_true_and_false_are_numbers_and_that_is_said(form: str, tmp_path: Path) -> None:
    frame = CHURN.drop(columns="signup").assign(paid=R.random(N) < 0.5)
    path = tmp_path / f"mine.{form}"
    if form in ("csv", "parquet"):
        frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    data = {"frame": frame, "dicts": frame.to_dict("records")}.get(form, path)
    tree = HoeffdingTree()
    with pytest.warns(thalweg.ColumnWarning, match="paid holds true and false, read as the numbers 1 and 0"):
        prequential(data, tree, target="churned")
    assert [f.name for f in tree.schema.features if not f.nominal] == ["tenure", "paid"]


def test_class_is_the_target_unless_another_is_named_and_columns_are_listed(run, churn: Path, tmp_path: Path) -> None:
    CHURN.rename(columns={"churned": "class"}).to_parquet(tmp_path / "mine.parquet")
    assert run("run", "majority", tmp_path / "mine.parquet", "--quiet")[0] == 0
    code, _, err = run("run", "majority", churn)
    assert code == 2
    assert "'signup', 'plan', 'tenure', 'churned'" in err


def test_semicolons_and_decimal_commas(run, tmp_path: Path) -> None:
    CHURN.drop(columns="signup").to_csv(tmp_path / "de.csv", index=False, sep=";", decimal=",")
    stream = thalweg.open_file(tmp_path / "de.csv", "churned")
    assert [f.nominal for f in stream.schema.features] == [True, False]
    assert stream.take(5).X[:, 1].tolist() == CHURN["tenure"][:5].tolist()


def test_a_word_among_numbers_is_a_bad_record_and_not_853_names(run, tmp_path: Path) -> None:
    frame = CHURN.drop(columns="signup").astype({"tenure": str})
    frame.loc[100, "tenure"] = "unknown"
    frame.to_csv(tmp_path / "oneword.csv", index=False)
    words = ("run", "majority", tmp_path / "oneword.csv", "--target", "churned")
    code, _, err = run(*words)
    assert code == 2
    assert "line 102 of oneword.csv must have a number in column 'tenure'" in err
    assert "--missing" in err
    for advice in (("--missing", "unknown"), ("--on-bad-row", "skip"), ("--nominal", "tenure")):
        assert run(*words, *advice)[0] == 0


def test_a_folder_of_different_files_has_its_name_in_the_sentence(run, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    CHURN[["plan", "churned"]].to_parquet(folder / "a.parquet")
    CHURN[["tenure", "churned"]].to_parquet(folder / "b.parquet")
    monkeypatch.chdir(folder)
    code, _, err = run("run", "majority", ".", "--target", "churned")
    assert code == 2
    assert "all files of days must have the same columns" in err


def test_a_long_path_has_a_short_name_in_the_report(run, churn: Path, tmp_path: Path) -> None:
    words = ("--target", "churned", "--drop", "signup", "--out", tmp_path / "found")
    assert run("compare", "majority", "no-change", "--on", churn.resolve(), *words)[0] == 0
    assert "churn" in json.loads((tmp_path / "found" / "results.json").read_text())["runs"][0]["stream"]
    table = (tmp_path / "found" / "results.csv").read_text()
    assert str(tmp_path) not in table
    page = (tmp_path / "found" / "report.html").read_text("utf-8")
    assert str(churn.parent) not in page.split("<h2")[1]  # the summary and its table


@pytest.mark.parametrize("learner", ["ARF", "AdaptiveRandomForest", "arf", "adaptive_random_forest"])
@pytest.mark.parametrize("stream", ["SEA", "sea", "SEA_a", "sea_A"])
def test_names_in_any_letters_and_names_of_classes(learner: str, stream: str) -> None:
    assert isinstance(thalweg.registry.typed.make_learner(learner), AdaptiveRandomForest)
    assert thalweg.registry.typed.open_stream(stream).schema.n_features == 3


SCRIPT = """
import numpy as np
from thalweg import HoeffdingTree
print("compiling", flush=True)
HoeffdingTree().partial_fit(np.zeros((50, 3)), np.arange(50) % 2)
print("done", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("after", [1.5, 4.0])
def test_ctrl_c_while_compiling_ends_a_plain_script_soon(tmp_path: Path, after: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], env=os.environ | {"THALWEG_CACHE": str(tmp_path)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "compiling\n"
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    at = time.monotonic()
    out, err = process.communicate(timeout=300)
    if "done" in out:
        pytest.skip("all was compiled before the signal came")
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in err
    assert "Exception ignored" not in err
    assert time.monotonic() - at < 20.0


def test_rows_of_a_frame_are_the_same_as_its_records() -> None:
    frame = CHURN.drop(columns="signup")
    frame.loc[::7, "plan"] = np.nan
    one = prequential(ArrayStream(frame, "churned"), NaiveBayes())
    two = prequential(frame.to_dict("records"), NaiveBayes(), target="churned")
    assert one.accuracy == two.accuracy


@pytest.mark.parametrize("kind", ["csv", "semicolon", "latin-1", "jsonl", "parquet"])
def test_the_command_to_type_next_works(run, tmp_path: Path, monkeypatch, kind: str) -> None:
    frame = CHURN.assign(customer_id=[f"C{i}" for i in range(N)], note=[f"calls about bill {i}" for i in range(N)],
                         town=R.choice(["Köln", "Genève"], N)).iloc[:, [4, 0, 1, 2, 5, 6, 3]]  # fmt: skip
    path = tmp_path / {"jsonl": "c.jsonl", "parquet": "c.parquet"}.get(kind, "c.csv")
    if kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif kind == "parquet":
        frame.assign(signup=pd.to_datetime(frame.signup)).to_parquet(path, index=False)
    else:
        text = frame.to_csv(index=False, sep=";" if kind == "semicolon" else ",")
        path.write_text(text, "latin-1" if kind == "latin-1" else "utf-8")
    monkeypatch.chdir(tmp_path)
    for words in (
        ["run", "naive-bayes", path.name],
        ["show", path.name],
        ["compare", "naive-bayes", "--on", path.name],
    ):
        code, _, err = run(*words)
        first, advice = err.splitlines()
        assert code == 2
        assert "--target" in first or "--encoding" in first
        condition, typed = advice.removeprefix("thalweg: ").split(": ", 1)
        assert condition == "if 'churned' is the column to predict, type"
        program, *typed_words = shlex.split(typed)
        assert (program, typed_words[: len(words)]) == ("thalweg", words)
        code, out, err = run(*typed_words)
        assert (code, "holds" in err or "nearly every" in err) == (0, False)
        assert "naive-bayes" in out or "1,200 rows" in out


def test_advice_is_given_only_where_it_helps(run, tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").write_text("a,b\n" + "".join(f"{i}.5,{i}.25\n" for i in range(300)), "utf-8")
    words = ["run", "naive-bayes", str(tmp_path / "numbers.csv")]
    code, _, err = run(*words)
    assert (code, len(err.splitlines())) == (2, 1)  # no column has classes
    code, _, err = run(*words, "--target", "c")
    assert (code, len(err.splitlines())) == (2, 1)


@pytest.mark.parametrize(("learner", "way"), [("hoeffding-tree", "balanced"), ("arf(size=3)", "under")])
def test_a_rare_class_that_is_missed_gets_the_option_to_type(run, tmp_path: Path, learner: str, way: str) -> None:
    table = rare_streams.churn(4000)
    path = tmp_path / "rare.csv"
    rare_streams.write({name: table[name] for name in ("months", "calls", "plan", "churned")}, path)
    words = ["run", learner, str(path), "--target", "churned"]
    code, out, err = run(*words)
    assert (code, err) == (
        0,
        f"thalweg: to find more of them, try: {shlex.join(['thalweg', *words])} --class-weight {way}\n",
    )
    assert out.startswith(("Finds", "Never says"))
    assert run(*words, "--quiet")[2] == ""
    code, more, err = run(*words, "--class-weight", way)
    assert (code, err) == (0, "")
    found, before = (
        int(re.match(r"(?:Finds|Never says 'yes': finds) (\w+)", text)[1].replace("none", "0")) for text in (more, out)
    )
    assert found >= 5 * max(before, 1)
    assert run("run", learner, "sea", "--limit", 2000)[2] == ""  # no class is rare
