"""Trainer and predictor: versions, restarts, threads, and trainers that are killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from thalweg import SEA, AdaptiveRandomForest, ChunkEnsemble, HoeffdingTree, NaiveBayes, Predictor, Trainer, load
from thalweg.keeping.arrays_file import read_arrays

sys.path.insert(0, str(Path(__file__).parent))
from trainer_process import BATCH, batch, make

ASKED = SEA(seed=99).read(200).X


def expected_answers(kind, versions):
    """What each version must answer, from a learner that learns in one go."""
    learner, _ = make(kind)
    found = {}
    for version in range(1, versions + 1):
        learner.partial_fit(*batch(version - 1))
        found[version] = learner.predict_proba(ASKED)
    return found


def test_versions_on_both_sides(tmp_path):
    chunk = SEA(seed=1).read(5_000)
    with Trainer(ChunkEnsemble(chunk=1_000), tmp_path) as trainer:
        assert trainer.version == 0
        assert trainer.feed(chunk.X[:2_500], chunk.y[:2_500]) == 2
        predictor = Predictor(tmp_path, poll=None)
        assert (predictor.version, predictor.rows, trainer.rows) == (2, 2_000, 2_500)
        assert trainer.feed(chunk.X[2_500:], chunk.y[2_500:]) == 3
        assert predictor.version == 2
        assert predictor.refresh()
        assert not predictor.refresh()
    proba, version = predictor.answer(ASKED)
    assert version == trainer.version == 5
    assert np.array_equal(proba, trainer.learner.predict_proba(ASKED))
    assert np.array_equal(predictor.predict(ASKED), trainer.learner.predict(ASKED))
    assert predictor.predict_one(ASKED[0]) == trainer.learner.predict_one(ASKED[0])
    assert predictor.predict_proba_one(ASKED[0]) == trainer.learner.predict_proba_one(ASKED[0])
    assert predictor.schema == trainer.learner.schema


def test_a_predictor_explains_the_version_that_answers(tmp_path):
    chunk = SEA(seed=1).read(3_000)
    with Trainer(AdaptiveRandomForest(size=2), tmp_path / "forest", every=1_000) as trainer:
        trainer.feed(chunk.X[:1_000], chunk.y[:1_000])
        predictor = Predictor(tmp_path / "forest", poll=None)
        first = predictor.explain_one(ASKED[0])
        trainer.feed(chunk.X[1_000:], chunk.y[1_000:])
        assert predictor.explain_one(ASKED[0]) == first
        predictor.refresh()
        assert predictor.explain_one(ASKED[0]) == trainer.learner.explain_one(ASKED[0])
    with Trainer(NaiveBayes(), tmp_path / "bayes", every=1_000) as trainer:
        trainer.feed(chunk.X, chunk.y)
    with pytest.raises(TypeError, match="a NaiveBayes cannot explain its answers; trees and forests can"):
        Predictor(tmp_path / "bayes", poll=None).explain_one(ASKED[0])


def test_who_asks_at_once_gets_the_newest(tmp_path):
    chunk = SEA(seed=1).read(3_000)
    predictor = Predictor(tmp_path, sync="immediate", wait=None)
    with Trainer(NaiveBayes(), tmp_path, every=1_000) as trainer, predictor:
        with pytest.raises(ValueError, match="no version has been published"):
            predictor.predict(ASKED)
        for k in range(3):
            trainer.feed(chunk.X[1_000 * k : 1_000 * (k + 1)], chunk.y[1_000 * k : 1_000 * (k + 1)])
            proba, version = predictor.answer(ASKED)  # nobody has called refresh
            assert version == k + 1
            assert np.array_equal(proba, trainer.learner.predict_proba(ASKED))
        trainer.feed(chunk.X[:1_000], chunk.y[:1_000])
        assert (predictor.version, predictor.rows) == (4, 4_000)
        path = trainer._shelf.path(5, "predictor")
        trainer.publish()
        path.write_bytes(b"damaged")
        assert predictor.answer(ASKED)[1] == 4  # it goes on with what it has
        assert predictor.trouble
        trainer.publish()
        assert predictor.answer(ASKED)[1] == 6
        assert predictor.trouble is None
    trainer.publish()
    assert predictor.version == 6  # closed: it looks no more
    with pytest.raises(ValueError, match="sync must be one of"):
        Predictor(tmp_path, sync="now")


@pytest.mark.parametrize("given", [{"every": 300}, {"every": 300, "budget": 0.4}, {"drift": "adwin(delta=0.3)"}])
def test_how_rows_are_fed_does_not_matter(given, tmp_path):
    parts = [SEA(function=1, noise=0.0, seed=1).read(1_500), SEA(function=3, noise=0.0, seed=2).read(1_500)]
    X, y = np.concatenate([p.X for p in parts]), np.concatenate([parts[0].y, 1 - parts[1].y])
    ends = []
    for size in (3_000, 170, 1):
        folder = tmp_path / str(size)
        with Trainer(NaiveBayes(), folder, **given) as trainer:
            for i in range(0, 3_000, size):
                trainer.feed(X[i : i + size], y[i : i + size])
            with Predictor(folder, poll=None) as predictor:
                ends.append(
                    (trainer.version, trainer.labelled, predictor.rows, predictor.predict_proba(ASKED).tobytes())
                )
    assert ends[0] == ends[1] == ends[2]
    version, labelled, rows, _ = ends[0]
    if "drift" in given:
        assert 1 <= version <= 5
        assert 1_500 < rows
    else:
        assert (version, rows) == (10, 3_000)
        assert abs(labelled - 3_000 * given.get("budget", 1.0)) < 100


def test_labels_not_asked_for_are_not_looked_at(tmp_path):
    X, y = SEA(seed=1).read(600).X, np.array(["yes", "no"] * 300, dtype=object)
    with Trainer(NaiveBayes(), tmp_path, every=600, budget=0.3, seed=5) as trainer:
        y[~trainer._asked(600)] = None
        trainer.feed(X, y)
        assert 120 < trainer.labelled < 240


@pytest.mark.parametrize("learner", [AdaptiveRandomForest(size=3), HoeffdingTree(), NaiveBayes()], ids=repr)
def test_any_learner_can_be_published(learner, tmp_path):
    chunk = SEA(seed=1).read(1_000)
    with (
        Trainer(learner.copy(), tmp_path, every=500) as trainer,
        Predictor(tmp_path, poll=None, wait=None) as predictor,
    ):
        trainer.feed(chunk.X, chunk.y)
        assert predictor.refresh()
        assert np.array_equal(predictor.predict_proba(ASKED), trainer.learner.predict_proba(ASKED))


@pytest.mark.parametrize("kind", ["bitmap", "forest"])
def test_a_restarted_trainer_continues(kind, tmp_path):
    expected = expected_answers(kind, 6)
    for stop in (1, 2, 3, 6):
        learner, given = make(kind)
        with Trainer(learner, tmp_path, **given) as trainer:
            while trainer.version < stop:
                trainer.feed(*batch(trainer.rows // BATCH))
            trainer.feed(batch(trainer.rows // BATCH)[0][:7], [1] * 7)  # learned, never published
            assert trainer.rows == stop * BATCH + 7
        with Predictor(tmp_path, poll=None) as predictor:
            assert np.array_equal(predictor.predict_proba(ASKED), expected[stop])


def test_a_drift_is_a_reason_to_publish(tmp_path):
    X = np.random.default_rng(1).random((4_000, 2))
    y = (X[:, 0] > 0.5) ^ (np.arange(4_000) >= 2_000)  # all labels turn round
    with Trainer(NaiveBayes(), tmp_path, drift="adwin") as trainer:
        assert trainer.feed(X[:2_000], y[:2_000]) == 0
        assert trainer.feed(X[2_000:], y[2_000:]) >= 1
    with Predictor(tmp_path) as predictor:
        assert predictor.version == trainer.version
        assert 2_000 < predictor.rows <= 4_000
        assert predictor.rows % 100 == 0


def test_a_detector_continues_too(tmp_path):
    chunk = SEA(seed=1).read(1_000)
    for _ in range(2):
        with Trainer(NaiveBayes(), tmp_path, every=500, drift="adwin") as trainer:
            trainer.feed(chunk.X, chunk.y)
    with Trainer(NaiveBayes(), tmp_path / "other", every=500, drift="adwin") as whole:
        whole.feed(np.r_[chunk.X, chunk.X], np.r_[chunk.y, chunk.y])
    a, b = trainer.drift.state(), whole.drift.state()
    assert all(np.array_equal(a[name], b[name]) for name in b)


def test_only_some_versions_are_kept(tmp_path):
    chunk = SEA(seed=1).read(1_000)
    (tmp_path / ".version-0000000007.learner.abcdef.part").write_bytes(b"half")
    (tmp_path / "version-0000000007.predictor").write_bytes(b"never published")
    (tmp_path / "mine.txt").write_text("not the trainer's")
    with Trainer(NaiveBayes(), tmp_path, every=100, keep=3) as trainer:
        trainer.feed(chunk.X, chunk.y)
    names = sorted(p.name for p in tmp_path.iterdir())
    versions = [f"version-{v:010d}.{what}" for v in (8, 9, 10) for what in ("learner", "predictor")]
    assert names == sorted(["current", "lock", "mine.txt", *versions])


def test_a_damaged_version_leaves_the_predictor_serving(tmp_path):
    chunk = SEA(seed=1).read(1_000)
    with Trainer(NaiveBayes(), tmp_path, every=500) as trainer, Predictor(tmp_path, poll=0.01, wait=None) as predictor:
        trainer.feed(chunk.X[:500], chunk.y[:500])
        wait_for(lambda: predictor.version == 1)
        before = predictor.predict_proba(ASKED)
        path = trainer._shelf.path(2, "predictor")
        trainer.learner.partial_fit(chunk.X[500:], chunk.y[500:])
        point = trainer._shelf.point

        def damaged(note):
            data = bytearray(path.read_bytes())
            data[-5] ^= 255
            path.write_bytes(data)
            point(note)

        trainer._shelf.point = damaged
        trainer.publish()
        wait_for(lambda: predictor.trouble is not None)
        assert "checksum" in predictor.trouble
        assert predictor.version == 1
        assert np.array_equal(predictor.predict_proba(ASKED), before)
        trainer._shelf.point = point
        trainer.publish()
        wait_for(lambda: predictor.version == 3)
        assert predictor.trouble is None


def test_bad_input_changes_nothing(tmp_path):
    chunk = SEA(seed=1).read(400)
    with Trainer(HoeffdingTree(), tmp_path, every=100) as trainer:
        trainer.feed(chunk.X[:150], chunk.y[:150])
        before = trainer.learner.state()
        bad = chunk.X[150:].copy().astype(object)
        bad[-1, 0] = "many"
        for X, y in ((bad, chunk.y[150:]), (chunk.X[150:], chunk.y[150:-1]), (chunk.X[150:], [None] * 250)):
            with pytest.raises((ValueError, TypeError)):
                trainer.feed(X, y)
        assert (trainer.version, trainer.rows) == (1, 150)
        assert all(np.array_equal(before[k], v) for k, v in trainer.learner.state().items())


def test_sentences(tmp_path):
    with pytest.raises(FileNotFoundError, match="folder must hold a published version"):
        Predictor(tmp_path)
    with pytest.raises(ValueError, match="every must say"):
        Trainer(NaiveBayes(), tmp_path)
    with pytest.raises(TypeError, match="learner must be"):
        Trainer("arf", tmp_path)
    with pytest.raises(ValueError, match="budget must lie in"):
        Trainer(NaiveBayes(), tmp_path, every=1, budget=0)
    with Trainer(NaiveBayes(), tmp_path, every=10) as trainer:
        with pytest.raises(ValueError, match="nothing to publish"):
            trainer.publish()
        with pytest.raises(ValueError, match="one trainer at a time"):
            Trainer(NaiveBayes(), tmp_path, every=10)
        trainer.feed(ASKED[:10], [0, 1] * 5)
        with (
            Predictor(tmp_path / "none", wait=None, poll=None) as predictor,
            pytest.raises(ValueError, match="no version"),
        ):
            predictor.predict(ASKED)
    with Trainer(ChunkEnsemble(size=3, chunk=10), tmp_path / "chunks") as trainer:
        trainer.feed(ASKED, [0, 1] * 100)
    with pytest.raises(ValueError, match="learner must be as the one in the folder"):
        Trainer(ChunkEnsemble(size=4, chunk=10), tmp_path / "chunks")
    Trainer(ChunkEnsemble(size=3, chunk=10), tmp_path / "chunks").close()  # the refused one has let go of it


def wait_for(done, seconds=20.0):
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.005)


def test_swaps_under_load(tmp_path):
    """Threads that ask while versions come: every answer is of one version, and the number says which."""
    versions = 25
    expected = expected_answers("e-tree", versions)
    learner, given = make("e-tree")
    wrong, seen, asked = [], set(), [0]
    with Trainer(learner, tmp_path, **given) as trainer:
        trainer.feed(*batch(0))
        with Predictor(tmp_path, poll=0.002) as predictor:
            stop = threading.Event()

            def ask():
                while not stop.is_set():
                    proba, version = predictor.answer(ASKED)
                    asked[0] += 1
                    seen.add(version)
                    if not np.array_equal(proba, expected[version]):
                        wrong.append(version)

            threads = [threading.Thread(target=ask) for _ in range(2)]
            for thread in threads:
                thread.start()
            for k in range(1, versions):
                trainer.feed(*batch(k))
                time.sleep(0.01)
            wait_for(lambda: predictor.version == versions and versions in seen)
            stop.set()
            for thread in threads:
                thread.join()
    assert not wrong
    assert len(seen) > 5
    assert asked[0] > 50


@pytest.mark.parametrize("kind", ["bitmap", "forest"])
def test_a_killed_trainer_harms_nothing(kind, tmp_path):
    """kill -9 at random moments: the predictor goes on, whatever is published is whole, the next trainer goes on."""
    if os.name != "posix":
        pytest.skip("it needs kill -9")
    rng = np.random.default_rng(0)
    script = Path(__file__).with_name("trainer_process.py")
    rounds, versions, reached = 4, 10_000, 0
    with Predictor(tmp_path, poll=0.002, wait=None) as predictor:
        for _ in range(rounds):
            command = [sys.executable, str(script), str(tmp_path), kind, str(versions)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                _, version, rows = process.stdout.readline().split()
                assert (int(version), int(rows)) == (reached, reached * BATCH)
                process.stdout.readline()
                time.sleep(float(rng.random()) * 0.15)
                process.send_signal(signal.SIGKILL)
                process.wait()
            reached = trainer_note(tmp_path)
            wait_for(lambda newest=reached: predictor.version == newest)
            expected = expected_answers(kind, reached)[reached]
            assert np.array_equal(predictor.predict_proba(ASKED), expected)
            for path in tmp_path.glob("version-*"):
                read_arrays(path)  # refuses what is damaged
            assert np.array_equal(load(tmp_path / f"version-{reached:010d}.learner").predict_proba(ASKED), expected)
        assert predictor.trouble is None
    assert reached >= rounds


def trainer_note(folder):
    _, header = read_arrays(folder / "current")
    return header["version"]
