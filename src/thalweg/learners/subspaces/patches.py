"""Images to vectors: how their small patches answer to filters learnt from the patches themselves."""

from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import check
from thalweg.core.fields import Parametrised, whole
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.jit.compile import plain
from thalweg.learners.subspaces import patches_jit as jit
from thalweg.tensors.forms import Floats, Ints, tensors_in

LEAST_SIDE = 8
"""Images at least this high and wide have patches."""
MOST_CHANNELS = 16
SAMPLED = 20_000
"""Patches that the filters are learnt from, at most."""


def has_patches(shape: tuple[int, ...]) -> bool:
    """Is a tensor of this shape an image: (height, width) or (height, width, channels)?"""
    return len(shape) in (2, 3) and min(shape[:2]) >= LEAST_SIDE and (len(shape) == 2 or shape[2] <= MOST_CHANNELS)


@final
class PatchFeatures(Parametrised):
    """Rectified responses of patches to whitened filters, pooled on cells of the image.

    Every patch is freed of its mean and brought to one spread. The filters are learnt from patches of the first images:
    the directions of rows, columns and channels are those of the patches' HOSVD, and the products of three directions
    in which patches vary most are the filters, each divided by the spread of its responses (whitening). Such filters
    are separable: an image takes about a tenth of the multiplications of a general convolution.
    Then the positive and the negative part of each response are averaged over cells.

    What an image gives does not depend on the chunk it comes in, to the last bit.

    >>> from sklearn.datasets import load_digits
    >>> images = load_digits().images
    >>> map = PatchFeatures().fit(images[:300])
    >>> map.transform(images[:5]).shape  # 4 x 4 cells, 8 filters, 2 signs
    (5, 256)
    """

    patch: int | None = whole(
        default=None, doc="Side of a patch; None: 6, in images under 16 pixels 3.", least=2, most=32
    )
    filters: int | None = whole(
        default=None,
        doc="How many; None: 64 for patches with channels, else 16, and 8 for patches under 6.",
        least=1,
        most=1000,
    )
    cells: int = whole(default=4, doc="Along each side of the image.", least=1, most=32)
    seed: int = whole(default=1, doc="Random seed of the sample of patches.", least=0)

    def _prepare(self) -> None:
        self._shape: tuple[int, ...] = ()
        self._bank: jit.Filters | None = None

    def fit(self, images: Any) -> Self:
        """Learn the filters from these images: (n, height, width) or (n, height, width, channels)."""
        X = np.asarray(tensors_in(images, name="images"), dtype=np.float64)
        self.shape_for(X.shape[1:])
        if len(X) == 0:
            raise ValueError("images must hold at least one image, got none")
        return self.learn(np.ascontiguousarray(X).reshape(len(X), -1), X.shape[1:])

    def transform(self, images: Any) -> Floats:
        """Give each image's pooled responses."""
        self._known()
        X = np.asarray(tensors_in(images, name="images", shape=self._shape), dtype=np.float64)
        return self.respond(np.ascontiguousarray(X).reshape(len(X), -1), np.arange(len(X)))

    # -- for learners: images as rows ---------------------------------------------------------------------------------

    def shape_for(self, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
        """Give side of a patch and height, width, channels of images of this shape; refuse what is no image."""
        if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] > MOST_CHANNELS):
            raise ValueError(
                f"images must have the shape (height, width) or (height, width, channels up to {MOST_CHANNELS}), "
                f"got {shown(shape)}"
            )
        side = self.patch or (6 if min(shape[:2]) >= 16 else 3)
        least = side + self.cells - 1
        if min(shape[:2]) < least:
            raise ValueError(
                f"images must be at least {least} x {least} for patches of {side} x {side} and {self.cells} cells, "
                f"got {shape[0]} x {shape[1]}"
            )
        return side, shape[0], shape[1], shape[2] if len(shape) == 3 else 1

    def learn(self, X: Floats, shape: tuple[int, ...]) -> Self:
        """Learn the filters from images of this shape, given as rows."""
        side, height, width, channels = self.shape_for(shape)
        patches = self._sample(X.reshape(len(X), height, width, channels), side)
        spread = patches.var(axis=(1, 2, 3), keepdims=True)
        floor = _FLOOR * float(spread.mean()) or 1.0
        patches = (patches - patches.mean(axis=(1, 2, 3), keepdims=True)) / np.sqrt(spread + floor)
        U = [_directions(np.moveaxis(patches, mode, 0).reshape(patches.shape[mode], -1)) for mode in (1, 2, 3)]
        core = np.einsum("nabk,ia,jb,ck->nijc", patches, *U, optimize=True)
        power = (core**2).mean(axis=0)
        wanted = self.filters or (64 if channels > 1 else 16 if side > 3 else 8)
        best = np.argsort(-power.reshape(-1), kind="stable")[: min(wanted, power.size - 1)]
        filters = np.stack(np.unravel_index(best, power.shape), axis=1).astype(np.int64)
        gains = np.empty((len(filters), 2))
        gains[:, 0] = 1.0 / np.sqrt(power.reshape(-1)[best] + _SOFTENING)
        gains[:, 1] = np.prod([U[mode].sum(axis=1)[filters[:, mode]] for mode in range(3)], axis=0)
        ends = [np.arange(self.cells + 1) * (size - side + 1) // self.cells for size in (height, width)]
        cuts = np.array(ends, dtype=np.int64)
        self._bank = jit.Filters(np.stack(U[:2]), U[2], filters, gains, cuts, np.array([floor]))
        self._shape = shape
        return self

    def respond(self, X: Floats, which: Ints) -> Floats:
        """Give the pooled responses of the images in these rows of X."""
        bank, (height, width) = self._known(), self._shape[:2]
        out = np.empty((len(which), self.width))
        jit.respond(plain(bank), X, which, height, width, out)
        return out

    @property
    def width(self) -> int:
        """How many values an image gives."""
        return 2 * self.cells**2 * len(self._known().filters)

    def tables(self) -> State:
        """Give the filters, not copied; nothing before they are learnt."""
        return {} if self._bank is None else self._bank._asdict()

    def adopt(self, tables: State, shape: tuple[int, ...]) -> None:
        """Continue from what ``tables`` gave, for images of this shape."""
        side, height, width, channels = self.shape_for(shape)
        sizes = check(jit.Filters, tables, s=side, C=channels, G=self.cells, longest=max(height, width))
        cuts, ends = tables["cuts"], np.array([height - side + 1, width - side + 1])
        if cuts[:, 0].any() or (np.diff(cuts) < 1).any() or (cuts[:, -1] != ends).any():
            raise ValueError("its table 'cuts' holds what no filters could")
        if not sizes["F"]:
            raise ValueError("its table 'filters' holds no filter")
        self._bank, self._shape = jit.Filters(*(tables[name] for name in jit.Filters._fields)), shape

    # -- inside -------------------------------------------------------------------------------------------------------

    def _known(self) -> jit.Filters:
        if self._bank is None:
            raise ValueError("filters are not known yet: call fit with some images first")
        return self._bank

    def _sample(self, images: Floats, side: int) -> Floats:
        """Take patches by chance, as many from each image."""
        n, height, width, _ = images.shape
        each = max(1, min(SAMPLED // n, 4 * (height - side + 1) * (width - side + 1)))
        rng = np.random.default_rng(self.seed)
        top = rng.integers(0, height - side + 1, (n, each))
        left = rng.integers(0, width - side + 1, (n, each))
        views = np.lib.stride_tricks.sliding_window_view(images, (side, side), axis=(1, 2))
        found: NDArray[np.float64] = views[np.arange(n)[:, None], top, left]
        return np.moveaxis(found.reshape(n * each, *found.shape[2:]), 1, 3).clip(-jit.LARGEST, jit.LARGEST)


_FLOOR = 0.25
"""Share of the mean variance of patches that is added to the variance of each."""
_SOFTENING = 0.1
"""Added to the variance of the responses that a filter is divided by."""


def _directions(flat: Floats) -> Floats:
    """Give the left singular vectors of a flattening as rows, strongest first, the largest part of each positive."""
    _, vectors = np.linalg.eigh(flat @ flat.T)
    rows = np.ascontiguousarray(vectors[:, ::-1].T)
    largest = np.take_along_axis(rows, np.abs(rows).argmax(axis=1)[:, None], axis=1)
    return np.asarray(rows * np.where(largest < 0.0, -1.0, 1.0))
