"""The command ``thalweg index``: a model's rules, and how fast each kind of index answers."""

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli import shared
from thalweg.registry import INDEXES


def index(
    model: Annotated[Path, typer.Argument(help="A saved tree, forest or ensemble of chunks.")],
    kind: Annotated[str, typer.Option(help=f"{', '.join(INDEXES.own)}, or auto: all of them.")] = "auto",
) -> None:
    """Say what a model's rules are like, and how fast each kind of index answers with them."""
    from thalweg.cli.index_report import describe_index
    from thalweg.keeping.snapshot import load

    shared.show_on_terminal(describe_index(load(model), kind))
