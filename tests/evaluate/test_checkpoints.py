"""A run that was stopped goes on as if it had not been."""

import signal
import threading
import time

import numpy as np
import pytest
from test_prequential import same

from thalweg import NaiveBayes, register
from thalweg.evaluate.checkpoint import _lasting
from thalweg.evaluate.prequential import prequential
from thalweg.keeping.arrays_file import read_arrays, write_arrays
from thalweg.registry import METRICS
from tiny_stream import Moving, TinyStream, rows

N = 430


def stream(labels=("a", "b", "c")):
    X, y, w = rows(N, labels=list(labels), weights=True)
    t = np.arange(float(N))
    return TinyStream(X, y, w, t, t + np.random.default_rng(3).integers(0, 60, N), drifts=(215,))


@pytest.fixture(autouse=True)
def ctrl_c():
    """Whatever runs the tests may have its own idea of Ctrl-C; here it is Python's."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


class StopAt:
    """Presses Ctrl-C once so many rows are done."""

    def __init__(self, rows, how=signal.raise_signal):
        self.rows, self.how = rows, how

    def __call__(self, progress):
        if progress.stage == "running" and progress.rows >= self.rows:
            self.how(signal.SIGINT)


def refuse(_signal):
    raise KeyboardInterrupt


@pytest.mark.parametrize("delay", [0, 40, "time"])
@pytest.mark.parametrize("at", [1, 33, 100, 214, 429])
@pytest.mark.parametrize("how", [signal.raise_signal, refuse])
def test_stopped_and_continued_is_the_same_as_never_stopped(tmp_path, delay, at, how):
    path = tmp_path / "run.safetensors"
    options = {"delay": delay, "every": 100, "window": 70}
    straight = prequential(stream(), Moving(), **options)
    with pytest.raises(KeyboardInterrupt) as stop:
        prequential(stream(), Moving(), **options, chunk=11, checkpoint=path, on_progress=StopAt(at, how))
    first = stop.value.result
    assert at <= first.rows < at + 11
    assert first.stopped == "interrupt"
    assert "resume=True" in stop.value.__notes__[0]
    resumed = prequential(stream(), Moving(), **options, checkpoint=path, resume=True)
    assert same(resumed, straight)
    assert resumed.seconds >= first.seconds
    assert (np.diff(resumed.curve["seconds"]) > 0).all()


class Interrupting(TinyStream):
    """Ctrl-C while rows are being read."""

    armed = True

    def read(self, n):
        if self.armed and self.at >= 200:
            signal.raise_signal(signal.SIGINT)
        return super().read(n)


def test_ctrl_c_waits_for_the_rows_in_hand(tmp_path):
    X, y, _ = rows(N)
    path = tmp_path / "run.safetensors"
    with pytest.raises(KeyboardInterrupt) as stop:
        prequential(Interrupting(X, y), Moving(), chunk=50, every=100, checkpoint=path)
    assert stop.value.result.rows == 250
    assert read_arrays(path)[0]["stream.at"][0] == 250
    calm = Interrupting(X, y)
    calm.armed = False
    resumed = prequential(calm, Moving(), every=100, checkpoint=path, resume=True)
    calm.at = 0
    assert same(resumed, prequential(calm, Moving(), every=100))


class Impatient(TinyStream):
    """Ctrl-C twice in the same read."""

    def read(self, n):
        chunk = super().read(n)
        if self.at > 100:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return chunk


def test_a_second_ctrl_c_does_not_wait(tmp_path):
    X, y, _ = rows(N)
    path = tmp_path / "run.safetensors"
    with pytest.raises(KeyboardInterrupt) as stop:
        prequential(Impatient(X, y), Moving(), chunk=50, every=100, checkpoint=path)
    assert stop.value.result.rows == 100
    assert not path.exists()  # the rows in hand are lost, so the state is not one to go on from
    assert not hasattr(stop.value, "__notes__")


def test_ctrl_c_without_a_checkpoint_still_gives_the_result():
    with pytest.raises(KeyboardInterrupt) as stop:
        prequential(stream(), Moving(), chunk=50, on_progress=StopAt(100))
    assert stop.value.result.rows == 100


def test_other_threads_and_other_handlers_are_left_alone():
    results = []
    thread = threading.Thread(target=lambda: results.append(prequential(stream(), Moving())))
    thread.start()
    thread.join()
    assert results[0].rows == N
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    result = prequential(stream(), Moving(), chunk=100, on_progress=StopAt(400))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert result.rows == N
    assert heard


@pytest.mark.parametrize("delay", [0, 25])
def test_a_finished_run_can_be_made_longer(tmp_path, delay):
    path = tmp_path / "run.safetensors"
    options = {"delay": delay, "every": 100}
    short = prequential(stream(), Moving(), limit=150, checkpoint=path, **options)
    assert short.curve["rows"].tolist() == [100, 150]
    longer = prequential(stream(), Moving(), limit=333, checkpoint=path, resume=True, **options)
    assert longer.curve["rows"].tolist() == [100, 200, 300, 333]
    assert same(longer, prequential(stream(), Moving(), limit=333, **options))
    again = prequential(stream(), Moving(), limit=333, checkpoint=path, resume=True, **options)
    assert same(longer, again)


def test_checkpoints_are_written_on_the_way(tmp_path):
    path = tmp_path / "run.safetensors"
    X, y, _ = rows(N)
    X[321] = np.inf
    options = {"chunk": 25, "every": 100, "checkpoint": path}
    with pytest.raises(ValueError, match="finite"):
        prequential(TinyStream(X, y), Moving(), checkpoint_every=60, **options)
    assert read_arrays(path)[0]["run.counts"][0] == 300  # not 320: the rows before the bad one were never learned
    X[321] = 0.0
    resumed = prequential(TinyStream(X, y), Moving(), resume=True, **options)
    assert same(resumed, prequential(TinyStream(X, y), Moving(), every=100))


def test_a_budget_of_seconds_leaves_a_checkpoint(tmp_path):
    path = tmp_path / "run.safetensors"
    X, y, _ = rows(20_000)
    part = prequential(TinyStream(X, y), Moving(), seconds=1e-4, chunk=50, checkpoint=path)
    assert part.stopped == "seconds"
    whole = prequential(TinyStream(X, y), Moving(), limit=2000, checkpoint=path, resume=True)
    assert same(whole, prequential(TinyStream(X, y), Moving(), limit=2000))


@pytest.mark.parametrize(
    ("learner", "options", "words"),
    [
        (Moving(step=0.5), {}, "params=.*0.3.*cannot continue with .*0.5"),
        (Moving(), {"every": 50}, "every=100"),
        (Moving(), {"window": 50}, "window=1000"),
        (Moving(), {"delay": 3}, "delay=0"),
        (Moving(), {"metrics": ("kappa",)}, "metrics="),
        (Moving(), {"compat": "moa"}, "compat=None"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, learner, options, words):
    path = tmp_path / "run.safetensors"
    prequential(stream(), Moving(), limit=200, every=100, checkpoint=path)
    before = learner.state()
    with pytest.raises(ValueError, match=words):
        prequential(stream(), learner, **{"every": 100, "checkpoint": path, "resume": True} | options)
    assert list(learner.state()) == list(before)


def test_a_checkpoint_keeps_the_metrics_it_was_made_with(tmp_path):
    """What a package registers later changes the default, not a run that is under way."""
    path, options = tmp_path / "run.safetensors", {"every": 100, "window": 70}
    prequential(stream(), Moving(), **options, limit=200, checkpoint=path)
    straight = prequential(stream(), Moving(), **options)
    register("metric", "wrong", lambda counts: 1.0 - counts.right / counts.weight)
    try:
        resumed = prequential(stream(), Moving(), **options, checkpoint=path, resume=True)
        assert same(resumed, straight)
        assert "wrong" not in resumed.final
        prequential(stream(), Moving(), **options, limit=200, checkpoint=path)
    finally:
        METRICS.discard("wrong")
    with pytest.raises(ValueError, match="made with the metrics wrong, which are not known here"):
        prequential(stream(), Moving(), **options, checkpoint=path, resume=True)


def test_what_could_not_be_written_later_is_refused_at_once(tmp_path):
    learner = Moving()
    with pytest.raises(FileNotFoundError, match="in a folder that exists"):
        prequential(stream(), learner, checkpoint=tmp_path / "nowhere" / "run.safetensors")

    class Forgetful:
        schema, read = stream().schema, stream().read

    with pytest.raises(TypeError, match="state and restore"):
        prequential(Forgetful(), learner, checkpoint=tmp_path / "run.safetensors")
    assert learner.schema is None


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    with pytest.raises(FileNotFoundError, match="does not exist"):
        prequential(stream(), Moving(), checkpoint=path, resume=True)
    write_arrays(path, {"a": np.zeros(3)}, {"kind": "something else"})
    with pytest.raises(ValueError, match="a file that prequential wrote"):
        prequential(stream(), Moving(), checkpoint=path, resume=True)
    path.write_bytes(b"no arrays at all")
    with pytest.raises(ValueError, match="not a file of arrays"):
        prequential(stream(), Moving(), checkpoint=path, resume=True)


@pytest.mark.parametrize("joined", [False, True])
def test_what_is_done_about_bad_rows_and_gaps_may_change_when_a_run_goes_on(tmp_path, joined):
    file, path = tmp_path / "rows.csv", tmp_path / "run.ckpt"
    file.write_text("a,id,class\n" + "".join(f"{i % 7},{i},{'no' if i % 2 else 'yes'}\n" for i in range(300)))
    labels = tmp_path / "labels.csv"
    labels.write_text("id,class\n" + "".join(f"{i},{'no' if i % 2 else 'yes'}\n" for i in range(300)))
    more = {"labels": labels, "key": "id", "drop": ["class"]} if joined else {"target": "class", "drop": ["id"]}
    prequential(file, NaiveBayes(), limit=100, checkpoint=path, **more)
    kept = {"on_bad_row": "quarantine", "quarantine": tmp_path / "bad.csv"}
    assert prequential(file, NaiveBayes(), checkpoint=path, resume=True, **more, **kept).rows == 300


def test_options_in_an_address_may_change_too():
    params = {
        "address": "redis://me:pw@h/x?format=csv&on_gap=stop",
        "on_gap": "stop",
        "labels_address": "nats://h/x?follow",
    }
    expected = {"address": "redis://me@h/x?format=csv", "labels_address": "nats://h/x"}
    assert _lasting(params) == expected


def test_a_checkpoint_is_written_while_nothing_comes(tmp_path):
    path = tmp_path / "run.ckpt"

    class Pausing(TinyStream):
        """Has nothing after its first 50 rows until a checkpoint of them is there, or for some seconds."""

        def read(self, n):
            if self.at == 50 and not path.exists() and time.monotonic() < end:
                return self._all[:0]
            return super().read(min(n, 50))

    X, y, _ = rows(100)
    end = time.monotonic() + 15.0
    prequential(Pausing(X, y), Moving(), checkpoint=path, checkpoint_every="2s")
    assert time.monotonic() < end
