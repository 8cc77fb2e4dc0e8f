"""A grid of runs: what it gives, what it keeps, and what a crash, a failure and bad input do to it."""

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import thalweg
from thalweg.comparison import compare
from thalweg.comparison.cell import Cell, canonical
from thalweg.comparison.store import Store
from thalweg.comparison.workers import run_cells

LEARNERS = ["no-change", "majority", "naive-bayes", "naive-bayes@0.5", "majority@0.5"]
STREAMS = ["sea", "stagger", "sine", "mixed"]
TIMES = ("rows_per_cpu_second", "cpu_seconds", "seconds", "ram_hours")


def without_times(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return [{k: v for k, v in row.items() if k not in TIMES} for row in csv.DictReader(file)]


def test_cells_are_what_prequential_gives(tmp_path):
    found = compare({"NB": "naive-bayes", "last": "no-change"}, on=["sea", "sine"], seeds=2, limit=1500, jobs=2)
    assert not found.failures
    assert [r.rows for r in found.of("NB", "sea")] == [1500, 1500]
    alone = thalweg.prequential(thalweg.SEA(seed=2), thalweg.NaiveBayes(), limit=1500)
    assert found.of("NB", "sea")[1].final == alone.final
    assert found.of("NB", "sea")[1].learner == "NB"
    by_hand = np.mean([r.accuracy for r in found.of("last", "sine")])
    assert found.scores()[1, 1] == by_hand
    ranking = found.ranking()
    assert ranking is not None
    assert ranking.ranks.tolist() == [1.0, 2.0]
    table = found.table()
    assert table.head == ("stream", "NB", "last")
    assert [row[0] for row in table.rows] == ["sea", "sine", "mean", "average rank"]
    assert "± " in table.rows[0][1]
    assert table.rows[0][1].startswith("* ")
    assert len(found.costs().rows) == 2


def test_files(tmp_path):
    found = compare(["no-change", "majority"], on=["sea", "sine"], limit=1000)
    found.to_csv(tmp_path / "r.csv")
    rows = without_times(tmp_path / "r.csv")
    assert [(r["learner"], r["stream"], r["seed"], r["rows"]) for r in rows] == [
        (learner, stream, "1", "1000") for stream in ("sea", "sine") for learner in ("no-change", "majority")
    ]
    told = json.loads(found.to_json(tmp_path / "r.json"))
    assert told == json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert told["command"] == "thalweg compare no-change majority --on sea sine --limit 1000"
    assert told["made_with"]["version"] == thalweg.__version__
    assert told["ranking"]["learners"] == ["no-change", "majority"]
    assert len(told["runs"]) == 4


KILLED = """
import os, signal
from thalweg.comparison import compare

done = 0

def die(event):
    global done
    done += event.stage == "finished"
    if done == 17:
        os.kill(os.getpid(), signal.SIGKILL)

compare({learners!r}, on={streams!r}, seeds=2, limit=1000, jobs=2, folder={folder!r}, on_event=die)
"""


def kept_rows(folder: Path) -> dict[str, tuple[object, ...]]:
    base = sqlite3.connect(folder / "cells.sqlite")
    rows = {row[0]: row for row in base.execute("SELECT * FROM cells")}
    base.close()
    return rows


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_kill_in_the_middle_of_forty_cells(tmp_path):
    grid = {"on": STREAMS, "seeds": 2, "limit": 1000}
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    code = KILLED.format(learners=LEARNERS, streams=STREAMS, folder=str(killed))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    before = kept_rows(killed)
    assert len(before) == 17

    events = []
    found = compare(LEARNERS, **grid, jobs=2, folder=killed, on_event=events.append)
    kept = [e for e in events if e.stage == "finished" and e.kept]
    ran = [e for e in events if e.stage == "finished" and not e.kept]
    assert (len(found.cells), len(kept), len(ran)) == (40, 17, 23)
    assert {e.cell.key for e in kept} == set(before)  # no finished cell is run again ...
    after = kept_rows(killed)
    assert {key: after[key] for key in before} == before  # ... nor written

    other = compare(LEARNERS, **grid, folder=whole)
    found.to_csv(tmp_path / "killed.csv")
    other.to_csv(tmp_path / "whole.csv")
    assert without_times(tmp_path / "killed.csv") == without_times(tmp_path / "whole.csv")
    assert str(found.table()) == str(other.table())

    def nothing_runs(event):
        assert event.kept

    again = compare(LEARNERS, **grid, folder=killed, on_event=nothing_runs)
    assert again.to_json() == found.to_json()


def test_a_cell_that_fails_is_told_and_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("THALWEG_CACHE", os.environ.get("THALWEG_CACHE", str(Path.home() / ".cache")))
    events = []
    found = compare(["no-change"], on=["sea", "covtype"], limit=1000, folder=tmp_path, on_event=events.append)
    assert [(c.stream, "FileNotFoundError" in why) for c, why in found.failures.items()] == [("covtype", True)]
    assert np.isnan(found.scores()[1, 0])
    assert found.table().rows[1][1] == "failed"
    events.clear()
    compare(["no-change"], on=["sea", "covtype"], limit=1000, folder=tmp_path, on_event=events.append)
    assert [(e.cell.stream, e.stage) for e in events] == [
        ("sea", "finished"), ("covtype", "starting"), ("covtype", "failed"),
    ]  # fmt: skip


def test_a_worker_that_dies_takes_no_other_cell_with_it(monkeypatch):
    """The process of a cell is killed, as the system does when memory runs out."""
    from thalweg.comparison import workers

    made = []
    start = workers._Worker.__init__

    def watched(self, inbox):
        start(self, inbox)
        made.append(self)

    monkeypatch.setattr(workers._Worker, "__init__", watched)
    cells = [Cell("naive-bayes", "sea", seed, limit=2_000_000 if seed == 1 else 1000) for seed in (1, 2, 3)]
    stages = {}
    for event in run_cells(cells, jobs=1):
        if event.cell.seed == 1 and event.stage == "running":
            made[0]._process.kill()
        stages[event.cell.seed] = event.stage
        if event.stage == "failed":
            assert "the process ended with code -9" in event.error
    assert stages == {1: "failed", 2: "finished", 3: "finished"}
    assert len(made) == 2


def test_missing_runs_rank_last(tmp_path, monkeypatch):
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    found = compare(["no-change", "majority"], on=["sea", "sine"], limit=1000)
    failures = {cell: "broken" for cell in found.cells if (cell.learner, cell.stream) == ("majority", "sea")}
    results = {cell: r for cell, r in found.results.items() if cell not in failures}
    broken = thalweg.Comparison(found.learners, found.streams, found.cells, results, failures)
    ranking = broken.ranking()
    assert ranking is not None
    assert np.isnan(ranking.scores[0, 1])
    assert ranking.ranks[1] >= 1.5
    assert "failed: majority on sea, seed 1: broken" in str(broken.table())


def test_runs_of_different_length_are_not_compared():
    short, long = Cell("no-change", "sea", 1, limit=500), Cell("majority", "sea", 1, limit=600)
    mixed = thalweg.Comparison({"a": "no-change", "b": "majority"}, ["sea"], [short, long],
                               {short: short.run(), long: long.run()}, {})  # fmt: skip
    with pytest.raises(ValueError, match=r"runs on sea must have the same number of rows .*, got \[500, 600\]"):
        mixed.scores()


def test_a_run_that_no_seed_changes_is_made_once(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "".join(f"{i % 7},{i % 3},{i % 2}\n" for i in range(300)))
    found = compare(["no-change", "arf(size=2)"], on=[str(path), "sea"], target="y", seeds=2, limit=200)
    counts = {(c.learner, Path(c.stream).name): 0 for c in found.cells}
    for c in found.cells:
        counts[c.learner, Path(c.stream).name] += 1
    assert counts == {
        ("no-change", "rows.csv"): 1, ("arf(size=2)", "rows.csv"): 2,
        ("no-change", "sea"): 2, ("arf(size=2)", "sea"): 2,
    }  # fmt: skip
    assert not found.failures


def test_keys(tmp_path):
    cell = Cell("arf(size=3, seed=1)", "sea", seed=1)
    assert cell.key == Cell("arf( seed=1,size=3 )", "sea", seed=1).key
    others = [
        Cell("arf(size=4, seed=1)", "sea", 1), Cell("arf(size=3, seed=1)", "sea(seed=2)", 1),
        Cell("arf(size=3, seed=1)", "sea", 2), Cell("arf(size=3, seed=1)", "sea", 1, limit=5),
    ]  # fmt: skip
    assert len({cell.key, *(c.key for c in others)}) == 5
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n")
    before = Cell("arf", str(path), 1, target="y").key
    path.write_text("x,y\n1,2\n3,4\n")
    assert Cell("arf", str(path), 1, target="y").key != before


def test_a_new_version_runs_again(monkeypatch):
    cell = Cell("no-change", "sea", 1, limit=500)
    with Store(None) as store:
        store.put(cell, cell.run())
        assert set(store.get([cell])) == {cell}
        monkeypatch.setattr("thalweg.comparison.cell.__version__", "999")
        assert not store.get([cell])


def test_the_store_is_in_wal_mode_and_can_be_told_to_forget(tmp_path):
    path = tmp_path / "cells.sqlite"
    cell = Cell("no-change", "sea", 1, limit=500)
    with Store(path) as store:
        assert store._base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        store.put(cell, cell.run())
    with Store(path) as store:
        result = store.get([cell])[cell]
        assert result.rows == 500
        store.forget([cell])
        assert not store.get([cell])
    path.write_bytes(b"not a database, but a text of some length")
    with pytest.raises(ValueError, match="must be a file of finished cells"):
        Store(path)


def test_canonical():
    assert canonical("sdf(size=5)@0.70") == "sdf(size=5)@0.7"
    assert canonical(" arf ") == "arf"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"learners": []}, "at least one learner"),
        ({"learners": ["arff"]}, "learner must be a known name, got 'arff': did you mean 'arf'"),
        ({"learners": ["arf(sizes=3)"]}, "arf has no parameter 'sizes'"),
        ({"learners": ["arf", "arf"]}, "learners must all differ"),
        ({"learners": ["arf@lots"]}, "share of labels after @ must be a number"),
        ({"on": []}, "on must name at least one stream"),
        ({"on": ["sea", "sea"]}, "on must all differ"),
        ({"on": ["see"]}, "stream must be a known name"),
        ({"on": ["-"]}, "read again and again"),
        ({"on": ["missing.csv"]}, "does not exist"),
        ({"folder": __file__}, "folder must name a folder, got .*, which is or lies in a file"),
        ({"folder": f"{__file__}/deeper"}, "folder must name a folder, got .*, which is or lies in a file"),
        ({"seeds": 0}, "seeds must lie in"),
        ({"seeds": [1, 1]}, "none twice"),
        ({"jobs": 0}, "jobs must lie in"),
        ({"limit": 0}, "limit must lie in"),
        ({"metric": "speed"}, "metric must be one of"),
    ],
)
def test_bad_input_gets_a_sentence_before_anything_runs(change, words, tmp_path):
    arguments = {"learners": ["no-change"], "on": ["sea"], "folder": tmp_path / "new"} | change
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        compare(arguments.pop("learners"), **arguments)
    assert not (tmp_path / "new").exists()
