"""Pictures of comparisons: what they draw, what they say, and how they sit in a page."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from published_tables import COMPRESSED, SDF, SDF_METHODS
from thalweg.comparison.ranking import Ranking
from thalweg.comparison.significance import Interval
from thalweg.show.comparison_plots import Cost
from thalweg.show.figure import DARK, LIGHT, page_colours
from thalweg.show.plots import costs, describe_ranks, intervals, rank_diagram

POINTS = [Cost("tree", 0.7, 2e6, 2e5), Cost("forest", 0.93, 1e5, 4e6), Cost("slow", 0.9, 1e4, 9e6)]


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    return Ranking(SDF_METHODS, SDF)


def thick(picture) -> list[list[float]]:
    return [list(line.get_xdata()) for line in picture.figure.axes[0].lines if line.get_linewidth() == 4.0]


def test_rank_diagram_joins_the_groups_of_the_paper(ranking):
    picture = rank_diagram(ranking)
    texts = [t.get_text() for t in picture.figure.axes[0].texts]
    assert {"SDF(0.7)  1.55", "SDF  1.80", "5.85  ODL", "critical difference 2.01"} <= set(texts)
    assert len(thick(picture)) == 2
    assert "Not significantly different (nemenyi): SDF(0.7), SDF; ARF, SRP, LB, OSB, ODL." in picture.alt
    assert picture.alt == describe_ranks(ranking)


def test_overlapping_groups_lie_on_two_levels():
    picture = rank_diagram(Ranking(["CS", "SAM", "HT", "PCA", "kNN"], COMPRESSED))
    bars = [line for line in picture.figure.axes[0].lines if line.get_linewidth() == 4.0]
    assert len({line.get_ydata()[0] for line in bars}) == len(bars) == 2


def test_long_names_and_narrow_pictures_get_rows(ranking):
    names = [f"a learner with a long name, {i}" for i in range(7)]
    picture = rank_diagram(Ranking(names, SDF), width=4.4, dark=True)
    texts = [t.get_text() for t in picture.figure.axes[0].texts]
    assert set(names) <= set(texts)
    assert "1.55" in texts
    assert all(x[0] == x[1] for x in thick(picture))  # upright
    assert picture.figure.get_facecolor() == pytest.approx((0x14 / 255, 0x17 / 255, 0x1B / 255, 1.0))


def test_no_groups_where_nothing_differs():
    rng = np.random.default_rng(1)
    same = Ranking(["a", "b", "c"], rng.random((6, 3)))
    assert not same.differ
    assert thick(rank_diagram(same)) == []
    assert "do not differ significantly" in rank_diagram(same).alt
    assert "do not differ significantly" in same.verdict()


def test_rank_diagram_by_another_procedure(ranking, tmp_path):
    picture = rank_diagram(ranking, tmp_path / "ranks.svg", procedure="shaffer")
    assert "critical difference" not in " ".join(t.get_text() for t in picture.figure.axes[0].texts)
    assert ET.parse(tmp_path / "ranks.svg").getroot().attrib["role"] == "img"
    with pytest.raises(ValueError, match="procedure must be one of"):
        rank_diagram(ranking, procedure="luck")


def test_a_control_has_a_bar_of_its_own():
    ranking = Ranking(SDF_METHODS, SDF, control="ARF")
    wide, narrow = rank_diagram(ranking), rank_diagram(ranking, width=4.4)
    assert wide.alt == narrow.alt
    assert "Compared with ARF: SDF(0.7), SDF are better; ODL is worse" in wide.alt
    for picture in (wide, narrow):
        lines = picture.figure.axes[0].lines
        assert len(thick(picture)) == 1
        low, high = thick(picture)[0]
        control = next(line for line in lines if line.get_marker() == "o" and line.get_color() == LIGHT.lines[1])
        middle = control.get_xdata()[0]
        assert middle - low == pytest.approx(high - middle)  # one critical difference to either side
        hollow = [line for line in lines if line.get_marker() == "o" and line.get_markerfacecolor() == LIGHT.paper]
        assert len(hollow) == 3  # SRP, LB, OSB
        assert all(low < line.get_xdata()[0] < high for line in hollow)
        assert "critical difference 1.80 to ARF" in {t.get_text() for t in picture.figure.axes[0].texts}
    assert "Not significantly different (nemenyi)" in rank_diagram(ranking, procedure="nemenyi").alt


def test_costs_mark_each_learner_and_join_those_that_nobody_beats():
    picture = costs(POINTS)
    speed, memory = picture.figure.axes
    front = speed.lines[0]
    assert list(front.get_xdata()) == [1e5, 2e6]  # slow is neither the fastest nor the most accurate
    assert memory.get_xlim()[0] > memory.get_xlim()[1]  # less to the right
    named = [t.get_text() for t in picture.figure.legends[0].get_texts()]
    assert named == ["forest", "slow", "tree"]
    assert "forest 93.0 %, 100,000 rows a second, 4 MB" in picture.alt
    colours = [line.get_color() for line in speed.lines[1:]]
    assert colours == list(LIGHT.lines[:3])


def test_more_learners_than_colours_differ_by_shape():
    many = [Cost(f"l{i}", 0.5 + 0.01 * i, 1000.0 + i, 1000.0 + i) for i in range(9)]
    marks = {(line.get_color(), line.get_marker()) for line in costs(many).figure.axes[0].lines[1:]}
    assert len(marks) == 9


@pytest.mark.parametrize("top", [2.2e5, 6e5, 5e6, 1e9])
def test_costs_have_numbers_on_their_axis(top: float):
    axes = costs([Cost("a", 0.5, 2.1e5, 3e4), Cost("b", 0.6, top, 4e4)]).figure.axes[0]
    low, high = axes.get_xlim()
    assert 2 <= sum(low <= tick <= high for tick in axes.get_xticks()) <= 7


def test_costs_leave_out_what_was_not_measured():
    assert "broken" not in costs([*POINTS, Cost("broken", float("nan"), 1.0, 1.0)]).alt
    with pytest.raises(ValueError, match="at least one with an accuracy"):
        costs([Cost("broken", 0.5, float("nan"), 1.0)])


def test_intervals(tmp_path):
    picture = intervals([("a", Interval(-2.0, -3.0, -1.0)), ("b", Interval(0.5, -1.0, 2.0))], title="Points")
    axes = picture.figure.axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a", "b"]
    assert [-3.0, -1.0] in [list(line.get_xdata()) for line in axes.lines]
    assert picture.alt == "Points: a -2.00 (-3.00 to -1.00); b 0.50 (-1.00 to 2.00)."


def test_inline_pictures_are_text_and_take_the_colours_of_the_page(ranking):
    text = rank_diagram(ranking).inline()
    root = ET.fromstring(text)
    assert root.attrib["aria-label"] == describe_ranks(ranking)
    assert "critical difference 2.01" in [t.text for t in root.iter("text")]
    assert "var(--ink)" in text
    assert "#" not in text.replace('"#', "").replace("(#", "")
    assert "http" not in text
    style = page_colours()
    assert all(colour in style for theme in (LIGHT, DARK) for colour in (theme.paper, theme.ink, *theme.lines))
    used = {part.split(")")[0] for part in text.split("var(")[1:]}
    assert all(f"{name}: #" in style for name in used)


def test_ranking_tables_and_bad_input(ranking):
    assert [row[0] for row in ranking.table().rows][:2] == ["SDF(0.7)", "SDF"]
    assert ranking.pairs_table().rows[0][0] == "SDF(0.7) – ODL"
    assert len(ranking.to_dict()["pairs"]) == 21
    assert ranking.plot().alt == describe_ranks(ranking)
    with pytest.raises(ValueError, match="a column for each of the 2 learners, got 7"):
        Ranking(["a", "b"], SDF)
    with pytest.raises(ValueError, match="alpha must lie in"):
        Ranking(SDF_METHODS, SDF, alpha=0.0)
