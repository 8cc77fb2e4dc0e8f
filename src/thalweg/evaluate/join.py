"""The table in which records wait for their labels, and labels for their records, until they meet by key."""

import math
import secrets
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from thalweg.core.chunk import stacked
from thalweg.core.declared import check, table
from thalweg.core.door import Rows
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.evaluate import join_jit as jit
from thalweg.evaluate.joined import AT_ONCE, LONGEST, Meeting
from thalweg.evaluate.waiting_rows import RowsOfAnyForm, rows_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_OPEN = 1_000_000
MAX_BYTES = 2 << 30
_ENTRY = 8 * (jit.E_SIZE + 1)  # bytes of an entry beside its key
_COUNTED = ("matched", "early", "late", "repeated", "expired", "orphaned")


class Reunion(NamedTuple):
    """What to do with records and labels: rows, and the events for ``Classifier.play``."""

    X: Rows
    """The records in hand, then those that waited and are learned now."""
    n: int
    """So many are in hand."""
    codes: Ints
    """Of the label of each row that is learned."""
    numbers: Ints
    """How many records came before each row."""
    events: Ints
    took: Ints
    """The places where those that waited were."""
    held: Ints
    """The rows in hand whose labels have not come."""
    places: Ints
    """Where these wait from now on."""


@final
class Join:
    """Records that wait for their label, and labels that wait for their record, bounded in number, bytes and age.

    wait: so long at most, in the unit of the meetings' ``when``; None: for ever. max_open: so many records at most, so
    many labels ahead of their record, and so many keys of which labels are known to be repeated or late. max_bytes:
    bytes of the records that wait and of what was predicted for them, at most. Whatever has waited longest is let go
    first.
    """

    __slots__ = ("_head", "_keys", "_pool", "_records", "_secret", "_tables", "_text", "max_bytes", "max_open", "wait")

    def __init__(
        self, *, wait: float | None, max_open: int = MAX_OPEN, max_bytes: int = MAX_BYTES, evolving: bool = False
    ) -> None:
        self.wait = math.inf if wait is None else float(wait)
        self.max_open, self.max_bytes = max_open, max_bytes
        self._pool = RowsOfAnyForm(evolving=evolving)
        self._secret = np.uint64(secrets.randbits(64))
        """Nobody outside can choose keys that meet in one slot; where they are in the table changes nothing else."""
        self._records = 0
        self._text: bool | None = None
        self._empty()

    def _empty(self) -> None:
        self._keys = np.zeros((0, 1), dtype=np.uint64)
        self._tables = np.zeros((0, jit.E_SIZE), dtype=np.int64), np.zeros(0), np.zeros(16, dtype=np.int64)
        self._head = np.zeros(jit.H_SIZE, dtype=np.int64)
        self._head[[jit.L_OPEN, jit.L_OPEN + 1, jit.L_AHEAD, jit.L_AHEAD + 1, jit.L_CLOSED, jit.L_CLOSED + 1]] = -1
        self._head[jit.H_FREE] = -1

    # -- what it holds ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Give how many records are open."""
        return int(self._head[jit.L_OPEN + jit.LENGTH])

    def counts(self) -> dict[str, int]:
        """Count what became of records and labels.

        Records are matched, expired or open. Labels are matched (of these, early: they came before their record), late
        (their record was let go of), repeated, orphaned (they were let go of, no record had come), or ahead.
        """
        counted = dict(zip(_COUNTED, self._head[jit.H_MATCHED :].tolist(), strict=True))
        return counted | {"open": len(self), "ahead": int(self._head[jit.L_AHEAD + jit.LENGTH])}

    @property
    def nbytes(self) -> int:
        """Bytes of all tables, and of the records that wait."""
        return self._keys.nbytes + sum(t.nbytes for t in self._tables) + self._pool.nbytes

    def most_bytes(self, features: int, classes: int, key_bytes: int = 8) -> int:
        """Say how many bytes it holds at most, for dense rows, with their predictions.

        For each of three lists of max_open entries 48 bytes, the key, and up to 32 bytes of slots; for each open record
        its values and probabilities, half as much again where these tables have just grown.

        >>> Join(wait=None, max_open=1_000_000).most_bytes(10, 2) // 2**20
        400
        """
        entries = 3 * self.max_open + 2 * AT_ONCE
        rows = min(self.max_open * 8 * (features + classes + 1), self.max_bytes)
        return entries * (_ENTRY + 8 * -(-key_bytes // 8) + 32) + 3 * (rows + AT_ONCE) // 2

    # -- on the way ---------------------------------------------------------------------------------------------------

    def meet(self, meeting: Meeting, codes: Ints, classes: int) -> Reunion:
        """Take the next records and labels; say what is to be predicted and learned now, in order."""
        n, many = len(meeting.records), meeting.events
        if self._text is not None and many and meeting.text != self._text:
            raise TypeError(f"the key must stay {'text' if self._text else 'whole numbers'}, as it was so far")
        self._text = meeting.text if many else self._text
        records, labels = self._fitted(meeting.keys, meeting.label_keys)
        self._make_room(many)
        entries, born, slots = self._tables
        rows = meeting.records.X
        if n:
            moved = self._open() if self._pool.turns(meeting.records) else np.zeros(0, dtype=np.int64)
            places = entries[moved, jit.E_AT]
            rows = self._pool.fit(meeting.records, places)
            entries[moved, jit.E_AT] = places
        events, where = np.empty(2 * many, dtype=np.int64), np.full(n, -1)
        code_of, row_of = np.zeros(n + many, dtype=np.int64), np.zeros(n + many, dtype=np.int64)
        took, dropped = np.empty(many, dtype=np.int64), np.empty(len(self) + 1, dtype=np.int64)
        ends = np.zeros(jit.K_SIZE, dtype=np.int64)
        jit.meet(
            (self._keys, entries, born, slots, self._head), self._secret, records, labels, codes, meeting.order,
            meeting.when, self._records, self.wait, self._most_open(classes), self.max_open, events, code_of, row_of,
            took, where, dropped, ends,
        )  # fmt: skip
        if ends[jit.K_TWICE] >= 0:
            key = meeting.records.y[ends[jit.K_TWICE]]
            raise ValueError(f"key must be another one in each record, got {shown(key.item())} twice")
        took, late = took[: ends[jit.K_TOOK]], int(ends[jit.K_TOOK])
        old = self._pool.take(took) if late or not n else None
        self._pool.take(dropped[: ends[jit.K_DROPPED]])
        held = np.flatnonzero(where >= 0)
        places = self._pool.hold(rows[held]) if len(held) else np.zeros(0, dtype=np.int64)
        entries[where[held], jit.E_AT] = places
        self._records += n
        return Reunion(
            rows if old is None else stacked([rows, old]) if n else old, n, code_of[: n + late], row_of[: n + late],
            events[: ends[jit.K_EVENTS]], took, held, places,
        )  # fmt: skip

    def _most_open(self, classes: int) -> int:
        """Say how many records may be open, so that they and their predictions stay within max_bytes."""
        each = 8 * (self._pool.width + classes + 1)
        if not self._pool.width and len(self):  # sparse rows: as many as now, on average
            each += self._pool.nbytes // len(self)
        return max(1, min(self.max_open, self.max_bytes // each))

    def _open(self) -> Ints:
        """Give the entries of the open records, in order."""
        return self._listed()[: len(self)]

    def _listed(self) -> Ints:
        out = np.empty(len(self._keys), dtype=np.int64)
        return out[: jit.listed(self._tables[0], self._head, out)]

    def _fitted(self, *keys: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
        """Let all keys, those of the table among them, have as many words as the longest."""
        words = max(k.shape[1] for k in (self._keys, *keys))
        self._keys = _wide(self._keys, words)
        return [_wide(k, words) for k in keys]

    def _make_room(self, n: int) -> None:
        """Make sure that there are n free entries, and twice as many slots as entries."""
        entries, born, slots = self._tables
        room = len(entries)
        used = int(self._head[[which + jit.LENGTH for which in (jit.L_OPEN, jit.L_AHEAD, jit.L_CLOSED)]].sum())
        if used + n > room:
            more = max(used + n - room, min(room // 2, 3 * self.max_open - room))
            self._keys = np.concatenate([self._keys, np.zeros((more, self._keys.shape[1]), dtype=np.uint64)])
            entries = np.concatenate([entries, np.zeros((more, jit.E_SIZE), dtype=np.int64)])
            born = np.concatenate([born, np.zeros(more)])
            jit.chain(entries, self._head, room)
        if 2 * len(entries) > len(slots):
            slots = np.zeros(1 << (2 * len(entries) - 1).bit_length(), dtype=np.int64)
            jit.spread(self._keys, entries, slots, self._secret)
        self._tables = entries, born, slots

    def bounds(self) -> dict[str, Any]:
        """Give the bounds, for a header."""
        wait = None if self.wait == math.inf else self.wait
        return {"wait": wait, "max_open": self.max_open, "max_bytes": self.max_bytes}

    # -- keeping ------------------------------------------------------------------------------------------------------

    def places(self) -> Ints:
        """Give the places of the open records, in order."""
        places: Ints = self._tables[0][self._open(), jit.E_AT]
        return places

    def state(self) -> State:
        """Copy out what waits, in order, and the counts."""
        entries, born, _ = self._tables
        every = self._listed()
        kinds = entries[every, jit.E_KIND]
        return {
            **self._pool.state(self.places()),
            "keys": self._keys[every],
            "kinds": kinds,
            "born": born[every],
            "codes": np.where(kinds == jit.AHEAD, entries[every, jit.E_AT], 0),
            "rows": np.where(kinds == jit.OPEN, entries[every, jit.E_ROW], 0),
            "counts": np.append(self._head[jit.H_MATCHED :], self._records),
            "text": np.array([-1 if self._text is None else int(self._text)]),
        }

    def restore(self, state: Mapping[str, NDArray[Any]], *, classes: int, features: int) -> None:
        """Continue from what ``state`` gave: labels of so many classes, sparse rows of so many features at most."""
        sizes = check(jit.Apart, state, classes=classes)
        kinds, n = state["kinds"], sizes["n"]
        groups = np.maximum.accumulate(np.minimum(kinds, jit.DONE))
        lengths = [int(np.count_nonzero(groups == kind)) for kind in (jit.OPEN, jit.AHEAD, jit.DONE)]
        X = rows_of(state, features)
        if (
            (groups != np.minimum(kinds, jit.DONE)).any()
            or X.shape[0] != lengths[0]
            or max(lengths) > self.max_open
            or not 1 <= sizes["words"] <= LONGEST // 8
            or (n and classes == 0 and lengths[1])
        ):
            raise ValueError("what waits for labels is damaged")
        self._empty()
        self._pool.begin(X)
        self._keys = np.zeros((0, sizes["words"]), dtype=np.uint64)
        self._make_room(n)
        entries, born, slots = self._tables
        self._keys[:n], born[:n] = state["keys"], state["born"]
        entries[:n, jit.E_KIND] = kinds
        entries[:n, jit.E_AT], entries[:n, jit.E_ROW] = state["codes"], state["rows"]
        if lengths[0]:
            entries[: lengths[0], jit.E_AT] = self._pool.hold(X)
        jit.relist(entries, born, self._head, n)
        self._head[jit.H_FREE] = -1
        jit.chain(entries, self._head, n)
        if not jit.spread(self._keys, entries, slots, self._secret):
            raise ValueError("what waits for labels is damaged: a key is there twice")
        *counts, self._records = state["counts"].tolist()
        self._head[jit.H_MATCHED :] = counts
        text = int(state["text"][0])
        self._text = None if text < 0 else bool(text)


class Predicted(NamedTuple):
    """What was predicted for records that wait, in their order."""

    proba: Annotated[Floats, table("n", "classes", least=0, most=2)]
    """By the codes of the run."""
    asked: Annotated[NDArray[np.bool_], table("n")]
    """Is the label to be learned, or only to be scored?"""


@final
class Told:
    """What one learner predicted for the records that wait, by their places in a ``Join``."""

    __slots__ = ("_asked", "_proba")

    def __init__(self) -> None:
        self._proba = np.zeros((0, 0))
        self._asked = np.zeros(0, dtype=np.bool_)

    def take(self, plan: Reunion) -> tuple[NDArray[np.bool_], Floats]:
        """Say of which rows of a plan the label may be learned, and what was predicted for those that waited."""
        return np.concatenate([np.ones(plan.n, dtype=np.bool_), self._asked[plan.took]]), self._proba[plan.took]

    def keep(self, places: Ints, proba: Floats, asked: NDArray[np.bool_]) -> None:
        """Keep what was predicted for records that wait at these places from now on."""
        room, classes = self._proba.shape
        most = 1 + int(places.max(initial=-1))
        if most > room or proba.shape[1] > classes:
            more = max(most, room + room // 2) - room if most > room else 0
            self._proba = np.pad(self._proba, ((0, more), (0, max(0, proba.shape[1] - classes))))
            self._asked = np.pad(self._asked, (0, more))
        self._proba[places, : proba.shape[1]] = proba
        self._proba[places, proba.shape[1] :] = 0.0
        self._asked[places] = asked

    def state(self, places: Ints) -> State:
        """Copy out what was predicted for the records at these places, in order."""
        return {"proba": self._proba[places], "asked": self._asked[places]}

    def restore(self, state: Mapping[str, NDArray[Any]], places: Ints, *, classes: int) -> None:
        """Continue from what ``state`` gave, for records at these places now."""
        check(Predicted, state, n=len(places), most={"classes": classes})
        self._proba, self._asked = np.zeros((0, 0)), np.zeros(0, dtype=np.bool_)
        self.keep(places, state["proba"], state["asked"])


def _wide(keys: NDArray[np.uint64], words: int) -> NDArray[np.uint64]:
    missing = words - keys.shape[1]
    return np.pad(keys, ((0, 0), (0, missing))) if missing else np.ascontiguousarray(keys)
