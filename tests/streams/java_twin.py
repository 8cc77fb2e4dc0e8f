"""java.util.Random and MOA's random tree in plain Python, written from their descriptions."""

from dataclasses import dataclass
from typing import Any


class JavaRandom:
    """The 48-bit linear congruential generator of Java."""

    def __init__(self, seed: int) -> None:
        self.s = (seed ^ 0x5DEECE66D) % 2**48

    def bits(self, b: int) -> int:
        self.s = (self.s * 0x5DEECE66D + 0xB) % 2**48
        return self.s >> (48 - b)

    def uniform(self) -> float:
        return ((self.bits(26) << 27) + self.bits(27)) / 2**53

    def below(self, n: int) -> int:
        if n & (n - 1) == 0:
            return (n * self.bits(31)) >> 31
        while True:
            b = self.bits(31)
            if b - b % n + n - 1 < 2**31:
                return b % n


@dataclass
class Tree:
    """What a random tree is made with."""

    nominals: int
    numerics: int
    values: int
    classes: int
    depth: int
    first_leaf: int
    leaf_fraction: float

    def grow(self, random: JavaRandom, level: int, free: list[int], low: list[float], high: list[float]) -> Any:
        """Give a class, or (feature, threshold or None, children)."""
        if level >= self.depth or (level >= self.first_leaf and self.leaf_fraction >= 1.0 - random.uniform()):
            return random.below(self.classes)
        pick = random.below(len(free) + self.numerics)
        if pick < len(free):
            rest = [f for f in free if f != free[pick]]
            return free[pick], None, [self.grow(random, level + 1, rest, low, high) for _ in range(self.values)]
        f = pick - len(free)
        cut = (high[f] - low[f]) * random.uniform() + low[f]
        left = self.grow(random, level + 1, free, low, [*high[:f], cut, *high[f + 1 :]])
        right = self.grow(random, level + 1, free, [*low[:f], cut, *low[f + 1 :]], high)
        return self.nominals + f, cut, [left, right]


def label(node: Any, x: list[float]) -> int:
    """Follow a record to its leaf."""
    while not isinstance(node, int):
        f, cut, children = node
        node = children[int(x[f]) if cut is None else int(x[f] >= cut)]
    return node
