"""Text, row by row.

| table    | shape        | dtype   | meaning                                                                  |
| random   | 1 / 3        | uint64  | random state, see draw_jit                                               |
| noted    | words / 64   | uint64  | sparse rows: a bit for each feature of the row that is being drawn       |
| groups   | words / 4096 | uint64  | a bit for each cell of ``noted`` that has one                            |
"""

from typing import NamedTuple

import numpy as np

from thalweg.jit.bits import place
from thalweg.jit.compile import called, compiled, inlined
from thalweg.streams.draw_jit import Floats, Ints, Seeds, normal, uniform, uniforms

_NONE, _ONE = np.uint64(0), np.uint64(1)
_LONGEST = 256  # a normal draw from 53 bits lies within 13 of 0, so a message has at most 210 words


class Words(NamedTuple):
    """What is fixed about the words."""

    bounds: Floats
    """words: running sum of their shares, the last one is 1."""
    polarity: Ints
    """words: 1: a positive one, -1: a negative one, 0: neither."""
    guide: Ints
    """a power of 2: what draws from k / len on mean; -1 - i: word i, or one after it."""
    hits: Ints
    """words: where the search ends: at the word itself, MOA's at times before."""


@compiled
def build(s: Seeds, java: bool, polarity: Ints) -> None:
    """Draw which words are positive and negative: a tenth each."""
    for i in range(len(polarity)):
        u = uniform(s, java)
        polarity[i] = 1 if u < 0.1 else -1 if u < 0.2 else 0


@compiled
def prepare(bounds: Floats, moa: bool, guide: Ints, hits: Ints) -> None:
    """Fill the tables of the search. MOA halves the range and takes the last place that it looked at."""
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
    i = 0
    for k in range(len(guide)):
        while bounds[i] < k / len(guide):
            i += 1
        guide[k] = hits[i] if bounds[i] >= (k + 1) / len(guide) else -1 - i


@called
def _search(bounds: Floats, hits: Ints, u: float, i: int) -> int:
    """Find the word of a draw, from word i on."""
    while bounds[i] < u:
        i += 1
    return int(hits[i] if bounds[i] != u else i)


@inlined
def _find(lexicon: Words, u: float) -> int:
    """Find the word of a draw: the first whose running sum is not below it."""
    found = lexicon.guide[int(u * len(lexicon.guide))]
    return int(found) if found >= 0 else _search(lexicon.bounds, lexicon.hits, u, -1 - found)


@inlined
def _message(random: Seeds, lexicon: Words, java: bool, draws: Floats, words: Ints) -> tuple[int, int]:
    """Draw a message; give its length, and by how many its positive words outnumber the negative ones."""
    length = max(1, int(15.0 * (1.0 + normal(random, java))))
    uniforms(random, java, draws[:length])
    feeling = 0
    for j in range(length):
        i = _find(lexicon, draws[j])
        words[j] = i
        feeling += lexicon.polarity[i]
    return length, feeling


@compiled
def fill(random: Seeds, lexicon: Words, moa: bool, java: bool, X: Floats, y: Ints) -> None:
    """Write the next rows, into zeros, and their labels.

    MOA's way: word i sets feature i + 1, the last one none, and the words of messages that were thrown away stay.
    """
    lexicon = Words(*lexicon)
    draws, words = np.empty(_LONGEST), np.empty(_LONGEST, dtype=np.int64)
    for r in range(len(y)):
        feeling = 0
        length = 0
        while feeling == 0:
            length, feeling = _message(random, lexicon, java, draws, words)
            if moa:
                for j in range(length):
                    if words[j] + 1 < X.shape[1]:
                        X[r, words[j] + 1] = 1.0
        if not moa:
            for j in range(length):
                X[r, words[j]] = 1.0
        y[r] = 0 if feeling > 0 else 1


@inlined
def _note(words: Ints, length: int, shift: int, features: int, noted: Seeds, groups: Seeds) -> None:
    """Note the features of a message, each as a bit, and in which groups of 64 they are."""
    for j in range(length):
        f = words[j] + shift
        if f < features:
            noted[f >> 6] |= _ONE << np.uint64(f & 63)
            groups[f >> 12] |= _ONE << np.uint64((f >> 6) & 63)


@inlined
def _collect(noted: Seeds, groups: Seeds, columns: Ints, end: int) -> int:
    """Append the features that were noted, in order, and forget them; give where the list ends now."""
    for k in range(len(groups)):
        cells = groups[k]
        groups[k] = _NONE
        while cells != _NONE:
            bit = cells & (~cells + _ONE)
            i = 64 * k + place(bit)
            cells ^= bit
            here = noted[i]
            noted[i] = _NONE
            while here != _NONE:
                bit = here & (~here + _ONE)
                columns[end] = 64 * i + place(bit)
                end += 1
                here ^= bit
    return end


@compiled
def fill_sparse(random: Seeds, lexicon: Words, noted: Seeds, groups: Seeds, moa: bool, java: bool, done: int,
                columns: Ints, ends: Ints, y: Ints) -> int:  # fmt: skip
    """Write the same rows as ``fill``, as the columns of their ones and where each row ends among them.

    ``done`` rows are there already. Give how many are there now: fewer than wanted where ``columns`` has no more room.
    """
    draws, words = np.empty(_LONGEST), np.empty(_LONGEST, dtype=np.int64)
    lexicon = Words(*lexicon)
    features = len(lexicon.bounds)
    room = features if moa else min(_LONGEST, features)  # for the longest row
    for r in range(done, len(y)):
        if len(columns) - ends[r] < room:
            return r
        feeling = 0
        length = 0
        while feeling == 0:
            length, feeling = _message(random, lexicon, java, draws, words)
            if moa:
                _note(words, length, 1, features, noted, groups)
        if not moa:
            _note(words, length, 0, features, noted, groups)
        ends[r + 1] = _collect(noted, groups, columns, ends[r])
        y[r] = 0 if feeling > 0 else 1
    return len(y)
