"""The page of the command line: every command with its arguments and options, as ``--help`` has them."""

from typing import Any

import typer

from thalweg.cli.app import make_app


def page() -> str:
    """All commands, those of a group after it."""
    intro = "In a terminal, `thalweg COMMAND --help` shows the same."
    return "\n\n".join(["# Command line", intro, *_commands("thalweg", typer.main.get_command(make_app()))]) + "\n"


def _commands(path: str, command: Any) -> list[str]:
    if hasattr(command, "commands"):
        return [text for name, inner in command.commands.items() for text in _commands(f"{path} {name}", inner)]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([f"$ {path}", *(_argument(p) for p in arguments), "[options]"])
    params = "\n".join(_described(p) for p in command.params if p.name != "help")
    return [
        f"## {path}",
        " ".join((command.help or "").split()),
        f"```console\n{usage}\n```",
        f'<div class="parameters" markdown="1">\n\n{params}\n</div>',
    ]


def _argument(param: Any) -> str:
    name = (param.metavar or param.name).strip("{}[].").upper()
    return (name if param.required else f"[{name}]") + ("…" if param.nargs == -1 else "")


def _described(param: Any) -> str:
    name = _argument(param) if param.param_type_name == "argument" else ", ".join(param.opts)
    told = param.default if isinstance(param.default, str | int | float) and not isinstance(param.default, bool) else ""
    default = f' <span class="default">= {told}</span>' if told != "" else ""
    return f"`{name}`{{ .name }}{default}\n:   {' '.join((param.help or '&nbsp;').split())}\n"
