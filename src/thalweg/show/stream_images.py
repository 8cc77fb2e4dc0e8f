"""Which images of a stream to look at: some of each class, before and after each known drift."""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.schema import Schema

Floats = NDArray[np.float64]

CLASSES = 10
"""Classes of which images are kept: the first ones."""
_LINES = 4  # images of each class, at least two where there is no drift
_COLOURS = (1, 3)


@final
class Gallery:
    """The first images of each class in each part of a stream.

    schema: of the stream. starts: the rows where its parts begin, the first one 0.

    >>> gallery = Gallery(Schema.tensor((2, 2)), [0, 3])
    >>> gallery.add(np.arange(20.0).reshape(5, 4), np.array([0, 1, 0, 0, 1]), 0)
    >>> gallery.images[:, 0, 0, 0].tolist(), gallery.rows
    ([0.0, 8.0, 12.0, nan], [0, 0, 3, 3])
    """

    def __init__(self, schema: Schema, starts: Sequence[int]) -> None:
        shape = () if schema.rank is not None else schema.shape or ()
        self.are_images = len(shape) == 2 or (len(shape) == 3 and shape[2] in _COLOURS)
        self._starts = np.array(starts[:_LINES], dtype=np.int64)
        self._each = _LINES // len(self._starts)
        self.rows: list[int] = np.repeat(self._starts, self._each).tolist()
        """Where the part begins that each line of images is from."""
        self.images: Floats = np.full((len(self.rows), CLASSES, *shape), np.nan)
        """Line × class × height × width (× colours); NaN where there is none."""
        self._found = np.zeros((len(self._starts), CLASSES), dtype=np.int64)

    def add(self, X: Floats, codes: NDArray[np.int64], first: int) -> None:
        """Take the next rows, of which the first is number ``first``."""
        if not self.are_images or self._found.min() == self._each:
            return
        parts = np.searchsorted(self._starts, np.arange(first, first + len(X)), side="right") - 1
        for part, code in zip(*np.nonzero(self._found < self._each), strict=True):
            mine = np.flatnonzero((parts == part) & (codes == code))[: self._each - self._found[part, code]]
            line = part * self._each + self._found[part, code]
            self.images[line : line + len(mine), code] = X[mine].reshape(-1, *self.images.shape[2:])
            self._found[part, code] += len(mine)


def mosaic(images: Floats) -> Floats:
    """Lay images (line × class × height × width × colours) side by side as one, red, green, blue and opacity.

    >>> mosaic(np.ones((2, 3, 8, 8))).shape
    (17, 26, 4)
    """
    coloured = images if images.ndim == 5 else images[..., None]
    known = np.isfinite(coloured)
    low, high = np.min(coloured, initial=0.0, where=known), np.max(coloured, initial=0.0, where=known)
    scaled = np.where(known, (coloured - low) / (high - low or 1.0), 0.0)
    lines, classes, height, width, _ = coloured.shape
    gap = max(1, width // 12)
    laid = np.zeros((lines * (height + gap) - gap, classes * (width + gap) - gap, 4))
    for i in range(lines):
        for j in range(classes):
            cell = laid[i * (height + gap) :, j * (width + gap) :][:height, :width]
            cell[..., :3] = scaled[i, j]
            cell[..., 3] = known[i, j].all(axis=-1)
    return laid
