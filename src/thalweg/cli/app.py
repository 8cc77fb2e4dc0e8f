"""All commands together, and what happens when one of them goes wrong."""

import io
import signal
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from thalweg import __version__
from thalweg.cli.options import expanded
from thalweg.cli.shared import fail, stop
from thalweg.core.interrupts import terminate
from thalweg.registry import COMMANDS

# What typer raises for a wrong command line; its home differs between versions of typer.
_USAGE: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


OLD = {
    "show": {"--rows": "--limit"},
    "generate": {"--rows": "--limit"},
    "demo": {"--rows": "--limit", "--folder": "--out"},
}
"""Options that had another name, by command; they still work, and a line says what to type."""


_VALUES = {"path": "FILE", "int": "NUMBER", "float": "NUMBER"}


def _with_named_values(options: list[Any]) -> list[Any]:
    """Say in the help what an option takes: nothing if it is a flag, else a word in capital letters."""
    for option in options:
        if option.param_type_name == "argument":
            option.metavar = option.metavar or option.name.upper()
        elif getattr(option, "is_flag", False):
            option.metavar = ""
        elif option.metavar is None:
            described = getattr(option, "type_descriptor", None)  # what newer versions of typer have for the type
            kind = repr(option.type if described is None else described.annotation).lower()
            option.metavar = next((word for part, word in _VALUES.items() if part in kind), "TEXT")
    return options


class Group(TyperGroup):
    """All commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Give the arguments and options, with names for their values."""
        return _with_named_values(super().get_params(ctx))


class Command(TyperCommand):
    """A command whose option with a metavar like ``STREAM...`` takes all words up to the next option."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Give the arguments and options, with names for their values."""
        return _with_named_values(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what it says about columns is never left out."""
        from thalweg.streams.looking import ColumnWarning  # takes NumPy, for which the help need not wait

        warnings.simplefilter("always", ColumnWarning)
        return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Write ``--on A B`` as ``--on A --on B``, and options that had another name by their present one."""
        greedy = {name for p in self.params if (p.metavar or "").endswith("...") for name in p.opts if name[:1] == "-"}
        words: list[str] = []
        option = ""
        args = [_present_name(self.name or "", word) for word in args]
        for word in args:
            if word.startswith("-") and word != "-":
                option = word if word in greedy else ""
                words += [] if option else [word]
            else:
                words += [option, word] if option else [word]
        if args and args[-1] in greedy:
            words.append(args[-1])  # with nothing after it: let the parser say so
        return super().parse_args(ctx, words)


def _present_name(command: str, word: str) -> str:
    name, equals, value = word.partition("=")
    now = OLD.get(command, {}).get(name)
    if now is None:
        return word
    print(f"thalweg: {name} is called {now} now", file=sys.stderr)
    return f"{now}{equals}{value}"


def about(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """Classify data streams that change while they are being learned."""
    if version:
        print(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def make_app() -> typer.Typer:
    """Put the registered commands together."""
    app = typer.Typer(
        name="thalweg",
        cls=Group,
        help="Classify data streams that change while they are being learned.",
        no_args_is_help=False,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(about)
    for name, entry in COMMANDS.items():
        command = entry.cls
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name, cls=Command)(expanded(command))
    return app


def show_warning(
    message: Warning | str, category: Any, filename: str, lineno: int, file: Any = None, line: str | None = None
) -> None:
    """Show a warning as one line, in the words of the command line."""
    remark = getattr(message, "remark", None)  # of a warning about a column
    print(f"thalweg: {' '.join(str(remark or message).split())}", file=sys.stderr)


def _usage(context: Any) -> str:
    """Say how a command is used, for a sentence about one that was used wrongly."""
    if context is None:
        return ""
    words = [context.command_path, *(word for word in context.command.collect_usage_pieces(context))]
    return f"; usage: {' '.join(words)}; try {context.command_path} --help"


def main() -> None:
    """Run a command. Whatever goes wrong is one line on standard error, and exit code 2."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # what this terminal cannot show must not end a long run
        sys.stdout.reconfigure(errors="replace")
    signal.signal(signal.SIGTERM, terminate)
    warnings.showwarning = show_warning
    try:
        code = make_app()(prog_name="thalweg", standalone_mode=False)
    except _USAGE as error:
        fail(f"{error.format_message().rstrip('.')}{_usage(getattr(error, 'ctx', None))}")
    except (KeyboardInterrupt, typer.Abort) as error:
        stop(error)
    except (ValueError, TypeError, OSError, ImportError) as error:
        fail(str(error), notes=getattr(error, "__notes__", ()))
    sys.exit(code if isinstance(code, int) else 0)
