"""Why CKDT says what it says, as a picture: the image, the landmarks it was compared with, and in which modes."""

import os
from collections.abc import Hashable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.params import shown
from thalweg.core.schema import Schema
from thalweg.show.figure import DARK, LIGHT, Picture, Theme, check_path

COLOURS = (1, 3, 4)
"""A last mode of this size holds the colours of an image."""
_CLASSES = 3  # of the answer, the most probable ones


@runtime_checkable
class ComparesTensors(Protocol):
    """What is drawn of a learner: ``CKDT`` has it."""

    @property
    def schema(self) -> Schema | None:
        """The features, once known."""

    @property
    def landmarks_(self) -> Sequence[Any]:
        """Tensors that others are compared with: each with a label, a number and values."""

    def explain_one(self, x: Any) -> Sequence[Any]:
        """Say which splits lead to the answer: feature, landmark, threshold, value, above, modes."""

    def predict_proba_one(self, x: Any) -> dict[Hashable, float]:
        """Give the probability of each class."""


def plot_explanation(
    learner: ComparesTensors,
    x: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    splits: int = 5,
    dark: bool = False,
) -> Picture:
    """Draw an image, the landmarks on its way through the tree, and the share of each mode in its distance from them.

    Parameters
    ----------
    learner : ComparesTensors
        One that has learned images.
    x : object
        One image, height × width or height × width × colours.
    path : str | os.PathLike[str] | None
        A .png, .svg or .pdf file, or None.
    splits : int
        How many of them, the first ones, are drawn.
    dark : bool
        For a dark page. The mode that a split asks about is drawn dark; all are where it asks about all.

    Examples
    --------
    >>> from thalweg import CKDT, load_dataset
    >>> chunk = load_dataset("digits").read(1_000)
    >>> images = chunk.X.reshape(-1, 8, 8)
    >>> learner = CKDT().partial_fit(images[:-1], chunk.y[:-1])
    >>> plot_explanation(learner, images[-1]).alt.startswith("CKDT says")
    True
    """
    if not isinstance(learner, ComparesTensors):
        raise TypeError(f"learner must be a CKDT, got {shown(learner)}")
    params.whole("splits", splits, least=1, most=20)
    check_path(path)
    reasons, landmarks = learner.explain_one(x), learner.landmarks_
    if not landmarks or learner.schema is None or learner.schema.shape is None:
        raise ValueError("learner must have landmarks to be drawn: let it learn more tensors than its window")
    shape = learner.schema.shape
    if learner.schema.rank is not None or not _is_image(shape):
        raise ValueError(f"x must be an image, height × width or height × width × colours, got shape {shape}")
    return _draw(learner, np.asarray(x, dtype=float), reasons, landmarks, splits, DARK if dark else LIGHT).saved(path)


def _is_image(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 or (len(shape) == 3 and shape[2] in COLOURS)


def _draw(
    learner: ComparesTensors,
    x: NDArray[Any],
    reasons: Sequence[Any],
    landmarks: Sequence[Any],
    splits: int,
    theme: Theme,
) -> Picture:
    from matplotlib.figure import Figure

    drawn, proba = reasons[:splits], learner.predict_proba_one(x)
    answers = sorted(proba, key=lambda label: -proba[label])[:_CLASSES]
    wide = len(drawn) + 1
    figure = Figure(figsize=(1.75 * wide + 0.3, 2.9), layout="constrained", facecolor=theme.paper)
    axes = figure.subplots(2, wide, squeeze=False, gridspec_kw={"height_ratios": (3, 1)})
    _image(axes[0, 0], x, "the image", f"is {answers[0]}", theme, theme.lines[0])
    _bars(axes[1, 0], "the answer", {str(label): proba[label] for label in answers}, "", theme)
    said = []
    for i, reason in enumerate(drawn, start=1):
        above, below = axes[0, i], axes[1, i]
        test = f"{reason.value:.3g} {'>' if reason.above else '≤'} {reason.threshold:.3g}"
        if reason.landmark < 0:
            _image(above, None, reason.feature, test, theme, theme.grid)
            below.set_visible(False)
            said.append(f"{reason.feature} {test}")
            continue
        landmark, asked = landmarks[reason.landmark], reason.feature.partition(", ")[2]
        test = f"{asked or 'all modes'}: {test}"
        _image(above, landmark.values[0], f"a {landmark.label}, no. {landmark.number:,}", test, theme, theme.grid)
        shares = {f"mode {j}": share for j, share in enumerate(reason.modes.tolist())}
        _bars(below, "share of the distance", shares, asked, theme)
        said.append(f"from a {landmark.label} (tensor {landmark.number:,}) by {test}")
    rest = len(reasons) - len(drawn)
    because = "; ".join(said) + (f"; {rest} more" if rest else "") if said else "its tree has not split yet"
    return Picture(figure, f"CKDT says {answers[0]}: {because}.")


def _image(axes: Any, values: Any, title: str, below: str, theme: Theme, frame: str) -> None:
    """Draw an image with a line above and one below; None: only the lines."""
    axes.set_facecolor(theme.paper)
    if values is not None:
        low, high = float(np.min(values)), float(np.max(values))
        scaled = (np.asarray(values) - low) / (high - low if high > low else 1.0)
        scaled = scaled[..., 0] if scaled.ndim == 3 and scaled.shape[2] == 1 else scaled
        axes.imshow(scaled, cmap="gray", interpolation="nearest")
    else:
        axes.set_box_aspect(1)
    axes.set_title(title, color=theme.ink, fontsize=9)
    axes.set_xlabel(below, color=theme.ink, fontsize=8)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_color(frame)
        side.set_linewidth(2 if frame == theme.lines[0] else 0.8)


def _bars(axes: Any, title: str, shares: dict[str, float], asked: str, theme: Theme) -> None:
    """Draw shares as bars, the one asked about dark; all are where none is."""
    axes.set_facecolor(theme.paper)
    colours = [theme.lines[0] if asked in ("", name) else theme.grid for name in shares]
    axes.barh(range(len(shares)), list(shares.values()), color=colours, height=0.7)
    axes.set_title(title, color=theme.faint, fontsize=7, loc="left", pad=2)
    axes.set_yticks(range(len(shares)), list(shares))
    axes.set_ylim(max(_CLASSES, len(shares)) - 0.5, -0.5)
    axes.set_xlim(0.0, 1.25)
    axes.set_xticks([])
    for at, share in enumerate(shares.values()):
        axes.text(share + 0.02, at, f"{100 * share:.0f} %", va="center", color=theme.faint, fontsize=7)
    axes.tick_params(colors=theme.faint, labelsize=7, length=0)
    for side in axes.spines.values():
        side.set_visible(False)
