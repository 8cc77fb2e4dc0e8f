"""The plans of the papers: they can be read, all names are known, published numbers have the printed ranks."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from thalweg.comparison.significance import average_ranks, critical_difference, friedman
from thalweg.papers.beside import Beside, published_numbers, read_lines
from thalweg.papers.claims import judge
from thalweg.papers.plan import NAMES, SCALES, Claim, PaperTable, read_plan, read_published
from thalweg.registry.typed import make_learner, open_stream
from thalweg.streams.datasets.catalogue import DATASETS

EVERY = [(name, scale) for name in NAMES for scale in SCALES]


def texts(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


@pytest.mark.parametrize(("name", "scale"), EVERY)
def test_learners_and_streams_are_known_at_every_scale(name: str, scale: str) -> None:
    plan = read_plan(name)
    size = plan.scales[scale]
    for table in plan.tables:
        for text in table.learners.values():
            make_learner(text.format_map(size.values), seed=1)
        for text in (text for row in table.rows.values() for text in texts(row)):
            stream = text.format_map(size.values)
            if stream.partition("(")[0] not in DATASETS and "mnist" not in stream:
                open_stream(stream)


@pytest.mark.parametrize("name", NAMES)
def test_rows_columns_and_claims_name_what_is_there(name: str) -> None:
    plan = read_plan(name)
    assert set(plan.scales) == set(SCALES)
    assert all(size.says for size in plan.scales.values())
    known = {row for table in plan.tables for row in table.rows}
    assert all(set(size.rows) <= known for size in plan.scales.values())
    for table in plan.tables:
        if table.published:
            printed = read_published(name, table.published)
            assert set(printed) <= set(table.rows) | set(plan.missing)
            assert all(set(line) == set(table.learners) for line in printed.values())
    for claim in plan.claims:
        table = plan.table(claim.table)
        assert {claim.better, *claim.than} <= set(table.learners)
        assert set(claim.on) <= set(table.rows)


@pytest.mark.parametrize("scale", ["smoke", "small"])
def test_without_data_there_is_a_synthetic_part(scale: str) -> None:
    for name in NAMES:
        plan = read_plan(name)
        size = plan.scales[scale]
        generated = [
            row
            for row, given in plan.tables[0].rows.items()
            if (not size.rows or row in size.rows)
            and all(t.format_map(size.values).partition("(")[0] not in DATASETS for t in texts(given))
        ]
        assert generated, name


PRINTED_RANKS = {
    ("sdf", "table2.csv"): {
        "ARF": 4.00, "SRP": 4.15, "LB": 5.00, "OSB": 5.65, "ODL": 5.85, "SDF": 1.80, "SDF(0.7)": 1.55,
    },
    ("csknn", "table4-k5.csv"): {
        "CS-kNN": 3.2222, "CS-samkNN": 2.5556, "HT-kNN": 4.7778, "PCA-kNN": 1.8889, "kNN": 2.5556,
    },
    ("csknn", "table7.csv"): {"CS-kNN^LB": 3.4444, "CSB-kNN": 1.3333, "CS-HTree^LB": 2.5556, "CS-ARF": 2.6667},
}  # fmt: skip
TESTS = {
    ("sdf", "table2.csv"): (77.1857, 34.2533, 2.0146),
    ("csknn", "table4-k5.csv"): (17.4222, 7.5024, 2.0333),
    ("csknn", "table7.csv"): (12.3333, 6.7273, 1.5634),
}
PRINTED_MEANS = {
    ("csknn", "table4-k5.csv"): {"CS-kNN": 82.80, "CS-samkNN": 83.42, "PCA-kNN": 85.55, "kNN": 83.34},
    ("csknn", "table4-k11.csv"): {"CS-kNN": 82.04, "CS-samkNN": 82.42, "PCA-kNN": 84.61, "kNN": 82.06},
    ("csknn", "table5-k5.csv"): {"CS-kNN": 71.68, "CS-samkNN": 64.33, "HT-kNN": 105.25, "kNN": 5430.32},
    ("csknn", "table6.csv"): {"CS-kNN": 2.52, "PCA-kNN": 32.26, "kNN": 211.57},
    ("csknn", "table7.csv"): {"CS-kNN^LB": 82.99, "CSB-kNN": 86.33, "CS-HTree^LB": 83.86, "CS-ARF": 83.49},
    ("csknn", "table8.csv"): {"CS-kNN^LB": 837.43, "CSB-kNN": 1105.33, "CS-HTree^LB": 84.37},
    ("csknn", "table9.csv"): {"CSB-kNN": 41.57, "CS-HTree^LB": 25.39, "CS-ARF": 66.89},
}  # fmt: skip


@pytest.mark.parametrize(("name", "file"), PRINTED_RANKS)
def test_published_numbers_have_the_printed_ranks_and_the_known_tests(name: str, file: str) -> None:
    printed = read_published(name, file)
    learners = list(next(iter(printed.values())))
    scores = np.array([[line[learner] for learner in learners] for line in printed.values()])
    ranks = dict(zip(learners, average_ranks(scores), strict=True))
    assert ranks == pytest.approx(PRINTED_RANKS[name, file], abs=5e-5)
    found = friedman(scores)
    *told, least = TESTS[name, file]
    assert [found.chi2, found.f] == pytest.approx(told, abs=5e-5)
    assert critical_difference(len(learners), len(scores)) == pytest.approx(least, abs=6e-4)  # tables: q to 3 digits


@pytest.mark.parametrize(("name", "file"), PRINTED_MEANS)
def test_published_numbers_have_the_printed_means(name: str, file: str) -> None:
    printed = read_published(name, file)
    for learner, mean in PRINTED_MEANS[name, file].items():
        assert np.mean([line[learner] for line in printed.values()]) == pytest.approx(mean, abs=0.0101), learner


def test_an_index_and_a_scan_have_the_same_published_error() -> None:
    for line in read_published("etree", "table4-error.csv").values():
        assert (line["LE-tree"], line["GE-tree"]) == (line["L-Ensemble"], line["G-Ensemble"])


TABLE = PaperTable("t", "T", {"A": "majority", "B": "no-change"}, {"x": "sea", "y": "sine"})


def test_means_and_ranks_are_over_rows_that_both_have() -> None:
    ours = {("x", "A"): 70.0, ("x", "B"): 60.0, ("y", "A"): 50.0, ("y", "B"): 90.0, ("z", "A"): 80.0, ("z", "B"): 40.0}
    printed = {("x", "A"): 71.0, ("x", "B"): 75.0, ("z", "A"): 83.0, ("z", "B"): 25.0}
    both = Beside(TABLE, ("x", "y", "z"), ours, printed)
    assert both.both == ("x", "z")
    assert both.summary().rows == [
        ("A", "77.00", "75.00", "-2.00", "1.50", "1.00"),
        ("B", "50.00", "50.00", "+0.00", "1.50", "2.00"),
    ]
    assert both.table().rows[0] == ("x", "* 70.00 (71.00, -1.00)", "60.00 (75.00, -15.00)")
    assert both.table().rows[1] == ("y", "50.00", "* 90.00")


def test_a_run_that_failed_is_a_dash_and_the_worst() -> None:
    both = Beside(TABLE, ("x", "y"), {("x", "A"): 70.0, ("x", "B"): math.nan, ("y", "A"): 1.0, ("y", "B"): 2.0}, {})
    assert both.table().rows[0] == ("x", "* 70.00", "–")
    assert [row[2] for row in both.summary().rows] == ["1.50", "1.50"]


def test_multiples_are_averaged_as_such() -> None:
    times = PaperTable(
        "t", "T", {"A": "majority", "B": "no-change"}, {"x": "sea", "y": "sine"}, measure="time", relative_to="A"
    )
    printed = {"x": {"A": 2.0, "B": 8.0}, "y": {"A": 1.0, "B": 1.0}}
    both = Beside(times, ("x", "y"), {}, published_numbers(times, printed, ("x", "y")))
    assert both.published["x", "B"] == 4.0
    assert both.mean(both.published, "B", ("x", "y")) == pytest.approx(2.0)


def test_results_can_be_read_back(tmp_path: Path) -> None:
    both = Beside(TABLE, ("x",), {("x", "A"): 70.25, ("x", "B"): math.nan}, {("x", "A"): 71.0})
    path = tmp_path / "results.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("table", "stream", "learner", "published", "ours"), *both.lines()])
    again = read_lines(path, [TABLE])["t"]
    assert (again.ours, again.published) == ({("x", "A"): 70.25}, {("x", "A"): 71.0})


def test_claims() -> None:
    ours = {("x", "A"): 70.0, ("x", "B"): 60.0, ("y", "A"): 50.0, ("y", "B"): 90.0}
    both = Beside(TABLE, ("x", "y"), ours, {})
    claim = Claim(says="", table="t", better="B", than=("A",))
    assert judge(claim, both).word == "holds"
    assert judge(claim, both).why == "B 75.00, A 60.00; on 1 of 2 streams"
    assert judge(Claim(says="", table="t", better="B", than=("A",), on=("x",)), both).word == "does not hold"
    assert judge(Claim(says="", table="t", better="B", than=("A",), on=("x",), within=10.0), both).holds
    assert judge(Claim(says="", table="t", better="B", than=("A",), same=True, within=1.0), both).holds is False
    assert judge(Claim(says="", table="t", better="B", than=("A",), on=("z",)), both).word == "not tested"
    errors = PaperTable("t", "T", TABLE.learners, TABLE.rows, measure="error")
    assert judge(claim, Beside(errors, ("x", "y"), ours, {})).word == "does not hold"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("sdff", r"did you mean 'sdf'\?"), ("", "paper must be one of sdf, csknn, abacoc, ckdt, etree, got ''")],
)
def test_a_paper_that_is_not_known(name: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_plan(name)
