"""Learners and streams from what a person types."""

from pathlib import Path

import pytest

import thalweg
from thalweg import named


def test_learners() -> None:
    assert named.make_learner("arf(size=3)", seed=7).get_params()["seed"] == 7
    assert named.make_learner("arf(seed=2)", seed=7).get_params()["seed"] == 2  # what the text says counts
    assert isinstance(named.make_learner("naive-bayes", seed=7), thalweg.NaiveBayes)  # draws nothing
    assert named.make_learner("arf", size=4, seed=1).get_params()["size"] == 4


def test_a_share_of_the_labels() -> None:
    learner = named.make_learner("arf(size=3)@0.25", seed=7)
    assert isinstance(learner, thalweg.ActiveLearner)
    assert learner.strategy is not None
    assert learner.strategy.budget == 0.25
    assert learner.learner.get_params() == named.make_learner("arf(size=3)", seed=7).get_params()
    with pytest.raises(ValueError, match="after @ must be a number such as 0.7, got 'half'"):
        named.make_learner("arf@half")
    with pytest.raises(ValueError, match="budget must lie in"):
        named.make_learner("arf@7")


def test_streams(tmp_path: Path) -> None:
    assert named.open_stream("sea", seed=3).read(5).X.tolist() == thalweg.SEA(seed=3).read(5).X.tolist()
    path = tmp_path / "sea.csv"
    path.write_text("x,y\n1,a\n2,b\n")
    assert named.is_file(str(path))
    assert not named.is_file("sea")
    chunk = named.open_stream(str(path), target="y").read(5)
    assert chunk is not None
    assert chunk.y.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="--target must name the column"):
        named.open_stream(str(path))
    with pytest.raises(ValueError, match="stream must be a known name, got 'seaa': did you mean 'sea'"):
        named.open_stream("seaa")


def test_what_a_seed_changes(tmp_path: Path) -> None:
    assert named.learner_takes_seed("arf(size=3)@0.5")
    assert not named.learner_takes_seed("arf(seed=3)")
    assert not named.learner_takes_seed("naive-bayes")
    assert named.stream_takes_seed("SEA_a")
    assert not named.stream_takes_seed("sea(seed=1)")
    assert not named.stream_takes_seed("electricity")
    assert not named.stream_takes_seed(str(tmp_path / "rows.csv"))


def test_endless() -> None:
    assert named.is_endless(thalweg.SEA())
    assert not named.is_endless(thalweg.SEA(limit=10))
    assert not named.is_endless(thalweg.DriftStream(*_two_short_streams(), position=5))


def _two_short_streams() -> list[thalweg.ArrayStream]:
    return [thalweg.ArrayStream([[0.0], [1.0]] * 10, [0, 1] * 10) for _ in range(2)]
