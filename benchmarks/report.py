"""Tables for the terminal and for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table as RichTable


@dataclass(frozen=True)
class Table:
    """A title, columns, rows of text, and what a reader must know about them."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""

    def show(self, console: Console) -> None:
        """Print for a person."""
        table = RichTable()
        for i, column in enumerate(self.columns):
            table.add_column(column, justify="right" if i else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*row, style="bold cyan" if row[0].startswith("thalweg") else None)
        console.print(self.title, style="bold", highlight=False)
        console.print(table)
        console.print(self.note + "\n" if self.note else "", highlight=False)

    def markdown(self) -> str:
        """Write for a page."""
        lines = [f"## {self.title}", "", "| " + " | ".join(self.columns) + " |"]
        lines.append("| " + " | ".join("---:" if i else "---" for i in range(len(self.columns))) + " |")
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join([*lines, "", self.note, ""] if self.note else [*lines, ""])


def rate(per_second: float) -> str:
    """Write a rate with three digits: 1.38 M, 325 k, 860."""
    for unit, name in ((1e6, " M"), (1e3, " k")):
        if per_second >= unit:
            return f"{per_second / unit:.3g}{name}" if per_second < 1000 * unit else f"{per_second / unit:,.0f}{name}"
    return f"{per_second:.0f}"


def times(ratio: float) -> str:
    """Write a ratio: 4.2 ×, 65 ×."""
    return f"{ratio:.1f} ×" if ratio < 20 else f"{ratio:.0f} ×"
