"""Columns of text as counts of n-grams, hashed to a fixed number of columns."""

from collections.abc import Sequence
from typing import Literal, final

import numpy as np
from msgspec import structs

from thalweg.core.declared import check
from thalweg.core.fields import choice, whole
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.readings import Readings
from thalweg.core.schema import Schema, Text
from thalweg.prepare import hashing_jit as jit
from thalweg.prepare.columns import Plan, choose, lay_out
from thalweg.prepare.transformer import Bools, Floats, Ints, Transformer

_RULES = {"count": jit.COUNT, "once": jit.ONCE, "unit": jit.UNIT}


@final
class HashedText(Transformer):
    """Replace each column of text by the numbers of its words, or of other n-grams, hashed to ``width`` columns.

    No word is kept: the memory is the same however many words appear, and two words that are hashed to one column count
    as one. Upper and lower case are one; a missing text has no words. The text is read as such wherever columns have
    names: in records, in frames, and in files that ``thalweg run`` opens, or that are opened with
    ``readings=pipeline.readings``.

    Examples
    --------
    >>> text = HashedText("review", width=5).learn_one({"review": "A bad film", "stars": 1})
    >>> text.transform_one({"review": "Good, good film", "stars": 4})
    {'review[0]': 0.0, 'review[1]': 0.0, 'review[2]': 1.0, 'review[3]': 0.0, 'review[4]': 2.0, 'stars': 4.0}
    """

    kind = "text"

    words: int = whole(default=1, doc="N-grams of up to so many words; 0: none.", least=0, most=10)
    characters: int = whole(
        default=0,
        doc="N-grams of so many characters within a word, the space before and behind it included; 0: none.",
        least=0,
        most=20,
    )
    width: int = whole(default=256, doc="Columns of a text.", least=1, most=1 << 16)
    values: Literal["count", "once", "unit"] = choice(
        default="count",
        doc='What a column holds: how often its n-grams appear, whether they do (1 or 0), or "unit": how often, '
        "divided so that the row of a text has length 1.",
    )

    __slots__ = ()

    def _prepare(self) -> None:
        named = named_columns(self.columns)
        if named is None:
            raise ValueError(f"columns of HashedText must name columns of text, got {shown(self.columns)}")
        if not self.words and not self.characters:
            raise ValueError("words or characters of HashedText must be above 0, both are 0")
        texts = (Text(name, int(self.words), int(self.characters), int(self.width)) for name in named)
        self.readings = Readings(texts=tuple(texts))

    def _planned(self, schema: Schema) -> Plan:
        columns = choose("HashedText", self.columns, schema, "text")
        firsts = [places[0] for text, places in schema.texts.items() if text in self.readings.texts]
        plan = lay_out(schema, columns, lambda feature: (structs.replace(feature, text=None),))
        return plan._replace(more=np.array(firsts, dtype=np.int64))

    def _start(self, plan: Plan) -> None:
        """Nothing is learned."""

    def _follow(self, plan: Plan, X: Floats, y: Ints, w: Floats, learned: Bools, out: Floats) -> None:
        out[...] = X
        jit.arrange(plan.more, int(self.width), _RULES[self.values], out)

    def _tables(self) -> State:
        return {"nothing": np.zeros(1)}

    def _adopt(self, tables: State, plan: Plan, classes: int) -> None:
        check(jit.Nothing, tables)


def named_columns(columns: object) -> Sequence[str] | None:
    """Give columns that are all named; None: they are not.

    >>> named_columns("review"), named_columns(["review", "title"]), named_columns([0, "title"])
    (['review'], ['review', 'title'], None)
    """
    listed = [columns] if isinstance(columns, str) else columns
    if not isinstance(listed, Sequence) or not listed or not all(isinstance(name, str) for name in listed):
        return None
    return list(listed)
