"""``thalweg replay``: a file or a generator played as a live stream."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from thalweg import SEA, CSVStream
from thalweg.streams.replaying import Replay


def _thalweg(*words, cwd, **more):
    return subprocess.run([sys.executable, "-m", "thalweg", *words], cwd=cwd, capture_output=True, text=True, **more)


def _lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _file(folder):
    times = np.array([0, 0, 5, 4, 9, 30])
    frame = pd.DataFrame(
        {"order": [f"o{i}" for i in range(6)], "x": np.arange(6) / 2, "seen": times, "buy": list("ynynyn")}
    )
    frame.to_csv(folder / "orders.csv", index=False)


def test_records_and_labels_come_in_the_order_of_time(tmp_path):
    _file(tmp_path)
    stream = CSVStream(tmp_path / "orders.csv", target="buy", time="seen")
    replay = Replay(stream, key="order", target="buy", clock="seen", delay=5.0)
    order = [(place, json.loads(m.value)) for place, messages in replay.due() for m in messages]
    assert [(p[0], r["order"], r["seen"]) for p, r in order] == [
        ("r", "o0", 0), ("r", "o1", 0), ("r", "o2", 5), ("r", "o3", 5), ("l", "o0", 5), ("l", "o1", 5), ("r", "o4", 9),
        ("l", "o2", 10), ("l", "o3", 10), ("l", "o4", 14), ("r", "o5", 30), ("l", "o5", 35),
    ]  # fmt: skip
    assert order[0][1] == {"order": "o0", "seen": 0.0, "x": 0.0}
    assert order[4][1] == {"order": "o0", "buy": "y", "seen": 5.0}


@pytest.mark.parametrize("format", ["json", "csv"])
def test_what_is_played_can_be_joined_again(tmp_path, format):
    end = {"json": "jsonl", "csv": "csv"}[format]
    done = _thalweg(
        "replay", "sea", "--seed", "3", "--to", f"r.{end}", "--labels-to", f"l.{end}", "--label-delay", "100s",
        "--limit", "3000", "--format", format, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "played 3,000 records to r" in done.stdout
    words = ["run", "hoeffding-tree", f"r.{end}", "--labels", f"l.{end}", "--key", "id", "--time", "time"]
    done = _thalweg(*words, "--wait", "1h", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    from thalweg import HoeffdingTree, prequential

    result = json.loads(done.stdout)
    chunk = SEA(seed=3).take(3000)
    same = prequential((chunk.X, chunk.y), HoeffdingTree(), delay=100)
    assert result["joined"]["matched"] == 3000
    assert result["accuracy"] == same.accuracy


def test_arrow_messages_hold_several_records():
    import pyarrow as pa

    replay = Replay(SEA(seed=1, limit=50), key="id", delay=1e9, form="arrow")
    (place, (message,)), (other, (label,)) = replay.due()
    assert (place, other) == ("records", "labels")
    assert pa.ipc.open_stream(message.value).read_all().column_names == ["id", "time", "x0", "x1", "x2"]
    assert pa.ipc.open_stream(label.value).read_all()["class"].to_pylist() == SEA(seed=1).take(50).y.tolist()


def test_a_rate_is_kept_and_labels_are_later(tmp_path):
    replay = Replay(SEA(seed=1, limit=60), key="id", delay=0.1, rate=200.0)
    begun, when = time.monotonic(), {"records": [], "labels": []}
    for place, messages in replay.due():
        when[place] += [time.monotonic() - begun] * len(messages)
        time.sleep(0.001)
    records, labels = np.array(when["records"]), np.array(when["labels"])
    assert len(records) == len(labels) == 60
    assert (records >= np.arange(60) / 200).all()
    assert (labels >= np.arange(60) / 200 + 0.1).all()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_cleanly(tmp_path, number):
    words = [sys.executable, "-m", "thalweg", "replay", "sea", "--to", "r.jsonl", "--labels-to", "l.jsonl"]
    more = {"cwd": tmp_path, "stderr": subprocess.PIPE, "text": True, "env": os.environ}
    process = subprocess.Popen([*words, "--label-delay", "1h", "--rate", "300"], **more)
    until = time.monotonic() + 60
    path = tmp_path / "r.jsonl"
    while not (path.exists() and path.stat().st_size) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == (130 if number == signal.SIGINT else 143)
    n = len(_lines(path))
    assert f"played {n:,} records to r.jsonl and 0 labels to l.jsonl" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--label-delay", "5m"], "--label-delay needs --labels-to"),
        (["--labels-to", "l.jsonl", "--label-delay", "soon"], "label-delay must be a length of time such as 30s"),
        (["--speed", "fast"], "--speed must be a positive number such as 60x, got 'fast'"),
        (["--speed", "60x"], "speed must be given for a stream with times"),
        (["--rate", "0"], "rate must"),
        (["--format", "xml"], "format must be one of"),
        (["--format", "arrow"], "--format arrow is for messages of a broker"),
        (["--key", "class"], "the label must be called by a name that no other column has"),
    ],
)
def test_mistakes_get_one_line(tmp_path, words, sentence):
    done = _thalweg("replay", "sea", "--to", "r.jsonl", "--limit", "10", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") <= 2
    wrong = _thalweg("replay", "sea", "--to", "amqp://here/there", cwd=tmp_path)
    assert "must be an address such as redis://" in wrong.stderr
