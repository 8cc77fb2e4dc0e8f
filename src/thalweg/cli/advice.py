"""What to type next: the command that a person typed, with the options that its file needs, or its result suggests."""

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from thalweg.cli.shared import typed
from thalweg.registry.typed import is_file
from thalweg.streams.files.columns import ColumnError
from thalweg.streams.files.opening import open_file
from thalweg.streams.looking import CELLS, ROWS, look_at

if TYPE_CHECKING:
    from thalweg.cli.options import FileOptions
    from thalweg.core.classifier import Classifier
    from thalweg.evaluate.result import Result

USUAL = ("class", "label", "target", "y", "outcome", "result")
"""What people call the column to predict."""
CLASSES, CANDIDATES, TRIES = 100, 20, 20
"""How many classes a column to predict may have, how many columns are tried, and how often a file is opened."""


@contextmanager
def advised(data: "FileOptions", *streams: str) -> Iterator[None]:
    """Note on an error what to type, if a file among the streams needs other options to be opened."""
    try:
        yield
    except ValueError as error:
        command = typed()
        for path in (text for text in streams if command and is_file(text)):
            if words := missing_options(path, data.chosen(), prepare=command.startswith("thalweg run ")):
                target = words[words.index("--target") + 1] if "--target" in words else ""
                when = f"if {target!r} is the column to predict, type" if target else "type"
                error.add_note(f"{when}: {command} {shlex.join(words)}")
                break
        raise


def missing_options(path: str, given: Mapping[str, Any], *, prepare: bool) -> list[str]:
    """Find what a file needs to be opened, beside what is given: words of a command line, none where nothing helps.

    prepare: may dates and text be turned into features, or must they be left out?
    """
    try:
        if (found := _opened(path, dict(given), [], prepare)) is None:
            return []
    except (ValueError, TypeError, OSError):
        return []
    stream, words = found
    if words:
        for remark in look_at(stream):
            if remark.kind in ("id", "counter"):
                words += ["--drop", ",".join(remark.columns)]
            elif remark.kind in ("date", "text"):
                words += [word for name in remark.columns for word in _use(name, remark.kind, prepare)]
    return words


def _use(name: str, kind: str, prepare: bool) -> list[str]:
    if not prepare:
        return ["--drop", name]
    return [
        "--prep",
        f"{'date-parts' if kind == 'date' else 'hashed-text'}({name if name.isidentifier() else repr(name)})",
    ]


def _opened(path: str, options: dict[str, Any], words: list[str], prepare: bool) -> tuple[Any, list[str]] | None:
    """Open a file with options that are found on the way; give it and the words for them."""
    for _ in range(TRIES):
        try:
            return open_file(path, **options), words
        except ColumnError as error:
            if error.argument == "target" and "target" not in options:
                return _with_target(path, error.columns, options, words, prepare)
            if not error.dates:
                return None
            options["drop"] = (*options.get("drop", ()), error.dates)
            words = [*words, *_use(error.dates, "date", prepare)]
        except ValueError as error:
            encoding = re.search(r"\(--encoding ([-\w]+)\)", str(error))
            if encoding is None or "encoding" in options:
                return None
            options["encoding"] = encoding[1]
            words = [*words, "--encoding", encoding[1]]
    return None


def _with_target(
    path: str, columns: tuple[str, ...], options: dict[str, Any], words: list[str], prepare: bool
) -> tuple[Any, list[str]] | None:
    """Open a file for the first column that looks like classes: those with a usual name first, then from the last."""
    usual = [name for word in USUAL for name in columns if name.lower() == word]
    for target in list(dict.fromkeys([*usual, *reversed(columns)]))[:CANDIDATES]:
        found = _opened(path, options | {"target": target}, [*words, "--target", target], prepare)
        if found is not None and _has_classes(found[0]):
            return found
    return None


def _has_classes(stream: Any) -> bool:
    seen = stream.peek(ROWS, CELLS)
    if seen is None:
        return False
    labels = set(seen.chunk.y.tolist())
    fractions = any(isinstance(label, float) and label != int(label) for label in labels)
    return 2 <= len(labels) <= min(CLASSES, len(seen.chunk) // 2) and not fractions


def for_more_found(result: "Result", learner: "Classifier") -> str:
    """Say what to type where most rows of a rare class are missed, and nothing was done about it."""
    from thalweg.evaluate.summary import kind, rarest

    command = typed()
    if not command or kind(result) != "rare class" or result.per_class[rarest(result)].recall >= 0.5:
        return ""
    while hasattr(learner, "learner"):
        if type(learner).__name__ in ("Balanced", "Threshold", "CostSensitive"):
            return ""
        learner = learner.learner
    # members of an ensemble memorise rows that count much: docs/rare-classes.md
    way = "under" if hasattr(learner, "size") else "balanced"
    return f"to find more of them, try: {command} --class-weight {way}"
