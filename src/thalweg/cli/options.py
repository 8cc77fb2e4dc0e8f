"""Options that several commands share, declared once: a command has a group of them as one argument.

A group is a frozen dataclass whose fields are annotated as typer wants them. A command that has it in its signature,
``def run(..., data: FileOptions)``, takes all its options on the command line; from Python the group is one object.
"""

import csv
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from thalweg.registry.typed import open_stream

if TYPE_CHECKING:
    from thalweg.core.protocols import Stream

_FILE = "How a file is read"
MAX_OPEN, MAX_BYTES = 1_000_000, 2 << 30  # those of ``evaluate.join``, which takes a while to import


def _option(text: str, *names: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=_FILE, metavar=metavar)


@dataclass(frozen=True)
class FileOptions:
    """How a file is read; of no use to a stream that is generated."""

    target: Annotated[str | None, _option("The column to predict (class by default).", metavar="COLUMN")] = None
    drop: Annotated[
        list[str] | None, _option("Columns to leave out: a,b, or the option again for each.", metavar="COLUMNS")
    ] = None
    nominal: Annotated[
        list[str] | None, _option("Columns of numbers that are names, not amounts: a,b.", metavar="COLUMNS")
    ] = None
    time: Annotated[str | None, _option("The column that says when a record was seen.", metavar="COLUMN")] = None
    label_time: Annotated[str | None, _option("The column that says when its label came.", metavar="COLUMN")] = None
    missing: Annotated[
        list[str] | None,
        _option("Words that stand for a missing value, beside the usual ones such as NA.", metavar="WORDS"),
    ] = None
    format: Annotated[
        str | None,
        _option("What a file of another name, or standard input, holds: csv, tsv, jsonl, …", metavar="FORMAT"),
    ] = None
    delimiter: Annotated[
        str | None,
        _option("What stands between the values of a text file (by default found out): ';', tab.", metavar="SIGN"),
    ] = None
    decimal: Annotated[
        str | None, _option("The decimal sign of a text file: . or , (by default found out).", metavar="SIGN")
    ] = None
    encoding: Annotated[
        str | None, _option("The encoding of a text file, such as latin-1 (utf-8 by default).", metavar="NAME")
    ] = None
    on_bad_row: Annotated[
        str | None,
        _option(
            "A record that cannot be read: raise (the run ends, by default), skip (it is counted), or quarantine.",
            metavar="WAY",
        ),
    ] = None
    quarantine: Annotated[
        str | None, _option("The .csv or .jsonl file for such records, with --on-bad-row quarantine.", metavar="FILE")
    ] = None
    extra: Annotated[
        str | None,
        _option("Fields that the first records, or the model, do not have: refuse (by default) or ignore.",
                metavar="WAY"),
    ] = None  # fmt: skip

    def chosen(self) -> dict[str, Any]:
        """Give the options that were given, as ``open_file`` takes them."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) is not None}
        for name in {"drop", "nominal", "missing"} & given.keys():
            given[name] = split(given[name])
        if "missing" in given:
            given["more_missing"] = given.pop("missing")
        if given.get("delimiter") in ("tab", "\\t"):
            given["delimiter"] = "\t"
        return given

    def open(self, stream: str, *, seed: int | None = None, **more: Any) -> "Stream":
        """Open the stream that a command line names; where that fails, say what to type."""
        from thalweg.cli.advice import advised

        with advised(self, stream):
            return open_stream(stream, seed=seed, **self.chosen() | more)


_JOIN = "Labels that come apart"


def _apart(text: str, metavar: str) -> Any:
    return typer.Option(help=text, rich_help_panel=_JOIN, metavar=metavar)


@dataclass(frozen=True)
class JoinOptions:
    """Where labels come from that are not with their records, and how both are joined."""

    labels: Annotated[
        str | None, _apart("Where the labels come from: a file, or whatever records may come from.", "STREAM")
    ] = None
    key: Annotated[str | None, _apart("The column of records and labels by which they are joined.", "COLUMN")] = None
    wait: Annotated[
        str | None,
        _apart("How long records and labels wait for each other: 30s, 5m, 3d, or a number of records.", "TIME"),
    ] = None
    max_open: Annotated[int, _apart("So many records wait for their label, at most.", "RECORDS")] = MAX_OPEN
    max_bytes: Annotated[int, _apart("So many bytes of them, at most.", "BYTES")] = MAX_BYTES

    def chosen(self, data: FileOptions, **more: Any) -> dict[str, Any]:
        """Give what ``prequential`` is told; more: how both streams are read."""
        if self.labels is None:
            for name in ("key", "wait"):
                if getattr(self, name) is not None:
                    raise ValueError(f"--{name} needs --labels, the stream with the labels, got --{name} alone")
            return {}
        if self.key is None:
            raise ValueError("--labels needs --key, the column by which records and labels are joined")
        wait = int(self.wait) if self.wait is not None and self.wait.isdecimal() else self.wait
        clock = data.label_time or data.time
        labels = open_stream(self.labels, target=self.key, **({} if clock is None else {"time": clock}) | more)
        own = {"target": data.target, "max_open": self.max_open, "max_bytes": self.max_bytes}
        return {"labels": labels, "key": self.key, "wait": wait, **own}

    def records(self, data: FileOptions) -> FileOptions:
        """Say how the records are read: where labels come apart, the key is their target."""
        return data if self.labels is None else replace(data, target=self.key, label_time=None)


_LIVE = "Brokers"


@dataclass(frozen=True)
class LiveOptions:
    """How a broker is read, and where answers go."""

    to: Annotated[
        str | None,
        typer.Option(
            help="Where the answer to each record goes: kafka://host/topic, redis://host/stream, nats://host/subject, "
            "or a file.",
            rich_help_panel=_LIVE, metavar="ADDRESS",
        ),
    ] = None  # fmt: skip
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more at the end of a topic.", rich_help_panel=_LIVE)
    ] = False
    on_gap: Annotated[
        str | None,
        typer.Option(
            help="Where a broker has dropped what was not read yet: stop (by default) or continue.",
            rich_help_panel=_LIVE, metavar="WAY",
        ),
    ] = None  # fmt: skip

    def chosen(self) -> dict[str, Any]:
        """Give the options of the stream that were given."""
        return ({"follow": True} if self.follow else {}) | ({} if self.on_gap is None else {"on_gap": self.on_gap})


def split(texts: list[str]) -> tuple[str, ...]:
    """Split ``a,b`` into its parts; a name that has a comma itself stands in quotes.

    >>> split(["a,b", "c", '"d,e"'])
    ('a', 'b', 'c', 'd,e')
    """
    return tuple(word for line in csv.reader(texts, skipinitialspace=True) for word in line if word)


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command whose groups of options are options, one by one, as typer reads them."""
    own = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)}
    if not groups:
        return command
    known = {name: get_type_hints(group, include_extras=True) for name, group in groups.items()}

    def flat(**given: Any) -> Any:
        groups_made = {n: group(**{f: given.pop(f) for f in known[n]}) for n, group in groups.items()}
        return command(**given, **groups_made)

    parameters = [p.replace(kind=p.KEYWORD_ONLY) for name, p in own.items() if name not in groups]
    for name, group in groups.items():
        parameters += [
            inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=known[name][f.name])
            for f in fields(group)
        ]
    made: Any = flat
    made.__signature__ = inspect.Signature(parameters)
    made.__annotations__ = {p.name: p.annotation for p in parameters}
    made.__doc__, made.__name__ = command.__doc__, command.__name__
    return flat


TOGETHER = JoinOptions()
"""No option at all: records have their labels."""
AS_IT_IS = FileOptions()
"""No option at all: everything is found out."""
AT_REST = LiveOptions()
"""No option at all: a topic is read to its end, and answers go nowhere."""
