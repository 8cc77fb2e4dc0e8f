"""What a name stands for, and tables of names: the library's, those a program registers, those of other packages."""

from collections.abc import Callable, ItemsView, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, TypeVar


@dataclass(frozen=True)
class Entry:
    """What a name stands for; its file is loaded when it is first used.

    >>> Entry(".learners.forests.arf:AdaptiveRandomForest").make(size=5)
    AdaptiveRandomForest(size=5)
    """

    home: str
    """``module:name``; a module that begins with a dot lies in this library."""
    line: str = ""
    """What it is, in a line; empty: the first line of its docstring, see ``summary``."""
    preset: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that this name sets."""
    family: str = ""
    """The family of learners it belongs to."""
    thing: Any = field(default=None, repr=False)
    """The class or function itself, where a program registered it as such."""

    @property
    def name(self) -> str:
        """The name of the class or function in its module."""
        return self.home.partition(":")[2]

    @property
    def cls(self) -> Any:
        """The class or function; its file is loaded now."""
        if self.thing is not None:
            return self.thing
        module, _, name = self.home.partition(":")
        found: Any = import_module(module, "thalweg")
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def make(self, **params: Any) -> Any:
        """Make one with these parameters."""
        return self.cls(**{**self.preset, **params})

    @property
    def summary(self) -> str:
        """What it is, in a line, for a list; one that cannot be loaded says why."""
        if self.line:
            return self.line
        try:
            return (self.cls.__doc__ or "").strip().partition("\n")[0]
        except Exception as error:  # another package's file: it must not spoil the list
            return f"cannot be loaded: {' '.join(str(error).split())}"


@dataclass(frozen=True)
class Format(Entry):
    """A format of files: the stream that reads it."""

    endings: tuple[str, ...] = ()
    """What the names of its files end with."""
    text: bool = False
    """Is it text, which may be packed (.gz and the like)?"""
    target: str | None = "class"
    """The column with the labels where none is named; "" where there are no columns; None where one must be named."""


@dataclass(frozen=True)
class Metric(Entry):
    """A metric: a function of what was counted (``evaluate.counts.Counts``), of the window's rows, or of scores."""

    title: str = ""
    """How it is written for people."""
    lower_is_better: bool = False
    percent: bool = False
    """Is it written in per cent?"""
    highest: float | None = None
    """The highest value there can be; None: there is none, or it is not known."""
    windowed: bool = False
    """Is it a function of the rows in the window (``evaluate.counts.Window``), and not of counts?"""
    overall: bool = False
    """Is it a function of the scores of all rows (``evaluate.counts.Scores``)? Then it has no window and no curve."""

    @property
    def looks_at(self) -> str:
        """What it is a function of: "counts", "window" or "scores"."""
        return "window" if self.windowed else "scores" if self.overall else "counts"


E = TypeVar("E", bound=Entry)


class Table(Mapping[str, E], Generic[E]):
    """Names of one kind, in the order in which they were registered.

    Names that other packages bring as entry points are looked for when a name is not found, and when all are listed.
    """

    def __init__(self, kind: str, entry: type[E], own: Mapping[str, E] | Callable[[], Mapping[str, E]]) -> None:
        self.kind, self.entry = kind, entry
        self._own, self._added = own, dict[str, E]()
        self._found: dict[str, E] | None = None

    @property
    def group(self) -> str:
        """The group of entry points in which other packages name theirs."""
        return f"thalweg.{_PLURAL.get(self.kind, f'{self.kind}s')}"

    @property
    def own(self) -> Mapping[str, E]:
        """The names of the library itself."""
        if callable(self._own):
            self._own = self._own()
        return self._own

    @property
    def added(self) -> Mapping[str, E]:
        """The names that this program has registered."""
        return self._added

    def of(self, family: str) -> dict[str, E]:
        """Give the names of one family."""
        return {name: entry for name, entry in self.items() if entry.family == family}

    def add(self, name: str, entry: E) -> None:
        """Register a name; one of the library itself cannot be taken."""
        if name in self.own:
            raise ValueError(
                f"name must not be one of the library's own, got the {self.kind} {name!r}: choose another name"
            )
        self._added[name] = entry

    def discard(self, name: str) -> None:
        """Forget a name that this program has registered."""
        self._added.pop(name, None)

    def __getitem__(self, name: str) -> E:
        for table in (self.own, self._added):
            if name in table:
                return table[name]
        return self._brought()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def items(self) -> ItemsView[str, E]:
        """Give all names with what they stand for."""
        return self._all().items()

    def _all(self) -> dict[str, E]:
        return {**self.own, **self._added, **self._brought()}

    def __repr__(self) -> str:
        return f"<{self.group}: {', '.join(self)}>"

    def _brought(self) -> dict[str, E]:
        """What installed packages bring. Only what needs more than a home (a metric, a format) is loaded now."""
        if self._found is None:
            from importlib.metadata import entry_points

            self._found = {}
            for point in entry_points(group=self.group):
                if point.name not in self.own:
                    thing = None if self.entry is Entry else point.load()
                    entry = thing if isinstance(thing, self.entry) else self.entry(point.value, thing=thing)
                    self._found[point.name] = entry
        return self._found


_PLURAL = {"strategy": "strategies", "index": "indexes"}
