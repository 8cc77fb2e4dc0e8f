"""Kill processes with SIGKILL at random moments, start them again, and compare the end with one that was never killed.

    python -m soak.kills --kills 500                  # over run, trainer, save and compare
    python -m soak.kills --kills 40 --only save trainer --seed 3

Work is done in forked processes, so that a start costs milliseconds. After the last start nothing may be lost, doubled
or left behind: the model has the same bits, every row was learned once, and no part of a file remains.
"""

import argparse
import contextlib
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import thalweg
from thalweg import Agrawal, HoeffdingTree, NaiveBayes, Predictor, Trainer, prequential

ROWS = 60_000


def bits(obj):
    """Everything an object knows, to be compared."""
    return {name: (table.dtype, table.shape, table.tobytes()) for name, table in obj.state().items()}


def until_done(work, kills, rng, longest):
    """Run ``work`` in a forked process and kill it, so many times; then let it finish. Give the kills that hit it."""
    hits = 0
    for number in range(kills + 1):
        child = os.fork()
        if not child:
            code = 1
            with contextlib.suppress(BaseException):
                work()
                code = 0
            os._exit(code)
        if number < kills:
            time.sleep(float(rng.random()) * longest)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        hits += os.WIFSIGNALED(status)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise SystemExit(f"a process failed after {number} kills")
    return hits


def run(folder, kills, rng):
    """A prequential run that resumes from its checkpoint; it begins again when it has come to its end."""
    hits = 0
    while hits < kills:
        path, model = folder / f"{hits}.checkpoint", folder / f"{hits}.model"

        def work(path=path, model=model):
            learner = HoeffdingTree()
            prequential(Agrawal(function=3, seed=5), learner, limit=ROWS, checkpoint=path, resume=path.exists(),
                        checkpoint_every=2_000)  # fmt: skip
            thalweg.save(learner, model)

        hits += until_done(work, min(10, kills - hits), rng, 0.08)
        whole = HoeffdingTree()
        prequential(Agrawal(function=3, seed=5), whole, limit=ROWS)
        assert bits(thalweg.load(model)) == bits(whole), "another model"
        left_over(folder)
    return hits


def trainer(folder, kills, rng):
    """A trainer that is fed from where it says it is."""
    chunk = Agrawal(function=3, seed=5).read(ROWS)
    hits = 0
    while hits < kills:
        place = folder / str(hits)
        place.mkdir()

        def work(place=place):
            with Trainer(NaiveBayes(), place, every=1_000) as made:
                while made.rows < ROWS:
                    made.feed(chunk.X[made.rows : made.rows + 700], chunk.y[made.rows : made.rows + 700])

        hits += until_done(work, min(12, kills - hits), rng, 0.15)
        with Predictor(place, poll=None) as predictor:
            assert predictor.rows == ROWS, "rows lost or doubled"
            single = NaiveBayes().partial_fit(chunk.X, chunk.y)
            assert np.array_equal(predictor.model.predict_proba(chunk.X[:500]), single.predict_proba(chunk.X[:500]))
        left_over(place)
    return hits


def save(folder, kills, rng):
    """A model that is saved again and again: the file is always one of those that were written, whole."""
    chunk = Agrawal(function=3, seed=5).read(4_000)
    models = [HoeffdingTree().partial_fit(chunk.X[:n], chunk.y[:n]) for n in (500, 1_500, 4_000)]
    expected, path = [bits(model) for model in models], folder / "model"
    thalweg.save(models[0], path)

    def work():
        for number in range(3_000):
            thalweg.save(models[number % 3], path)

    hits = 0
    while hits < kills:
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                work()
            os._exit(1)
        time.sleep(float(rng.random()) * 0.05)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        hits += 1
        assert bits(thalweg.load(path)) in expected, "a file that nobody wrote"
    thalweg.save(models[0], path)
    left_over(folder)
    return hits


def compare(folder, kills, rng):
    """A grid of runs with worker processes."""
    cells = {"tree": "hoeffding-tree", "bayes": "naive-bayes"}
    streams = ["agrawal(function=2)", "sea"]

    def work(place=folder / "killed"):
        thalweg.compare(cells, on=streams, seeds=2, limit=3_000, jobs=2, folder=place)

    hits = until_done(work, kills, rng, 6.0)
    found = thalweg.compare(cells, on=streams, seeds=2, limit=3_000, jobs=1, folder=folder / "killed")
    single = thalweg.compare(cells, on=streams, seeds=2, limit=3_000, jobs=1, folder=folder / "whole")
    assert len(found.cells) == len(single.cells) == 8
    assert str(found.table()) == str(single.table()), "another table"
    left_over(folder / "killed")
    return hits


def left_over(folder):
    """Refuse parts of files."""
    parts = [path.name for path in Path(folder).rglob("*") if path.name.endswith(".part")]
    assert not parts, f"left behind: {parts}"


WORKS = {"run": run, "trainer": trainer, "save": save, "compare": compare}
SHARES = {"run": 0.35, "trainer": 0.3, "save": 0.33, "compare": 0.02}


def main():
    """Kill, and compare."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--kills", type=int, default=500)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", nargs="*", default=list(WORKS))
    given = options.parse_args()
    rng = np.random.default_rng(given.seed)
    warm = HoeffdingTree(), NaiveBayes()  # compile before forking
    for learner in warm:
        prequential(Agrawal(function=3, seed=5), learner, limit=3_000)
    total = 0
    for name in given.only:
        with tempfile.TemporaryDirectory() as folder:
            kills = max(1, round(given.kills * (SHARES[name] if len(given.only) > 1 else 1.0)))
            hits = WORKS[name](Path(folder), kills, rng)
            print(f"{name}: {hits} kills, nothing lost, doubled or left behind", flush=True)
            total += hits
    print(f"{total} kills")


if __name__ == "__main__":
    sys.exit(main())
