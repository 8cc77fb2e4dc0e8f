"""The command ``thalweg replay``: a file or a generator, played as if it were live."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from thalweg.cli import shared
from thalweg.cli.options import split
from thalweg.core import params
from thalweg.core.interrupts import Interrupts
from thalweg.registry.typed import open_stream

if TYPE_CHECKING:
    from thalweg.streams.replaying import Form

_TICK = 0.02  # seconds between two looks at the clock


def replay(
    stream: shared.StreamName,
    to: Annotated[
        str, typer.Option(help="Where records go: redis://host/stream, another address, a file, or - (the terminal).")
    ],
    labels_to: Annotated[
        str | None, typer.Option(help="Where labels go (by default each record has its label).", metavar="TO")
    ] = None,
    label_delay: Annotated[
        str | None, typer.Option(help="How much later than its record a label comes: 30s, 5m, 3d.", metavar="TIME")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Records in a second.")] = None,
    speed: Annotated[
        str | None, typer.Option(help="How much faster than by its own times (--time) it is played: 1x, 60x.")
    ] = None,
    key: Annotated[
        str, typer.Option(help="The column that names a record; where there is none, a number counts up.")
    ] = "id",
    format: Annotated[str, typer.Option(help="What a message holds: json, csv, or arrow (several).")] = "json",
    limit: Annotated[int | None, typer.Option(help="Stop after so many records.", min=0)] = None,
    seed: shared.StreamSeed = None,
    target: Annotated[str | None, typer.Option(help="The column with the label.", metavar="COLUMN")] = None,
    time_: Annotated[
        str | None, typer.Option("--time", help="The column that says when a record was seen.", metavar="COLUMN")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Columns to leave out: a,b.", metavar="COLUMNS")] = None,
    quiet: shared.Quiet = False,
) -> None:
    """Play a file or a generator as a live stream: records by a rate or by their time, labels later.

    Times of a stream that has none of its own are seconds from its beginning, in a field that is called time.
    """
    from thalweg.streams.replaying import FORMS, Replay

    params.choice("format", format, FORMS)
    delay = 0.0 if label_delay is None else params.duration("label-delay", label_delay)
    if label_delay is not None and labels_to is None:
        raise ValueError(f"--label-delay needs --labels-to, the place for labels, got {label_delay} alone")
    if rate is not None:
        params.number("rate", rate, above=0.0)
    source: Any = open_stream(stream, seed=seed, target=target, **({} if time_ is None else {"time": time_}),
                              **({} if drop is None else {"drop": split(drop)}))  # fmt: skip
    player = Replay(
        source, key=key, target=target or getattr(source, "target", None) or "class", clock=time_ or "time",
        delay=delay, rate=rate, speed=_speed(speed), form=cast("Form", format), limit=limit, together=labels_to is None,
    )  # fmt: skip
    places = {"records": _open(to, format, player.columns)}
    if labels_to is not None:
        same = labels_to == to
        places["labels"] = places["records"] if same else _open(labels_to, format, player.label_columns)
    begun = time.monotonic()
    try:
        with Interrupts() as interrupts, shared.bar(stream, limit, transient=True) as moved:
            for place, messages in player.due():
                if messages:
                    places[place].write(messages)
                    moved(player.records)
                else:
                    for each in places.values():
                        each.flush()
                    time.sleep(_TICK)
                interrupts.raise_if_asked()
    except KeyboardInterrupt as stop:
        _close(places)
        shared.stop(stop, _said(player, to, labels_to, time.monotonic() - begun))
    except BrokenPipeError:
        sys.stderr.close()  # whoever read the output has seen enough
        return
    _close(places)
    if not quiet:
        print(
            _said(player, to, labels_to, time.monotonic() - begun), file=sys.stderr if "-" in (to, labels_to) else None
        )


def _said(player: Any, to: str, labels_to: str | None, seconds: float) -> str:
    labels = "with their labels" if labels_to is None else f"and {player.labels:,} labels to {shared.titled(labels_to)}"
    return f"played {player.records:,} records to {shared.titled(to)} {labels} in {seconds:.1f} s"


def _speed(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        speed = float(text.removesuffix("x"))
    except ValueError:
        speed = 0.0
    if not 0.0 < speed < float("inf"):
        raise ValueError(f"--speed must be a positive number such as 60x, got {text!r}")
    return speed


def _close(places: dict[str, Any]) -> None:
    for place in {id(place): place for place in places.values()}.values():
        place.close()


def _open(to: str, format: str, columns: list[str]) -> Any:
    """Open the place that an address, a path or - names."""
    from thalweg.registry.typed import is_address

    if is_address(to):
        from thalweg.streams.brokers.sinks import open_sink

        sink = open_sink(to)
        sink.begin()
        return sink
    if "://" in to:
        from thalweg.streams.brokers.address import without_password

        got = without_password(to)
        raise ValueError(f"--to must be an address such as redis://localhost/records, a file, or -, got {got}")
    if format == "arrow":
        raise ValueError(f"--format arrow is for messages of a broker: thalweg generate writes .arrow files, got {to}")
    return _Lines(to, columns if format == "csv" else None)


class _Lines:
    """Lines of a file, or on the terminal."""

    def __init__(self, to: str, header: list[str] | None) -> None:
        from thalweg.streams.files.writing import csv_word

        if to != "-":
            shared.check_paths(to)
        self._file: Any = sys.stdout.buffer if to == "-" else Path(to).open("wb")  # noqa: SIM115
        if header is not None:
            self._file.write((",".join(map(csv_word, header)) + "\n").encode())

    def write(self, messages: list[Any]) -> None:
        self._file.write(b"".join([m.value + b"\n" for m in messages]))

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.flush()
        if self._file is not sys.stdout.buffer:
            self._file.close()
