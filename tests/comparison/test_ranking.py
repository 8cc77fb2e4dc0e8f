"""A ranking says what it found in sentences and tables, also of two learners, of ties, and against a control."""

import json
import re

import numpy as np
import pytest

from published_tables import SDF, SDF_METHODS
from thalweg.comparison.ranking import Ranking


@pytest.fixture(scope="module")
def against_arf() -> Ranking:
    return Ranking(SDF_METHODS, SDF, control="ARF")


def test_a_control_is_compared_with_each_of_the_others(against_arf):
    p = against_arf.against_control()
    assert list(p) == [name for name in SDF_METHODS if name != "ARF"]
    assert against_arf.control_difference < against_arf.critical_difference
    assert {name for name, each in p.items() if each < 0.05} == {"SDF", "SDF(0.7)", "ODL"}
    assert (
        "compared with ARF: SDF(0.7), SDF are better; ODL is worse; SRP, LB, OSB are not significantly different"
        in (against_arf.verdict())
    )
    assert [row[0] for row in against_arf.control_table().rows] == ["SDF(0.7)", "SDF", "SRP", "LB", "OSB", "ODL"]
    assert against_arf.table().title.endswith("gap of the means to ARF")
    written = json.loads(json.dumps(against_arf.to_dict()))
    assert written["control"] == "ARF"
    assert written["bonferroni_dunn"] == p


def test_without_a_control_there_is_none():
    ranking = Ranking(SDF_METHODS, SDF)
    assert "control" not in ranking.to_dict()
    assert ranking.reference == ranking.order[0]
    with pytest.raises(ValueError, match="control must name a learner to compare the others with, got None"):
        ranking.against_control()
    with pytest.raises(ValueError, match="control must be one of tree, forest, got 'bush'"):
        Ranking(["tree", "forest"], [[1, 2], [1, 2]], control="bush")


def test_the_table_has_a_name_for_each_column_and_fits_a_terminal():
    rng = np.random.default_rng(1)
    table = Ranking(["hoeffding-tree", "naive-bayes", "arf"], rng.random((6, 3))).table()
    assert len(set(table.head)) == len(table.head)
    assert len(table.parts(80)) == len(table.parts(1_000))  # not cut in two
    assert max(map(len, str(table).splitlines()[:-1])) <= 80
    for row in table.rows:
        low, high = map(float, row[3].split(" … "))
        assert low <= float(row[2]) <= high


def test_two_learners_get_the_sharper_test():
    two = Ranking(["tree", "forest"], [[0.7, 0.8], [0.6, 0.9], [0.5, 0.7], [0.1, 0.7]])
    assert not two.differ  # four streams that agree: once in eight by chance
    assert "Wilcoxon p = 0.1250, for two learners the sharper test" in two.verdict()
    assert two.groups() == []


@pytest.mark.parametrize("control", [None, "a"])
def test_ties_everywhere(control):
    same = Ranking(["a", "b", "c"], np.full((4, 3), 0.5), control=control)
    assert same.ranks.tolist() == [2.0, 2.0, 2.0]
    assert "do not differ significantly over these 4 streams" in same.verdict()
    assert set(same.pairs("shaffer").values()) | set(same.wilcoxon().values()) == {1.0}
    assert "none of these may be called different" in str(same.pairs_table())
    assert "nan" not in str(same) + str(same.pairs_table())
    if control:
        assert set(same.against_control().values()) == {1.0}
        assert "none of these may be called different" in str(same.control_table())


def test_one_stream_gets_a_sentence():
    with pytest.raises(ValueError, match=r"scores must be a table of at least 2 streams .* got shape \(1, 2\)"):
        Ranking(["a", "b"], [[0.1, 0.2]])


def test_runs_that_are_all_missing():
    lost = Ranking(["a", "b"], [[0.1, np.nan], [0.2, np.nan], [0.3, np.nan]])
    assert lost.ranks.tolist() == [1.0, 2.0]
    assert lost.wilcoxon()[0, 1] == 1.0


def test_numbers_of_a_column_have_equal_decimals(against_arf):
    for table in (against_arf.table(), against_arf.pairs_table(), against_arf.control_table()):
        for column in list(zip(*table.rows, strict=True))[1:]:
            decimals = {len(number) for cell in column for number in re.findall(r"\d\.(\d+)", cell)}
            assert len(decimals) == 1, column
