"""Text, row by row.

| table    | shape        | dtype   | meaning                                                                  |
| random   | 1 / 3        | uint64  | random state, see draw_jit                                               |
| bounds   | words        | float64 | running sum of the words' shares, the last one is 1 (fixed)              |
| polarity | words        | int64   | 1: a positive word, -1: a negative one, 0: neither (fixed)               |
| guide    | a power of 2 | int64   | for draws from k / len on: the first word that they may mean (fixed)     |
| hits     | words        | int64   | where the search ends: at the word itself, MOA's at times before (fixed) |
"""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import compiled, inlined
from thalweg.streams.draw_jit import normal, uniform

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Seeds = NDArray[np.uint64]

_LONGEST = 256  # a normal draw from 53 bits lies within 13 of 0, so a message has at most 210 words


@compiled
def build(s: Seeds, java: bool, polarity: Ints) -> None:
    """Draw which words are positive and negative: a tenth each."""
    for i in range(len(polarity)):
        u = uniform(s, java)
        polarity[i] = 1 if u < 0.1 else -1 if u < 0.2 else 0


@compiled
def prepare(bounds: Floats, moa: bool, guide: Ints, hits: Ints) -> None:
    """Fill the tables of the search. MOA halves the range and takes the last place that it looked at."""
    i = 0
    for k in range(len(guide)):
        while bounds[i] < k / len(guide):
            i += 1
        guide[k] = i
    for i in range(len(bounds)):
        low, high = 0, len(bounds) - 1 if moa else -1
        hits[i] = i
        while low <= high:
            middle = (low + high) >> 1
            hits[i] = middle
            if middle < i:
                low = middle + 1
            else:
                high = middle - 1


@inlined
def _find(bounds: Floats, guide: Ints, hits: Ints, u: float) -> int:
    """Find the word of a draw: the first whose running sum is not below it."""
    i = guide[int(u * len(guide))]
    while bounds[i] < u:
        i += 1
    return int(hits[i] if bounds[i] != u else i)


@compiled
def fill(
    random: Seeds,
    bounds: Floats,
    polarity: Ints,
    guide: Ints,
    hits: Ints,
    moa: bool,
    java: bool,
    X: Floats,
    y: Ints,
) -> None:
    """Write the next rows, into zeros, and their labels.

    MOA's way: word i sets feature i + 1, the last one none, and the words of messages that were thrown away stay.
    """
    words = np.empty(_LONGEST, dtype=np.int64)
    for r in range(len(y)):
        feeling = 0
        length = 0
        while feeling == 0:
            length = max(1, int(15.0 * (1.0 + normal(random, java))))
            for j in range(length):
                i = _find(bounds, guide, hits, uniform(random, java))
                words[j] = i
                feeling += polarity[i]
            if moa:
                for j in range(length):
                    if words[j] + 1 < X.shape[1]:
                        X[r, words[j] + 1] = 1.0
        if not moa:
            for j in range(length):
                X[r, words[j]] = 1.0
        y[r] = 0 if feeling > 0 else 1
