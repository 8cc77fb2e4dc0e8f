"""Images that change: turned, blurred, in other colours, or under other names."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import Chunk
from thalweg.core.fields import free, number, whole
from thalweg.core.names import parse
from thalweg.core.params import choice, shown
from thalweg.core.params import whole as check_whole
from thalweg.core.protocols import Stream
from thalweg.streams.datasets.loading import load_dataset
from thalweg.streams.nested import changes, codes_of, is_dense, is_stream, known_classes
from thalweg.streams.transforms.around import Around
from thalweg.streams.transforms.changes_jit import advance

Floats = NDArray[np.float64]

CHANGES = ("rotate", "blur", "invert", "recolour", "relabel")


def _rising(name: str, value: Any) -> None:
    """Refuse anything but a whole number, or several that rise."""
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    for each in values:
        check_whole(name, each, least=0)
    if not values or any(b <= a for a, b in pairwise(values)):
        raise ValueError(f"{name} must be a whole number, or several that rise, got {shown(value)}")


@final
class ImageDrift(Around):
    """Another stream's images, changed from a position on, and once more from each further one.

    Examples
    --------
    >>> from thalweg import ArrayStream
    >>> images = np.arange(4 * 9).reshape(4, 3, 3)
    >>> stream = ImageDrift(stream=ArrayStream(images, [0, 1, 0, 1]), change="rotate", position=2)
    >>> turned = stream.take(4).X.reshape(4, 3, 3)
    >>> bool((turned[:2] == images[:2]).all()), bool((turned[2:] == np.rot90(images[2:], axes=(1, 2))).all())
    (True, True)
    >>> stream.drifts
    (2,)
    """

    stream: Any = free(
        default="digits",
        doc="A stream of images, height × width or height × width × colours, read from where it is; or the name of a "
        'data set, such as "digits" or "mnist(order=shuffled)".',
    )
    change: str | tuple[str, ...] = free(
        default="rotate",
        doc='"rotate", by ``degrees`` against the clock; "blur", by a Gaussian of ``sigma`` pixels; "invert", '
        '``white`` becomes 0 and 0 becomes white; "recolour", each colour becomes the next one; "relabel", each class '
        "gets the name of the next one, and the images stay; or a tuple, one for each position.",
    )
    position: int | tuple[int, ...] = free(
        default=900,
        doc="How many images come before the change, or a tuple of such numbers, in order.",
        check=_rising,
        old="at",
    )
    width: float = number(
        default=0,
        doc="0, at once; above it, how long the change takes: the chance of an image to have come through it follows "
        "the sigmoid of ``DriftStream``.",
        least=0,
    )
    degrees: float = number(default=90.0, doc="Angle of a rotation, against the clock.")
    sigma: float = number(default=1.0, doc="Standard deviation of the blur, in pixels.", above=0)
    white: float | None = number(default=None, doc="The highest value of a pixel; None: what the stream says.", above=0)
    seed: int = whole(default=1, doc="Random seed.", least=0)
    limit: int | None = whole(default=None, doc="Largest number of images; None: until the stream ends.", least=0)

    def _prepare(self) -> None:
        self._given_stream, self._given_white = self.stream, self.white
        positions, change = self.position, self.change
        self._positions = [int(p) for p in (positions if isinstance(positions, (tuple, list)) else [positions])]
        words = change if isinstance(change, (tuple, list)) else (change,) * len(self._positions)
        for word in words:
            choice("change", word, CHANGES)
        if len(words) != len(self._positions):
            options = ", ".join(CHANGES)
            raise ValueError(f"change must be one of {options}, or one for each position, got {shown(change)}")
        self.stream = _opened(self.stream) if isinstance(self.stream, str) else self.stream
        is_stream("stream", self.stream)
        is_dense("stream", self.stream)
        self._shape = _image_shape(self.stream)
        self.white = getattr(self.stream, "white", None) if self.white is None else self.white
        self._steps = [self._step(word) for word in words]
        self.name = getattr(self.stream, "name", None)
        super()._prepare()

    def _param(self, name: str) -> Any:
        return {"stream": self._given_stream, "white": self._given_white}.get(name, getattr(self, name))

    def _changes(self) -> dict[int, float]:
        return changes(self.stream) | dict.fromkeys(self._positions, max(1.0, float(self.width)))

    def _changed(self, chunk: Chunk) -> Chunk:
        steps = np.empty(len(chunk), dtype=np.int64)
        advance(self._random, self._given, np.array(self._positions, dtype=np.float64), float(self.width), steps)
        if not steps.any():
            return chunk
        X, y = chunk.X.copy(), chunk.y.copy()
        for i, step in enumerate(self._steps):
            rows = steps > i
            if rows.any():
                images, y[rows] = step(X[rows].reshape(-1, *self._shape), y[rows])
                X[rows] = images.reshape(len(images), -1)
        return Chunk(X, y, chunk.w, chunk.time, chunk.label_time)

    def _step(self, word: str) -> "_Step":
        """Give what a change does to images and labels."""
        if word == "rotate":
            return partial(_rotate, float(self.degrees))
        if word == "blur":
            return partial(_blur, float(self.sigma))
        if word == "invert":
            if self.white is None:
                raise ValueError("white must be the highest value of a pixel where change is 'invert', got None")
            return partial(_invert, float(self.white))
        if word == "recolour":
            if len(self._shape) != 3:
                raise ValueError(f"stream must have images with colours to recolour, got shape {self._shape}")
            return _recolour
        return partial(_relabel, known_classes(self.stream))


_Step = Callable[[Floats, NDArray[Any]], tuple[Floats, NDArray[Any]]]


def _rotate(degrees: float, images: Floats, y: NDArray[Any]) -> tuple[Floats, NDArray[Any]]:
    """Turn images against the clock, whole quarters to the bit, else with values in between; corners become 0."""
    height, width = images.shape[1:3]
    quarters, rest = divmod(degrees, 90.0)
    if rest == 0.0 and (height == width or quarters % 2 == 0):
        return np.rot90(images, int(quarters) % 4, axes=(1, 2)), y
    from scipy.ndimage import rotate

    return rotate(images, degrees, axes=(1, 2), reshape=False, order=1), y


def _blur(sigma: float, images: Floats, y: NDArray[Any]) -> tuple[Floats, NDArray[Any]]:
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(images, sigma, axes=(1, 2), mode="nearest"), y


def _invert(white: float, images: Floats, y: NDArray[Any]) -> tuple[Floats, NDArray[Any]]:
    return white - images, y


def _recolour(images: Floats, y: NDArray[Any]) -> tuple[Floats, NDArray[Any]]:
    return np.roll(images, 1, axis=3), y


def _relabel(classes: tuple[Any, ...], images: Floats, y: NDArray[Any]) -> tuple[Floats, NDArray[Any]]:
    codes = (codes_of(y, classes) + 1) % len(classes)
    return images, np.array(classes, dtype=object if y.dtype == object else None)[codes]


def _opened(text: str) -> Stream:
    """Open a data set by ``name(option=value)``."""
    try:
        name, options = parse(text)
        return load_dataset(name, **options)
    except (ValueError, TypeError) as error:
        raise ValueError(f"stream must be a stream, or the name of a data set: {error}") from None


def _image_shape(stream: Stream) -> tuple[int, ...]:
    """Refuse a stream of anything but images."""
    schema = stream.schema
    if schema.shape is None or schema.rank is not None or len(schema.shape) not in (2, 3):
        got = f"rows of {schema.n_features} features" if schema.shape is None else f"shape {schema.shape}"
        raise ValueError(f"stream must have images, height × width or height × width × colours, got {got}")
    return schema.shape
