"""Metrics by name: how each is computed, written and ranked."""

from thalweg.registry.entry import Metric, Table

_COUNTS = ".evaluate.counts"

METRICS = Table("metric", Metric, {
    "accuracy": Metric(
        f"{_COUNTS}:accuracy", "share of the rows predicted right", title="accuracy", percent=True, highest=1.0
    ),
    "kappa": Metric(
        f"{_COUNTS}:kappa", "accuracy above what the class shares alone would give (Cohen)", title="kappa", highest=1.0
    ),
    "kappa_m": Metric(
        f"{_COUNTS}:kappa_m", "accuracy above that of always predicting the majority class so far", title="kappa-M",
        highest=1.0,
    ),
    "kappa_t": Metric(
        f"{_COUNTS}:kappa_t", "accuracy above that of predicting the previous label", title="kappa-T", highest=1.0
    ),
    "f1_macro": Metric(
        f"{_COUNTS}:f1_macro", "F1 of each class, averaged over the classes that occur or are predicted",
        title="F1 macro", highest=1.0,
    ),
    "g_mean": Metric(
        f"{_COUNTS}:g_mean", "geometric mean of the recalls of the classes that occur", title="G-mean", highest=1.0
    ),
    "balanced_accuracy": Metric(
        f"{_COUNTS}:balanced_accuracy", "mean of the recalls of the classes that occur", title="balanced accuracy",
        percent=True, highest=1.0,
    ),
    "log_loss": Metric(
        f"{_COUNTS}:log_loss", "mean of -ln(probability given to the true class); lower is better", title="log-loss",
        lower_is_better=True,
    ),
    "auc": Metric(
        f"{_COUNTS}:auc",
        "chance that a row of one class is scored above a row of another, over the window, averaged over pairs",
        title="AUC", highest=1.0, windowed=True,
    ),
})  # fmt: skip


def metric_of(name: str) -> Metric:
    """Find a metric; one that nobody has registered, in an old result, is called by its name.

    >>> metric_of("log_loss").lower_is_better, metric_of("theirs").title
    (True, 'theirs')
    """
    found = METRICS.get(name)
    if found is None:
        return Metric("", title=name)
    return found
