"""A tree for people: as text, in Graphviz's language, as a picture."""

import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.core.labels import Labels
from thalweg.core.schema import Feature, Schema
from thalweg.jit.compile import uncompiled
from thalweg.pool.explanation import Explanation, Way, explain, way_down
from thalweg.pool.pool import Pool
from thalweg.pool.pool_jit import IDLE, LEAF, arity
from thalweg.show.figure import DARK, LIGHT, Picture, check_path, figure_class


@dataclass(frozen=True)
class View:
    """One tree of a pool, with the names of its features and classes."""

    nodes: NDArray[np.void]
    tally: NDArray[np.float64]
    root: int
    schema: Schema
    classes: Sequence[Hashable]

    def is_leaf(self, i: int) -> bool:
        """Is node i a leaf?"""
        return bool(self.nodes[i]["feature"] == LEAF)

    def children(self, i: int) -> range:
        """The children of node i."""
        if self.is_leaf(i):
            return range(0)
        first = int(self.nodes[i]["left"])
        return range(first, first + int(uncompiled(arity)(self.nodes, i)))

    def feature(self, i: int) -> Feature:
        """The feature that inner node i tests."""
        code = int(self.nodes[i]["feature"])
        return self.schema.features[code if code >= 0 else -2 - code]

    def test(self, i: int, branch: int, digits: int = 6) -> str:
        """What holds for rows that inner node i sends to its branch."""
        code, t = int(self.nodes[i]["feature"]), float(self.nodes[i]["threshold"])
        feature = self.feature(i)
        if code >= 0:
            return compared(feature.name, branch > 0, t, digits)
        values = feature.values or ()
        v = int(t) if t >= 0 else branch
        word = values[v] if v < len(values) else f"value {v}"
        return f"{feature.name} {'=' if t < 0 or branch == 0 else '≠'} {word}"

    def answer(self, i: int) -> str:
        """The majority of node i, with its share and weight."""
        counts = self.tally[i, 1:]
        total = counts.sum()
        if total == 0.0:
            return "no rows yet"
        c = int(counts.argmax())
        asleep = ", asleep" if self.is_leaf(i) and self.nodes[i]["left"] == IDLE else ""
        return f"{self.classes[c]} {counts[c] / total:.1%} of {self.tally[i, 0]:,.0f}{asleep}"

    def walk(self, max_depth: int | None = None) -> Iterator[tuple[int, int, int, int]]:
        """Give (node, depth, parent, branch) of each node, parents first."""
        stack = [(self.root, 0, -1, 0)]
        while stack:
            i, depth, parent, branch = stack.pop()
            yield i, depth, parent, branch
            if max_depth is None or depth < max_depth:
                stack += [(c, depth + 1, i, b) for b, c in reversed(list(enumerate(self.children(i))))]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return sum(self.is_leaf(i) for i, *_ in self.walk())

    @property
    def depth(self) -> int:
        """Tests on the longest path."""
        return max(depth for _, depth, *_ in self.walk())


class Pictured(ABC):
    """How a learner that is one tree shows it: what ``HoeffdingTree`` and its relatives have beside ``Tree``."""

    __slots__ = ()

    _pool: Pool
    _labels: Labels
    _schema: Schema | None
    _started: bool

    @abstractmethod
    def predict_proba_one(self, x: Any) -> dict[Hashable, float]:
        """Give the probability of each class known so far."""

    @abstractmethod
    def _one_row(self, x: Any, *, learning: bool) -> tuple[Any, Schema]:
        """Turn a record into one row of the schema."""

    def describe(self, max_depth: int | None = None) -> str:
        """Write the tree as text: a line for each test and each leaf.

        Examples
        --------
        >>> from thalweg import SEA, HoeffdingTree
        >>> chunk = SEA(seed=1).read(20_000)
        >>> print(HoeffdingTree().partial_fit(chunk.X, chunk.y).describe(max_depth=1).splitlines()[0])
        20,000 rows, ...
        """
        return describe(self._view(), max_depth)

    def to_dot(self, max_depth: int | None = None) -> str:
        """Write the tree in Graphviz's language."""
        return to_dot(self._view(), max_depth)

    def plot(
        self, path: str | os.PathLike[str] | None = None, max_depth: int | None = 4, *, dark: bool = False
    ) -> Picture:
        """Draw the tree, and write it to a .png, .svg or .pdf file where a path is given."""
        return draw(self._view(), path, max_depth, dark=dark)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self._view().n_leaves

    @property
    def depth(self) -> int:
        """Tests on the longest path from the root to a leaf."""
        return self._view().depth

    def explain_one(self, x: Any) -> Explanation:
        """Say why: the tests on the record's way, and what each feature added to the probability of each class.

        Examples
        --------
        >>> from thalweg import SEA, HoeffdingTree
        >>> chunk = SEA(seed=1, noise=0.0).read(20_000)
        >>> why = HoeffdingTree(leaf="majority").partial_fit(chunk.X, chunk.y).explain_one({"x0": 1, "x1": 9, "x2": 5})
        >>> why.label, list(why.contributions)
        (1, ['x1', 'x0'])
        """
        view, proba = self._view(), self.predict_proba_one(x)
        X, _ = self._one_row(x, learning=False)
        return explain(view.schema, proba, self._ways(view, X, range(len(proba))))

    def _ways(self, view: View, X: NDArray[np.float64], sides: range) -> list[Way]:
        """The ways of row 0 down to the leaves that answer; sides: the classes."""
        return [way_down(view, self._pool, X, sides, 1.0)]

    def _view(self) -> View:
        if not self._started or self._schema is None:
            raise ValueError("the tree has not seen a row yet: nothing to look at")
        return View(self._pool.nodes, self._pool.tally, 0, self._schema, self._labels.values)


def compared(name: str, above: bool, threshold: float, digits: int = 6) -> str:
    """Say on which side of a threshold a value lies."""
    return f"{name} {'>' if above else '≤'} {threshold:.{digits}g}"


def describe(view: View, max_depth: int | None = None) -> str:
    """Write the tree as text."""
    lines = [f"{view.tally[view.root, 0]:,.0f} rows, {_leaves(view.n_leaves)}, depth {view.depth}"]
    for i, depth, parent, branch in view.walk(max_depth):
        what = f"{view.test(parent, branch)}" if parent >= 0 else ""
        if view.is_leaf(i):
            what += f"{': ' if what else ''}{view.answer(i)}"
        elif depth == max_depth:
            what += f"{': ' if what else ''}… ({view.answer(i)} at its split)"
        if what:
            lines.append("  " * max(0, depth - 1) + what)
    return "\n".join(lines)


def to_dot(view: View, max_depth: int | None = None) -> str:
    """Write the tree in Graphviz's language."""
    lines = ["digraph tree {", '  node [shape=box, style="rounded", fontname="sans-serif"];']
    for i, depth, parent, branch in view.walk(max_depth):
        inner = not view.is_leaf(i) and depth != max_depth
        label = _feature(view, i) if inner else _end(view, i)
        lines.append(f'  n{i} [label="{_quoted(label)}"];')
        if parent >= 0:
            lines.append(f'  n{parent} -> n{i} [label="{_quoted(_condition(view, parent, branch))}"];')
    return "\n".join([*lines, "}"])


def draw(
    view: View, path: str | os.PathLike[str] | None = None, max_depth: int | None = 4, *, dark: bool = False
) -> Picture:
    """Draw the tree: leaves coloured by their majority class, dotted where the tree goes on."""
    check_path(path)
    theme = DARK if dark else LIGHT
    shown = list(view.walk(max_depth))
    ends = [i for i, depth, *_ in shown if view.is_leaf(i) or depth == max_depth]
    x = {i: float(k) for k, i in enumerate(ends)}
    for i, *_ in reversed(shown):  # children come before parents
        if i not in x:
            x[i] = float(np.mean([x[c] for c in view.children(i)]))
    deepest = max(depth for _, depth, *_ in shown)
    size = (max(5.0, 1.5 * len(ends)), 1.4 + 1.25 * (deepest + 1))
    figure = figure_class()(figsize=size, layout="constrained", facecolor=theme.paper)
    axes = figure.add_subplot()
    axes.set_axis_off()
    centred: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "zorder": 2, "color": theme.ink}
    plain = {"facecolor": theme.paper, "edgecolor": "none", "pad": 1}
    place = {i: (x[i], -float(depth)) for i, depth, *_ in shown}
    for i, depth, parent, branch in shown:
        (px, py), inner = place[i], not view.is_leaf(i) and depth != max_depth
        if parent >= 0:
            qx, qy = place[parent]
            axes.plot([qx, px], [qy, py], color=theme.faint, linewidth=1, zorder=1)
            mx, my = 0.45 * qx + 0.55 * px, 0.45 * qy + 0.55 * py
            axes.text(mx, my, _condition(view, parent, branch), bbox=plain, **centred | {"fontsize": 8})
        if inner:
            text, edge = _feature(view, i), theme.faint
        else:
            text = _end(view, i).replace(" of ", "\nof ")
            edge = theme.lines[int(view.tally[i, 1:].argmax()) % len(theme.lines)]
        box = {"boxstyle": "round,pad=0.4", "facecolor": theme.paper, "edgecolor": edge, "linewidth": 1.8}
        box["linestyle"] = "-" if inner or view.is_leaf(i) else ":"
        axes.text(px, py, text, bbox=box, **centred)
    axes.set_xlim(min(x.values()) - 0.6, max(x.values()) + 0.6)
    axes.set_ylim(-deepest - 0.5, 0.5)
    heading = describe(view, 0).splitlines()[0]
    axes.set_title(heading, fontsize=10, color=theme.ink)
    return Picture(figure, f"A decision tree. {describe(view, max_depth)}").saved(path)


def _end(view: View, i: int) -> str:
    """What stands where the drawing ends: at a leaf, or at a branch that goes on below."""
    return view.answer(i) if view.is_leaf(i) else f"… {view.answer(i)} at its split"


def _feature(view: View, i: int) -> str:
    return view.feature(i).name


def _condition(view: View, i: int, branch: int) -> str:
    return view.test(i, branch, digits=4).removeprefix(_feature(view, i)).strip()


def _leaves(n: int) -> str:
    return "1 leaf" if n == 1 else f"{n:,} leaves"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
