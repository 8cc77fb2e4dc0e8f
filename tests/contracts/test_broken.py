"""The checks can fail: each broken learner, detector and stream is caught by the check that is meant for it."""

import contextlib
import threading

import numpy as np
import pytest

from thalweg import ADWIN, SEA, MajorityClass, checks
from thalweg.checks import parts
from thalweg.core.classifier import Classifier

CHECKS = {c.__name__: c for c in checks.CLASSIFIER_CHECKS}
DETECTOR_CHECKS = {c.__name__: c for c in checks.DETECTOR_CHECKS}
STREAM_CHECKS = {c.__name__: c for c in checks.STREAM_CHECKS}


class Good(Classifier):
    """Class shares, weighted by how near the class's mean is; plain Python, slow, and right."""

    missing = "native"
    bounded = True

    def __init__(self, *, scale=1.0, n_jobs=1):
        for name, value in (("scale", scale), ("n_jobs", n_jobs)):
            if not isinstance(value, (int, float)):
                raise TypeError(f"{name} must be a number, got {value!r}")
        self.scale, self.n_jobs = scale, n_jobs

    def _start(self, schema):
        self._counts, self._means = np.zeros(0), np.zeros((0, schema.n_features))

    def _play(self, X, y, w, events, out, known):
        self._grow()
        for e in events.tolist():
            if e >= 0:
                self._predict(X[e], out[e], known)
            else:
                self._learn(X[~e], int(y[~e]), w[~e])
                known = max(known, y[~e] + 1)

    def _grow(self):
        new = len(self._labels) - len(self._counts)
        if new:
            self._counts = np.pad(self._counts, (0, new))
            self._means = np.pad(self._means, ((0, new), (0, 0)))

    def _predict(self, x, out, known):
        x = np.clip(np.nan_to_num(x), -1e100, 1e100)
        votes = self._counts[:known] / (1.0 + self.scale * ((self._means[:known] - x) ** 2).sum(axis=1))
        total = votes.sum()
        out[:known] = votes / total if total > 1e-200 else 1.0 / max(known, 1)

    def _learn(self, x, c, w):
        self._counts[c] += w
        self._means[c] += w * (np.clip(np.nan_to_num(x), -1e100, 1e100) - self._means[c]) / self._counts[c]

    def _tables(self):
        return {"counts": self._counts, "means": self._means}

    def _adopt(self, tables, schema, classes):
        self._counts, self._means = tables["counts"], tables["means"]


def test_a_good_learner_passes_all():
    checks.check_classifier(Good)


class LearnsTheChunkFirst(Good):
    def _play(self, X, y, w, events, out, known):
        super()._play(X, y, w, np.sort(events), out, known)


class IgnoresWeights(Good):
    def _learn(self, x, c, w):
        super()._learn(x, c, 1.0)


class SharesWeights(Good):
    def _play(self, X, y, w, events, out, known):
        super()._play(X, y, np.full(len(w), w.mean() if len(w) else 1.0), events, out, known)


class LearnsWeightless(Good):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X, y, classes)


class CountsGivenWeights(Good):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X, y, classes, None if sample_weight is None else np.asarray(sample_weight) * 2)


class LearnsBackwards(Good):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X[::-1], y[::-1], classes, sample_weight)


class LabelsAreNeverLate(Good):
    def play(self, X, y, events, sample_weight=None):
        return super().play(X, y, np.sort(events)[::-1], sample_weight)


class LearnsOneTwice(Good):
    def learn_one(self, x, y, weight=1.0):
        return super().learn_one(x, y, 2.0 * weight)


class SumsToMore(Good):
    def _predict(self, x, out, known):
        super()._predict(x, out, known)
        out[:known] *= 1.001


class ForgetsNaN(Good):
    def _predict(self, x, out, known):
        out[:known] = 1.0 / known if np.isfinite(x).all() else np.nan


class PredictsTheFirst(Good):
    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


class PredictsCodes(Good):
    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


class ChangesWhenPredicting(Good):
    def _predict(self, x, out, known):
        super()._predict(x, out, known)
        self._counts *= 0.999


class LooksAtNeighbours(Good):
    def _play(self, X, y, w, events, out, known):
        super()._play(X, y, w, events, out, known)
        if len(events) and events[0] >= 0 and len(y) == 0:
            out[:] = out.mean(axis=0)


class NeedsALabel(Good):
    def predict_proba(self, X):
        if not self._started:
            raise RuntimeError("not fitted")
        return super().predict_proba(X)


class SmoothsAClassTooMany(Good):
    def _predict(self, x, out, known):
        super()._predict(x, out, known)
        out[:known] *= known / (known + 1)


class DividesByVariance(Good):
    def _predict(self, x, out, known):
        super()._predict(x, out, known)
        if known and np.ptp(self._means[:known, 1]) == 0 and self._counts.sum() > 5:
            out[:known] = np.nan


class NeedsTwoFeatures(Good):
    def _start(self, schema):
        super()._start(schema)
        schema.features[1]


class NeedsFewFeatures(Good):
    def _predict(self, x, out, known):
        super()._predict(x, out, known)
        out[:known] *= len(x) < 100


class KnowsTheFuture(Good):
    def _play(self, X, y, w, events, out, known):
        super()._play(X, y, w, events, out, out.shape[1])


class HasTenClasses(Good):
    def _learn(self, x, c, w):
        super()._learn(x, min(c, 9), w)
        [0] * 10 and [0] * 10 if c < 10 else {}["no room"]


class NoUniformStart(Good):
    def _predict(self, x, out, known):
        super()._predict(x, out, known)
        if not self._counts.any():
            out[:known] = 0.0


class IndexesNominalValues(Good):
    def _predict(self, x, out, known):
        super()._predict(x, out, known)
        if self._schema.features[0].nominal:
            self._schema.features[0].values[int(x[0])]


class Overflows(Good):
    def _predict(self, x, out, known):
        with np.errstate(all="ignore"):
            super()._predict(x, out, known)
            out[:known] *= 1.0 + 0.0 * (np.float64(x[0]) * x[0])


class ScalesItsInput(Good):
    def _play(self, X, y, w, events, out, known):
        super()._play(X, y, w, events, out, known)
        X *= 1.5


class KeepsItsInput(Good):
    def _play(self, X, y, w, events, out, known):
        super()._play(X, y, w, events, out, known)
        if len(w):
            self._kept = X[:1]

    def _tables(self):
        return super()._tables() | ({"kept": self._kept} if hasattr(self, "_kept") else {})

    def _adopt(self, tables, schema, classes):
        super()._adopt(tables, schema, classes)
        self._kept = tables["kept"]


class LooksAtTheType(Good):
    def test_then_train(self, X, y, sample_weight=None):
        P = super().test_then_train(X, y, sample_weight)
        return P * (1.0 + 1e-9 * (getattr(X, "dtype", None) == np.float32))


class TakesColumnsByPlace(Good):
    def predict_proba(self, X):
        return super().predict_proba(np.asarray(X))


class LearnsBeforeItLooks(Good):
    def _spoil(self):
        if self._started:
            self._counts = self._counts + 1.0

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self._spoil()
        return super().partial_fit(X, y, classes, sample_weight)


class CrashesOnBadRows(Good):
    def predict_proba(self, X):
        if not hasattr(X, "shape"):
            raise AttributeError("shape")
        return super().predict_proba(X)


class TakesBadRows(Good):
    def predict_proba(self, X):
        try:
            return super().predict_proba(X)
        except (ValueError, TypeError):
            return np.zeros((0, 0))


class CountsCalls(Good):
    def _play(self, X, y, w, events, out, known):
        super()._play(X, y, w, events, out, known)
        if events.size == 0:
            self._counts *= 0.9


class DrawsGlobally(Good):
    def _learn(self, x, c, w):
        super()._learn(x, c, w + 0 * np.random.random())  # noqa: NPY002


class DrawsFreshly(Good):
    def _learn(self, x, c, w):
        super()._learn(x, c, w * np.random.default_rng().random())


class HasObjects(Good):
    def _tables(self):
        return super()._tables() | {"object": np.array([None])}


class GivesItsOwnTables(Good):
    def state(self):
        return super().state() | (self._tables() if self._started else {})


class ForgetsATable(Good):
    def _adopt(self, tables, schema, classes):
        super()._adopt(tables, schema, classes)
        self._means = np.zeros_like(tables["means"])


class TakesAnyState(Good):
    def restore(self, state):
        with contextlib.suppress(ValueError):
            super().restore(state)


class CopiesShallowly(Good):
    def copy(self):
        twin = super().copy()
        twin._counts = self._counts
        return twin


class CannotBeSaved(Good):
    def __init__(self, *, scale=1.0, n_jobs=1, rule=len):
        super().__init__(scale=scale, n_jobs=n_jobs)
        self.rule = rule


class NeverForgets(Good):
    def _start(self, schema):
        if not hasattr(self, "_counts"):
            super()._start(schema)

    def _forget(self):
        super()._forget()
        if hasattr(self, "_counts"):
            self._started = True


class KeepsEverything(Good):
    def _start(self, schema):
        super()._start(schema)
        self._rows = np.zeros((0, schema.n_features))

    def _learn(self, x, c, w):
        super()._learn(x, c, w)
        self._rows = np.concatenate([self._rows, x[None, :]])

    def _tables(self):
        return super()._tables() | {"rows": self._rows}

    def _adopt(self, tables, schema, classes):
        super()._adopt(tables, schema, classes)
        self._rows = tables["rows"]


class BreaksItsLimit(KeepsEverything):
    def __init__(self, *, scale=1.0, n_jobs=1, limit_bytes=None):
        super().__init__(scale=scale, n_jobs=n_jobs)
        self.limit_bytes = limit_bytes


class HatesThreads(Good):
    def _learn(self, x, c, w):
        super()._learn(x, c, w if threading.current_thread() is threading.main_thread() else w + c)


class DependsOnJobs(Good):
    def _learn(self, x, c, w):
        super()._learn(x, c, w * self.n_jobs)


class RoundsItsParameters(Good):
    def __init__(self, *, scale=1.0, n_jobs=1):
        super().__init__(scale=scale, n_jobs=n_jobs)
        self.scale = float(f"{scale:.3f}")


class TakesAnyValue(Good):
    def __init__(self, *, scale=1.0, n_jobs=1):
        self.scale, self.n_jobs = scale, n_jobs


class KeepsKnowingWhenSet(Good):
    def set_params(self, **params):
        state = self.state()
        super().set_params(**params)
        self.restore(state)
        return self


class HatesCompany(Good):
    busy = threading.Lock()

    def predict_proba(self, X):
        if not self.busy.acquire(blocking=False):
            raise RuntimeError("two threads at once")
        try:
            return super().predict_proba(X)
        finally:
            self.busy.release()


class GoodSparse(Good):
    """The same for sparse rows, which it makes dense."""

    sparse = True

    def _play(self, X, y, w, events, out, known):
        super()._play(self._dense(X), y, w, events, out, known)

    def _dense(self, X):
        return X if isinstance(X, np.ndarray) else X.toarray()


def test_a_good_learner_of_sparse_rows_passes_all():
    checks.check_classifier(GoodSparse, skip=["same_without_compilation"])


class SparseHasNoSigns(GoodSparse):
    def _dense(self, X):
        return X if isinstance(X, np.ndarray) else abs(X).toarray()


class SparseCentresTheChunk(GoodSparse):
    def _dense(self, X):
        return X if isinstance(X, np.ndarray) else X.toarray() - X.toarray().mean(axis=0)


class TidiesUpAtOthers(GoodSparse):
    def test_then_train(self, X, y, sample_weight=None):
        if not isinstance(X, np.ndarray):
            X.sort_indices()
        return super().test_then_train(X, y, sample_weight)


class TakesWhatIsNotFinite(GoodSparse):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if not isinstance(X, np.ndarray):
            X = X.copy()
            X.data = np.nan_to_num(X.data, posinf=0.0)
        return super().partial_fit(X, y, classes, sample_weight)


class ForgetsThatItWasSparse(GoodSparse):
    seen = 0

    def _dense(self, X):
        if isinstance(X, np.ndarray):
            return X
        self.seen += X.shape[0]
        return X.toarray() * (2.0 if self.seen > 250 else 1.0)


class TakesSparseRowsBehindTheDoor(Good):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X.toarray() if hasattr(X, "toarray") else X, y, classes, sample_weight)


BROKEN = [
    ("sparse_rows_equal_dense_ones", SparseHasNoSigns),
    ("sparse_chunks_do_not_matter", SparseCentresTheChunk),
    ("sparse_inputs_stay_untouched", TidiesUpAtOthers),
    ("bad_sparse_rows_change_nothing", TakesWhatIsNotFinite),
    ("what_it_learned_from_sparse_rows_is_kept", ForgetsThatItWasSparse),
    ("sparse_rows_are_refused_by_others", TakesSparseRowsBehindTheDoor),
    ("chunks_equal_rows", LearnsTheChunkFirst),
    ("chunks_equal_rows", DrawsFreshly),
    ("weighted_chunks_equal_rows", SharesWeights),
    ("learning_by_chunks_equals_learning_by_rows", LearnsBackwards),
    ("late_labels_equal_a_slow_loop", LabelsAreNeverLate),
    ("one_record_equals_one_row", LearnsOneTwice),
    ("probabilities_sum_to_one", SumsToMore),
    ("predict_gives_the_most_probable_label", PredictsTheFirst),
    ("predicting_changes_nothing", ChangesWhenPredicting),
    ("predicting_changes_nothing", LooksAtNeighbours),
    ("works_before_any_label", NeedsALabel),
    ("one_class_only", SmoothsAClassTooMany),
    ("constant_features", DividesByVariance),
    ("one_feature", NeedsTwoFeatures),
    ("many_features", NeedsFewFeatures),
    ("new_class_in_mid_stream", KnowsTheFuture),
    ("many_classes", HasTenClasses),
    ("labels_of_any_type", PredictsCodes),
    ("declared_classes", NoUniformStart),
    ("nominal_features", IndexesNominalValues),
    ("missing_values", ForgetsNaN),
    ("extreme_values", Overflows),
    ("inputs_stay_untouched", ScalesItsInput),
    ("inputs_stay_untouched", KeepsItsInput),
    ("layout_does_not_matter", LooksAtTheType),
    ("frames_equal_arrays", TakesColumnsByPlace),
    ("bad_rows_change_nothing", LearnsBeforeItLooks),
    ("bad_rows_change_nothing", CrashesOnBadRows),
    ("bad_rows_change_nothing", TakesBadRows),
    ("bad_labels_change_nothing", LearnsBeforeItLooks),
    ("bad_weights_change_nothing", LearnsBeforeItLooks),
    ("weight_zero_changes_nothing", LearnsWeightless),
    ("weight_one_is_no_weight", CountsGivenWeights),
    ("an_empty_chunk_changes_nothing", CountsCalls),
    ("same_seed_same_bits", DrawsGlobally),
    ("same_seed_same_bits", DrawsFreshly),
    ("state_is_arrays", HasObjects),
    ("state_is_arrays", GivesItsOwnTables),
    ("restore_continues", ForgetsATable),
    ("foreign_state_is_refused", TakesAnyState),
    ("copies_are_independent", CopiesShallowly),
    ("save_and_load_continue", CannotBeSaved),
    ("save_and_load_continue", ForgetsATable),
    ("reset_forgets", NeverForgets),
    ("state_is_bounded", KeepsEverything),
    ("state_is_bounded", BreaksItsLimit),
    ("threads_do_not_meet", HatesThreads),
    ("threads_may_predict_together", HatesCompany),
    ("text_chunks_equal_rows", LearnsTheChunkFirst),
    ("jobs_do_not_matter", DependsOnJobs),
    ("parameters_are_kept", RoundsItsParameters),
    ("parameters_can_be_set", TakesAnyValue),
    ("parameters_can_be_set", KeepsKnowingWhenSet),
]


@pytest.mark.parametrize(("name", "broken"), BROKEN, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_broken_learner_is_caught(name, broken):
    with pytest.raises(Exception) as caught:  # noqa: PT011  a crash of the learner is a broken promise too
        CHECKS[name](broken)
    assert str(caught.value)


def test_every_check_is_shown_to_fail():
    assert set(CHECKS) - {name for name, _ in BROKEN} == {"same_without_compilation"}


def test_missing_values_that_are_refused():
    class Rejects(Good):
        missing = "reject"

    CHECKS["missing_values"](Rejects)

    class SaysOneDoesOther(Rejects):
        def predict_proba(self, X):
            return super().predict_proba(np.nan_to_num(X))

    with pytest.raises(AssertionError, match="NaN in X when predicting must be refused"):
        CHECKS["missing_values"](SaysOneDoesOther)


def test_difference_without_compilation_is_caught(monkeypatch):
    right = parts.answer
    monkeypatch.setattr(parts, "answer", lambda path: right(path).replace("0x1.8", "0x1.9", 1))
    with pytest.raises(AssertionError, match="the same bits without compilation: 1 of"):
        CHECKS["same_without_compilation"](MajorityClass)


def test_all_broken_promises_are_told_at_once():
    with pytest.raises(AssertionError) as caught:
        checks.check_classifier(SumsToMore, skip=["chunks_equal_rows"])
    text = str(caught.value)
    assert "promises are broken" in text
    assert "probabilities_sum_to_one: probabilities must sum to 1 while learning: off by 0.001" in text
    assert "one_class_only" in text
    assert " chunks_equal_rows:" not in text


def test_skip_must_name_checks():
    with pytest.raises(ValueError, match=r"skip must hold names of checks .* got 'no_such_check'"):
        checks.check_classifier(Good, skip=["no_such_check"])


def test_every_check_says_what_it_promises():
    every = [*checks.CLASSIFIER_CHECKS, *checks.DETECTOR_CHECKS, *checks.STREAM_CHECKS]
    assert all(check.__doc__ for check in every)
    assert len({check.__name__ for check in every}) == len(every)
    assert len(checks.CLASSIFIER_CHECKS) >= 40


# -- detectors --------------------------------------------------------------------------------------------------------


class Watch:
    """ADWIN behind a face that can be spoiled."""

    def __init__(self):
        self._inside = ADWIN(delta=0.01)

    def get_params(self):
        return {}

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inside, name)

    def update(self, value):
        return self._inside.update(value)

    def update_many(self, values):
        return self._inside.update_many(values)

    def state(self):
        return self._inside.state()

    def restore(self, state):
        self._inside.restore(state)


class ForgetsBetweenChunks(Watch):
    def update_many(self, values):
        levels = self._inside.update_many(values)
        if len(levels):
            self._inside.reset()
        return levels


class Deaf(Watch):
    def update_many(self, values):
        return 0 * self._inside.update_many(values)


class NoEstimate(Watch):
    @property
    def estimate(self):
        return self._inside.estimate if self._inside.width else float("nan")


class ChangesWhenSeen(Watch):
    @property
    def estimate(self):
        self._inside.update(0.0)
        return 0.0


class NeedsFloats(Watch):
    def update_many(self, values):
        return self._inside.update_many(values) if getattr(values, "dtype", None) == np.float64 else np.zeros(0)


class TakesPartOfBadValues(Watch):
    def update_many(self, values):
        if np.ndim(values) == 1:
            for v in values:
                self._inside.update(v)
        return np.zeros(len(values), dtype=np.int8)


class CannotContinue(Watch):
    def restore(self, state):
        if not state:
            raise ValueError("empty")


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("many_values_equal_one_by_one", ForgetsBetweenChunks),
        ("a_step_is_found", Deaf),
        ("estimate_is_finite", NoEstimate),
        ("looking_changes_nothing", ChangesWhenSeen),
        ("values_stay_untouched", NeedsFloats),
        ("bad_values_change_nothing", TakesPartOfBadValues),
        ("detector_continues", CannotContinue),
    ],
)
def test_broken_detector_is_caught(name, broken):
    DETECTOR_CHECKS[name](Watch)
    with pytest.raises(AssertionError):
        DETECTOR_CHECKS[name](broken)


def test_detector_verb():
    checks.check_detector(Watch)
    with pytest.raises(AssertionError, match="a_step_is_found: ones after zeros must be a drift"):
        checks.check_detector(Deaf)


# -- streams ----------------------------------------------------------------------------------------------------------


class River:
    """SEA behind a face that can be spoiled."""

    def __init__(self):
        self._inside = SEA(seed=3)

    drifts = ()

    @property
    def schema(self):
        return self._inside.schema

    def read(self, n):
        return self._inside.read(n)

    def state(self):
        return self._inside.state()

    def restore(self, state):
        self._inside.restore(state)


class DropsRestOfChunk(River):
    def read(self, n):
        chunk = self._inside.read(n)
        self._inside.read(n % 2)
        return chunk


class TooWide(River):
    def read(self, n):
        chunk = self._inside.read(n)
        return type(chunk)(np.c_[chunk.X, chunk.X], chunk.y)


class FreshSeed(River):
    def __init__(self):
        self._inside = SEA(seed=int(np.random.default_rng().integers(1 << 30)))


class ReusesItsBuffer(River):
    _buffer = None

    def read(self, n):
        chunk = self._inside.read(n)
        if self._buffer is None or self._buffer.shape != chunk.X.shape:
            self._buffer = chunk.X.copy()
        self._buffer[:] = chunk.X
        return type(chunk)(self._buffer, chunk.y)


class EndsAtNothing(River):
    def read(self, n):
        return self._inside.read(n) if n else None


class StartsAgain(River):
    def restore(self, state):
        self._inside.restore(state)
        self._inside.restart()


class DriftsBackwards(River):
    drifts = (500, 100)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("chunk_size_does_not_matter", DropsRestOfChunk),
        ("records_fit_the_schema", TooWide),
        ("same_seed_same_records", FreshSeed),
        ("chunks_are_kept", ReusesItsBuffer),
        ("reading_nothing_changes_nothing", EndsAtNothing),
        ("position_is_restored", StartsAgain),
        ("drifts_are_positions", DriftsBackwards),
    ],
)
def test_broken_stream_is_caught(name, broken):
    STREAM_CHECKS[name](River)
    with pytest.raises(AssertionError):
        STREAM_CHECKS[name](broken)


def test_stream_verb():
    checks.check_stream(River)
    with pytest.raises(AssertionError, match="1 of 9 promises are broken\n  drifts_are_positions"):
        checks.check_stream(DriftsBackwards)
