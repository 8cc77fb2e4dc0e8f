"""The E-tree with the split and the re-insertion of the R*-tree, in plain Python: boxes of numbers, inserts only."""

import math


class Node:
    """level 0: its entries are rules."""

    def __init__(self, level):
        self.level, self.entries = level, []  # (lo, hi, rule or Node)


def union(entries):
    """The least box that holds all entries."""
    lows, highs = zip(*((lo, hi) for lo, hi, _ in entries), strict=True)
    return [min(v) for v in zip(*lows, strict=True)], [max(v) for v in zip(*highs, strict=True)]


class RStarTree:
    """Beckmann et al. 1990, with volumes as in the E-tree: shares of the domain, each side at least 0.001."""

    def __init__(self, most, least, reinsert):
        self.most, self.least, self.reinsert = most, least, reinsert
        self.root, self.low, self.high = Node(0), None, None

    def insert(self, rule, lo, hi):
        self.low = lo[:] if self.low is None else [min(a, b) for a, b in zip(self.low, lo, strict=True)]
        self.high = hi[:] if self.high is None else [max(a, b) for a, b in zip(self.high, hi, strict=True)]
        todo, treated = [((lo, hi, rule), 0)], set()
        while todo:
            entry, level = todo.pop()
            todo += self._add(entry, level, treated)

    def _add(self, entry, level, treated):
        """Insert one entry; give those that lose their place, the next to be inserted last."""
        path, node = [], self.root
        while node.level > level:
            sizes = [self._volume(lo, hi) for lo, hi, _ in node.entries]
            more = [self._volume(*union([e, entry])) - size for e, size in zip(node.entries, sizes, strict=True)]
            full = [len(e[2].entries) for e in node.entries]
            best = min(range(len(sizes)), key=lambda k: (more[k], sizes[k], full[k], k))
            path.append((node, best))
            node = node.entries[best][2]
        node.entries.append(entry)
        while True:
            if len(node.entries) > self.most and self.reinsert and path and node.level not in treated:
                treated.add(node.level)
                gone = self._farthest(node.entries)
                for e in gone:  # the last entry takes the place of one that leaves
                    k = next(k for k, other in enumerate(node.entries) if other is e)
                    node.entries[k] = node.entries[-1]
                    node.entries.pop()
                self._tighten(path)
                return [(e, node.level) for e in gone]
            if len(node.entries) <= self.most:
                self._tighten(path)
                return []
            other = self._divide(node)
            if not path:
                self.root = Node(node.level + 1)
                self.root.entries = [(*union(n.entries), n) for n in (node, other)]
                return []
            above, k = path.pop()
            above.entries[k] = (*union(node.entries), node)
            above.entries.append((*union(other.entries), other))
            node = above

    def _tighten(self, path):
        for above, k in reversed(path):
            child = above.entries[k][2]
            above.entries[k] = (*union(child.entries), child)

    def _volume(self, lo, hi):
        size = 1.0
        for a, b, least, most in zip(lo, hi, self.low, self.high, strict=True):
            if least < most:
                size *= max((b - a) * (1.0 / (most - least)), 1e-3)
        return size

    def _middle(self, lo, hi):
        scaled = []
        for a, b, least, most in zip(lo, hi, self.low, self.high, strict=True):
            scaled.append((0.5 * (a + b) - least) * (1.0 / (most - least)) if least < most else 0.0)
        return scaled

    def _farthest(self, entries):
        own = self._middle(*union(entries))
        away = [sum((x - y) ** 2 for x, y in zip(self._middle(lo, hi), own, strict=True)) for lo, hi, _ in entries]
        order = sorted(range(len(entries)), key=lambda k: -away[k])
        return [entries[k] for k in order[: max(1, int(self.reinsert * len(entries)))]]

    def _divide(self, node):
        """Leave some entries in the node; give a new one with the others."""
        entries, n = node.entries, len(node.entries)
        axes = [f for f in range(len(self.low)) if self.low[f] < self.high[f]]
        if not axes:
            second = set(range(n // 2, n))
        else:
            best = min(axes, key=lambda f: self._margins(entries, f))
            second = set(min(self._cuts(entries, best), key=lambda cut: self._overlap(entries, cut))[1])
        other = Node(node.level)
        other.entries = [e for k, e in enumerate(entries) if k in second]
        node.entries = [e for k, e in enumerate(entries) if k not in second]
        return other

    def _cuts(self, entries, f):
        order = sorted(range(len(entries)), key=lambda k: entries[k][0][f] + 1e-3 * entries[k][1][f])
        return [(order[:cut], order[cut:]) for cut in range(self.least, len(entries) - self.least + 1)]

    def _scaled(self, entries, part):
        lo, hi = union([entries[k] for k in part])
        domain = [(a, 1.0 / (b - a) if a < b else 0.0) for a, b in zip(self.low, self.high, strict=True)]
        lo = [(v - a) * unit if unit else 0.0 for v, (a, unit) in zip(lo, domain, strict=True)]
        return lo, [(v - a) * unit if unit else 1.0 for v, (a, unit) in zip(hi, domain, strict=True)]

    def _margins(self, entries, f):
        margin = 0.0  # in this order: sums of floats depend on it
        for cut in self._cuts(entries, f):
            for lo, hi in (self._scaled(entries, part) for part in cut):
                for a, b in zip(lo, hi, strict=True):
                    margin += b - a
        return margin

    def _overlap(self, entries, cut):
        """The overlap of both boxes, then the sum of their volumes."""
        (lo, hi), (low, high) = (self._scaled(entries, part) for part in cut)
        shared = math.prod(max(0.0, min(b, d) - max(a, c)) for a, b, c, d in zip(lo, hi, low, high, strict=True))
        areas = [math.prod(max(1e-3, b - a) for a, b in zip(*part, strict=True)) for part in ((lo, hi), (low, high))]
        return shared, sum(areas)

    def groups(self, node=None):
        """Rules of leaves as lists in lists."""
        node = self.root if node is None else node
        return [what if node.level == 0 else self.groups(what) for _, _, what in node.entries]
