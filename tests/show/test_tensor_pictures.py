"""Pictures of reasons: what they say, and what cannot be drawn."""

import numpy as np
import pytest

from thalweg import CKDT, CPTensors, plot_explanation


def images(n=400, size=(8, 8), seed=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.gamma(np.where(y == 1, 3.0, 0.5).reshape(-1, *[1] * len(size)), size=(n, *size)), y


@pytest.mark.parametrize("size", [(8, 8), (6, 7, 3), (8, 8, 1)])
def test_the_text_names_the_landmarks_of_the_path(size, tmp_path):
    X, y = images(size=size)
    learner = CKDT().partial_fit(X, y)
    picture = plot_explanation(learner, X[0], tmp_path / "why.png")
    reasons = learner.explain_one(X[0])
    assert picture.alt.startswith(f"CKDT says {learner.predict_one(X[0])}: ")
    for reason in reasons[:5]:
        if reason.landmark >= 0:
            landmark = learner.landmarks_[reason.landmark]
            assert f"from a {landmark.label} (tensor {landmark.number}) by mode" in picture.alt
        assert f"{reason.value:.3g} {'>' if reason.above else '≤'} {reason.threshold:.3g}" in picture.alt
    assert (tmp_path / "why.png").stat().st_size > 1000


def test_all_modes_and_the_norm_are_drawn_too():
    X, y = images()
    X[y == 1] *= 50.0
    alts = [
        plot_explanation(CKDT(similarity=f).partial_fit(X, y), X[0], dark=True).alt for f in ("distance", "per-mode")
    ]
    assert any("log norm" in alt for alt in alts)
    plain = CKDT(similarity="distance", append_norm=False).partial_fit(X, y)
    assert "by all modes" in plot_explanation(plain, X[0]).alt


def test_the_first_splits_are_drawn_and_the_rest_counted():
    X, y = images(3000, seed=2)
    y = y + 2 * (X.sum(axis=(1, 2)) > np.median(X.sum(axis=(1, 2))))
    learner = CKDT().partial_fit(X, y)
    x = max(X[:50], key=lambda x: len(learner.explain_one(x)))
    assert len(learner.explain_one(x)) > 1
    picture = plot_explanation(learner, x, splits=1)
    assert picture.alt.endswith(f"; {len(learner.explain_one(x)) - 1} more.")
    assert len(picture.figure.axes) == 4


def test_what_cannot_be_drawn_gets_a_sentence(tmp_path):
    X, y = images()
    with pytest.raises(TypeError, match="learner must be a CKDT"):
        plot_explanation(X, X[0])
    with pytest.raises(ValueError, match="learner must have landmarks"):
        plot_explanation(CKDT().partial_fit(X[:20], y[:20]), X[0])
    learner = CKDT().partial_fit(X, y)
    with pytest.raises(ValueError, match="splits must lie in"):
        plot_explanation(learner, X[0], splits=0)
    with pytest.raises(ValueError, match="path must end"):
        plot_explanation(learner, X[0], tmp_path / "why.txt")
    rng = np.random.default_rng(1)
    factors = CPTensors(np.ones((300, 2)), [rng.random((300, n, 2)) for n in (6, 5)])
    with pytest.raises(ValueError, match="x must be an image"):
        plot_explanation(CKDT().partial_fit(factors, rng.integers(0, 2, 300)), factors[:1])
