"""N-grams of words and of characters, hashed to a fixed number of columns."""

import numpy as np
from numpy.typing import NDArray

from thalweg.jit.compile import hot, inlined

_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inlined
def _column(h: np.uint64, width: int) -> int:
    """Give the column of a hash, whose bits are mixed first (splitmix64), so that any width will do."""
    h = (h ^ (h >> _S30)) * _MIX1
    h = (h ^ (h >> _S27)) * _MIX2
    return int((h ^ (h >> _S31)) % np.uint64(width))


@hot
def count_ngrams(
    data: NDArray[np.uint8], ends: NDArray[np.int64], words: int, characters: int, out: NDArray[np.float64]
) -> None:
    """Count the n-grams of each text, which is words with one space around each, from ends[i] to ends[i + 1].

    words: up to so many in a row. characters: so many in a row, or fewer where a word with its spaces has no more. A
    byte from 128 to 191 continues a character (UTF-8). Hashes are FNV-1a; those of characters begin at another basis.
    """
    width = out.shape[1]
    for i in range(len(ends) - 1):
        first, stop = ends[i], ends[i + 1]
        a = first + 1  # where a word begins
        while a < stop:
            h, seen, j = _BASIS, 0, a
            while j < stop and seen < words:
                if data[j] == 32:
                    seen += 1
                    out[i, _column(h, width)] += 1.0
                h = (h ^ np.uint64(data[j])) * _PRIME
                j += 1
            b = a
            while data[b] != 32:
                b += 1
            if characters > 0:
                k = a - 1
                while k <= b:
                    h, n, j = ~_BASIS, 0, k
                    while j <= b:
                        if data[j] & 0xC0 != 0x80:
                            if n == characters:
                                break
                            n += 1
                        h = (h ^ np.uint64(data[j])) * _PRIME
                        j += 1
                    if n == characters or k == a - 1:
                        out[i, _column(h, width)] += 1.0
                    if n < characters:
                        break
                    k += 1
                    while k <= b and data[k] & 0xC0 == 0x80:
                        k += 1
            a = b + 1


@hot
def hash_values(data: NDArray[np.uint8], ends: NDArray[np.int64], width: int, out: NDArray[np.int64]) -> None:
    """Give the column of each value, whose bytes are those from ends[i] to ends[i + 1]; -1: it has none."""
    for i in range(len(ends) - 1):
        h = _BASIS
        for j in range(ends[i], ends[i + 1]):
            h = (h ^ np.uint64(data[j])) * _PRIME
        out[i] = _column(h, width) if ends[i + 1] > ends[i] else -1
