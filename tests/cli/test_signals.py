"""SIGTERM and SIGINT: a checkpoint, one sentence, the exit code that shells expect, soon."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import thalweg
from thalweg import SEA, MajorityClass, NaiveBayes, Trainer, prequential
from thalweg.core.interrupts import Interrupts, Terminated
from thalweg.evaluate.prequential import read_often

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


def started(*words):
    """Start the command; give it when it has said that it is on its way."""
    command = [sys.executable, "-m", "thalweg", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(path, process, seconds=120):
    """Wait for a file."""
    end = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "no checkpoint was written"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")]
)
def test_a_run_that_is_stopped_saves_and_goes_on_to_the_same_bits(tmp_path, number, code, word):
    checkpoint, model = tmp_path / "run.ckpt", tmp_path / "model"
    words = ["run", "naive-bayes", "agrawal(function=2, seed=7)", "--limit", "3000000", "--resume", checkpoint]
    process = started(*words, "--checkpoint-every", "0.2s", "--save", model)
    wait_for(checkpoint, process)
    process.send_signal(number)
    at = time.monotonic()
    _, errors = process.communicate(timeout=60)
    if process.returncode == 0:
        pytest.skip("the run was over before the signal came")
    assert time.monotonic() - at < 5.0
    assert process.returncode == code
    said = re.search(rf"thalweg: {word}; saved after ([\d,]+) rows in", errors)
    assert said, errors
    rows = int(said[1].replace(",", ""))
    assert rows > 0
    learner = NaiveBayes()
    stream = thalweg.Agrawal(function=2, seed=7)
    prequential(stream, learner, limit=rows + 1000, checkpoint=checkpoint, resume=True, name="naive-bayes",
                stream_name="agrawal(function=2, seed=7)")  # fmt: skip
    single = NaiveBayes()
    prequential(thalweg.Agrawal(function=2, seed=7), single, limit=rows + 1000)
    for name, table in single.state().items():
        np.testing.assert_array_equal(learner.state()[name], table)


class Slow(SEA):
    """A stream that sends its own process a signal after a while."""

    signalled, calls = None, 0

    def read(self, n):
        self.calls += 1
        if self.calls == 6:
            os.kill(os.getpid(), self.signalled)
        return super().read(n)


@pytest.mark.parametrize(("number", "kind"), [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)])
def test_in_python_the_signal_is_an_exception(tmp_path, number, kind):
    stream = Slow(seed=1)
    stream.signalled = number
    before = signal.getsignal(number)
    with pytest.raises(kind) as stopped:
        prequential(stream, MajorityClass(), limit=50_000, checkpoint=tmp_path / "run.ckpt")
    assert stopped.value.result.rows == 6_000
    assert "saved after 6,000 rows" in stopped.value.__notes__[0]
    assert signal.getsignal(number) == before


def test_a_signal_while_compiling_gives_the_rows_back(tmp_path):
    class Compiling(MajorityClass):
        def _rehearse(self):
            os.kill(os.getpid(), signal.SIGTERM)

    stream = SEA(seed=1)
    with pytest.raises(Terminated) as stopped:
        prequential(stream, Compiling(), limit=5_000, checkpoint=tmp_path / "run.ckpt")
    assert stopped.value.result.rows == 0
    again, single = MajorityClass(), MajorityClass()
    prequential(stream, again, limit=2_000)
    prequential(SEA(seed=1), single, limit=2_000)
    np.testing.assert_array_equal(again.state()["counts"], single.state()["counts"])


def test_a_second_signal_is_not_held_back():
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.asked is Terminated
        with pytest.raises(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)


def test_handlers_of_ones_own_are_left_alone():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGTERM)
            assert interrupts.asked is None
        assert heard == [1]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_trainer_publishes_what_it_has_learned(tmp_path):
    class Stopped(MajorityClass):
        def _play(self, X, y, w, events, out, known):
            super()._play(X, y, w, events, out, known)
            os.kill(os.getpid(), signal.SIGTERM)

    chunk = SEA(seed=1).read(3_000)
    with Trainer(Stopped(), tmp_path, every=1_000) as trainer:
        with pytest.raises(Terminated):
            trainer.feed(chunk.X, chunk.y)
        assert (trainer.rows, trainer.version) == (1_000, 1)
        trainer.every = 5_000
        with pytest.raises(Terminated):
            trainer.feed(chunk.X[1_000:1_500], chunk.y[1_000:1_500])
        assert (trainer.rows, trainer.version) == (1_500, 2)


@pytest.mark.parametrize("text", ["", "s", "0", "-3", "0s", "1.5", "fast", "infs", "nans", 0, 2.5, None, True])
def test_how_often_must_be_rows_or_seconds(text):
    with pytest.raises((ValueError, TypeError), match="checkpoint_every must"):
        read_often(text)
