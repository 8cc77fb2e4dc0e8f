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
    "precision_macro": Metric(
        f"{_COUNTS}:precision_macro", "precision of each class, averaged over the classes that occur or are predicted",
        title="precision macro", percent=True, highest=1.0,
    ),
    "g_mean": Metric(
        f"{_COUNTS}:g_mean", "geometric mean of the recalls of the classes that occur", title="G-mean", highest=1.0
    ),
    "balanced_accuracy": Metric(
        f"{_COUNTS}:balanced_accuracy", "mean of the recalls of the classes that occur: macro recall",
        title="balanced accuracy", percent=True, highest=1.0,
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
    "auc_all": Metric(
        f"{_COUNTS}:auc_all",
        "chance that a row of a class is scored above a row of another, over all rows, averaged over the classes",
        title="AUC, all rows", highest=1.0, overall=True,
    ),
    "pr_auc": Metric(
        f"{_COUNTS}:pr_auc", "area under the precision-recall curve of the rarest class (average precision), all rows",
        title="PR-AUC, rarest class", highest=1.0, overall=True,
    ),
    "recall_at_budget": Metric(
        f"{_COUNTS}:recall_at_budget",
        "share of the rarest class found among the 1 % of the rows with the highest score for it",
        title="recall at 1 % alerts", percent=True, highest=1.0, overall=True,
    ),
    "brier": Metric(
        f"{_COUNTS}:brier",
        "half the mean squared distance between the probabilities and the truth; lower is better", title="Brier score",
        lower_is_better=True, highest=1.0, overall=True,
    ),
    "calibration_error": Metric(
        f"{_COUNTS}:calibration_error",
        "how far the probability of the predicted class is from the share that was right; lower is better",
        title="calibration error", percent=True, lower_is_better=True, highest=1.0, overall=True,
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
