"""Single trees say why: the tests on the way, and parts that sum to the probability."""

import math

import numpy as np
import pytest
from growing import declared, mixed_stream
from shadowing import named, numbers

from thalweg import ExtremelyFastDecisionTree, HoeffdingAdaptiveTree, HoeffdingTree, McDiarmidTree

KINDS = (None, 3, None, 5, 2)
MAKE = {
    "hoeffding": lambda: declared(KINDS, grace_period=50, tau=0.2),
    "hoeffding, majority": lambda: declared(KINDS, grace_period=50, tau=0.2, leaf="majority"),
    "efdt": lambda: named(ExtremelyFastDecisionTree(grace_period=50), KINDS),
    "adaptive": lambda: named(HoeffdingAdaptiveTree(grace_period=50, tau=0.2), KINDS),
    "mcdiarmid": McDiarmidTree,
}


def adds_up(why):
    for c, p in why.proba.items():
        parts = [why.base[c], why.leaf[c], *(added[c] for added in why.contributions.values())]
        assert sum(parts) == pytest.approx(p, abs=1e-9)
        assert sum(rule.weight * rule.answer[c] for rule in why.rules) == pytest.approx(p, abs=1e-9)
    named_in_tests = {test.split(" ")[0] for rule in why.rules for test in rule.tests}
    assert set(why.contributions) <= named_in_tests


def holds(test, x):
    """Is a test, as it is written, true of the record?"""
    name, sign, value = test.split(" ")
    v, other = x[int(name[1:])], float(value)
    near = math.isnan(v) or math.isclose(v, other, rel_tol=1e-4)
    return near or {"≤": v <= other, ">": v > other, "=": v == other, "≠": v != other}[sign]


@pytest.mark.parametrize("name", MAKE)
def test_the_parts_sum_to_the_probability_and_the_tests_hold(name):
    X, _ = mixed_stream(5, 4_000, KINDS)
    y = 0 + (X[:, 0] > 0.2) + (X[:, 1] == 0) * (X[:, 2] < 0.0)
    if name != "mcdiarmid":
        X[np.random.default_rng(5).random(X.shape) < 0.1] = np.nan
    tree = MAKE[name]().partial_fit(X, y)
    before, tests = tree.state(), 0
    for x in X[:60]:
        why = tree.explain_one(x)
        assert why.proba == tree.predict_proba_one(x)
        assert why.label == tree.predict_one(x)
        adds_up(why)
        assert all(holds(test, x) for rule in why.rules for test in rule.tests)
        tests += len(why.rules[0].tests)
    assert tests > 60
    assert all(np.array_equal(before[table], now) for table, now in tree.state().items())


def test_one_rule_is_printed_with_the_parts():
    x = np.arange(4_000.0) % 100
    tree = HoeffdingTree(leaf="majority").partial_fit(x[:, None], np.where(x > 50, "high", "low"))
    why = tree.explain_one({"x0": 90.0})
    assert why.rules[0].answer["high"] > 0.9
    assert why.leaf == {"low": 0.0, "high": 0.0}
    assert why.contributions["x0"]["high"] > 0.3
    assert str(why).splitlines()[-1].startswith("  x0 > ")
    assert str(why).splitlines()[-1] == f"  {why.rules[0]}"


def test_alternates_that_vote_have_rules_of_their_own():
    X, y = numbers(9_000, classes=3)
    tree = HoeffdingAdaptiveTree(grace_period=50, tau=0.2, min_rows=2_000)
    most = 0
    for r in range(0, len(X), 250):
        tree.partial_fit(X[r : r + 250], y[r : r + 250])
        for x in X[r : r + 5]:
            why = tree.explain_one(x)
            adds_up(why)
            assert all(holds(test, x) for rule in why.rules for test in rule.tests)
            most = max(most, len(why.rules))
    assert most > 1


@pytest.mark.parametrize("name", MAKE)
def test_there_is_nothing_to_say_before_the_first_row(name):
    with pytest.raises(ValueError, match="the tree has not seen a row yet: nothing to look at"):
        MAKE[name]().explain_one([1.0] * 5)
