"""Labels from another stream, joined to their records by a key."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from thalweg import (
    SEA,
    AdaptiveRandomForest,
    ArrayStream,
    CSVStream,
    HoeffdingTree,
    MajorityClass,
    NaiveBayes,
    prequential,
)
from thalweg.core.classifier import Classifier
from thalweg.evaluate.join import Join
from thalweg.evaluate.joined import words_of
from thalweg.keeping.arrays_file import read_arrays, write_arrays
from thalweg.registry.typed import make_learner
from thalweg.streams.any_data import as_stream
from twins.join import JoinTwin, merged

N = 3000


def _frames(seed=1, *, text=False, delay=300, early=0.0, twice=0.0, never=0.0, n=N):
    """Make records and labels with times, out of order."""
    rng = np.random.default_rng(seed)
    chunk = SEA(seed=seed).take(n)
    keys = rng.permutation(10 * n)[:n] - n
    keys = np.array([f"käy-{k:020d}" for k in keys]) if text else keys
    records = pd.DataFrame(chunk.X, columns=list("abc")).assign(id=keys, time=np.arange(n, dtype=float))
    due = np.arange(n) + rng.integers(1, delay, n) + 0.5
    due = np.where(rng.random(n) < early, due - 2 * delay, due)
    labels = pd.DataFrame({"id": keys, "class": np.where(chunk.y, "up", "down"), "time": due})
    labels = labels[rng.random(n) >= never]
    again = labels[rng.random(len(labels)) < twice].assign(time=lambda f: f.time + 10)
    return records, pd.concat([labels, again]).sort_values("time", kind="stable")


def _same_state(a: Classifier, b: Classifier) -> bool:
    mine, yours = a.state(), b.state()
    return mine.keys() == yours.keys() and all(
        np.array_equal(mine[k], yours[k], equal_nan=mine[k].dtype.kind == "f") for k in mine
    )


def _curve(result):
    return {k: v.tolist() for k, v in result.curve.items() if "seconds" not in k}


def _joined(records, labels, learner, **more):
    return prequential(records, learner, **{"labels": labels, "key": "id", "time": "time", "wait": "1h"} | more)


@pytest.mark.parametrize("spec", ["hoeffding-tree(grace_period=50)", "arf(size=3)", "naive-bayes@0.4"])
@pytest.mark.parametrize("text", [False, True])
def test_labels_with_a_fixed_delay_give_the_bits_of_the_same_delay_by_rows(spec, text):
    records, _ = _frames(text=text)
    y = SEA(seed=1).take(N).y
    together = records.drop(columns=["id", "time"]).assign(**{"class": y})
    labels = pd.DataFrame({"id": records.id, "class": y, "time": records.time + 200})[: N - 200]
    a, b = make_learner(spec), make_learner(spec)
    delayed = prequential(together, a, target="class", delay=200, keep=True)
    joined = _joined(records, labels, b, keep=True)
    assert _same_state(a, b)
    assert (delayed.predictions.proba == joined.predictions.proba).all()
    assert (joined.predictions.codes[: N - 200] == delayed.predictions.codes[: N - 200]).all()
    assert (joined.predictions.codes[N - 200 :] == -1).all()
    assert delayed.labels_used == joined.labels_used
    assert joined.joined == dict.fromkeys(joined.joined, 0) | {"matched": N - 200, "open": 200}


def test_labels_by_time_give_the_bits_of_delay_by_time():
    records, labels = _frames()
    due = labels.set_index("id").time[records.id].to_numpy()
    y = labels.set_index("id")["class"][records.id].to_numpy()
    a, b = HoeffdingTree(grace_period=50), HoeffdingTree(grace_period=50)
    together = records.drop(columns="id").assign(**{"class": y}, due=due)
    delayed = prequential(together, a, target="class", time="time", label_time="due", delay="time", keep=True)
    joined = _joined(records, labels, b, limit=N, keep=True)
    assert (delayed.predictions.proba == joined.predictions.proba).all()
    assert delayed.labels_used == joined.labels_used
    assert _same_state(a, b)


@pytest.mark.parametrize(("wait", "most"), [("1h", 10_000), ("150s", 10_000), ("1h", 40), (120, 10_000), (None, 64)])
@pytest.mark.parametrize("text", [False, True])
def test_the_table_does_what_the_dict_does(wait, most, text):
    records, labels = _frames(2, text=text, early=0.05, twice=0.05, never=0.1)
    if wait == "1h":
        assert len(labels) != N
    twin = JoinTwin({"1h": 3600.0, "150s": 150.0, None: np.inf}.get(wait, wait), most)
    came = 0
    learned = []
    order = merged(list(zip(records.id, records.time, strict=True)), list(labels.itertuples(index=False, name=None)))
    for what, key, *rest in order:
        now = rest[-1] if isinstance(wait, str) else float(came)
        if what == "record":
            learned += [e for e in twin.record(key, now) if e[0] == "learn"]
            came += 1
        else:
            learned += twin.label(key, rest[0], now)
    result = _joined(records, labels, MajorityClass(), wait=wait, max_open=most, keep=True)
    assert result.joined == twin.all_counts()
    codes = {key: label for _, key, label in learned}
    found = [None if c < 0 else result.classes[c] for c in result.predictions.codes]
    assert found == [codes.get(key) for key in records.id]
    assert result.labels_pending == result.joined["open"] + result.joined["expired"]


@pytest.mark.parametrize("chunk", [1, 37, 100_000])
def test_how_rows_are_divided_changes_nothing(chunk):
    records, labels = _frames(early=0.05, twice=0.05, never=0.1)
    more = {"every": 500, "baselines": ["naive-bayes"], "wait": "200s", "keep": True}
    a, b = AdaptiveRandomForest(size=3), AdaptiveRandomForest(size=3)
    first = _joined(records, labels, a, **more)
    second = _joined(records, labels, b, chunk=chunk, **more)
    assert _same_state(a, b)
    assert first.joined == second.joined
    assert _curve(first) == _curve(second)
    assert _curve(first.others[0]) == _curve(second.others[0])
    assert (first.predictions.proba == second.predictions.proba).all()


def test_without_times_a_label_comes_right_after_the_record_of_its_number():
    records, labels = _frames()
    y = labels.set_index("id")["class"][records.id].to_numpy()
    X = records.drop(columns=["id", "time"])
    a, b = HoeffdingTree(grace_period=50), HoeffdingTree(grace_period=50)
    at_once = prequential(X.assign(**{"class": y}), a, target="class")
    pairs = pd.DataFrame({"id": records.id, "class": y})
    joined = prequential(records.drop(columns="time"), b, labels=pairs, key="id", wait=10)
    assert _same_state(a, b)
    assert at_once.accuracy == joined.accuracy
    assert joined.joined["matched"] == N


class _Late:
    """A stream that has nothing yet, several times, before it has something."""

    follow = False

    def __init__(self, stream, times):
        self.stream, self.times, self.schema = stream, times, stream.schema

    def read(self, n):
        self.times -= 1
        return SEA(seed=1).take(1)[:0] if self.times >= 0 else self.stream.read(min(n, 100))


@pytest.mark.parametrize("which", ["records", "labels"])
def test_how_fast_a_stream_that_ends_comes_changes_nothing(which):
    records, labels = _frames(early=0.05)
    expected = _joined(records, labels, HoeffdingTree(grace_period=50), keep=True)

    def slow(frame, name):
        stream = as_stream(frame, "id", time="time")
        return _Late(stream, 7) if name == which else stream

    found = prequential(
        slow(records, "records"), HoeffdingTree(grace_period=50), labels=slow(labels, "labels"), key="id", wait="1h",
        keep=True,
    )  # fmt: skip
    assert found.joined == expected.joined
    assert (found.predictions.proba == expected.predictions.proba).all()


def test_a_run_that_is_stopped_goes_on_bit_by_bit(tmp_path):
    records, labels = _frames(early=0.05, twice=0.05, never=0.1)
    more = {"wait": "250s", "baselines": ["naive-bayes"], "every": 300}
    whole = AdaptiveRandomForest(size=3)
    expected = _joined(records, labels, whole, **more)
    for limit in (1, 700, 1234):
        path = tmp_path / f"{limit}.ckpt"
        _joined(records, labels, AdaptiveRandomForest(size=3), limit=limit, checkpoint=path, **more)
        again = AdaptiveRandomForest(size=3)
        result = _joined(records, labels, again, checkpoint=path, resume=True, **more)
        assert _same_state(whole, again)
        assert _curve(result) == _curve(expected)
        assert result.joined == expected.joined
        assert result.final == pytest.approx(expected.final, nan_ok=True, rel=0, abs=0)
    with pytest.raises(ValueError, match="checkpoint was made with join="):
        _joined(records, labels, AdaptiveRandomForest(size=3), checkpoint=path, resume=True, **more | {"wait": "9s"})


def test_a_run_that_is_killed_goes_on_bit_by_bit(tmp_path):
    records, labels = _frames(early=0.02, never=0.05, n=20_000)
    records.to_csv(tmp_path / "records.csv", index=False)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    command = [
        sys.executable, "-m", "thalweg", "run", "arf(size=20)", "records.csv", "--labels", "labels.csv", "--key", "id",
        "--time", "time", "--wait", "400s", "--checkpoint-every", "1000", "-q",
    ]  # fmt: skip
    run = {"cwd": tmp_path, "env": os.environ, "capture_output": True, "text": True}
    subprocess.run([*command, "--save", "whole.model", "--json", "whole.json"], check=True, **run)
    killed = subprocess.Popen([*command, "--resume", "run.ckpt"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while not (tmp_path / "run.ckpt").exists() and killed.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.15)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    subprocess.run(
        [*command, "--resume", "run.ckpt", "--save", "again.model", "--json", "again.json"], check=True, **run
    )
    from thalweg import load
    from thalweg.evaluate.result import Result

    assert _same_state(load(tmp_path / "whole.model"), load(tmp_path / "again.model"))
    whole, again = (Result.from_json(tmp_path / f"{name}.json") for name in ("whole", "again"))
    assert whole.joined == again.joined
    assert _curve(whole) == _curve(again)


def test_a_checkpoint_that_was_tampered_with_is_refused(tmp_path):
    records, labels = _frames(early=0.05, twice=0.05, never=0.1)
    path, bad = tmp_path / "run.ckpt", tmp_path / "bad.ckpt"
    _joined(records, labels, NaiveBayes(), limit=1000, checkpoint=path)
    arrays, header = read_arrays(path)
    header = {k: v for k, v in header.items() if k not in ("format", "format_version", "library_version", "dtypes")}
    twice = arrays["join.keys"].copy()
    twice[1] = twice[0]
    kinds = arrays["join.kinds"][::-1].copy()
    wrong = {
        "join.keys": [twice, arrays["join.keys"][:, :0]],
        "join.kinds": [kinds, arrays["join.kinds"] + 4],
        "join.X": [arrays["join.X"][1:]],
        "join.codes": [arrays["join.codes"] + 7, arrays["join.codes"] - 1],
        "join.born": [arrays["join.born"] * np.nan],
        "join.counts": [arrays["join.counts"] - 2**60],
        "told.proba": [arrays["told.proba"][1:], arrays["told.proba"] - 1.0],
        "stream.used": [arrays["stream.used"] + 10**12, arrays["stream.used"] - 10**12],
    }
    for name, tables in wrong.items():
        for table in tables:
            write_arrays(bad, arrays | {name: table}, header)
            with pytest.raises(ValueError, match="cannot be continued"):
                _joined(records, labels, NaiveBayes(), checkpoint=bad, resume=True)


def test_a_made_up_position_is_read_in_parts():
    from thalweg.evaluate.joined import AT_ONCE, Joined

    class Measured(ArrayStream):
        most = 0

        def read(self, n):
            Measured.most = max(Measured.most, n)
            return super().read(n)

    records, labels = _frames()
    both = Joined(Measured(records[["a", "b", "c"]], records.id.to_numpy()), as_stream(labels[["id", "class"]], "id"),
                  key="id", column="class", seconds=False)  # fmt: skip
    state = both.state() | {"used": np.array([10**12, 0]), "given": np.array([10**12, 0])}
    with pytest.raises(ValueError, match="fewer than there were"):
        both.restore(state)
    assert Measured.most <= AT_ONCE


def test_memory_stays_within_the_bound_that_is_stated():
    records, labels = _frames(never=0.5, early=0.02, n=20_000)
    for more in ({"max_open": 100}, {"max_bytes": 100 * 8 * (3 + 2 + 1)}):
        result = _joined(records, labels, MajorityClass(), **more)
        assert result.joined["open"] <= 100
        assert result.joined["matched"] + result.joined["open"] + result.joined["expired"] == 20_000
    join = Join(wait=None, max_open=1000)
    from thalweg.evaluate.joined import Joined

    both = Joined(
        ArrayStream(records[["a", "b", "c"]], records.id.to_numpy(), time=records.time),
        ArrayStream(pd.DataFrame({"class": (labels["class"] == "up") * 1}), labels.id.to_numpy(), time=labels.time),
        key="id", column="class", seconds=False,
    )  # fmt: skip
    most = 0
    while (meeting := both.read(500)) is not None:
        join.meet(meeting, meeting.labels.astype(np.int64), 2)
        most = max(most, join.nbytes)
    assert 0.1 * join.most_bytes(3, 0) < most <= join.most_bytes(3, 0)


def test_as_many_records_are_let_go_as_more_classes_need():
    from thalweg.evaluate.joined import Joined

    records, labels = _frames(n=300)
    labels = labels.assign(time=1e9)  # none comes before the records are there
    both = Joined(as_stream(records, "id", time="time"), as_stream(labels, "id", time="time"),
                  key="id", column="class", seconds=False)  # fmt: skip
    join, twin = Join(wait=None, max_open=1000, max_bytes=200 * 8 * (3 + 2 + 1)), JoinTwin(np.inf, 200)
    for n, classes in ((150, 2), (1, 21), (149, 21)):
        twin.most = join.max_bytes // (8 * (3 + classes + 1))
        meeting = both.read(n)
        join.meet(meeting, np.zeros(0, dtype=np.int64), classes)
        for key in meeting.records.y.tolist():
            twin.record(key, 0.0)
        assert len(join) == len(twin.open) == min(150, twin.most)
        assert join.counts()["expired"] == twin.counts["expired"]


def test_sparse_records_wait_as_sparse_rows():
    from scipy.sparse import csr_array

    records, labels = _frames(early=0.05)
    X = records[["a", "b", "c"]].to_numpy()
    told = ArrayStream(labels[["class"]], labels.id.to_numpy(), time=labels.time)
    results = []
    for rows in (csr_array(X), X):
        told.restart()
        source = ArrayStream(rows, records.id.to_numpy(), time=records.time)
        results.append(prequential(source, NaiveBayes(), labels=told, key="id", wait="1h"))
    assert _curve(results[0]) == _curve(results[1])


def test_files_of_any_format(tmp_path):
    records, labels = _frames(text=True, early=0.05)
    results = []
    for name, write in {"csv": "to_csv", "parquet": "to_parquet"}.items():
        for frame, what in ((records, "records"), (labels, "labels")):
            getattr(frame, write)(tmp_path / f"{what}.{name}", index=False)
        results.append(_joined(tmp_path / f"records.{name}", tmp_path / f"labels.{name}", HoeffdingTree()))
    assert results[0].joined == results[1].joined
    assert _curve(results[0]) == _curve(results[1])


def test_a_text_file_forgets_keys(tmp_path, monkeypatch):
    monkeypatch.setattr("thalweg.streams.files.text_table.MOST_LABELS", 100)
    monkeypatch.setattr("thalweg.streams.files.text.BLOCK", 4096)
    path = tmp_path / "records.csv"
    path.write_text("a,s,id\n" + "".join(f"{i % 7},{'xyz'[i % 3]},k{i}\n" for i in range(5000)))
    stream = CSVStream(path, target="id")
    chunk = stream.take(5000)
    assert chunk.y.tolist() == [f"k{i}" for i in range(5000)]
    assert (chunk.X[:, 1] == np.arange(5000) % 3).all()
    assert len(stream._rows.labels) < 1000


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"key": None}, "key must name the column"),
        ({"key": "nobody"}, "nobody"),
        ({"wait": "soon"}, "such as 30s, 5m, 12h or 3d, or a number of records, got 'soon'"),
        ({"wait": "-3d"}, "wait must be"),
        ({"wait": 0}, "wait must lie in"),
        ({"max_open": 0}, "max_open must lie in"),
        ({"max_bytes": 1.5}, "max_bytes must be"),
        ({"delay": 5}, "delay must be 0"),
        ({"target": "nothing"}, "target must name the column of labels"),
        ({"time": None}, "wait must be a number of records"),
    ],
)  # fmt: skip
def test_bad_arguments_get_a_sentence(change, sentence):
    records, labels = _frames(n=50)
    if "time" in change:
        change = {}
        records, labels = records.drop(columns="time"), labels.drop(columns="time")
        with pytest.raises(ValueError, match=sentence):
            prequential(records, MajorityClass(), labels=labels, key="id", wait="1h")
        return
    with pytest.raises((ValueError, TypeError), match=sentence):
        _joined(records, labels, MajorityClass(), **change)


def test_bad_streams_get_a_sentence():
    records, labels = _frames(n=50)
    for wrong, labels_of, sentence in (
        (pd.concat([records, records[:1]]).assign(time=np.arange(51.0)), labels, "another one in each record"),
        (records.assign(id=records.id + 0.5), labels, "whole numbers of 64 bits, or text"),
        (records.assign(id=records.id.astype(str)), labels, "text in records and whole numbers in labels"),
        (records.assign(**{"class": 1}), labels, "records must not have the column 'class'"),
        (records, labels.assign(**{"class": np.where(labels.index == 7, None, labels["class"])}), "must be given"),
        (records.assign(time=np.nan), labels, "must be a finite number"),
    ):
        with pytest.raises((ValueError, TypeError), match=sentence):
            _joined(wrong, labels_of, MajorityClass())
    learner = MajorityClass().partial_fit(records[["a", "b", "c"]], labels["class"])
    with pytest.raises(TypeError, match="labels must hold labels of one type: the classes so far are str, got int 1"):
        _joined(records, labels.assign(**{"class": 1}), learner)
    with pytest.raises(ValueError, match="both have a time"):
        _joined(records, ArrayStream(labels[["class"]], labels.id.to_numpy()), MajorityClass())
    with pytest.raises(ValueError, match="key must be given with labels="):
        prequential(SEA(limit=10), MajorityClass(), key="id")
    with pytest.raises(ValueError, match="at most 256 bytes"):
        words_of(np.array(["x" * 257]), "key")


def test_the_counts_are_in_the_table_in_json_and_in_progress():
    records, labels = _frames(twice=0.1)
    seen = []
    result = _joined(records, labels, MajorityClass(), on_progress=lambda now: seen.append(now.joined))
    assert f"{result.joined['repeated']:,} repeated" in str(result)
    assert type(result).from_json(result.to_json()).joined == result.joined
    assert seen[-1] == result.joined
