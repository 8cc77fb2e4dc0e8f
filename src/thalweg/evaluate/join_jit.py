"""Records and labels that come apart, found again by a key: an open-addressing table over flat arrays.

| table   | shape       | dtype   | meaning                                                                            |
| keys    | room, words | uint64  | the key of each entry: a whole number, or the bytes of a text, then zeros          |
| entries | room, 5     | int64   | E_KIND, E_AT, E_ROW, E_PREV, E_NEXT of each entry                                  |
| born    | room        | float64 | when it joined the list in which it is                                             |
| slots   | power of 2  | int64   | by the hash of a key: 1 + its entry; 0: none. At least half of them are 0          |
| head    | H_SIZE      | int64   | first, last and length of each list, and counts; see the names below               |

An entry is in one of three lists, the oldest first, or free: records that are OPEN (their label has not come), labels
that are AHEAD (their record has not come), and keys that are CLOSED: DONE, or GONE (the record was let go of), which
are remembered to know labels that are repeated or late. E_AT: of an open record the place where it waits, or -1 - r for
row r of the records in hand; of a label its code. E_ROW: how many records came before it. What is kept in a file, in
order and without places, is in ``Apart``.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, span, table
from thalweg.jit.compile import compiled, hot, inlined
from thalweg.jit.random import mixed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

E_KIND, E_AT, E_ROW, E_PREV, E_NEXT, E_SIZE = range(6)
FREE, OPEN, AHEAD, DONE, GONE = range(5)
L_OPEN, L_AHEAD, L_CLOSED = 0, 3, 6
FIRST, LAST, LENGTH = range(3)
"""Of each list, from L_OPEN, L_AHEAD and L_CLOSED on."""
H_FREE = 9
H_MATCHED, H_EARLY, H_LATE, H_REPEATED, H_EXPIRED, H_ORPHANED, H_SIZE = range(10, 17)
COUNTS = H_SIZE - H_MATCHED
K_EVENTS, K_TOOK, K_DROPPED, K_TWICE, K_SIZE = range(5)


class Apart(NamedTuple):
    """What is kept of records and labels that have not met, beside the records: entries in the order of the lists."""

    keys: Annotated[Words, table("n", "words")]
    """The keys of all entries."""
    kinds: Annotated[Ints, table("n", least=OPEN, most=GONE)]
    """OPEN, then AHEAD, then DONE and GONE, each in the order of their list."""
    born: Annotated[Floats, table("n")]
    """When each joined its list."""
    codes: Annotated[Ints, table("n", least=0, most="max(classes, 1) - 1")]
    """Of labels that are ahead."""
    rows: Annotated[Ints, table("n", least=0, most=EXACT)]
    """How many records came before an open one."""
    counts: Annotated[Ints, table(COUNTS + 1, least=0, most=EXACT)]
    """Matched, early, late, repeated, expired, orphaned; records so far."""
    text: Annotated[Ints, table(1, cells={0: span(-1, 1)})]
    """1: keys are text; 0: whole numbers; -1: none has come."""


@inlined
def _home(keys: Words, i: int, secret: np.uint64) -> np.uint64:
    """Hash a key."""
    h = secret
    for k in range(keys.shape[1]):
        h = mixed(h ^ keys[i, k])
    return h


@inlined
def _same(a: Words, i: int, b: Words, j: int) -> bool:
    k, words = 0, a.shape[1]
    while k < words and a[i, k] == b[j, k]:
        k += 1
    return bool(k == words)


@inlined
def _slot_of(keys: Words, slots: Ints, secret: np.uint64, given: Words, j: int) -> int:
    """Give the slot of a key, or the empty one where it belongs."""
    mask = len(slots) - 1
    s: int = np.int64(_home(given, j, secret) & np.uint64(mask))  # type: ignore[assignment]
    while slots[s] != 0 and not _same(keys, slots[s] - 1, given, j):
        s = (s + 1) & mask
    return s


@inlined
def _clear(keys: Words, slots: Ints, secret: np.uint64, s: int) -> None:
    """Empty a slot; those behind that could not have their own move up."""
    mask = len(slots) - 1
    gap = s
    s = (s + 1) & mask
    while slots[s] != 0:
        home = np.int64(_home(keys, slots[s] - 1, secret) & np.uint64(mask))
        if ((s - home) & mask) >= ((s - gap) & mask):
            slots[gap] = slots[s]
            gap = s
        s = (s + 1) & mask
    slots[gap] = 0


@inlined
def _append(entries: Ints, born: Floats, head: Ints, which: int, i: int, now: float) -> None:
    """Put an entry at the end of a list."""
    last = head[which + LAST]
    entries[i, E_PREV] = last
    entries[i, E_NEXT] = -1
    if last >= 0:
        entries[last, E_NEXT] = i
    else:
        head[which + FIRST] = i
    head[which + LAST] = i
    head[which + LENGTH] += 1
    born[i] = now


@inlined
def _unlink(entries: Ints, head: Ints, which: int, i: int) -> None:
    """Take an entry out of a list."""
    before, after = entries[i, E_PREV], entries[i, E_NEXT]
    if before >= 0:
        entries[before, E_NEXT] = after
    else:
        head[which + FIRST] = after
    if after >= 0:
        entries[after, E_PREV] = before
    else:
        head[which + LAST] = before
    head[which + LENGTH] -= 1


@inlined
def _forget_first(keys: Words, entries: Ints, slots: Ints, head: Ints, secret: np.uint64, which: int) -> None:
    """Forget the oldest entry of a list."""
    i = head[which + FIRST]
    _unlink(entries, head, which, i)
    _clear(keys, slots, secret, _slot_of(keys, slots, secret, keys, i))
    entries[i, E_KIND] = FREE
    entries[i, E_NEXT] = head[H_FREE]
    head[H_FREE] = i


@inlined
def _close(
    keys: Words, entries: Ints, born: Floats, slots: Ints, head: Ints, secret: np.uint64, which: int, i: int,
    kind: int, now: float, most: int,
) -> None:  # fmt: skip
    """Remember a key as done or gone, one of so many at most."""
    _unlink(entries, head, which, i)
    if head[L_CLOSED + LENGTH] >= most:
        _forget_first(keys, entries, slots, head, secret, L_CLOSED)
    entries[i, E_KIND] = kind
    _append(entries, born, head, L_CLOSED, i, now)


@inlined
def _expire_first(
    keys: Words, entries: Ints, born: Floats, slots: Ints, head: Ints, secret: np.uint64, now: float, most: int,
    where: Ints, dropped: Ints, ends: Ints,
) -> None:  # fmt: skip
    """Let go of the record that has waited longest."""
    i = head[L_OPEN + FIRST]
    place = entries[i, E_AT]
    if place >= 0:
        dropped[ends[K_DROPPED]] = place
        ends[K_DROPPED] += 1
    else:
        where[-1 - place] = -1
    head[H_EXPIRED] += 1
    _close(keys, entries, born, slots, head, secret, L_OPEN, i, GONE, now, most)


@inlined
def _take_free(keys: Words, entries: Ints, slots: Ints, head: Ints, given: Words, j: int, s: int) -> int:
    """Give a free entry, with a key, at an empty slot."""
    i: int = head[H_FREE]
    head[H_FREE] = entries[i, E_NEXT]
    for k in range(keys.shape[1]):
        keys[i, k] = given[j, k]
    slots[s] = i + 1
    return i


@compiled
def meet(
    tables: tuple[Words, Ints, Floats, Ints, Ints], secret: np.uint64, records: Words, labels: Words, codes: Ints,
    order: Ints, when: Floats, first: int, wait: float, most_open: int, most: int,
    events: Ints, code_of: Ints, row_of: Ints, took: Ints, where: Ints, dropped: Ints, ends: Ints,
) -> None:  # fmt: skip
    """Let records (e ≥ 0) and labels (~e) come in order; say in ``events`` what to predict and learn.

    Rows of the plan are the n records, then those that waited and are learned now, at the places ``took``. code_of,
    row_of: of each row of the plan that is learned its label's code, and how many records came before it. where: the
    entry of each of the n that is still open at the end. dropped: places of records that were let go of. There must be
    as many free entries as events. first: records that came before. ends: how much of each output is used, and which
    record has a key that another has (-1: none), at which it stops.
    """
    keys, entries, born, slots, head = tables
    n = len(records)
    ends[:] = 0
    ends[K_TWICE] = -1
    for m in range(len(order)):
        e, now = order[m], when[m]
        while head[L_OPEN + LENGTH] > 0 and now - born[head[L_OPEN + FIRST]] > wait:
            _expire_first(keys, entries, born, slots, head, secret, now, most, where, dropped, ends)
        while head[L_AHEAD + LENGTH] > 0 and now - born[head[L_AHEAD + FIRST]] > wait:
            head[H_ORPHANED] += 1
            _forget_first(keys, entries, slots, head, secret, L_AHEAD)
        while head[L_CLOSED + LENGTH] > 0 and now - born[head[L_CLOSED + FIRST]] > wait:
            _forget_first(keys, entries, slots, head, secret, L_CLOSED)
        given, j = (records, e) if e >= 0 else (labels, ~e)
        s = _slot_of(keys, slots, secret, given, j)
        i = slots[s] - 1
        kind = FREE if i < 0 else entries[i, E_KIND]
        if e >= 0:
            where[e] = -1
            row_of[e] = first + e
            if kind == FREE:
                while head[L_OPEN + LENGTH] >= most_open:  # more than one where fewer are allowed than before
                    _expire_first(keys, entries, born, slots, head, secret, now, most, where, dropped, ends)
                    s = _slot_of(keys, slots, secret, given, j)
                i = _take_free(keys, entries, slots, head, given, j, s)
                entries[i, E_KIND] = OPEN
                entries[i, E_AT] = -1 - e
                entries[i, E_ROW] = first + e
                _append(entries, born, head, L_OPEN, i, now)
                where[e] = i
            elif kind == AHEAD:
                code_of[e] = entries[i, E_AT]
                head[H_MATCHED] += 1
                head[H_EARLY] += 1
                _close(keys, entries, born, slots, head, secret, L_AHEAD, i, DONE, now, most)
            else:
                ends[K_TWICE] = e
                return
            events[ends[K_EVENTS]] = e
            ends[K_EVENTS] += 1
            if kind == AHEAD:
                events[ends[K_EVENTS]] = ~e
                ends[K_EVENTS] += 1
        elif kind == FREE:
            if head[L_AHEAD + LENGTH] >= most:
                head[H_ORPHANED] += 1
                _forget_first(keys, entries, slots, head, secret, L_AHEAD)
                s = _slot_of(keys, slots, secret, given, j)
            i = _take_free(keys, entries, slots, head, given, j, s)
            entries[i, E_KIND] = AHEAD
            entries[i, E_AT] = codes[j]
            _append(entries, born, head, L_AHEAD, i, now)
        elif kind == OPEN:
            place = entries[i, E_AT]
            if place >= 0:
                r = n + ends[K_TOOK]
                took[ends[K_TOOK]] = place
                row_of[r] = entries[i, E_ROW]
                ends[K_TOOK] += 1
            else:
                r = -1 - place
                where[r] = -1
            code_of[r] = codes[j]
            events[ends[K_EVENTS]] = ~r
            ends[K_EVENTS] += 1
            head[H_MATCHED] += 1
            _close(keys, entries, born, slots, head, secret, L_OPEN, i, DONE, now, most)
        elif kind == GONE:
            head[H_LATE] += 1
        else:
            head[H_REPEATED] += 1


@hot
def chain(entries: Ints, head: Ints, first: int) -> None:
    """Add the entries from one on, which were never used, to the free ones."""
    for i in range(len(entries) - 1, first - 1, -1):
        entries[i, E_KIND] = FREE
        entries[i, E_NEXT] = head[H_FREE]
        head[H_FREE] = i


@hot
def spread(keys: Words, entries: Ints, slots: Ints, secret: np.uint64) -> bool:
    """Put all entries into slots that are empty; False: two have the same key."""
    for i in range(len(entries)):
        if entries[i, E_KIND] != FREE:
            s = _slot_of(keys, slots, secret, keys, i)
            if slots[s] != 0:
                return False
            slots[s] = i + 1
    return True


@hot
def listed(entries: Ints, head: Ints, out: Ints) -> int:
    """Give the entries in the order of their lists; say how many there are."""
    n = 0
    for which in (L_OPEN, L_AHEAD, L_CLOSED):
        i = head[which + FIRST]
        while i >= 0:
            out[n] = i
            n += 1
            i = entries[i, E_NEXT]
    return n


@hot
def relist(entries: Ints, born: Floats, head: Ints, n: int) -> None:
    """Put the first n entries into their lists, in order."""
    for i in range(n):
        kind = entries[i, E_KIND]
        which = L_OPEN if kind == OPEN else L_AHEAD if kind == AHEAD else L_CLOSED
        _append(entries, born, head, which, i, born[i])
