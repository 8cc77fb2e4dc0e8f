"""The loop over events for a pool of one tree. The tables are those of pool_jit.py.

Trees that review their splits (efdt_jit.py) or grow alternates (adaptive_jit.py) each have a loop of their own, which
differs in a few lines. One loop with a code for the kind would compile all three, more than half a minute each, on the
first use of any; a function as an argument would never be found in Numba's cache.
"""

from thalweg.jit.compile import hot
from thalweg.pool.leaf_jit import Floats, Ints
from thalweg.pool.pool_jit import Tables, Trees, answer, cut, find, has_room, learn, meet, n_classes
from thalweg.pool.split_jit import attempt


@hot
def play(tables: Tables, linked: tuple[()], X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int,
         work: Floats) -> int:  # fmt: skip
    """Carry out events in order; the number done is less than all when a table must grow first.

    ``work`` is new, as ``Pool`` makes it, or that of the call before, if no table has grown since.
    """
    p = Trees(*tables)
    votes, logs = cut(work, n_classes(p))
    answered = int(logs[len(logs) - 1])  # the row whose naive Bayes answer stands in votes
    for k in range(len(events)):
        e = events[k]
        if e >= 0:
            answered = answer(p, X, e, known, out, logs, votes)
        else:
            r = ~e
            if not has_room(p, 1, X, r, y[r]):
                return k
            meet(p, X, r)
            known = max(known, y[r] + 1)
            i, _ = find(p, 0, X, r, w[r])
            if learn(p, 0, i, X, r, y[r], w[r], answered == r, logs, votes):
                attempt(p, 0, known, i)
            answered = -1
    logs[len(logs) - 1] = answered
    return len(events)
