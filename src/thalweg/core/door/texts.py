"""Text: each becomes counts of its n-grams, hashed to a fixed number of features; or is hashed as a whole."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.params import shown
from thalweg.core.schema import Text
from thalweg.jit.ngrams import count_ngrams, hash_values

_GAP = re.compile(r"\W+")


def hashed_texts(texts: Sequence[Any], how: Text) -> NDArray[np.float64]:
    """Count the n-grams of texts; upper and lower case are one, and a text that is missing has none.

    Without n-grams of words or characters, each value counts as a whole, as it is written.

    >>> hashed_texts(["Good, good film", None], Text("review", 1, 0, 4)).sum(axis=1).tolist()
    [3.0, 0.0]
    """
    out = np.zeros((len(texts), how.width))
    if not how.words and not how.characters:
        places = hashed_values(texts, how.width)
        there = np.flatnonzero(places >= 0)
        out[there, places[there]] = 1.0
        return out
    words = []
    for text in texts:
        if text is None or text != text:
            words.append(b"")
            continue
        if not isinstance(text, str):
            raise TypeError(f"X must hold text in column {how.column!r}, got {shown(text)}")
        plain = _GAP.sub(" ", text.lower()).strip()
        words.append(b" %b " % plain.encode("utf-8", "replace") if plain else b"")
    count_ngrams(*_joined(words), how.words, how.characters, out)
    return out


def hashed_values(values: Sequence[Any], width: int) -> NDArray[np.int64]:
    """Hash values to numbers from 0 and below the width; -1: it is missing. A whole number is one, however it is kept.

    >>> one, other, lacking = hashed_values([7, 7.0, None], 1000).tolist()
    >>> one == other, lacking
    (True, -1)
    """
    words = []
    for v in values:
        lacks = v is None or v != v
        whole = isinstance(v, (float, np.floating)) and not lacks and float(v).is_integer()
        words.append(b"" if lacks else b"=" + str(int(v) if whole else v).encode("utf-8", "replace"))
    places = np.empty(len(words), dtype=np.int64)
    hash_values(*_joined(words), width, places)
    return places


def _joined(words: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Put all bytes behind one another; give also where each begins and ends."""
    ends = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum([len(w) for w in words], out=ends[1:])
    return np.frombuffer(b"".join(words) or b" ", dtype=np.uint8), ends
