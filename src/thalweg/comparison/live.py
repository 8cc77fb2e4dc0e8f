"""A comparison as it happens: a table of what is done, and a bar for each run in hand."""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self, final

from thalweg.comparison.cell import Cell
from thalweg.comparison.workers import Event

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


@final
class Live:
    """Shows events on a terminal; elsewhere prints a line for each run that ends."""

    def __init__(self, console: "Console", learners: Mapping[str, str], streams: Iterable[str]) -> None:
        from rich.live import Live as Display
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._console, self._learners = console, learners
        self._streams = dict(streams) if isinstance(streams, Mapping) else {stream: stream for stream in streams}
        self._called = {spec: name for name, spec in self._streams.items()}
        self._bars = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(elapsed_when_finished=True), TextColumn("{task.fields[note]}"), console=console,
        )  # fmt: skip
        self._tasks: dict[Cell, TaskID] = {}
        self._accuracies: dict[tuple[str, str], list[float]] = {}
        self._states: dict[tuple[str, str], str] = {}
        self._done = self._kept = 0
        self._all = self._bars.add_task("all runs", total=None, note="")
        self._display = Display(get_renderable=self._draw, console=console, transient=True, refresh_per_second=8)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._display.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._console.is_terminal:
            self._display.__exit__(*error)
        if self._kept:
            self._console.print(f"{self._kept} runs were done before, and kept", highlight=False)

    def plan(self, cells: int) -> None:
        """Say how many runs there will be."""
        self._bars.update(self._all, total=cells)

    def tell(self, event: Event) -> None:
        """Take in what happened."""
        place = event.cell.learner, event.cell.stream
        if event.stage in ("finished", "failed"):
            self._end(event, place)
            return
        if event.cell not in self._tasks:
            name = f"{event.cell.learner} on {self._name(event.cell)}, seed {event.cell.seed}"
            self._tasks[event.cell] = self._bars.add_task(name, total=None, note="")
        note = "" if event.accuracy is None else f"accuracy {event.accuracy:.1%}"
        if event.stage == "compiling":
            note = "compiling, once"
        self._bars.update(self._tasks[event.cell], completed=event.rows, total=event.total, note=note)
        self._states[place] = "…" if event.accuracy is None else f"{event.accuracy:.1%} …"

    def _end(self, event: Event, place: tuple[str, str]) -> None:
        self._done += 1
        self._kept += event.kept
        self._bars.update(self._all, completed=self._done)
        if event.cell in self._tasks:
            self._bars.remove_task(self._tasks.pop(event.cell))
        if event.result is None:
            self._states[place] = "failed"
        else:
            self._accuracies.setdefault(place, []).append(event.result.accuracy)
            self._states[place] = f"{fmean(self._accuracies[place]):.2%}"
        if not self._console.is_terminal and not event.kept:
            said = f"failed: {event.error}" if event.result is None else f"accuracy {event.result.accuracy:.2%}"
            cell = event.cell
            line = f"{self._done}: {cell.learner} on {self._name(cell)}, seed {cell.seed}: {said}"
            self._console.print(line, highlight=False, soft_wrap=True)

    def _name(self, cell: Cell) -> str:
        return self._called.get(cell.stream, cell.stream)

    def _draw(self) -> Any:
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column("accuracy")
        for learner in self._learners:
            table.add_column(Text(learner), justify="right")
        for name, stream in self._streams.items():
            states = [self._states.get((spec, stream), "·") for spec in self._learners.values()]
            table.add_row(Text(name), *(Text(s, style="red" if s == "failed" else "") for s in states))
        return Group(table, self._bars)
