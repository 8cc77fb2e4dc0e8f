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


@compiled
def gain_splits(nodes: Nodes, tally: Floats, roots: Ints, gains: Floats) -> None:
    """Add for each feature the decrease of Gini impurity by the splits on it, for a row that each tree learned."""
    for root in roots:
        order, counts = sum_up(nodes, tally, root)
        n, classes = counts.shape
        mixed, whole = np.empty(n), 1.0
        for k in range(n):
            weight, squares = 0.0, 0.0
            for c in range(classes):
                weight += counts[k, c]
                squares += counts[k, c] * counts[k, c]
            mixed[k] = weight - squares / weight if weight > 0.0 else 0.0
            if k == 0 and weight > 0.0:
                whole = weight
        child = 1  # children stand in the order of their parents
        for k in range(n):
            feature = feature_of(nodes, order[k])
            if feature != LEAF:
                gained = mixed[k]
                for _ in range(arity(nodes, order[k])):
                    gained -= mixed[child]
                    child += 1
                gains[feature if feature >= 0 else -2 - feature] += gained / whole
