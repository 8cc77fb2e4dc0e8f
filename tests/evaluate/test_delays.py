"""Labels that come late: the same as a slow loop with a list of waiting rows."""

import numpy as np
import pytest

from thalweg import ArrayStream, Chunk, MajorityClass
from thalweg.evaluate.metrics import Metrics
from thalweg.evaluate.pending import Pending
from thalweg.evaluate.prequential import prequential
from thalweg.keeping.arrays_file import read_arrays, write_arrays
from tiny_stream import Moving, TinyStream, rows


def late_loop(X, y, learner, due, clock, *, after):
    """Predict row by row; learn a waiting row as soon as the clock has reached the moment its label is due.

    after: look at the clock after a prediction (delays in rows) or before it (delays in time).
    """
    metrics, order, waiting, learned = Metrics(window=50), [], [], 0

    def learn(now):
        nonlocal waiting, learned
        ripe = sorted((r for r in waiting if due[r] <= now), key=lambda r: due[r])
        waiting = [r for r in waiting if not due[r] <= now]
        for r in ripe:
            learner.learn_one(X[r], y[r].item())
            learned += 1

    for t in range(len(y)):
        if not after:
            learn(clock[t])
        given = learner.predict_proba_one(X[t])
        label = y[t].item()
        if label not in order:
            order.append(label)
        metrics.update([order.index(label)], [[given.get(c, 0.0) for c in order]])
        waiting.append(t)
        if after:
            learn(clock[t])
    return metrics, learned, len(waiting)


def agree(result, slow):
    metrics, learned, waiting = slow
    assert result.final == metrics.cumulative() | {"auc": metrics.auc()}
    assert result.recent == metrics.windowed()
    assert result.confusion.tolist() == metrics.confusion.tolist()
    assert (result.labels_used, result.labels_pending) == (learned, waiting)


@pytest.mark.parametrize("delay", [1, 5, 64, 250, 1000])
@pytest.mark.parametrize("chunk", [3, 100, 1000])
def test_delay_in_rows(delay, chunk):
    X, y, _ = rows(400, labels=["a", "b", "c"])
    learner, twin = Moving(), Moving()
    result = prequential(TinyStream(X, y), learner, delay=delay, window=50, every=100, chunk=chunk)
    n = np.arange(400)
    agree(result, late_loop(X, y, twin, n + delay, n, after=True))
    assert result.delay == delay
    if delay < 400:
        assert learner.state()["means"].tobytes() == twin.state()["means"].tobytes()
    else:  # no label ever came, so no class was ever known
        assert result.unpredicted == 1.0


def test_delay_0_is_test_then_train():
    X, y, _ = rows(200)
    n = np.arange(200)
    agree(prequential(TinyStream(X, y), Moving(), window=50), late_loop(X, y, Moving(), n, n, after=True))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("chunk", [3, 1000])
def test_delay_in_time(seed, chunk):
    """Labels overtake one another, come at once, at the same moment, or never."""
    rng = np.random.default_rng(seed)
    X, y, _ = rows(400, labels=["a", "b", "c"], seed=seed)
    t = np.floor(np.cumsum(rng.exponential(1.0, 400)))
    due = t + np.floor(rng.exponential(30.0, 400)) * (rng.random(400) < 0.8)
    due[rng.random(400) < 0.1] = np.nan
    due[rng.random(400) < 0.05] = np.inf
    learner, twin = Moving(), Moving()
    result = prequential(TinyStream(X, y, None, t, due), learner, delay="time", window=50, every=100, chunk=chunk)
    agree(result, late_loop(X, y, twin, due, t, after=False))
    assert learner.state()["means"].shape == twin.state()["means"].shape
    order = [learner.classes_.tolist().index(c) for c in twin.classes_.tolist()]
    assert learner.state()["means"][order].tobytes() == twin.state()["means"].tobytes()


def test_the_clock_does_not_go_back():
    X, y, _ = rows(200)
    t = np.arange(200.0)
    t[::7] -= 20.0
    due = t + 10.0
    result = prequential(TinyStream(X, y, None, t, due), Moving(), delay="time", window=50, chunk=13)
    agree(result, late_loop(X, y, Moving(), due, np.maximum.accumulate(t), after=False))


def test_a_class_whose_label_is_late_is_scored_as_its_own():
    """The learner meets class b before class a; the columns must still be told apart."""
    X = np.array([[0.0], [9.0]] * 30)
    y = np.array(["a", "b"] * 30)
    t = np.arange(60.0)
    due = np.where(y == "a", t + 21.0, t)
    learner = Moving()
    result = prequential(TinyStream(X, y, None, t, due), learner, delay="time", window=20)
    assert learner.classes_.tolist() == ["b", "a"]
    assert result.classes == ["a", "b"]
    assert result.recent["accuracy"] == 1.0
    assert result.confusion[0, 1] > 0
    assert result.confusion[1, 0] == 0


def test_damaged_waiting_rows_are_refused(tmp_path):
    X, y, _ = rows(100)
    options = {"delay": 7, "checkpoint": tmp_path / "run"}
    prequential(TinyStream(X, y), Moving(), limit=50, **options)
    arrays, header = read_arrays(tmp_path / "run")
    arrays = {name: array.copy() for name, array in arrays.items()}
    header = {k: v for k, v in header.items() if "format" not in k and k not in ("library_version", "dtypes")}
    waiting = {name: array for name, array in arrays.items() if name.startswith("pending.")}
    assert waiting["pending.X"].tolist() == X[43:50].tolist()
    damage = [{name: array[:-1]} for name, array in waiting.items()]
    damage += [{name: array.astype(np.float32)} for name, array in waiting.items()]
    damage += [{f"pending.{name}": -waiting[f"pending.{name}"]} for name in ("codes", "w", "rows")]
    damage += [{"pending.due": np.full(7, np.nan)}, {"pending.X": X[43:50, 0].copy()}]
    for bad in damage:
        write_arrays(tmp_path / "run", arrays | bad, header)
        with pytest.raises(ValueError, match="cannot be continued: .*(waiting rows|its table)"):
            prequential(TinyStream(X, y), Moving(), resume=True, **options)
    write_arrays(tmp_path / "run", arrays, header)
    assert prequential(TinyStream(X, y), Moving(), resume=True, **options).labels_pending == 7


class Weighted(ArrayStream):
    """Rows of which the first half have weight 0."""

    def read(self, n):
        done, chunk = self._at, super().read(n)
        return None if chunk is None else Chunk(chunk.X, chunk.y, w=(np.arange(done, done + len(chunk)) >= 5) * 1.0)


@pytest.mark.parametrize("chunk", [1, 2, 5, 10])
def test_rows_of_weight_0_come_first(chunk):
    stream = Weighted(np.zeros((10, 1)), ["a", "b"] * 5)
    assert prequential(stream, MajorityClass(), delay=2, chunk=chunk).labels_used == 3


def test_tensors_that_wait_are_0_where_they_do_not_reach():
    """Tensors may grow and shrink from chunk to chunk for a learner that lets them; nothing is missing in them."""
    pending = Pending(2, evolving=True)
    for shape, expected in ((2, 2), (2, 2)), ((3, 2), (3, 2)), ((2, 3), (3, 3)):
        X = np.ones((2, *shape))
        plan = pending.plan(Chunk(X, np.zeros(2)), np.zeros(2, dtype=np.int64), np.ones(2))
        assert plan.X.shape[1:] == expected
        assert not np.isnan(plan.X).any()
        np.testing.assert_array_equal(plan.X[-2:].sum(axis=(1, 2)), X.sum(axis=(1, 2)))
    assert plan.X[: plan.late].sum() == 2 * 6
