"""Responses of separable patch filters, rectified and pooled on cells, one image after another; rows in directions.

A patch has s x s x C values: rows a, columns b, channels k. A filter is the product of a direction of each mode (a
column of the HOSVD's U1, U2, U3), so an image is first mixed over channels, then over rows, then over columns, and the
last step is taken only for the filters there are.

An answer holds for each cell and each filter the mean of the positive and of the negative part of the responses:
(G, G, F, 2). Each image is worked on alone, in one order of additions, so chunks change nothing.
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import span, table
from thalweg.jit.compile import called, compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST = 1e100
"""Pixels beyond are cut, so that squares stay finite."""


class Filters(NamedTuple):
    """The filters and the cells; from Python they come as a plain tuple (see ``plain``)."""

    modes: Annotated[Floats, table(2, "s", "s")]
    """2 × s × s: directions of rows and of columns, one in each row of the matrix."""
    colours: Annotated[Floats, table("C", "C")]
    """C × C: directions of the channels, one in each row."""
    filters: Annotated[Ints, table("F", 3, cells={0: span(0, "s - 1"), 1: span(0, "s - 1"), 2: span(0, "C - 1")})]
    """F × 3: the directions that a filter is made of: of rows, of columns, of channels."""
    gains: Annotated[Floats, table("F", 2)]
    """F × 2: what a response is multiplied by (whitening); the sum over the values of the filter."""
    cuts: Annotated[Ints, table(2, "G + 1", least=0, most="longest")]
    """2 × G + 1: where the cells begin, in rows and columns of responses; then where the last one ends."""
    floor: Annotated[Floats, table(1, least=math.ulp(0.0))]
    """1: added to the variance of a patch, so that flat patches stay small."""


class Projection(NamedTuple):
    """Rows in directions."""

    centre: Annotated[Floats, table("Q")]
    """Q: what is taken from a row."""
    directions: Annotated[Floats, table("Q", "p")]
    """Q × p: one in each column."""
    turn: Annotated[Ints, table("turned", least=0, most="values - 1")]
    """values or 0: where each value of a tensor is taken from; 0: as it is."""
    sign: Annotated[Floats, table(1, least=-1, most=1)]
    """1: what it is multiplied by then, 1 or -1."""


@compiled
def respond(bank: Filters, X: Floats, which: Ints, height: int, width: int, out: Floats) -> None:
    """Write the pooled responses of image X[which[j]] to out[j]."""
    modes, colours, filters, gains, cuts, floor = bank
    C, s, F, G = len(colours), modes.shape[1], len(filters), cuts.shape[1] - 1
    h, w = height - s + 1, width - s + 1
    planes = np.empty((C, height, width))
    mixed = np.empty((C, s, h, width))
    mean, scale, line = np.empty((h, w)), np.empty((h, w)), np.empty(w)
    sums, squares, plus, minus = np.empty(width), np.empty(width), np.empty(w), np.empty(w)
    for j in range(len(which)):
        x = X[which[j]]
        mix_channels(x, colours, planes)
        measure(x, C, s, floor[0], sums, squares, mean, scale)
        for c in range(C):
            for i in range(s):
                mix_rows(planes[c], modes[0, i], mixed[c, i])
        for f in range(F):
            rows, across = mixed[filters[f, 2], filters[f, 0]], modes[1, filters[f, 1]]
            for g in range(G):
                plus[:] = 0.0
                minus[:] = 0.0
                for r in range(cuts[0, g], cuts[0, g + 1]):
                    filter_line(rows[r], across, gains[f, 0], gains[f, 1], mean[r], scale[r], line)
                    for v in range(w):
                        plus[v] += max(line[v], 0.0)
                        minus[v] += max(-line[v], 0.0)
                pool(plus, minus, cuts, g, f, F, out[j])


@called
def mix_channels(x: Floats, colours: Floats, planes: Floats) -> None:
    """Write the image in the directions of its channels, a plane for each."""
    C, height, width = planes.shape
    for c in range(C):
        for r in range(height):
            for v in range(width):
                at, total = (r * width + v) * C, 0.0
                for k in range(C):
                    total += colours[c, k] * min(max(x[at + k], -LARGEST), LARGEST)
                planes[c, r, v] = total


@called
def measure(
    x: Floats, C: int, s: int, floor: float, sums: Floats, squares: Floats, mean: Floats, scale: Floats
) -> None:  # fmt: skip
    """Write the mean of each patch, and one over its spread."""
    h, w = mean.shape
    width, n = w + s - 1, float(s * s * C)
    for r in range(h):
        sums[:] = 0.0
        squares[:] = 0.0
        for a in range(s):
            for v in range(width):
                for k in range(C):
                    value = min(max(x[((r + a) * width + v) * C + k], -LARGEST), LARGEST)
                    sums[v] += value
                    squares[v] += value * value
        for v in range(w):
            total, square = 0.0, 0.0
            for b in range(s):
                total += sums[v + b]
                square += squares[v + b]
            middle = total / n
            mean[r, v] = middle
            scale[r, v] = 1.0 / math.sqrt(max(square / n - middle * middle, 0.0) + floor)


@called
def mix_rows(plane: Floats, down: Floats, mixed: Floats) -> None:
    """Write, for each line of patches, the sum of their rows weighted by one direction."""
    h, width = mixed.shape
    for r in range(h):
        for v in range(width):
            mixed[r, v] = down[0] * plane[r, v]
        for a in range(1, len(down)):
            for v in range(width):
                mixed[r, v] += down[a] * plane[r + a, v]


@called
def filter_line(
    row: Floats, across: Floats, gain: float, total: float, mean: Floats, scale: Floats, line: Floats
) -> None:  # fmt: skip
    """Write the responses of one line of patches: of each patch less its mean, over its spread."""
    w = len(line)
    for v in range(w):
        line[v] = across[0] * row[v]
    for b in range(1, len(across)):
        for v in range(w):
            line[v] += across[b] * row[v + b]
    for v in range(w):
        line[v] = (line[v] - mean[v] * total) * scale[v] * gain


@called
def pool(plus: Floats, minus: Floats, cuts: Ints, g: int, f: int, F: int, out: Floats) -> None:
    """Write the means over the cells of one line of cells."""
    G = cuts.shape[1] - 1
    for k in range(G):
        up, down = 0.0, 0.0
        for v in range(cuts[1, k], cuts[1, k + 1]):
            up += plus[v]
            down += minus[v]
        n = float((cuts[0, g + 1] - cuts[0, g]) * (cuts[1, k + 1] - cuts[1, k]))
        at = ((g * G + k) * F + f) * 2
        out[at] = up / n
        out[at + 1] = down / n


@compiled
def project(
    A: Floats, which: Ints, centre: Floats, directions: Floats, most: float, places: Ints, out: Floats
) -> None:  # fmt: skip
    """Write row A[which[j]], less the centre, in these directions (one in each column), to out[places[j]]."""
    Q, p = directions.shape
    for j in range(len(which)):
        row, given = out[places[j]], A[which[j]]
        row[:] = 0.0
        for i in range(Q):
            d = min(max(given[i], -LARGEST), LARGEST) - centre[i]
            if d != 0.0:
                for r in range(p):
                    row[r] += d * directions[i, r]
        for r in range(p):
            row[r] = min(max(row[r], -most), most)
