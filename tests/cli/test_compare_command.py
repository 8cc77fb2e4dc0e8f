"""``thalweg compare`` as a person types it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


def test_compare_prints_tables_and_writes_files(run, tmp_path):
    out = tmp_path / "found"
    words = ("compare", "no-change", "NB=naive-bayes", "--on", "sea", "sine(function=2)", "--limit", 1000, "--jobs", 2)
    code, printed, told = run(*words, "--out", out)
    assert code == 0
    assert "average rank" in printed
    assert "Average ranks" in printed
    assert told.count("accuracy") == 4
    assert {p.name for p in out.iterdir()} >= {"cells.sqlite", "results.csv", "results.json"}
    numbers = json.loads((out / "results.json").read_text("utf-8"))
    assert numbers["learners"] == {"no-change": "no-change", "NB": "naive-bayes"}
    assert numbers["command"].startswith("thalweg compare no-change NB=naive-bayes --on sea 'sine(function=2)'")

    code, printed_again, told = run(*words, "--out", out)
    assert (code, printed_again) == (0, printed)
    assert told == "4 runs were done before, and kept\n"


def test_a_control_is_named_and_repeated(run, tmp_path):
    words = ("compare", "no-change", "NB=naive-bayes", "majority", "--on", "sea", "sine", "--limit", 1000)
    code, printed, _ = run(*words, "--control", "NB", "--out", tmp_path)
    assert code == 0
    assert "Against NB" in printed
    numbers = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert numbers["command"].endswith(f"--limit 1000 --control NB --out {tmp_path}")
    assert set(numbers["ranking"]["bonferroni_dunn"]) == {"no-change", "majority"}
    assert "Against naive-bayes" not in printed
    _, by_spec, _ = run(*words, "--control", "naive-bayes", "--out", tmp_path)  # as it is made, not as it is called
    assert by_spec == printed
    code, _, told = run(*words, "--control", "arf", "--out", tmp_path)
    assert code != 0
    assert "control must be one of no-change, NB, majority, got 'arf'" in told


def test_one_stream_has_nothing_to_rank(run, tmp_path):
    code, printed, _ = run("compare", "no-change", "majority", "--on", "sea", "--limit", 500, "--out", tmp_path)
    assert code == 0
    assert "Ranks and tests need at least two learners and two streams." in printed


def test_a_failed_run_is_the_exit_code(run, tmp_path, monkeypatch):
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("THALWEG_CACHE", os.environ.get("THALWEG_CACHE", str(Path.home() / ".cache")))
    code, printed, told = run("compare", "no-change", "--on", "covtype", "sea", "--limit", 500, "--out", tmp_path)
    assert code == 1
    assert "failed: no-change on covtype, seed 1:" in printed
    assert told.endswith("thalweg: 1 of 2 runs failed\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("no-change",), "Missing option '--on'"),
        (("--on", "sea"), "Missing argument"),
        (("no-change", "--on"), "requires an argument"),
        (("nchange", "--on", "sea"), "learner must be a known name"),
        (("no-change", "--on", "sea", "--seeds", "few"), "--seeds must be a number, or numbers like 3,5,7, got 'few'"),
        (("A=no-change", "A=majority", "--on", "sea"), "different names, got 'A' twice"),
    ],
)
def test_bad_input_gets_a_sentence(run, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    code, _, told = run("compare", *words)
    assert code == 2
    assert sentence in told
    assert not (tmp_path / "comparison").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_keeps_what_is_done(tmp_path):
    command = [sys.executable, "-m", "thalweg.cli", "compare", "no-change", "--on", "sea", "sine", "--seeds", "60",
               "--limit", "100000", "--out", str(tmp_path)]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
        assert running.stderr is not None
        assert "accuracy" in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        told = running.stderr.read()
    assert running.returncode == 130
    assert "the same command goes on" in told
    begun = time.monotonic()
    again = subprocess.run([*command[:-6], "--seeds", "1", *command[-4:]], capture_output=True, text=True, check=False)
    assert "runs were done before, and kept" in again.stderr
    assert again.returncode == 0, again.stderr
    assert time.monotonic() - begun < 60
