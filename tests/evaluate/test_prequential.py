"""The run itself: the same as a slow loop, at any chunk size, with any labels; and what it says of errors."""

import math
import time

import numpy as np
import pytest

from thalweg import (
    SEA,
    Agrawal,
    ArrayStream,
    DriftStream,
    HoeffdingAdaptiveTree,
    Imbalance,
    LabelNoise,
    RecurringDrift,
)  # fmt: skip
from thalweg.core.chunk import Chunk
from thalweg.core.schema import Feature, Schema
from thalweg.evaluate.metrics import METRICS, Metrics
from thalweg.evaluate.prequential import Progress, prequential
from thalweg.evaluate.result import Result
from thalweg.learners.baselines.majority import MajorityClass
from thalweg.learners.baselines.no_change import NoChange
from thalweg.registry.typed import asking
from tiny_stream import Moving, TinyStream, rows

TIMES = ("seconds", "cpu_seconds", "rows_per_second", "ram_hours")


def timeless(result: Result) -> dict:
    """Everything a result says but how long it took."""
    text = {k: v for k, v in result._plain().items() if k not in TIMES}
    text["curve"] = {k: v for k, v in text["curve"].items() if k not in TIMES}
    return text


def same(a: Result, b: Result) -> bool:
    return repr(timeless(a)) == repr(timeless(b))  # repr: NaN is NaN


def slow_loop(X, y, learner, **options) -> Metrics:
    """Predict and learn row by row, and score the log of predictions afterwards."""
    metrics, order = Metrics(**options), []
    for x, label in zip(X, y.tolist(), strict=True):
        given = learner.predict_proba_one(x)
        if label not in order:
            order.append(label)
        proba = [given.get(c, 0.0) for c in order if c in given]
        metrics.update([order.index(label)], [proba])
        learner.learn_one(x, label)
    return metrics


@pytest.mark.parametrize("labels", [None, ["a", "b", "c"], [True, False, True], [1.5, 2.5, -1.0], [b"x", b"y", b"z"]])
def test_equals_a_slow_loop(labels):
    X, y, _ = rows(300, labels=labels)
    result = prequential(TinyStream(X, y), Moving(), every=100, window=80)
    slow = slow_loop(X, y, Moving(), window=80)
    assert result.final == slow.cumulative() | {"auc": slow.auc()}
    assert result.recent == slow.windowed()
    assert result.confusion.tolist() == slow.confusion.tolist()
    assert result.classes == [repr(v) if isinstance(v, bytes) else v for v in dict.fromkeys(y.tolist())]
    assert 0.5 < result.accuracy < 1.0
    assert result.curve["rows"].tolist() == [100, 200, 300]
    assert result.curve["accuracy"][-1] == result.accuracy
    assert result.curve["window_kappa_t"][-1] == result.recent["kappa_t"]
    assert result.labels_used == 300


def test_a_label_of_any_hashable_type_is_a_class():
    X, y, _ = rows(120)
    pairs = np.empty(len(y), dtype=object)
    pairs[:] = [("class", int(c)) for c in y]
    plain, paired = (prequential(TinyStream(X, labels), Moving(), every=50) for labels in (y, pairs))
    assert paired.final == plain.final
    assert paired.classes == [["class", 0], ["class", 1], ["class", 2]]


@pytest.mark.parametrize("delay", [0, 30, "time"])
@pytest.mark.parametrize("weights", [False, True])
def test_chunk_size_changes_nothing(delay, weights):
    X, y, w = rows(430, labels=["a", "b", "c"], weights=weights)
    t = np.arange(430.0)
    stream = (X, y, w, t, t + np.random.default_rng(3).integers(0, 60, 430))
    results = [
        prequential(TinyStream(*stream), Moving(), every=100, window=70, delay=delay, chunk=chunk)
        for chunk in (1, 7, 64, 1000)
    ]
    assert results[0].curve["rows"].tolist() == [100, 200, 300, 400, 430]
    for other in results[1:]:
        assert same(results[0], other)


def test_rows_of_weight_0_are_neither_learned_nor_scored():
    X, y, w = rows(200, weights=True)
    assert (w == 0).any()
    result = prequential(TinyStream(X, y, w), Moving(), every=50)
    learner, metrics = Moving(), Metrics()
    for x, label, weight in zip(X, y.tolist(), w.tolist(), strict=True):
        if weight > 0:
            proba = list(learner.predict_proba_one(x).values())
            metrics.update([label], [proba], [weight])
            learner.learn_one(x, label, weight)
    assert result.final["log_loss"] == metrics.cumulative()["log_loss"]
    assert result.rows == 200
    assert result.labels_used == np.count_nonzero(w)


def test_a_learner_that_has_learned_before_keeps_its_columns():
    X, y, _ = rows(300, labels=["a", "b", "c"])
    learner = Moving().partial_fit(X[::-1][:50], y[::-1][:50])
    before = learner.classes_.tolist()
    assert before != list(dict.fromkeys(y.tolist()))[: len(before)]
    result = prequential(TinyStream(X, y), learner.copy(), every=100)
    proba = learner.test_then_train(X, y)
    assert result.classes == learner.classes_.tolist()
    assert result.accuracy == np.mean(learner.classes_[proba.argmax(axis=1)] == y)


def test_baselines_have_no_kappa_against_themselves():
    X, y, _ = rows(1000, seed=4)
    no_change = prequential(TinyStream(X, y), NoChange())
    majority = prequential(TinyStream(X, y), MajorityClass())
    assert no_change.final["kappa_t"] == pytest.approx(0.0, abs=1e-12)
    # the rule behind kappa_m may name class 0 before any label; the learner may not
    assert majority.final["kappa_m"] == pytest.approx(0.0, abs=0.003)
    assert (no_change.learner, majority.stream) == ("NoChange", "TinyStream")


@pytest.mark.parametrize(
    "make",
    [
        lambda limit=None: SEA(limit=limit),
        lambda limit=None: DriftStream(SEA(), SEA(function=2), 100, limit=limit),
        lambda limit=None: RecurringDrift([SEA(), LabelNoise(SEA(function=2))], 100, limit=limit),
        lambda limit=None: LabelNoise(DriftStream(SEA(), SEA(function=2), 100), limit=limit),
        lambda limit=None: Imbalance(SEA(), (1.0, 0.5), limit=limit),
    ],
)
def test_a_stream_that_never_ends_needs_an_end(make):
    assert make().endless
    assert not make(100).endless
    with pytest.raises(
        ValueError, match="limit or seconds must be given for a stream that never ends, got neither for"
    ):
        prequential(make(), MajorityClass())
    assert prequential(make(), MajorityClass(), limit=50).stopped == "limit"
    assert prequential(make(), MajorityClass(), seconds=1e-9).stopped == "seconds"
    assert prequential(make(100), MajorityClass()).stopped == "end"


def test_a_stream_that_does_not_say_whether_it_ends_is_read_to_its_end():
    X, y, _ = rows(100)
    assert not hasattr(TinyStream(X, y), "endless")
    assert prequential(TinyStream(X, y), Moving()).stopped == "end"
    assert not ArrayStream(X, y).endless
    assert not DriftStream(SEA(limit=10), SEA(), 5).endless


def test_limit_every_and_the_last_report():
    X, y, _ = rows(100)
    result = prequential(TinyStream(X, y), Moving(), limit=55, every=20, window=10)
    assert (result.rows, result.stopped) == (55, "limit")
    assert result.curve["rows"].tolist() == [20, 40, 55]
    assert prequential(TinyStream(X, y), Moving(), limit=0).rows == 0
    whole = prequential(TinyStream(X, y), Moving(), limit=1000)
    assert (whole.rows, whole.stopped) == (100, "end")


def test_metrics_may_be_chosen():
    X, y, _ = rows(50)
    result = prequential(TinyStream(X, y), Moving(), metrics="g_mean")
    assert list(result.final) == ["accuracy", "kappa", "g_mean"]
    assert set(result.curve) == {
        *("rows", "accuracy", "kappa", "g_mean", "window_accuracy", "window_kappa", "window_g_mean"),
        *("seconds", "cpu_seconds", "state_bytes", "labels_used"),
    }


def test_an_empty_stream_gives_an_empty_result():
    X, y, _ = rows(10)
    result = prequential(TinyStream(X[:0], y[:0]), Moving())
    assert (result.rows, result.stopped, result.seconds) == (0, "end", 0.0)
    assert set(result.final) == set(METRICS)
    assert all(math.isnan(v) for v in result.final.values())
    assert all(len(column) == 0 for column in result.curve.values())
    assert "0 rows" in repr(result)


class Live(TinyStream):
    """Has nothing to give every other time."""

    empty = False

    def read(self, n):
        self.empty = not self.empty
        return self._all[:0] if self.empty else super().read(min(n, 9))


def test_a_stream_may_have_nothing_yet():
    X, y, _ = rows(60)
    assert prequential(Live(X, y), Moving()).final == prequential(TinyStream(X, y), Moving()).final


def test_budget_of_seconds():
    X, y, _ = rows(100_000)
    start = time.perf_counter()
    result = prequential(TinyStream(X, y), Moving(), seconds=0.2, chunk=50)
    assert result.stopped == "seconds"
    assert 50 <= result.rows < 100_000
    assert time.perf_counter() - start < 5.0
    assert 0.0 < result.seconds <= 0.5


class Sleepy(TinyStream):
    """Takes its time."""

    def read(self, n):
        time.sleep(0.05)
        return super().read(n)


def test_only_the_learner_is_timed():
    X, y, _ = rows(100)
    result = prequential(Sleepy(X, y), NoChange(), chunk=10, every=10)
    assert 0.0 < result.seconds < 0.1
    assert 0.0 <= result.cpu_seconds < 0.1
    assert result.rows_per_second == pytest.approx(100 / result.seconds)
    assert (np.diff(result.curve["seconds"]) > 0).all()
    spans = np.diff(result.curve["cpu_seconds"], prepend=0.0)
    ram = (result.curve["state_bytes"] / 2**30 * spans / 3600).sum()
    assert result.ram_hours == pytest.approx(ram, rel=1e-9)
    assert result.peak_bytes == result.curve["state_bytes"].max()


def test_warming_up_leaves_the_learner_alone():
    X, y, _ = rows(50)
    learner = Moving()
    prequential(TinyStream(X, y), learner)
    assert learner.state()["means"].tolist() == Moving().partial_fit(X, y).state()["means"].tolist()


def test_progress_is_told():
    X, y, _ = rows(90)
    told: list[Progress] = []
    prequential(TinyStream(X, y), Moving(), chunk=40, every=40, limit=85, on_progress=told.append)
    assert [(p.stage, p.rows, p.total) for p in told] == [
        ("compiling", 0, 85),
        ("running", 40, 85),
        ("running", 80, 85),
        ("running", 85, 85),
    ]
    assert told[-1].accuracy > 0.3
    assert told[-1].state_bytes > 0


class WithDrifts(Moving.__mro__[1]):  # a learner of its own: Moving is final
    """Says where it saw changes."""

    _start, _play, _tables, _adopt = Moving._start, Moving._play, Moving._tables, Moving._adopt
    step = 0.3
    drifts = (33, 60)


def test_drifts_are_noted():
    X, y, _ = rows(90)
    result = prequential(TinyStream(X, y, drifts=(30, 200)), WithDrifts())
    assert (result.drifts, result.detected) == ([30], [33, 60])


# -- what the stream knows about its columns ------------------------------------------------------------------------


class Nominal(TinyStream):
    """A column of words, whose values are known only as they appear."""

    def __init__(self, n):
        self.codes = np.minimum(np.arange(n) // 20, 4).astype(float)
        super().__init__(self.codes.reshape(-1, 1), (self.codes > 1).astype(int))
        self.schema = Schema((Feature("word", values=("v0",), open=True),))

    def read(self, n):
        chunk = super().read(n)
        if chunk is not None:
            values = tuple(f"v{i}" for i in range(int(self.codes[: self.at].max()) + 1))
            self.schema = Schema((Feature("word", values=values, open=True),))
        return chunk


def test_new_values_of_a_nominal_feature_reach_the_learner():
    learner = Moving()
    prequential(Nominal(100), learner, chunk=10)
    assert learner.schema is not None
    assert learner.schema.features[0].values == ("v0", "v1", "v2", "v3", "v4")


def nominal_rows(values):
    schema = Schema((Feature("word", values=values, open=True),))
    return TinyStream(np.zeros((5, 1)), np.zeros(5, dtype=int), schema=schema)


def test_a_learner_that_knows_more_values_keeps_them():
    learner = Moving().declare(Schema((Feature("word", values=("a", "b", "c")),)))
    prequential(nominal_rows(("a", "b")), learner)
    assert learner.schema is not None
    assert learner.schema.features[0].values == ("a", "b", "c")


@pytest.mark.parametrize(
    ("values", "words"), [(("b", "a"), "another order"), (None, "numeric in the stream, but nominal in the learner")]
)
def test_codes_that_mean_something_else_to_the_learner_are_refused(values, words):
    learner = Moving().declare(Schema((Feature("word", values=("a", "b", "c")),)))
    with pytest.raises(ValueError, match=words):
        prequential(nominal_rows(values), learner)


def test_declared_classes_fix_the_columns_and_others_are_refused():
    X, y, _ = rows(60, labels=["a", "b", "c"])
    schema = Schema.numeric(2, classes=("c", "b", "a"))
    result = prequential(TinyStream(X, y, schema=schema), Moving(), every=20)
    assert result.classes == ["c", "b", "a"]
    assert result.confusion.shape == (3, 3)
    assert result.unpredicted == 0.0
    y[45] = "d"
    with pytest.raises(ValueError, match="declared classes") as caught:
        prequential(TinyStream(X, y, schema=schema), Moving(), chunk=10, every=20)
    assert caught.value.result.rows == 40


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_an_error_keeps_what_was_found_and_names_the_rows():
    X, y, _ = rows(60)
    X[33, 1] = np.inf
    with pytest.raises(ValueError, match="finite") as caught:
        prequential(TinyStream(X, y), Moving(), chunk=8, every=20)
    result = caught.value.result
    assert (result.rows, result.stopped) == (28, "error")
    assert "rows 28 to 35" in caught.value.__notes__[0]
    assert result.final == prequential(TinyStream(X, y), Moving(), limit=28).final


def test_an_error_while_reading_says_how_far_it_came():
    class Torn(TinyStream):
        def read(self, n):
            if self.at >= 40:
                raise OSError("the file is torn")
            return super().read(n)

    X, y, _ = rows(60)
    with pytest.raises(OSError, match="torn") as caught:
        prequential(Torn(X, y), Moving(), chunk=20)
    assert caught.value.__notes__ == ["Moving on Torn: after 40 rows"]
    assert caught.value.result.rows == 40


class Greedy(TinyStream):
    """Gives more than it was asked for."""

    def read(self, n):
        return super().read(n + 1)


class Wrong(WithDrifts):
    """Gives probabilities that are none."""

    def test_then_train(self, X, y, sample_weight=None):
        out = super().test_then_train(X, y, sample_weight)
        return out[:, :1] if self.narrow else out * np.nan

    narrow = False


class Narrow(Wrong):
    narrow = True


@pytest.mark.parametrize(
    ("learner", "stream", "options", "error", "words"),
    [
        (Moving, TinyStream, {"every": 0}, ValueError, "every must lie in"),
        (Moving, TinyStream, {"window": 0}, ValueError, "window must lie in"),
        (Moving, TinyStream, {"window": 1.5}, TypeError, "window must be a whole number"),
        (Moving, TinyStream, {"limit": -1}, ValueError, "limit must lie in"),
        (Moving, TinyStream, {"chunk": None}, TypeError, "chunk must be a whole number"),
        (Moving, TinyStream, {"delay": -1}, ValueError, "delay must lie in"),
        (Moving, TinyStream, {"delay": "soon"}, ValueError, "delay must be a number of rows or 'time'"),
        (Moving, TinyStream, {"delay": "time"}, ValueError, "has time and label_time"),
        (Moving, TinyStream, {"seconds": 0}, ValueError, "seconds must lie in"),
        (Moving, TinyStream, {"metrics": ("accuracy", "f2")}, ValueError, "metrics must be one of .*'f2'"),
        (Moving, TinyStream, {"resume": True}, ValueError, "resume=True needs checkpoint"),
        (Moving, TinyStream, {"compat": "weka"}, ValueError, "compat must be one of"),
        (Moving, Greedy, {}, ValueError, "at most the 1000 rows"),
        (Wrong, TinyStream, {}, ValueError, "probabilities .* row 0"),
        (Narrow, TinyStream, {}, ValueError, "one row of 2 probabilities"),
        (object, TinyStream, {}, TypeError, "learner must be a Classifier"),
        (Moving, lambda X, _y: X, {}, TypeError, "stream must be a stream"),
    ],
)
def test_bad_arguments_get_a_sentence(learner, stream, options, error, words):
    X, y, _ = rows(2000, classes=2)
    with pytest.raises(error, match=words):
        prequential(stream(X, y), learner(), **options)


def test_bad_times_get_a_sentence():
    X, y, _ = rows(20)
    t = np.arange(20.0)
    t[7] = np.nan
    with pytest.raises(ValueError, match="finite number in every row, got nan in row 7"):
        prequential(TinyStream(X, y, None, t, t), Moving(), delay="time", chunk=5)


def test_chunks_of_one_stream_may_come_as_they_like():
    chunk = Chunk(np.zeros((3, 1)), np.array([0, 1, 0]))
    assert prequential(TinyStream(chunk.X, chunk.y), MajorityClass()).rows == 3


def test_replaced_members_are_detected_drifts(monkeypatch):
    X, y, _ = rows(90)
    monkeypatch.setattr(Moving, "replacements", [(33, 1), (33, 0), (60, 1)], raising=False)
    result = prequential(TinyStream(X, y, drifts=(30,)), Moving())
    assert result.detected == [33, 60]
    assert result.detections(tolerance=50).delays == [3]
    assert "drift: 3 members replaced, between rows 33 and 60" in str(result)


def test_a_learner_that_counts_its_changes_has_them_at_the_next_report():
    stream = DriftStream(Agrawal(function=1, seed=1), Agrawal(function=3, seed=2), position=5000)
    tree = HoeffdingAdaptiveTree()
    result = prequential(stream, tree, limit=12_000, every=500)
    assert tree.n_drifts > 0
    assert result.detected
    assert all(row % 500 == 0 for row in result.detected)
    assert result.detections().missed == 0
    later = prequential(Agrawal(seed=3), tree, limit=10)
    assert later.detected == []


def test_changes_survive_a_checkpoint(tmp_path):
    def stream():
        return DriftStream(Agrawal(function=1, seed=1), Agrawal(function=3, seed=2), position=2000)

    path = tmp_path / "run.ckpt"
    whole = prequential(stream(), HoeffdingAdaptiveTree(), limit=9000)
    prequential(stream(), HoeffdingAdaptiveTree(), limit=7300, checkpoint=path)
    parts = prequential(stream(), HoeffdingAdaptiveTree(), limit=9000, checkpoint=path, resume=True)
    assert parts.detected == whole.detected


def test_an_asking_learner_forwards_what_its_learner_detects():
    asking_one = asking(HoeffdingAdaptiveTree(), "avu", 0.5)
    assert asking_one.n_drifts == 0
    stream = DriftStream(Agrawal(function=1, seed=1), Agrawal(function=3, seed=2), position=3000)
    prequential(stream, asking_one, limit=9000)
    assert asking_one.n_drifts == asking_one.model.n_drifts
