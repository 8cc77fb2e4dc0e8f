"""Metrics against the golden example, plain NumPy and scikit-learn."""

import math
import warnings

import numpy as np
import pytest

from thalweg.evaluate.counts import gather_scores
from thalweg.evaluate.metrics import METRICS, Metrics
from thalweg.evaluate.metrics_jit import is_drawn
from thalweg.evaluate.reports import MOST_WAITING, Reports

sk = pytest.importorskip("sklearn.metrics")

OVERALL = ("auc_all", "pr_auc", "recall_at_budget", "brier", "calibration_error")
GOLDEN_Y = [0, 0, 1, 1, 0]
GOLDEN_P = [[1, 0], [0, 1], [0, 1], [0, 1], [1, 0]]


def test_golden_example():
    metrics = Metrics(window=5)
    metrics.update(GOLDEN_Y, GOLDEN_P)
    want = {
        "accuracy": 0.8,
        "kappa": 0.615385,
        "kappa_m": 0.5,
        "kappa_t": 0.666667,
        "f1_macro": 0.8,
        "precision_macro": 0.833333,
        "g_mean": 0.816497,
        "balanced_accuracy": 0.833333,
        "log_loss": -math.log(1e-15) / 5,
    }
    assert metrics.cumulative(want) == pytest.approx(want, abs=5e-7)
    assert set(metrics.cumulative()) == {*want, *OVERALL}
    windowed = metrics.windowed()
    assert windowed.pop("auc") == pytest.approx(5 / 6)
    assert windowed == pytest.approx(want, abs=5e-7)
    assert metrics.confusion.tolist() == [[2, 1], [0, 2]]
    precision = np.diag(metrics.confusion) / metrics.confusion.sum(axis=0)
    assert precision.tolist() == pytest.approx([1, 2 / 3])
    assert metrics.unpredicted == 0.0


def test_golden_example_as_moa_counts():
    metrics = Metrics(window=5, compat="moa")
    metrics.update(GOLDEN_Y, GOLDEN_P)
    values = metrics.cumulative()
    assert (values["kappa_t"], values["kappa_m"]) == pytest.approx((0.5, 0.5))


def test_moa_takes_no_prediction_for_class_0_and_counts_before_it_speaks():
    ours, moa = Metrics(), Metrics(compat="moa")
    y, proba = [1, 1, 0], [[0, 0], [0, 0], [0, 0]]
    for metrics in (ours, moa):
        metrics.update(y, proba)
    assert (ours.cumulative()["accuracy"], moa.cumulative()["accuracy"]) == (0, pytest.approx(1 / 3))
    assert (ours.unpredicted, moa.unpredicted) == (1, 0)
    # majority, ours: 0, 1, 1 against 1, 1, 0; as MOA: 1, 1, 1
    assert ours.cumulative()["kappa_m"] == pytest.approx((0 - 1 / 3) / (2 / 3))
    assert moa.cumulative()["kappa_m"] == pytest.approx((1 / 3 - 2 / 3) / (1 / 3))


class Twin:
    """The metrics as plainly as they can be written, from lists of all rows."""

    def __init__(self, y, proba, w):
        self.rows = [(int(a), np.clip(p, 0, 1), float(v)) for a, p, v in zip(y, proba, w, strict=True) if v > 0]
        self.same, self.common = [], []
        last, counts = None, {}
        for label, _, weight in self.rows:
            self.same.append(label == last)
            best = max(counts.values(), default=0)
            self.common.append(label == min((c for c in counts if counts[c] == best), default=0))
            counts[label] = counts.get(label, 0) + weight
            last = label

    def values(self, window=None):
        part = slice(None) if window is None else slice(-window, None)
        y, proba, w = zip(*self.rows[part], strict=True)
        y, w = np.array(y), np.array(w)
        total = w.sum()
        guess = np.array([int(p.argmax()) if p.max() > 0 else -1 for p in proba])
        given = np.array([p[a] / p.sum() if a < len(p) and p.sum() > 0 else 0.0 for a, p in zip(y, proba, strict=True)])
        accuracy = w[guess == y].sum() / total
        chance = sum(w[y == c].sum() * w[guess == c].sum() for c in set(y)) / total**2
        recalls = [w[(y == c) & (guess == c)].sum() / w[y == c].sum() for c in sorted(set(y))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            named = {"labels": sorted({*y, *guess} - {-1}), "average": "macro", "sample_weight": w}
            f1, precision = sk.f1_score(y, guess, **named), sk.precision_score(y, guess, **named)
        rule = {"kappa_t": self.same, "kappa_m": self.common}
        kappas = {k: (accuracy - (p := w[np.array(v[part])].sum() / total)) / (1 - p) for k, v in rule.items()}
        return {
            "accuracy": accuracy,
            "kappa": (accuracy - chance) / (1 - chance),
            **kappas,
            "f1_macro": f1,
            "precision_macro": precision,
            "g_mean": np.prod(recalls) ** (1 / len(recalls)),
            "balanced_accuracy": np.mean(recalls),
            "log_loss": (w * -np.log(np.clip(given, 1e-15, 1))).sum() / total,
        }

    def auc(self, window):
        """Brute force over all pairs of rows."""
        y, proba, w = zip(*self.rows[-window:], strict=True)
        k = max(max(y) + 1, max(len(p) for p in proba))
        scores = np.array([np.pad(p, (0, k - len(p))) for p in proba])
        present = sorted(set(y))
        pairs = [
            (self._above(y, w, scores, i, j) + self._above(y, w, scores, j, i)) / 2
            for i in present
            for j in present
            if i < j
        ]
        return np.mean(pairs)

    @staticmethod
    def _above(y, w, scores, i, j):
        wins = weight = 0.0
        for a in np.flatnonzero(np.array(y) == i):
            for b in np.flatnonzero(np.array(y) == j):
                gap = scores[a, i] - scores[b, i]
                wins += w[a] * w[b] * ((gap > 0) + 0.5 * (gap == 0))
                weight += w[a] * w[b]
        return wins / weight


def random_rows(n, classes, seed, *, weighted):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    proba = rng.dirichlet(np.ones(classes), n)
    proba[np.arange(n), y] += rng.random(n)
    proba = np.round(10.0 * proba / proba.sum(axis=1, keepdims=True))  # many ties
    proba /= proba.sum(axis=1, keepdims=True)
    proba[rng.random(n) < 0.03] = 0.0
    return y, proba, rng.integers(0, 5, n) / 4.0 if weighted else np.ones(n)


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_random_rows_against_the_twin(classes, weighted):
    y, proba, w = random_rows(400, classes, classes, weighted=weighted)
    twin = Twin(y, proba, w)
    metrics = Metrics(window=60)
    metrics.update(y, proba, w)
    assert metrics.cumulative(twin.values()) == pytest.approx(twin.values())
    windowed = metrics.windowed()
    if classes > 2:
        assert windowed["auc"] == pytest.approx(twin.auc(60))
    del windowed["auc"]
    assert windowed == pytest.approx(twin.values(60))


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_against_scikit_learn(weighted):
    y, proba, w = random_rows(300, 3, 5, weighted=weighted)
    proba[proba.sum(axis=1) == 0, 0] = 1.0
    metrics = Metrics()
    metrics.update(y, proba, w)
    guess, values = proba.argmax(axis=1), metrics.cumulative()
    assert values["accuracy"] == pytest.approx(sk.accuracy_score(y, guess, sample_weight=w))
    assert values["kappa"] == pytest.approx(sk.cohen_kappa_score(y, guess, sample_weight=w))
    assert values["balanced_accuracy"] == pytest.approx(sk.balanced_accuracy_score(y, guess, sample_weight=w))
    assert values["f1_macro"] == pytest.approx(sk.f1_score(y, guess, average="macro", sample_weight=w))
    smooth = np.clip(proba, 1e-3, 1)
    smooth /= smooth.sum(axis=1, keepdims=True)
    metrics.reset()
    metrics.update(y, smooth, w)
    assert metrics.cumulative()["log_loss"] == pytest.approx(sk.log_loss(y, smooth, sample_weight=w))
    assert metrics.confusion == pytest.approx(sk.confusion_matrix(y, smooth.argmax(axis=1), sample_weight=w))


@pytest.mark.parametrize("weighted", [False, True])
def test_auc_of_two_classes_against_scikit_learn(weighted):
    y, proba, w = random_rows(500, 2, 11, weighted=weighted)
    proba[:, 0] = 1.0 - proba[:, 1]
    metrics = Metrics(window=100)
    metrics.update(y, proba, w)
    y, proba, w = y[w > 0], proba[w > 0], w[w > 0]
    assert metrics.auc() == pytest.approx(sk.roc_auc_score(y[-100:], proba[-100:, 1], sample_weight=w[-100:]))


def test_auc_of_random_scores_is_a_half_however_many_classes():
    rng = np.random.default_rng(1)
    for classes in (2, 5, 12):
        metrics = Metrics(window=5000)
        metrics.update(rng.integers(0, classes, 5000), rng.dirichlet(np.ones(classes), 5000))
        assert metrics.auc() == pytest.approx(0.5, abs=0.03)


def test_auc_needs_two_classes_in_the_window():
    metrics = Metrics(window=3)
    metrics.update([0, 1, 1, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.1, 0.9], [0.4, 0.6]])
    assert math.isnan(metrics.auc())
    metrics.update([0], [[0.9, 0.1]])
    assert metrics.auc() == 1.0


# -- scores of all rows -----------------------------------------------------------------------------------------------


def scored(n, classes, seed, *, weighted=False, scale=3.0):
    """Make smooth probabilities that know something, and weights."""
    rng = np.random.default_rng(seed)
    shares = 0.5 ** np.arange(classes)
    y = rng.choice(classes, n, p=shares / shares.sum())
    logits = scale * rng.normal(size=(n, classes)) + 2.0 * np.eye(classes)[y]
    proba = np.exp(logits)
    return y, proba / proba.sum(axis=1, keepdims=True), rng.integers(0, 5, n) / 4.0 if weighted else np.ones(n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [0.3, 3.0, 10.0])
@pytest.mark.parametrize("classes", [2, 4])
def test_scores_of_all_rows_against_scikit_learn(classes, scale, weighted):
    y, proba, w = scored(4000, classes, 3, weighted=weighted, scale=scale)
    metrics = Metrics(window=10)
    metrics.update(y, proba, w)
    values, rare = metrics.cumulative(OVERALL), classes - 1
    aucs = [sk.roc_auc_score(y == c, proba[:, c], sample_weight=w) for c in range(classes)]
    assert values["auc_all"] == pytest.approx(np.mean(aucs), abs=0.002)
    precision = sk.average_precision_score(y == rare, proba[:, rare], sample_weight=w)
    assert values["pr_auc"] == pytest.approx(precision, abs=0.005)
    squares = ((proba - np.eye(classes)[y]) ** 2).sum(axis=1)
    assert values["brier"] == pytest.approx(np.average(squares, weights=w) / 2)
    order = np.argsort(-proba[:, rare])
    top = order[np.cumsum(w[order]) <= 0.01 * w.sum()]
    found = w[top][y[top] == rare].sum() / w[y == rare].sum()
    assert values["recall_at_budget"] == pytest.approx(found, abs=0.02)
    sure, right = proba.max(axis=1), proba.argmax(axis=1) == y
    steps = np.minimum((sure * 15).astype(int), 14)
    gaps = [abs((w * (sure - right))[steps == s].sum()) for s in range(15)]
    assert values["calibration_error"] == pytest.approx(sum(gaps) / w.sum())


@pytest.mark.parametrize("classes", [5, 11, 40])
def test_with_many_classes_a_sample_is_close_to_all_rows(classes):
    """The errors are below what ``counts`` states, two standard errors of each."""
    n = 20_000
    y, proba, w = scored(n, classes, 7, scale=1.5)
    order = np.random.default_rng(1).permutation(classes)  # the rare classes are not the last
    y, proba = np.argsort(order)[y], proba[:, order]
    metrics = Metrics(window=1000)
    metrics.update(y, proba, w)
    occurring, weights = np.unique(y, return_counts=True)
    aucs = [sk.roc_auc_score(y == c, proba[:, c]) for c in occurring]
    values = metrics.cumulative(OVERALL)
    assert values["auc_all"] == pytest.approx(np.mean(aucs), abs=2 * 0.5 * math.sqrt(classes / (2 * n)))
    rare = occurring[weights.argmin()]
    assert values["pr_auc"] == pytest.approx(sk.average_precision_score(y == rare, proba[:, rare]), abs=0.02)
    squares = ((proba - np.eye(classes)[y]) ** 2).sum(axis=1)
    assert values["brier"] == pytest.approx(squares.mean() / 2)
    want = Twin(y, proba, w).auc(1000)
    assert metrics.auc() == pytest.approx(want, abs=2 * math.sqrt(want * (1 - want) / 2048))


def test_what_is_drawn_does_not_follow_a_stream_that_repeats_itself():
    for period in (2, 4, 5, 8, 16, 21):
        drawn = np.array([is_drawn(row, 2) for row in range(16_000)])
        shares = [drawn[start::period].mean() for start in range(period)]
        assert shares == pytest.approx([0.25] * period, abs=0.02)


def test_scores_in_different_bins_are_ranked_exactly():
    p = np.array([0.0, 2.0**-70, 1e-15, 0.01, 0.02, 0.3, 0.5, 0.6, 0.99, 1 - 1e-9, 1.0])
    y = np.array([0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1])
    metrics = Metrics()
    metrics.update(y, np.stack([1.0 - p, p], axis=1))
    values = metrics.cumulative(OVERALL)
    assert values["auc_all"] == pytest.approx(sk.roc_auc_score(y, p))
    assert values["pr_auc"] == pytest.approx(sk.average_precision_score(y, p))
    assert values["brier"] == pytest.approx(sk.brier_score_loss(y, p))


def test_rows_from_before_a_class_was_known_have_score_0_for_it():
    metrics = Metrics()
    metrics.update([0, 0], [[1.0], [1.0]])
    metrics.update([1, 0, 1], [[1.0], [1.0], [1.0]])
    metrics.update([1, 0], [[0.2, 0.8], [0.9, 0.1]])
    p, y = np.array([0, 0, 0, 0, 0, 0.8, 0.1]), np.array([0, 0, 1, 0, 1, 1, 0])
    assert metrics.cumulative(["pr_auc"])["pr_auc"] == pytest.approx(sk.average_precision_score(y, p))
    assert metrics.cumulative(["auc_all"])["auc_all"] == pytest.approx(sk.roc_auc_score(y, p))


def test_scores_need_two_classes():
    metrics = Metrics()
    metrics.update([0, 0, 0], [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    values = metrics.cumulative(OVERALL)
    assert [name for name, v in values.items() if math.isnan(v)] == ["auc_all", "pr_auc", "recall_at_budget"]
    assert values["brier"] == pytest.approx((0 + 1 + 0.25) / 3)


def test_a_state_from_before_there_were_scores_goes_on_without_them():
    y, proba, w = random_rows(100, 3, 1, weighted=False)
    metrics, later = Metrics(), Metrics()
    metrics.update(y, proba, w)
    state = metrics.state()
    del state["ranks"], state["drawn"], state["sure"], state["mistakes"]
    later.restore(state)
    for part in (metrics, later):
        part.update(y, proba, w)
    assert all(math.isnan(v) for v in later.cumulative(OVERALL).values())
    counted = [name for name in METRICS if METRICS[name].looks_at == "counts"]
    assert later.cumulative(counted) == metrics.cumulative(counted)


def test_a_state_that_counted_all_scores_goes_on():
    """Earlier versions had no sample, left out scores of 0, and kept the logarithm of each row."""
    y, proba, w = random_rows(400, 3, 2, weighted=False)
    metrics, later = Metrics(window=50), Metrics(window=50)
    metrics.update(y[:200], proba[:200], w[:200])
    state = metrics.state()
    scores = gather_scores(state["ranks"], state["drawn"], state["sure"], state["counts"])
    state["ranks"] = scores.ranks.copy()
    state["ranks"][:, :, 0] = 0.0
    state["ring"][:, 3] = -np.log(np.maximum(state["ring"][:, 3], 1e-15))
    state["sums"] = np.array([*state["sums"][:4]])
    state["sums"][1] -= math.log(metrics.state()["sums"][4])
    del state["drawn"]
    later.restore(state)
    for part in (metrics, later):
        part.update(y[200:], proba[200:], w[200:])
    assert later.cumulative() == pytest.approx(metrics.cumulative())
    assert later.windowed() == pytest.approx(metrics.windowed())


def test_simple_rules_and_supports():
    metrics = Metrics()
    assert math.isnan(metrics.baselines["majority"])
    metrics.update([0, 0, 1, 1, 0], [[1, 0], [0, 1], [0, 1], [0, 0], [1, 0]])
    assert metrics.support.tolist() == [3, 2]
    assert metrics.baselines == pytest.approx({"majority": 3 / 5, "no_change": 2 / 5})


def test_classes_may_appear_late_and_before_the_learner_knows_them():
    metrics = Metrics(window=4)
    metrics.update([0, 0], [[], []])
    assert metrics.unpredicted == 1.0
    metrics.update([0, 1], [[1.0], [1.0]])
    metrics.update([3], [[0.2, 0.7, 0.1]])
    metrics.update([3], [[0.0, 0.0, 0.0, 1.0]])
    assert metrics.confusion.tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 1]]
    assert metrics.cumulative()["accuracy"] == pytest.approx(2 / 6)
    assert metrics.cumulative()["log_loss"] == pytest.approx(4 * -math.log(1e-15) / 6)
    assert metrics.cumulative()["balanced_accuracy"] == pytest.approx((1 / 3 + 0 + 1 / 2) / 3)
    assert metrics.cumulative()["g_mean"] == 0.0


def test_ties_go_to_the_lowest_class_and_rounding_below_zero_is_forgiven():
    metrics = Metrics()
    metrics.update([1, 0], [[-1e-10, 0.5, 0.5], [0.5, 0.5, 0.0]])
    assert metrics.cumulative()["accuracy"] == 1.0


def test_a_row_of_weight_0_is_passed_over():
    some, none = Metrics(window=2), Metrics(window=2)
    some.update([0, 1, 1, 0], [[1, 0], [1, 0], [0, 1], [1, 0]], [1, 0, 1, 1])
    none.update([0, 1, 0], [[1, 0], [0, 1], [1, 0]])
    assert some.cumulative() == none.cumulative()
    assert some.windowed() == none.windowed()
    assert (some.rows, none.rows) == (4, 3)


def test_kappas_where_the_rule_makes_no_error():
    metrics = Metrics(window=2)
    metrics.update([0, 0, 0], [[1, 0], [1, 0], [1, 0]])
    assert metrics.windowed()["kappa_t"] == metrics.windowed()["kappa_m"] == metrics.cumulative()["kappa"] == 0.0
    metrics.update([0], [[0, 1]])
    assert math.isnan(metrics.windowed()["kappa_t"])


@pytest.mark.parametrize("classes", [2, 4, 13])
@pytest.mark.parametrize("chunk", [1, 7, 300])
def test_chunks_and_state_do_not_matter(chunk, classes):
    y, proba, w = random_rows(300, classes, 3, weighted=True)
    whole = Metrics(window=50)
    whole.update(y, proba, w)
    parts = Metrics(window=50)
    for i in range(0, 300, chunk):
        twin = Metrics(window=50)
        twin.restore(parts.state())
        parts = twin
        parts.update(y[i : i + chunk], proba[i : i + chunk], w[i : i + chunk])
    assert parts.cumulative() == whole.cumulative()
    assert parts.windowed() == whole.windowed()


def test_before_the_first_row_everything_is_undefined():
    metrics = Metrics()
    values = [*metrics.cumulative().values(), *metrics.windowed().values(), metrics.unpredicted]
    assert all(math.isnan(v) for v in values)
    assert set(metrics.windowed()) == set(METRICS) - {*OVERALL}
    assert set(metrics.cumulative()) == set(METRICS) - {"auc"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: m.update([0, 1], [[1.0, 0.0]]), "one row of class probabilities"),
        (lambda m: m.update([0], [1.0]), "one row of class probabilities"),
        (lambda m: m.update([0, 0], [[0.5, 0.5], [np.nan, 1.0]]), "row 3"),
        (lambda m: m.update([0], [[-1e-6, 1.0]]), "row 2"),
        (lambda m: m.update([0], [[np.inf, 1.0]]), "row 2"),
        (lambda m: m.update([0, -1], [[1.0], [1.0]]), "row 3"),
        (lambda m: m.update([0], [[1.0]], [-1.0]), "≥ 0"),
        (lambda m: m.update([0], [[1.0]], [1.0, 1.0]), "one number for each"),
        (lambda m: m.restore({}), "lacks"),
        (lambda m: m.restore(Metrics(window=3).state()), "window of 1000"),
        (lambda _: Metrics(window=0), "window must lie in"),
        (lambda _: Metrics(compat="weka"), "compat must be one of"),
    ],
)
def test_bad_input_gets_a_sentence_and_changes_nothing(call, words):
    metrics = Metrics()
    metrics.update([0, 1], [[0.4, 0.6], [0.4, 0.6]])
    before = {k: v.tobytes() for k, v in metrics.state().items()}
    with pytest.raises(ValueError, match=words):
        call(metrics)
    assert {k: v.tobytes() for k, v in metrics.state().items()} == before


def test_the_surest_mistakes_are_kept():
    y, proba, w = random_rows(900, 3, 5, weighted=True)
    metrics = Metrics()
    assert metrics.mistakes == []
    for i in range(0, 900, 130):
        twin = Metrics()
        twin.restore(metrics.state())
        metrics = twin
        metrics.update(y[i : i + 130], proba[i : i + 130], w[i : i + 130])
    guess, top = proba.argmax(axis=1), proba.max(axis=1)
    wrong = [(i, int(y[i]), int(guess[i]), top[i]) for i in range(900) if w[i] > 0 and top[i] > 0 and guess[i] != y[i]]
    want = sorted(wrong, key=lambda m: (-m[3], -m[0]))[:20]
    assert [m[:3] for m in metrics.mistakes] == [m[:3] for m in want]
    assert [m[3] for m in metrics.mistakes] == pytest.approx([m[3] for m in want])


def test_calibration_and_alerts_against_a_plain_count():
    y, proba, w = random_rows(2000, 2, 6, weighted=False)
    y[y == 1] *= np.random.default_rng(1).random((y == 1).sum()) < 0.2  # class 1 is rare
    metrics = Metrics()
    assert metrics.alerts == metrics.calibration == []
    metrics.update(y, proba, w)
    top, right = proba.max(axis=1), (proba.argmax(axis=1) == y) & (proba.max(axis=1) > 0)
    steps = np.minimum((15 * top).astype(int), 14)
    want = [(top[steps == s].mean(), right[steps == s].mean(), (steps == s).sum()) for s in sorted(set(steps))]
    assert np.allclose(metrics.calibration, want)
    assert sum(weight for _, _, weight in metrics.calibration) == 2000
    shares, recalls, precisions = np.array(metrics.alerts).T
    assert recalls[2] == pytest.approx(metrics.cumulative(["recall_at_budget"])["recall_at_budget"])
    assert (np.diff(recalls) >= 0).all()
    assert recalls * (y == 1).sum() == pytest.approx(precisions * shares * 2000)


@pytest.mark.parametrize("classes", [2, 5])
def test_reports_that_are_worked_out_later_are_those_of_their_time(classes):
    rng = np.random.default_rng(4)
    names = tuple(METRICS)
    metrics, reports, lines = Metrics(window=20), Reports(names), []
    for k in range(MOST_WAITING + 5):
        y, w = rng.integers(0, classes, 7), rng.choice([0.0, 1.0, 2.5], 7)
        if k:  # the first report is about no row
            metrics.update(y, rng.dirichlet(np.ones(classes), 7), w)
        lines.append(reports.line(metrics, 7 * k, (0.5, 3)))
        reports.add(metrics, 7 * k, (0.5, 3))
    np.testing.assert_array_equal(reports.lines, lines)
    assert len(lines[0]) == len(reports.columns) + 2
