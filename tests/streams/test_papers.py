"""The streams of the papers have the settings of their authors."""

import hashlib
from typing import Any

import numpy as np
import pytest

from thalweg import Agrawal, DriftStream, HyperCube, Hyperplane, RandomRBF
from thalweg.core.protocols import Stream
from thalweg.streams.paper_streams import PAPER_STREAMS, paper_stream

SIZES = {
    "AGR_a": (9, 2), "AGR_g": (9, 2), "SEA_a": (3, 2), "SEA_g": (3, 2), "LED_a": (24, 10), "LED_g": (24, 10),
    "RTG": (10, 2), "RBF_m": (10, 5), "RBF_f": (10, 5), "HYPER": (10, 2),
    "Tweets-500": (500, 2), "Tweets-1000": (1000, 2), "Tweets-1500": (1500, 2), "RBF-200x10": (200, 10),
    "Syn-5": (5, 2), "Syn-10": (10, 2),
}  # fmt: skip


def test_all_are_there() -> None:
    assert set(PAPER_STREAMS) == set(SIZES)


@pytest.mark.parametrize("rng", ["java", "splitmix"])
@pytest.mark.parametrize("name", SIZES)
def test_sizes(name: str, rng: str) -> None:
    stream = paper_stream(name, rng=rng)
    features, classes = SIZES[name]
    assert stream.schema.n_features == features
    assert len(stream.schema.classes or ()) == classes
    assert stream.rows == (100_000 if name.startswith(("Tweets", "RBF-")) else 1_000_000)
    assert stream.name == name
    drifts = (250_000, 500_000, 750_000) if name[:3] in ("AGR", "SEA", "LED") else ()
    assert stream.drifts == (tuple(range(10_000, 1_000_000, 10_000)) if name.startswith("Syn") else drifts)
    assert len(paper_stream(name, rng=rng, rows=50).take(100)) == 50


def concepts(stream: Stream) -> list[Any]:
    if isinstance(stream, DriftStream):
        return [*concepts(stream.old), *concepts(stream.new)]
    return [stream]


@pytest.mark.parametrize(("name", "param", "values"), [
    ("AGR_a", "function", [1, 2, 1, 4]), ("SEA_g", "function", [1, 2, 1, 4]), ("LED_a", "drifting", [1, 3, 5, 7]),
])  # fmt: skip
def test_concepts_and_seeds(name: str, param: str, values: list[int]) -> None:
    java, own = concepts(paper_stream(name)), concepts(paper_stream(name, rng="splitmix", seed=3))
    assert [getattr(c, param) for c in java] == [getattr(c, param) for c in own] == values
    assert {c.seed for c in java} == {1}
    assert len({c.seed for c in own}) == 4
    assert {c.rng for c in java} == {"java"}
    assert not {c.seed for c in own} & {c.seed for c in concepts(paper_stream(name, rng="splitmix", seed=4))}


def test_widths_and_the_rest() -> None:
    a, g = paper_stream("AGR_a"), paper_stream("AGR_g")
    assert isinstance(a, DriftStream)
    assert isinstance(g, DriftStream)
    assert (a.widths, g.widths) == ((50,) * 3, (50_000,) * 3)
    assert all(isinstance(c, Agrawal) and c.compat == "moa" for c in concepts(a))
    m, f, h = paper_stream("RBF_m"), paper_stream("RBF_f"), paper_stream("HYPER")
    assert isinstance(m, RandomRBF)
    assert isinstance(f, RandomRBF)
    assert (m.speed, f.speed, m.centroids, m.drifting) == (0.0001, 0.001, 50, None)
    assert isinstance(h, Hyperplane)
    assert (h.drifting, h.magnitude, h.noise, h.reversal) == (10, 0.001, 0.05, 0.1)


def test_the_cubes_of_the_e_tree_paper() -> None:
    for features in (5, 10):
        stream = paper_stream(f"Syn-{features}", seed=3)
        assert isinstance(stream, HyperCube)
        assert (stream.features, stream.width, stream.alpha, stream.period) == (features, 0.5, 0.1, 10_000)
        assert (stream.inside, stream.noise, stream.seed) == (0.3, 0.05, 3)


# SHA-256 of X and y of the rows from 240,000 to 260,000, across the first drift, as MOA itself gives them.
MOA = {
    "AGR_a": "ecab783ee2993cf173a7f924c04059e3adb7e6a8d878b175bf2276a0e104e987",
    "SEA_g": "9bb2950f7567084236323126372cf6c581b988f9231cb1b4b3cb265313b86126",
    "LED_g": "be69437d47ac17868cee97840ea603aaeea24b92b5d91e57f1a4e554205bf7fa",
}


@pytest.mark.parametrize("name", MOA)
def test_the_rows_of_moa_across_a_drift(name: str) -> None:
    stream = paper_stream(name)
    stream.take(240_000)
    chunk = stream.take(20_000)
    data = chunk.X.astype("<f8").tobytes() + chunk.y.astype("<i8").tobytes()
    assert hashlib.sha256(data).hexdigest() == MOA[name]


def test_a_concept_that_comes_again_replays_its_records() -> None:
    stream = paper_stream("SEA_a")
    first = stream.take(1000)
    stream.take(499_000)
    again = stream.take(2000)  # the third concept is the first one again, with the same seed
    rows = {tuple(row) for row in first.X.tolist()}
    assert sum(tuple(row) in rows for row in again.X.tolist()) > 900


def test_unknown_names_and_bad_parameters() -> None:
    with pytest.raises(ValueError, match="name must be one of 'AGR_a', .*, got 'AGR_x'"):
        paper_stream("AGR_x")
    with pytest.raises(ValueError, match=r"rows must lie in \[0, ∞\), got -1"):
        paper_stream("RTG", rows=-1)
    with pytest.raises(ValueError, match="rng must be one of 'splitmix', 'java', got 'c'"):
        paper_stream("RTG", rng="c")
    assert not np.array_equal(paper_stream("RTG", seed=2).take(9).X, paper_stream("RTG").take(9).X)


def test_a_shorter_period() -> None:
    a, g = paper_stream("AGR_a", rows=4_000, period=1_000), paper_stream("AGR_g", rows=4_000, period=1_000)
    assert a.drifts == g.drifts == (1_000, 2_000, 3_000)
    assert isinstance(a, DriftStream)
    assert isinstance(g, DriftStream)
    assert (a.width, g.width) == (50, 200)
    assert len(a.take(5_000)) == 4_000


def test_a_period_for_what_has_none() -> None:
    with pytest.raises(ValueError, match="period must be None for RTG"):
        paper_stream("RTG", period=10)
    with pytest.raises(ValueError, match=r"period must lie in \[1, ∞\), got 0"):
        paper_stream("AGR_a", period=0)
