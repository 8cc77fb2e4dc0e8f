"""Looking at trees: the way of a row, and the class weights of every node."""

import numpy as np

from thalweg.jit.compile import compiled
from thalweg.pool.leaf_jit import Floats, Ints, whole_lanes
from thalweg.pool.pool_jit import LEAF, Nodes, Tables, Trees, arity, branch, feature_of, left_of, vote


@compiled
def trace(tables: Tables, root: int, X: Floats, r: int, votes: Floats) -> Ints:
    """Give the nodes on the way of row r from the root to its leaf, and fill ``votes`` with the leaf's answer."""
    p = Trees(*tables)
    nodes = p.nodes
    path, depth = np.empty(len(nodes), dtype=np.int64), 1
    path[0], parent, i = root, -1, root
    while feature_of(nodes, i) != LEAF:
        parent, i = i, branch(p, i, feature_of(nodes, i), X, r)
        path[depth] = i
        depth += 1
    vote(p, i, parent, X, r, np.empty(whole_lanes(len(votes)) + p.watched.shape[1]), votes)
    return path[:depth]


@compiled
def sum_up(nodes: Nodes, tally: Floats, root: int) -> tuple[Ints, Floats]:
    """Give the nodes of a tree, parents first, and the class weights of each: an inner node's are its leaves' sum."""
    order, n = np.empty(len(nodes), dtype=np.int64), 1
    parent = np.empty(len(nodes), dtype=np.int64)
    order[0], parent[0] = root, -1
    done = 0
    while done < n:
        i = order[done]
        if feature_of(nodes, i) != LEAF:
            for child in range(left_of(nodes, i), left_of(nodes, i) + arity(nodes, i)):
                order[n], parent[n] = child, done
                n += 1
        done += 1
    counts = np.zeros((n, tally.shape[1] - 1))
    for k in range(n - 1, -1, -1):
        if feature_of(nodes, order[k]) == LEAF:
            for c in range(counts.shape[1]):
                counts[k, c] = tally[order[k], 1 + c]
        if parent[k] >= 0:
            for c in range(counts.shape[1]):
                counts[parent[k], c] += counts[k, c]
    return order[:n], counts
