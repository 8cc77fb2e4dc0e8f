"""The commands as a person types them."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import thalweg

PROMISED = {
    "learner", "params", "stream", "rows", "accuracy", "kappa", "seconds", "rows_per_second", "state_bytes", "drifts",
    "labels_used", "version",
}  # fmt: skip


def test_run_prints_one_json_object(run) -> None:
    code, out, err = run("run", "hoeffding-tree", "sea", "--limit", 3000, "--json", "-", "--set", "grace_period=100")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert set(result) >= PROMISED
    assert result["learner"] == "hoeffding-tree(grace_period=100)"  # what ran
    assert result["stream"] == "sea"
    assert result["rows"] == result["labels_used"] == 3000
    assert result["params"]["grace_period"] == 100
    assert result["version"] == thalweg.__version__


def test_run_prints_a_table_and_writes_files(run, tmp_path: Path) -> None:
    model, picture, numbers = tmp_path / "m.safetensors", tmp_path / "p.png", tmp_path / "r.json"
    code, out, _ = run("run", "naive-bayes", "agrawal(function=3)", "--limit", 3000, "--save", model, "--plot", picture,
                       "--json", numbers)  # fmt: skip
    assert code == 0
    assert "accuracy" in out
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert json.loads(numbers.read_text("utf-8"))["rows"] == 3000
    assert isinstance(thalweg.load(model), thalweg.NaiveBayes)


def test_seed_reaches_stream_and_learner(run) -> None:
    def accuracy(*more: object) -> float:
        words = ("run", "naive-bayes", "sea", "--limit", 2000, "--json", "-", *more)
        return float(json.loads(run(*words)[1])["accuracy"])

    assert accuracy("--seed", 5) == accuracy("--seed", 5)
    assert accuracy("--seed", 5) != accuracy("--seed", 6)


def test_labels_on_a_budget(run) -> None:
    code, out, _ = run(
        "run", "naive-bayes", "sea", "--limit", 4000, "--budget", 0.3, "--strategy", "random", "--json", "-"
    )
    assert code == 0
    assert 1000 < json.loads(out)["labels_used"] <= 1201
    code, _, error = run("run", "naive-bayes", "sea", "--limit", 100, "--budget", 2)
    assert code == 2
    assert "budget must lie in [0, 1], got 2.0" in error


def test_a_file_with_a_target(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{a:.4f},{c},{'yes' if a > 0 else 'no'}" for a, c in zip(rng.normal(size=500), "rgb" * 200, strict=False)]
    file = tmp_path / "own.csv"
    file.write_text("\n".join(["size,colour,class", *lines]) + "\n", encoding="utf-8")
    code, out, _ = run("run", "hoeffding-tree", file, "--target", "class", "--json", "-")
    assert code == 0
    result = json.loads(out)
    assert result["rows"] == 500
    assert result["accuracy"] > 0.8


def test_delay_uses_fewer_labels(run) -> None:
    out = run("run", "majority", "sea", "--limit", 1000, "--delay", 100, "--json", "-")[1]
    assert json.loads(out)["labels_used"] == 900


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run", "hoefding-tree", "sea"), "did you mean 'hoeffding-tree'?"),
        (("run", "hoeffding-tree", "hyperplan"), "did you mean 'hyperplane'? `thalweg list` shows all\n"),
        (("run", "hoeffding-tree", "sea", "--strategy", "avu"), "--strategy needs --budget"),
        (("run", "hoeffding-tree", "sea", "--set", "detla=1"), "did you mean 'delta'?"),
        (("run", "hoeffding-tree", "sea", "--set", "delta=2"), "delta must lie in (0, 1), got 2"),
        (("run", "hoeffding-tree", "sea", "--set", "delta=abc"), "delta must be a number"),
        (("run", "hoeffding-tree", "sea", "--set", "delta"), "name=value"),
        (("run", "hoeffding-tree", "sea(function=9)"), "function"),
        (("run", "hoeffding-tree", "sea(function=)"), "must read like"),
        (("run", "hoeffding-tree", "sea", "--limit", "-1"), "--limit"),
        (("run", "hoeffding-tree", "sea", "--limit", "many"), "--limit"),
        (("run", "hoeffding-tree", "sea", "--colour", "red"), "--colour"),
        (("run", "hoeffding-tree"), "Missing argument"),
        (("run", "hoeffding-tree", "nowhere.csv", "--target", "y"), "nowhere.csv"),
        (("run", "hoeffding-tree", "nowhere.csv"), "nowhere.csv does not exist"),
        (("run", "hoeffding-tree", "electricity"), "THALWEG_DATA"),
        (("run", "majority", "sea", "--limit", 100, "--plot", "picture.xyz"), "picture.xyz"),
        (("walk",), "No such command"),
    ],
)
def test_errors_are_one_line_and_exit_2(run, words, sentence, monkeypatch) -> None:
    monkeypatch.delenv("THALWEG_DATA", raising=False)
    code, out, err = run(*words)
    assert code == 2
    assert out == ""
    assert err.startswith("thalweg: ")
    assert err.count("\n") == 1
    assert sentence in err


@pytest.mark.parametrize("option", ["--save", "--plot", "--json"])
def test_a_folder_is_no_file_to_write(run, tmp_path: Path, option: str, monkeypatch) -> None:
    monkeypatch.setattr("thalweg.cli.shared.progress", lambda **_: pytest.fail("work began"))
    (tmp_path / "out.png").mkdir()
    code, out, err = run("run", "majority", "sea", "--limit", 100, option, tmp_path / "out.png")
    assert (code, out, err) == (2, "", f"thalweg: {tmp_path / 'out.png'} must name a file, it is a folder\n")


def test_a_terminal_that_lacks_letters_shows_the_result(run, monkeypatch) -> None:
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr("sys.stdout", terminal)
    assert run("run", "majority", "sea", "--limit", 3000)[0] == 0
    assert b"accuracy over time" in terminal.buffer.getvalue()


def test_answers_are_utf8_whatever_the_terminal(run, tmp_path: Path, monkeypatch) -> None:
    thalweg.save(thalweg.MajorityClass().partial_fit([[1.0]], ["été"]), tmp_path / "model")
    (tmp_path / "a.csv").write_text("x0\n1\n", "utf-8")
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr("sys.stdout", terminal)
    assert run("predict", tmp_path / "model", tmp_path / "a.csv")[0] == 0
    assert terminal.buffer.getvalue().decode("utf-8").split() == ["prediction", "été"]


def test_list_names_everything(run) -> None:
    code, out, _ = run("list")
    assert code == 0
    for word in ("hoeffding-tree", "no-change", "rbf-drift", "electricity", "adwin", "kappa"):
        assert word in out


def test_list_of_one_kind_and_as_json(run) -> None:
    code, out, _ = run("list", "detectors")
    assert code == 0
    assert "adwin" in out
    assert "hoeffding-tree" not in out
    code, out, _ = run("list", "Learner", "--json")
    found = {entry["name"]: entry for entry in json.loads(out)["learners"]}
    assert found.keys() == {*thalweg.registry.LEARNERS}
    assert found["arf"]["class"] == "AdaptiveRandomForest"
    assert found["arf"]["parameters"]["size"] == thalweg.AdaptiveRandomForest().size
    assert set(json.loads(run("list", "--json")[1])) >= {"learners", "streams", "metrics", "transformers", "data"}
    code, out, err = run("list", "models")
    assert (code, out) == (2, "")
    assert "KIND must be one of 'learners'" in err


@pytest.mark.parametrize("words", [(), ("run",), ("compare",), ("predict",), ("list",)])
def test_help_shows_flags_without_a_value_and_names_in_capital_letters(run, words: tuple[str, ...]) -> None:
    code, out, _ = run(*words, "--help")
    assert code == 0
    assert "bool" not in out
    assert "<str>" not in "".join(line for line in out.splitlines() if "--" in line)
    assert "python -m" not in out


SHELL = """
thalweg() { "$PYTHON" -m thalweg "$@"; }
printf '#!/bin/sh\nexec "$PYTHON" -m thalweg "$@"\n' > "$1/thalweg"; chmod +x "$1/thalweg"; PATH="$1:$PATH"
eval "$(_THALWEG_COMPLETE=source_bash thalweg)"
unset -f thalweg
shift; COMP_WORDS=(thalweg "$@"); COMP_CWORD=$#; COMP_LINE="thalweg $*"
_thalweg_completion thalweg; printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(("words", "expected"), [
    (("pre",), ["predict"]),
    (("run", "hoeffding-a"), ["hoeffding-adaptive-tree"]),
    (("run", "arf", "sea", "--on-b"), ["--on-bad-row"]),
    (("list", "met"), ["metrics"]),
])  # fmt: skip
def test_a_real_bash_completes_words(words: tuple[str, ...], expected: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", SHELL, "bash", tmp_path, *words], env=os.environ | {"PYTHON": sys.executable},
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout.split() == expected, done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(run, shell: str) -> None:
    code, out, _ = run("--show-completion", shell)
    assert code == 0
    assert "_THALWEG_COMPLETE=complete_" in out


def test_columns_are_spoken_of_on_standard_error(run, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("id,size,class\n" + "".join(f"k{i},{i * 7 % 11},{'ab'[i % 5 > 2]}\n" for i in range(400)), "utf-8")
    line = "thalweg: id has a different value in nearly every record: --drop id\n"
    code, _, err = run("run", "majority", path)
    assert (code, err) == (0, line)
    assert run("run", "majority", path, "--quiet")[2] == ""
    assert run("run", "majority", path, "--drop", "id")[2] == ""
    assert line in run("compare", "majority", "no-change", "--on", path, "--out", tmp_path / "found")[2]
    assert line.removeprefix("thalweg: ").strip() in " ".join(run("show", path)[1].split())


def test_a_folder_that_cannot_be_written_to_is_refused_before_any_work(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    code, out, err = run("run", "naive-bayes", "sea", "--save", tmp_path / "m")
    assert (code, out, err) == (2, "", f"thalweg: {tmp_path / 'm'} must lie in a folder that can be written to\n")


def test_version_and_help(run) -> None:
    assert run("--version")[1].strip() == thalweg.__version__
    help_text = run("--help")[1]
    assert "demo" in help_text
    assert help_text.index(" run ") < help_text.index(" compare ") < help_text.index(" paper ")


@pytest.mark.parametrize("words", [("compare", "naive-bayes", "--on"), ("run", "naive-bayes"), ("show",)])
def test_a_file_that_is_not_there_is_what_is_said_first(run, words: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    assert run(*words, file) == (2, "", f"thalweg: {file} does not exist\n")
    file.write_text("x,y\n1,a\n", "utf-8")
    said = f"thalweg: --target must name the column of {file} to predict: one of the columns 'x', 'y'\n"
    assert run(*words, file) == (2, "", said)
    assert "demo" in run()[1]


def test_parameters_may_follow_each_other(run) -> None:
    code, out, err = run("run", "sdf", "sea", "--set", "layers=2", "size=2", "--limit", 1500, "--json", "-")
    assert (code, err) == (0, "")
    assert {"layers": 2, "size": 2}.items() <= json.loads(out)["params"].items()
    code, _, err = run("run", "sdf", "sea", "layers")
    assert code == 2
    assert "must read like name=value, got 'layers'" in err


def test_demo_writes_a_picture_and_a_page(run, tmp_path: Path) -> None:
    code, out, _ = run("demo", "--limit", 4000, "--out", tmp_path)
    assert code == 0
    assert "hoeffding-tree" in out
    assert (tmp_path / "thalweg-demo.png").read_bytes()[:4] == b"\x89PNG"
    page = (tmp_path / "thalweg-demo.html").read_text("utf-8")
    assert "<svg" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "<pre>thalweg demo --limit 4000 --seed 1</pre>" in page


@pytest.mark.skipif(os.name == "nt", reason="signals differ on Windows")
def test_ctrl_c_then_resume_gives_the_same_result(tmp_path: Path) -> None:
    checkpoint, whole = tmp_path / "run.checkpoint", tmp_path / "whole.json"
    base = [sys.executable, "-m", "thalweg.cli", "run", "hoeffding-tree", "rbf-drift", "--limit", "3000000"]
    for wait in (3.0, 10.0, 30.0):  # on a busy machine the run may not have begun
        process = subprocess.Popen([*base, "--resume", checkpoint], stderr=subprocess.PIPE, text=True)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        if wait < 30.0 and process.returncode == -signal.SIGINT:  # Python itself had hardly begun
            continue
        assert process.returncode == 130, err
        if "interrupted; saved after" in err:
            assert "the same command continues from there" in err
            break
    assert checkpoint.exists()
    resumed = subprocess.run([*base, "--resume", checkpoint, "--json", "-"], capture_output=True, text=True, check=True)
    subprocess.run([*base, "--json", whole], capture_output=True, check=True)
    a, b = json.loads(resumed.stdout), json.loads(whole.read_text("utf-8"))
    for key in ("rows", "accuracy", "kappa", "final", "recent", "confusion", "state_bytes"):
        assert a[key] == b[key], key


@pytest.mark.parametrize(
    ("more", "data"),
    [
        ([], "size,colour,class\n" + "1.5,red,yes\n2.5,,no\n" * 40),
        (["--format", "tsv"], "size\tcolour\tclass\n" + "1.5\tred\tyes\n2.5\t\tno\n" * 40),
        (
            ["--format", "jsonl"],
            '{"size": 1.5, "colour": "red", "class": "yes"}\n{"size": 2.5, "class": "no"}\n' * 40,
        ),
    ],
)
def test_standard_input(run, monkeypatch, more: list[str], data: str) -> None:
    def type_in(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data.encode())))
        return run(*words, *more)

    code, out, err = type_in("run", "no-change", "-", "--target", "class", "--json", "-")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert (result["rows"], sorted(result["classes"])) == (80, ["no", "yes"])
    out = type_in("show", "-", "--target", "class")[1]
    assert out.startswith("standard input, 80 rows, 2 classes, 2 features\n")
    assert "missing" in out
    code, _, err = type_in("run", "no-change", "-")
    assert (code, err) == (0, "")  # class is what is predicted where nothing else is named
    data = data.replace("class", "kind")
    code, _, err = type_in("run", "no-change", "-")
    assert code == 2
    assert err.startswith("thalweg: --target must name the column of standard input to predict: one of")
    assert "'kind'" in err


@pytest.mark.parametrize("words", [("MAJORITY", "sea"), ("MajorityClass", "sea"), ("majority", "SEA")])
def test_a_name_in_other_letters_or_of_a_class_is_understood(run, words: tuple[str, str]) -> None:
    code, out, _ = run("run", *words, "--limit", 1000, "--json", "-")
    assert code == 0
    assert json.loads(out)["rows"] == 1000


def test_a_missing_matplotlib_is_noticed_before_the_work(run, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    model = tmp_path / "m.safetensors"
    for words in (
        ("run", "majority", "sea", "--limit", 2000, "--save", model, "--plot", tmp_path / "x.png"),
        ("demo", "--limit", 1000, "--out", tmp_path),
        ("paper", "sdf", "--scale", "smoke", "--out", tmp_path / "sdf"),
    ):
        assert run(*words) == (2, "", "thalweg: pictures need Matplotlib: pip install 'thalweg[plots]'\n")
    assert not list(tmp_path.iterdir())


def test_predictions_are_written(run, tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    code, out, _ = run("run", "majority", "sea", "--limit", 50, "--predictions", file, "--all")
    assert code == 0
    assert f"written: {file}" in out.replace("\n", " ")
    assert "precision macro" in out
    assert "F1" in out
    assert len(file.read_text("utf-8").splitlines()) == 51
    assert (
        "must name a file that ends in .csv or .parquet" in run("run", "majority", "sea", "--predictions", "p.txt")[2]
    )


def test_objects_are_compared_and_others_get_a_sentence() -> None:
    found = thalweg.compare([thalweg.NoChange(), thalweg.MajorityClass], on={"mine": thalweg.SEA()}, limit=1000)
    assert not found.failures
    assert found.scores().shape == (1, 2)
    with pytest.raises(TypeError, match="learners must be texts such as"):
        thalweg.compare([3], on=["sea"])
    with pytest.raises(TypeError, match="on must hold texts such as"):
        thalweg.compare(["majority"], on=[3])


def test_a_report_is_written_with_a_baseline(run, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    code, out, _ = run("run", "majority", "sea", "--limit", 2000, "--report", file, "--baseline", "no-change")
    assert code == 0
    assert f"written: {file}" in out.replace("\n", " ")
    page = file.read_text("utf-8")
    assert "majority on sea" in page
    assert "no-change" in page


def test_a_saved_model_learns_on(run, tmp_path: Path) -> None:
    lines = [f"{i},{'rgb'[i % 3]},{'yes' if i % 2 else 'no'}" for i in range(300)]
    for name, part in (("may", lines), ("june", lines[::-1])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["size,colour,class", *part]) + "\n", "utf-8")
    model, more = tmp_path / "m.safetensors", tmp_path / "n.safetensors"
    assert run("run", "naive-bayes", tmp_path / "may.csv", "--save", model)[0] == 0
    code, out, _ = run("run", model, tmp_path / "june.csv", "--save", more)
    assert code == 0
    assert f"written: {more}" in out
    assert thalweg.load(more).schema.features[1].values == ("r", "g", "b")
    assert "must not be set for a saved model" in run("run", model, tmp_path / "june.csv", "--set", "size=3")[2]


def test_compare_reads_files_as_run_does(run, tmp_path: Path) -> None:
    lines = [f"c{i},2020-01-{1 + i % 28:02},{i},{'yes' if i % 2 else 'no'}" for i in range(300)]
    file = tmp_path / "churn.csv"
    file.write_text("\n".join(["id,signup,size,class", *lines]) + "\n", "utf-8")
    words = ("compare", "majority", "no-change", "--on", file, "--out", tmp_path / "out", "--quiet")
    assert "--drop signup" in run(*words)[2]
    code, out, _ = run(*words, "--drop", "id,signup")
    assert code == 0
    assert " churn " in out
    assert str(file) not in out.partition("written")[0]


def test_the_format_says_what_a_file_holds(run) -> None:
    assert "sea does not exist" in run("run", "majority", "sea", "--format", "jsonl")[2]
    assert "got 'xml'" in run("run", "majority", "-", "--target", "y", "--format", "xml")[2]


def test_warmup_of_some_learners_in_two_processes(run) -> None:
    code, out, _ = run("warmup", "majority", "NoChange", "naive-bayes", "--jobs", 2)
    assert code == 0
    assert "kept for later runs" in out
    code, _, err = run("warmup", "nonsense")
    assert code == 2
    assert "learner must be a known name, got 'nonsense'" in err
