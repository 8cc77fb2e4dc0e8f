"""The command ``thalweg token``: who may use a service."""

from pathlib import Path
from typing import Annotated

import typer

from thalweg.core import params


def token(
    file: Annotated[Path, typer.Argument(help="The file that thalweg serve --token-file reads; made if need be.")],
    name: Annotated[str, typer.Argument(help="Whose token it is.")],
    role: Annotated[
        str, typer.Option(help="predict; label (also sends labels); admin (also changes the model).")
    ] = "predict",
) -> None:
    """Make a token for a service. It is printed once; the file keeps its hash."""
    from thalweg.serve.security import ROLES, add_token

    params.choice("--role", role, ROLES)
    print(add_token(file, name, role))
