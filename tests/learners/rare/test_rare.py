"""Wrappers for rare classes against plain twins, row by row, and on files like those that people bring."""

import math

import numpy as np
import pytest

import thalweg
from rare_streams import churn
from thalweg import AVU, ActiveLearner, ArrayStream, Balanced, CostSensitive, HoeffdingTree, NaiveBayes, Threshold, Vote
from thalweg.jit.score_bins import BINS, bin_of, edge_of


def rows(n=1200, seed=3, share=0.08):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, "yes", "no")
    return rng.normal(size=(n, 2)) + 1.5 * (y == "yes")[:, None] * np.array([1.0, 0.0]), y


def late(n):
    return np.array([e for r in range(n) for e in ((r, ~(r - 7)) if r >= 7 else (r,))] + [~r for r in range(n - 7, n)])


@pytest.mark.parametrize("window", [None, 50])
def test_balanced_weights_are_those_of_a_plain_twin(window):
    X, y = rows(400)
    learner, plain = Balanced(NaiveBayes(), window=window, most=20.0), NaiveBayes()
    counts, fade = {}, 1.0 if window is None else 1.0 - 1.0 / window
    for x, label in zip(X, y, strict=True):
        counts = {known: n * fade for known, n in counts.items()}
        counts[label] = counts.get(label, 0.0) + 1.0
        weight = sum(counts.values()) / (len(counts) * counts[label])
        plain.partial_fit([x], [label], sample_weight=[min(max(weight, 1 / 20), 20.0)])
    np.testing.assert_allclose(learner.partial_fit(X, y).predict_proba(X), plain.predict_proba(X), rtol=1e-9)


def test_weights_by_label_and_their_strength():
    X, y = rows(300)
    given = Balanced(NaiveBayes(), class_weight={"yes": 4.0}).partial_fit(X, y)
    plain = NaiveBayes().partial_fit(X, y, sample_weight=np.where(y == "yes", 4.0, 1.0))
    np.testing.assert_array_equal(given.predict_proba(X), plain.predict_proba(X))
    assert given.class_weights == {"no": 1.0, "yes": 4.0}
    none = Balanced(NaiveBayes(), strength=0).partial_fit(X, y)
    np.testing.assert_array_equal(none.predict_proba(X), NaiveBayes().partial_fit(X, y).predict_proba(X))


@pytest.mark.parametrize("rule", ["over", "under"])
def test_resampling_makes_the_classes_equally_frequent(rule):
    X, y = rows(4000)
    learner = Balanced(thalweg.MajorityClass(), class_weight=rule, window=None).partial_fit(X, y)
    assert learner.model.predict_proba_one(X[0])["yes"] == pytest.approx(0.5, abs=0.08)


def test_a_row_that_is_learned_twice_has_two_weights():
    X, y = rows(40)
    twice = Balanced(NaiveBayes())
    twice.play(X, y, np.r_[~np.arange(40), ~np.arange(40)])
    once = Balanced(NaiveBayes()).partial_fit(X, y).partial_fit(X, y)
    np.testing.assert_array_equal(twice.predict_proba(X), once.predict_proba(X))


def test_costs_choose_the_least_expected_cost():
    X, y = rows(500)
    costs = {("yes", "no"): 12.0, ("no", "yes"): 1.0}
    learner, plain = CostSensitive(NaiveBayes(), costs=costs).partial_fit(X, y), NaiveBayes().partial_fit(X, y)
    p = plain.predict_proba(X)[:, plain.classes_.tolist().index("yes")]
    assert (learner.predict(X) == np.where(12.0 * p > 1.0 - p, "yes", "no")).all()
    scores = learner.predict_proba(X)[:, learner.classes_.tolist().index("yes")]
    assert (np.argsort(scores, kind="stable") == np.argsort(p, kind="stable")).mean() > 0.95


def called(learner, X, y):
    """Which rows are called positive before they are learned?"""
    proba = learner.test_then_train(X, y)
    return learner.classes_[proba.argmax(axis=1)] == "yes"


def plain_threshold(learner, X, y, *, alerts=None, precision=None, fade):
    """Decide row by row, with a list of what was seen; give the decisions."""
    seen, said = [], []
    for x, label in zip(X, y, strict=True):
        p = learner.predict_proba_one(x).get("yes")
        where = None if p is None else bin_of(p)
        weights = [fade ** (len(seen) - 1 - k) for k in range(len(seen))]
        total = sum(weights)
        called = sum(w for w, (_, _, a) in zip(weights, seen, strict=True) if a)
        best = BINS
        levels = sorted({b for b, _, _ in seen}, reverse=True)
        for level in levels:
            above = sum(w for w, (b, _, _) in zip(weights, seen, strict=True) if b >= level)
            right = sum(w for w, (b, own, _) in zip(weights, seen, strict=True) if b >= level and own)
            if alerts is not None and above >= 2 * alerts * total - called:
                best = level
                break
            own_here = any(b == level and own for b, own, _ in seen)
            if precision is not None and own_here and right >= precision * (above + 1.0 / fade):
                best = level
        tie = alerts is not None and where == best
        alert = bool(where is not None and p > 0 and (called < alerts * total if tie else where >= best))
        said.append(alert)
        if where is not None:
            seen.append((where, label == "yes", alert))
        learner.learn_one(x, label)
    return said


@pytest.mark.parametrize("aim", [{"alerts": 0.1}, {"precision": 0.4}])
def test_a_threshold_is_that_of_a_plain_twin(aim):
    X, y = rows(260, share=0.2)
    learner = Threshold(NaiveBayes(), positive="yes", window=100, **aim)
    proba = learner.test_then_train(X, y)
    said = learner.classes_[proba.argmax(axis=1)] == "yes"
    want = plain_threshold(NaiveBayes(), X, y, fade=1.0 - 1.0 / 100, **aim)
    assert np.mean(said == want) > 0.99  # sums of faded weights are rounded in another order


def test_a_budget_and_a_precision_are_held():
    X, y = rows(6000)
    for alerts in (0.02, 0.1):
        learner = Threshold(NaiveBayes(), alerts=alerts)
        said = called(learner, X, y)
        assert said.mean() == pytest.approx(alerts, rel=0.1)
        assert learner.alert_share == pytest.approx(alerts, rel=0.1)
    learner = Threshold(NaiveBayes(), precision=0.5)
    said = called(learner, X, y)
    assert (y[said] == "yes").mean() == pytest.approx(0.5, abs=0.08)
    assert 0.0 < learner.threshold < 1.0
    assert learner.positive_label == "yes"
    assert math.isnan(Threshold(NaiveBayes(), alerts=0.1).threshold)


@pytest.mark.parametrize("make", [
    lambda: Balanced(NaiveBayes(), class_weight="over"),
    lambda: CostSensitive(NaiveBayes(), costs={("yes", "no"): 9.0}),
    lambda: Threshold(NaiveBayes(), alerts=0.1, positive="yes"),
    lambda: Threshold(NaiveBayes(), at=0.2),
])  # fmt: skip
def test_late_labels_in_chunks_of_any_size(make):
    X, y = rows(160)
    events, one, many = late(160), make(), make()
    whole = one.play(X, y, events)
    found = np.zeros_like(whole)
    for e in events:
        part = many.play(X, y, np.array([e]))
        if e >= 0:
            found[e, : part.shape[1]] = part[e]
    np.testing.assert_array_equal(whole, found)
    for name, table in one.state().items():
        np.testing.assert_array_equal(table, many.state()[name])


def test_labels_reach_a_wrapper_that_is_far_inside():
    X, y = rows(300)
    learner = CostSensitive(NaiveBayes(), costs={("yes", "no"): 9.0})
    outer = ActiveLearner(learner=Vote(learners=(learner,)), strategy=AVU(budget=1.0))
    np.testing.assert_array_equal(Vote(learners=(learner,)).test_then_train(X, y), learner.test_then_train(X, y))
    assert outer.partial_fit(X, y).predict(X).tolist().count("yes") > 10


def test_edges_are_those_of_the_bins():
    for score in (2.0**-70, 1e-9, 0.001, 0.2, 0.5, 0.51, 0.9, 1 - 1e-9):
        here = bin_of(score)
        assert edge_of(here) <= score
        assert here == BINS - 1 or edge_of(here + 1) >= score


@pytest.mark.parametrize(("make", "sentence"), [
    (lambda: Balanced("arf"), "^learner must be a learner, got 'arf'"),
    (lambda: Balanced(NaiveBayes(), class_weight="more"), "^class_weight must be one of 'balanced', 'over', 'under'"),
    (lambda: Balanced(NaiveBayes(), class_weight={"yes": 0}), r"^class_weight\['yes'\] must lie in \(0, ∞\), got 0"),
    (lambda: CostSensitive(NaiveBayes(), costs={"yes": 3}), r"^costs must have pairs \(label, guess\) as keys"),
    (lambda: Threshold(NaiveBayes()), "^one of alerts, precision and at must be given, got none"),
    (lambda: Threshold(NaiveBayes(), alerts=0.1, at=0.2), "^one of alerts, precision and at must be given, got {"),
    (lambda: HoeffdingTree(class_weight="balanced"), r"^HoeffdingTree has no parameter 'class_weight': put Balanced\("),
    (lambda: HoeffdingTree(random_state=1), "^HoeffdingTree has no parameter 'random_state'"),
    (lambda: thalweg.AdaptiveRandomForest(random_state=1), "did you mean 'seed'?"),
    (lambda: thalweg.AdaptiveRandomForest(n_estimators=1), "did you mean 'size'?"),
    (lambda: thalweg.WindowKNN(n_neighbors=1), "did you mean 'k'?"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused_in_a_sentence(make, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        make()


def test_churn_is_found_with_balanced_weights_as_the_metrics_count_it():
    table = churn()
    y = table["churned"]
    codes = {plan: i for i, plan in enumerate(sorted(set(table["plan"].tolist())))}
    X = np.stack([table["months"], table["charge"], table["calls"], table["autopay"].astype(float),
                  [codes[plan] for plan in table["plan"].tolist()]], axis=1)  # fmt: skip
    found = {}
    for name, learner in {"plain": HoeffdingTree(), "balanced": Balanced(HoeffdingTree())}.items():
        found[name] = thalweg.prequential(ArrayStream(X, y), learner, metrics="accuracy").per_class["yes"]
    assert found["balanced"].recall >= 5 * found["plain"].recall
    assert found["balanced"].recall > 0.4
    assert found["balanced"].precision > 1.5 * (y == "yes").mean()


# -- scikit-learn's manners -------------------------------------------------------------------------------------------


def test_parameters_of_a_learner_inside():
    tree = HoeffdingTree()
    learner = ActiveLearner(learner=Balanced(tree), strategy=AVU(budget=0.5))
    assert learner.get_params()["learner__learner__grace_period"] == 200
    assert learner.get_params()["strategy__budget"] == 0.5
    assert "learner__strength" not in learner.get_params(deep=False)
    learner.set_params(learner__learner__grace_period=50, learner__strength=0.5, max_open=7)
    assert repr(learner.learner) == "Balanced(HoeffdingTree(grace_period=50), strength=0.5)"
    assert (learner.max_open, tree.grace_period) == (7, 200)
    with pytest.raises(ValueError, match="^Invalid parameter 'learner__learner__no'"):
        learner.set_params(learner__learner__no=1)


def test_a_grid_search_inside_a_wrapper():
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    X, y = rows(300)
    search = GridSearchCV(Balanced(NaiveBayes()), {"strength": [0.0, 1.0], "learner": [NaiveBayes()]}, cv=2).fit(X, y)
    assert search.best_params_["strength"] in (0.0, 1.0)
    search = GridSearchCV(Balanced(HoeffdingTree()), {"learner__grace_period": [50, 100]}, cv=2).fit(X, y)
    assert search.best_estimator_.learner.grace_period in (50, 100)
    assert repr(clone(Threshold(Balanced(NaiveBayes()), alerts=0.1))) == "Threshold(Balanced(NaiveBayes()), alerts=0.1)"


def test_the_third_argument_of_partial_fit_are_the_classes():
    assert HoeffdingTree().partial_fit([[1.0], [2.0]], [0, 1], [0, 1]).classes_.tolist() == [0, 1]


def test_learners_and_explanations_in_a_notebook():
    page = Balanced(HoeffdingTree(delta=0.5), class_weight={"<b>": 2.0})._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "<tr class=changed><td>class_weight</td>" in page
    X, y = rows(300)
    why = HoeffdingTree().partial_fit(X, y).explain_one(X[0])
    assert "without looking" in why._repr_html_()


# -- the command line -------------------------------------------------------------------------------------------------


def test_the_options_of_the_command_line(run, tmp_path):
    path = tmp_path / "rows.csv"
    X, y = rows(600)
    path.write_text("a,b,class\n" + "".join(f"{a},{b},{label}\n" for (a, b), label in zip(X.tolist(), y, strict=True)))
    for words in (["--class-weight", "balanced"], ["--alerts", "0.1", "--positive", "yes"], ["--precision", "0.5"],
                  ["--costs", "yes:no=10"]):  # fmt: skip
        code, out, err = run("run", "naive-bayes", path, *words)
        assert (code, err) == (0, ""), err
        assert "Finds" in out
    assert run("run", "threshold(balanced(naive-bayes), alerts=0.1)", path)[0] == 0
    code, _, err = run("run", "naive-bayes", path, "--positive", "yes")
    assert (code, err) == (2, "thalweg: --positive needs --alerts or --precision, got --positive yes\n")
