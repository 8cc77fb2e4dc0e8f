"""Rules in plain Python: the way of a row down a tree, whether a box holds it, and the votes added up."""

import math


def find_leaf(nodes, tally, root, x):
    """The node of a pool in which row x ends: missing values and values without a branch follow the heavier one."""
    i = root
    while nodes[i]["feature"] != -1:
        f, t, left = int(nodes[i]["feature"]), float(nodes[i]["threshold"]), int(nodes[i]["left"])
        k = int(-t) if f < -1 and t < 0 else 2
        v = x[f if f >= 0 else -2 - f]
        weights = [tally[left + b, 0] for b in range(k)]
        branch = weights.index(max(weights))
        if v == v:
            if f >= 0:
                branch = 0 if v <= t else 1
            elif t >= 0:
                branch = 0 if v == t else 1
            elif v < k:
                branch = int(v)
        i = left + branch
    return i


def bit(rules, i, k):
    """Bit k of rule i."""
    return int(rules.bits[i, k // 64]) >> (k % 64) & 1


def holds(rules, i, x):
    """Does rule i hold row x?"""
    at = 0
    for f, values in enumerate(rules.values.tolist()):
        v = x[f]
        if math.isnan(v):
            inside = bit(rules, i, at)
        elif values:
            inside = bit(rules, i, at + 1 + (int(v) if v < values else values))
        else:
            inside = rules.lo[i, f] <= v <= rules.hi[i, f]
        if not inside:
            return False
        at += values + 2 if values else 1
    return True


class Ensemble:
    """Classifiers in the order of insertion."""

    def __init__(self):
        self.members = {}

    def insert(self, name, rules, weight):
        self.members[name] = [rules, weight]

    def delete(self, name):
        del self.members[name]

    def set_weight(self, name, weight):
        self.members[name][1] = weight

    def match(self, x):
        return [(name, i) for name, (rules, _) in self.members.items() for i in range(len(rules)) if holds(rules, i, x)]

    def scores(self, x, classes):
        out = [0.0] * classes
        for name, i in self.match(x):
            rules, weight = self.members[name]
            for c in range(classes):
                out[c] += weight * rules.payload[i, c]
        return out
