"""The loop over events for a pool of one tree. The tables are those of tables_jit.py."""

import numpy as np

from thalweg.jit.compile import compiled
from thalweg.jit.random import Seeds
from thalweg.trees.leaf_jit import Floats, Ints, Watched
from thalweg.trees.pool_jit import has_room, learn, vote, write_proba
from thalweg.trees.tables_jit import Nodes, find


@compiled
def play(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, layout: Ints, rng: Seeds, head: Ints,
         rules: Floats, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> int:  # fmt: skip
    """Carry out events in order; the number done is less than all when a table must grow first."""
    votes, logs = np.empty(tally.shape[1] - 1), np.empty(tally.shape[1] - 1)
    answered = -1  # the row whose naive Bayes answer stands in votes
    for k in range(len(events)):
        e = events[k]
        if e >= 0:
            i, parent = find(nodes, tally, 0, X, e, 0.0)
            by_bayes = vote(nodes, tally, stats, watched, layout, rules, i, parent, X, e, logs, votes)
            answered = e if by_bayes else -1
            write_proba(votes, known, out, e)
        else:
            r = ~e
            if not has_room(nodes, tally, stats, layout, head, X, r, y[r]):
                return k
            known = max(known, y[r] + 1)
            learn(nodes, tally, stats, watched, layout, rng, head, rules, 0, known, X, r, y[r], w[r], answered == r,
                  logs, votes)  # fmt: skip
            answered = -1
    return len(events)
