"""Learners and streams from what a person types."""

from pathlib import Path

import pytest

import thalweg
from thalweg.registry import typed


def test_learners() -> None:
    assert typed.make_learner("arf(size=3)", seed=7).get_params()["seed"] == 7
    assert typed.make_learner("arf(seed=2)", seed=7).get_params()["seed"] == 2  # what the text says counts
    assert isinstance(typed.make_learner("naive-bayes", seed=7), thalweg.NaiveBayes)  # draws nothing
    assert typed.make_learner("arf", size=4, seed=1).get_params()["size"] == 4


def test_a_share_of_the_labels() -> None:
    learner = typed.make_learner("arf(size=3)@0.25", seed=7)
    assert isinstance(learner, thalweg.ActiveLearner)
    assert learner.strategy is not None
    assert learner.strategy.budget == 0.25
    assert learner.learner.get_params() == typed.make_learner("arf(size=3)", seed=7).get_params()
    with pytest.raises(ValueError, match="after @ must be a number such as 0.7, got 'half'"):
        typed.make_learner("arf@half")
    with pytest.raises(ValueError, match="budget must lie in"):
        typed.make_learner("arf@7")


def test_streams(tmp_path: Path) -> None:
    assert typed.open_stream("sea", seed=3).read(5).X.tolist() == thalweg.SEA(seed=3).read(5).X.tolist()
    path = tmp_path / "sea.csv"
    path.write_text("x,y\n1,a\n2,b\n")
    assert typed.is_file(str(path))
    assert not typed.is_file("sea")
    chunk = typed.open_stream(str(path), target="y").read(5)
    assert chunk is not None
    assert chunk.y.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="--target must name the column"):
        typed.open_stream(str(path))
    with pytest.raises(ValueError, match="stream must be a known name, got 'seea': did you mean 'sea'"):
        typed.open_stream("seea")


def test_what_a_seed_changes(tmp_path: Path) -> None:
    assert typed.learner_takes_seed("arf(size=3)@0.5")
    assert not typed.learner_takes_seed("arf(seed=3)")
    assert not typed.learner_takes_seed("naive-bayes")
    assert typed.stream_takes_seed("SEA_a")
    assert not typed.stream_takes_seed("sea(seed=1)")
    assert not typed.stream_takes_seed("electricity")
    assert not typed.stream_takes_seed(str(tmp_path / "rows.csv"))


def test_endless() -> None:
    assert typed.is_endless(thalweg.SEA())
    assert not typed.is_endless(thalweg.SEA(limit=10))
    assert not typed.is_endless(thalweg.DriftStream(*_two_short_streams(), position=5))


def _two_short_streams() -> list[thalweg.ArrayStream]:
    return [thalweg.ArrayStream([[0.0], [1.0]] * 10, [0, 1] * 10) for _ in range(2)]
