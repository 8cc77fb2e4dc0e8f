"""The command ``thalweg list``: every name there is."""

from collections.abc import Mapping

from thalweg import registry

TABLES: Mapping[str, Mapping[str, registry.Entry]] = {
    "learners": registry.LEARNERS,
    "streams": registry.STREAMS,
    "streams of the papers": registry.PAPERS,
    "data sets (thalweg data says where they are to be had)": registry.DATASETS,
    "detectors": registry.DETECTORS,
    "transformers (with --prep)": registry.TRANSFORMERS,
    "strategies (with --budget)": registry.STRATEGIES,
    "metrics": registry.METRICS,
}


def list_() -> None:
    """List learners, streams, data sets, detectors, transformers and metrics."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for title, names in TABLES.items():
        table = Table(title=title, title_justify="left", show_header=False, box=None, padding=(0, 2))
        for name, entry in names.items():
            table.add_row(name, entry.summary)
        console.print(table)
        console.print()
