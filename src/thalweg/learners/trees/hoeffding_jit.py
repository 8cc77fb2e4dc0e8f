"""The loop over events for a pool of one tree. The tables are those of tables_jit.py."""

from thalweg.jit.compile import hot
from thalweg.jit.random import Seeds
from thalweg.pool.leaf_jit import Floats, Ints, Watched
from thalweg.pool.pool_jit import has_room, keeps, learn, vote, write_proba
from thalweg.pool.tables_jit import Nodes, Trees, find


@hot
def play(nodes: Nodes, tally: Floats, stats: Floats, watched: Watched, layout: Ints, rng: Seeds, head: Ints,
         rules: Floats, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int, votes: Floats,
         logs: Floats) -> int:  # fmt: skip
    """Carry out events in order; the number done is less than all when a table must grow first.

    ``votes`` has room for each class, ``logs`` also for each watched attribute; what they hold does not matter.
    """
    p = Trees(nodes, tally, stats, watched, layout, rng, head, rules)
    answered = -1  # the row whose naive Bayes answer stands in votes
    for k in range(len(events)):
        e = events[k]
        if e >= 0:
            i, parent = find(p, 0, X, e, 0.0)
            answered = e if vote(p, i, parent, X, e, logs, votes) and keeps(p, X, e) else -1
            write_proba(votes, known, out, e)
        else:
            r = ~e
            if not has_room(p, 1, X, r, y[r]):
                return k
            known = max(known, y[r] + 1)
            i, _ = find(p, 0, X, r, w[r])
            learn(p, 0, i, known, X, r, y[r], w[r], answered == r, logs, votes)
            answered = -1
    return len(events)
