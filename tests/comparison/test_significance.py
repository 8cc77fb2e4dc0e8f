"""Ranks and tests give the papers' own ranks, the values worked out from them, and SciPy's."""

import math

import numpy as np
import pytest
from scipy import stats

from published_tables import CKDT, COMPRESSED, COMPRESSED_ENSEMBLES, SDF, SDF_METHODS
from thalweg.comparison import significance as s


def test_ranks_of_the_deep_forest_paper():
    assert s.average_ranks(SDF).round(2).tolist() == [4.00, 4.15, 5.00, 5.65, 5.85, 1.80, 1.55]
    assert s.average_ranks(SDF[:9]).round(2).tolist() == [4.11, 3.22, 5.33, 6.56, 5.44, 1.67, 1.67]  # real streams
    assert s.average_ranks(SDF[9:]).round(2).tolist() == [3.91, 4.91, 4.73, 4.91, 6.18, 1.91, 1.45]  # synthetic ones


def test_ranks_of_the_compression_paper():
    assert s.average_ranks(COMPRESSED).round(4).tolist() == [3.2222, 2.5556, 4.7778, 1.8889, 2.5556]
    assert s.average_ranks(COMPRESSED_ENSEMBLES).round(4).tolist() == [3.4444, 1.3333, 2.5556, 2.6667]


@pytest.mark.parametrize(
    ("table", "chi2", "f", "cd"),
    [(SDF, 77.1857, 34.2533, 2.0146), (COMPRESSED, 17.4222, 7.5024, 2.0333),
     (COMPRESSED_ENSEMBLES, 12.3333, 6.7273, 1.5634)],
)  # fmt: skip
def test_friedman_iman_davenport_and_nemenyi(table, chi2, f, cd):
    test = s.friedman(table)
    assert test.chi2 == pytest.approx(chi2, abs=5e-5)
    assert test.f == pytest.approx(f, abs=5e-5)
    n, k = table.shape
    assert s.critical_difference(k, n) == pytest.approx(cd, abs=1e-3)  # that one is from a table with three decimals
    assert test.chi2 == pytest.approx(stats.friedmanchisquare(*table.T).statistic)
    assert test.p == pytest.approx(stats.friedmanchisquare(*table.T).pvalue)


def test_critical_values_are_those_of_the_tables():
    q05 = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    q10 = [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]
    for k, (five, ten) in enumerate(zip(q05, q10, strict=True), start=2):
        scale = math.sqrt(k * (k + 1) / 60)
        assert s.critical_difference(k, 10) / scale == pytest.approx(five, abs=1.1e-3)
        assert s.critical_difference(k, 10, alpha=0.10) / scale == pytest.approx(ten, abs=1.1e-3)


def test_critical_values_against_a_control_are_those_of_the_tables():
    q05 = [1.960, 2.241, 2.394, 2.498, 2.576, 2.638, 2.690, 2.734, 2.773]  # Demšar prints 2.724 for 9: a misprint
    q10 = [1.645, 1.960, 2.128, 2.241, 2.326, 2.394, 2.450, 2.498, 2.539]
    for k, (five, ten) in enumerate(zip(q05, q10, strict=True), start=2):
        scale = math.sqrt(k * (k + 1) / 60)
        assert s.control_difference(k, 10) / scale == pytest.approx(five, abs=5.1e-4)
        assert s.control_difference(k, 10, alpha=0.10) / scale == pytest.approx(ten, abs=5.1e-4)
        assert s.control_difference(k, 10) <= s.critical_difference(k, 10) + 1e-9


def test_bonferroni_dunn_asks_fewer_questions_than_nemenyi():
    ranks = s.average_ranks(SDF)
    p = s.bonferroni_dunn(ranks, 20, control=0)
    assert list(p) == [1, 2, 3, 4, 5, 6]
    z = abs(ranks[4] - ranks[0]) / math.sqrt(7 * 8 / 120)
    assert p[4] == pytest.approx(6 * 2 * stats.norm.sf(z))
    assert p[4] < 0.05 < s.nemenyi(ranks, 20)[0, 4]  # ODL is told from ARF by this test alone
    assert p[1] == 1.0
    at = s.control_difference(4, 12)
    assert s.bonferroni_dunn([2.0, 2.0 + at, 1.0, 3.0], 12, control=0)[1] == pytest.approx(0.05)


def test_groups_of_the_deep_forest_paper():
    ranks = s.average_ranks(SDF)
    found = [{SDF_METHODS[i] for i in group} for group in s.groups(ranks, s.critical_difference(7, 20))]
    assert found == [{"SDF(0.7)", "SDF"}, {"ARF", "SRP", "LB", "OSB", "ODL"}]


def test_shaffer_on_the_deep_forest_paper():
    adjusted = s.shaffer(s.average_ranks(SDF), len(SDF))
    expected = {
        ("ODL", "SDF(0.7)"): 6.474e-9, ("OSB", "SDF(0.7)"): 2.927e-8, ("ODL", "SDF"): 4.583e-8,
        ("OSB", "SDF"): 2.613e-7, ("LB", "SDF(0.7)"): 6.617e-6, ("LB", "SDF"): 4.213e-5, ("SRP", "SDF(0.7)"): 0.002118,
        ("ARF", "SDF(0.7)"): 0.003688, ("SRP", "SDF"): 0.006398, ("ARF", "SDF"): 0.014078, ("ARF", "ODL"): 0.074432,
        ("SRP", "ODL"): 0.128267, ("ARF", "OSB"): 0.141480, ("SRP", "OSB"): 0.196756,
    }  # fmt: skip
    named = {(SDF_METHODS[i], SDF_METHODS[j]): p for (i, j), p in adjusted.items()}
    for pair, p in expected.items():
        assert named.pop(pair) == pytest.approx(p, rel=5e-4), pair
    assert list(named.values()) == [1.0] * 7


def test_shaffer_on_the_tensor_paper():
    ranks = s.average_ranks(CKDT)
    assert ranks.tolist() == [5.0, 3.375, 3.375, 2.25, 1.0]
    adjusted = s.shaffer(ranks, len(CKDT))
    against = {i: adjusted[i, 4] for i in range(4)}
    assert min(against, key=lambda i: against[i]) == 0  # MDDT is told apart best, as in the paper's Table 4 ...
    assert against[0] < 1e-4  # ... which prints .000000; its other values rest on 56 streams it does not tabulate
    assert against[2] <= against[1] < against[3] < 0.5  # the paper's order: OPOR, LRTCR, LRTD


def test_logically_possible_numbers_of_true_hypotheses():
    assert sorted(s.true_hypotheses(4)) == [0, 1, 2, 3, 6]
    assert sorted(s.true_hypotheses(5)) == [0, 1, 2, 3, 4, 6, 10]
    assert sorted(s.true_hypotheses(7)) == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 15, 21]


def test_holm_is_never_below_shaffer():
    ranks = s.average_ranks(SDF)
    fine, coarse = s.shaffer(ranks, 20), s.holm(ranks, 20)
    assert all(fine[pair] <= coarse[pair] for pair in fine)
    assert fine != coarse


def test_nemenyi_p_is_5_per_cent_at_the_critical_difference():
    cd = s.critical_difference(4, 12)
    assert s.nemenyi([1.0, 1.0 + cd, 3.0, 3.5], 12)[0, 1] == pytest.approx(0.05, abs=1e-6)


def test_ties_missing_runs_and_losses():
    assert s.stream_ranks([[1.0, 1.0 + 1e-14, 0.0], [3.0, 2.0, 1.0]]).tolist() == [[1.5, 1.5, 3.0], [1.0, 2.0, 3.0]]
    assert s.stream_ranks([[0.2, np.nan], [0.3, 0.1]], higher_is_better=False).tolist() == [[1, 2], [2, 1]]
    tied = np.array([[1, 1, 2], [3, 1, 2], [2, 2, 2], [1, 2, 3]], dtype=float)
    assert s.friedman(tied).chi2 == pytest.approx(stats.friedmanchisquare(*tied.T).statistic)


def test_agreement_on_all_streams_and_on_none():
    agreed = s.friedman([[3, 2, 1]] * 5)
    assert (agreed.f, agreed.f_p) == (math.inf, pytest.approx(6.0**-4))  # so often do five streams agree by chance
    assert s.friedman([[2, 1]] * 2).f_p == 0.5  # two streams that agree say nothing
    assert s.friedman([[3, 1, 1]] * 4).f_p == pytest.approx(3.0**-3)  # with a tie there are fewer orders
    alike = s.friedman([[1, 1], [2, 2]])
    assert (alike.chi2, alike.p, alike.f) == (0.0, 1.0, 0.0)


def test_wilcoxon_is_scipys():
    a, b = SDF[:, 5], SDF[:, 0]
    assert s.wilcoxon(a, b) == pytest.approx(stats.wilcoxon(a, b).pvalue)
    assert s.wilcoxon([1.0, 2.0], [1.0, 2.0]) == 1.0
    assert s.wilcoxon([1.0, np.nan, 3.0], [0.5, 1.0, 3.0]) == 1.0


def test_bootstrap_is_repeatable_and_covers_the_mean():
    v = np.random.default_rng(3).normal(2.0, 1.0, 40)
    first = s.bootstrap(v)
    assert first == s.bootstrap(v)
    assert first.low < first.mean < first.high
    assert first.high - first.low == pytest.approx(2 * 1.96 * v.std() / math.sqrt(40), rel=0.1)
    assert s.bootstrap([0.5]) == (0.5, 0.5, 0.5)
    assert math.isnan(s.bootstrap([]).mean)


def test_groups_for_pairs_of_any_test():
    assert s.groups([1.0, 2.0, 3.0], {(0, 1), (1, 2)}) == [(0, 1), (1, 2)]
    assert s.groups([1.0, 2.0, 3.0], {(0, 1), (1, 2), (0, 2)}) == [(0, 1, 2)]
    assert s.groups([1.0, 2.0, 3.0], set()) == []


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda: s.average_ranks([[1.0, 2.0]]), r"at least 2 streams \(rows\).*got shape \(1, 2\)"),
        (lambda: s.friedman([[1.0], [2.0]]), "2 learners"),
        (lambda: s.friedman([[1.0, math.inf], [2.0, 1.0]]), "scores must be finite"),
        (lambda: s.critical_difference(1, 5), "learners must lie in"),
        (lambda: s.critical_difference(3, 1), r"streams must lie in \[2, ∞\), got 1"),
        (lambda: s.control_difference(3, 1), r"streams must lie in \[2, ∞\), got 1"),
        (lambda: s.nemenyi([1.0, 2.0], 1), r"streams must lie in \[2, ∞\), got 1"),
        (lambda: s.bonferroni_dunn([1.0, 2.0], 9, control=2), r"control must lie in \[0, 1\], got 2"),
        (lambda: s.bonferroni_dunn([1.0], 9, control=0), "ranks must be the mean ranks of at least 2 learners"),
        (lambda: s.critical_difference(3, 5, alpha=1.5), "alpha must lie in"),
        (lambda: s.shaffer([1.0], 5), "ranks must be the mean ranks of at least 2 learners"),
        (lambda: s.wilcoxon([1.0], [1.0, 2.0]), "one score for each stream"),
        (lambda: s.bootstrap([1.0], level=2.0), "level must lie in"),
    ],
)
def test_bad_input_gets_a_sentence(work, words):
    with pytest.raises(ValueError, match=words):
        work()
