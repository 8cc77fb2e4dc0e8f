"""Bits of a word."""

import numpy as np

from thalweg.jit.compile import inlined

_ONE, _TOP = np.uint64(1), np.uint64(58)
_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)  # all runs of six bits are different (de Bruijn)
_PLACES = np.zeros(64, dtype=np.int64)
for _k in range(64):
    _PLACES[((int(_SEQUENCE) << _k) & 0xFFFFFFFFFFFFFFFF) >> 58] = _k


@inlined
def place(bit: np.uint64) -> int:
    """Say which bit of a word it is that is set."""
    return int(_PLACES[np.int64((bit * _SEQUENCE) >> _TOP)])


@inlined
def lowest(word: np.uint64) -> int:
    """The place of the lowest bit of a word that is not 0."""
    return place(word & (~word + _ONE))
