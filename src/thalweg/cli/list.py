"""The command ``thalweg list``: every name there is."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from thalweg import registry

TABLES: Mapping[str, tuple[str, Mapping[str, registry.Entry]]] = {
    "learners": ("", registry.LEARNERS),
    "streams": ("", registry.STREAMS),
    "papers": ("streams of the papers", registry.PAPERS),
    "data": ("data sets (thalweg data says where to get them)", registry.DATASETS),
    "detectors": ("", registry.DETECTORS),
    "transformers": ("transformers (with --prep)", registry.TRANSFORMERS),
    "strategies": ("strategies (with --budget)", registry.STRATEGIES),
    "projections": ("", registry.PROJECTIONS),
    "metrics": ("", registry.METRICS),
    "formats": ("formats of files", registry.FORMATS),
}


def _complete(incomplete: str) -> list[str]:
    return [kind for kind in TABLES if kind.startswith(incomplete)]


def list_(
    kind: Annotated[
        str | None, typer.Argument(help=f"One kind: {', '.join(TABLES)} (by default all).", autocompletion=_complete)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write JSON, with parameters and their defaults.")] = False,
) -> None:
    """List learners, streams, data sets, detectors, transformers and metrics."""
    from thalweg.core.params import choice

    if kind is not None:
        kind = next((known for known in TABLES if known.removesuffix("s") == kind.lower().removesuffix("s")), kind)
        choice("KIND", kind, TABLES)
    chosen = {name: known for name, known in TABLES.items() if kind in (None, name)}
    if json:
        _print_json({name: table for name, (_, table) in chosen.items()})
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for name, (title, names) in chosen.items():
        table = Table(title=title or name, title_justify="left", show_header=False, box=None, padding=(0, 2))
        for entry_name, entry in names.items():
            table.add_row(entry_name, entry.summary)
        console.print(table)
        console.print()


def _print_json(tables: Mapping[str, Mapping[str, registry.Entry]]) -> None:
    import json

    from thalweg.cli.shared import standard_output_is_data

    standard_output_is_data()
    found = {kind: [_about(name, entry) for name, entry in table.items()] for kind, table in tables.items()}
    print(json.dumps(found, ensure_ascii=False, indent=2, default=repr))


def _about(name: str, entry: registry.Entry) -> dict[str, Any]:
    about: dict[str, Any] = {"name": name, "summary": entry.summary, "class": entry.name}
    if isinstance(entry, registry.Metric):
        return about | {"title": entry.title, "lower_is_better": entry.lower_is_better, "percent": entry.percent}
    try:
        cls = entry.cls
    except Exception:  # another package's file: the summary says what is wrong with it
        return about
    return about | ({"parameters": {**registry.parameters(cls), **entry.preset}} if isinstance(cls, type) else {})
