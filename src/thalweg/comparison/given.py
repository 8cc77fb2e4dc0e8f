"""Learners and streams as a caller gives them: texts, which any process can read, or objects of this process."""

import ast
import copy
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from thalweg.comparison.cell import canonical
from thalweg.core import params
from thalweg.core.classifier import Classifier
from thalweg.core.names import parse, steps
from thalweg.core.protocols import Stream
from thalweg.core.readings import NONE, Readings
from thalweg.learners.adapted.any_model import as_learner, is_foreign
from thalweg.registry import LEARNERS, check_importable, known_name, parameters
from thalweg.registry.typed import is_file, is_own, is_saved, make_learner, open_stream, split_budget
from thalweg.streams.any_data import as_stream, is_table
from thalweg.streams.looking import warn_about

_OF_FRAMES = ("target", "drop", "nominal", "time", "label_time")

Makers = dict[str, Callable[[int], Any]]
"""What makes an object for a run with a seed, by the name it goes under."""


def named_learners(given: Any) -> tuple[dict[str, str], Makers]:
    """Give the learners by the names they are shown under, and what makes those that are objects.

    What cannot be made is refused now.
    """
    named, makers = _named(given, "learners", "learner", _learner_name)
    specs: dict[str, str] = {}
    for name, thing in named.items():
        text = thing if isinstance(thing, str) else as_text(thing)
        if text is None:
            specs[name], makers[name] = name, learner_maker(thing)
            continue
        make_learner(text)
        if not is_saved(text):
            *before, last = steps(split_budget(text)[0])
            if not is_own(last):
                check_importable("learner", parse(last, first="learner")[0])
            for part in before:
                check_importable("transformer", parse(part, first="columns")[0])
        specs[name] = canonical(text)
    if len(set(specs.values())) < len(specs):
        raise ValueError(f"learners must all differ, got {params.shown(list(specs.values()))}")
    plain = not isinstance(given, Mapping)
    return {(s if plain and n not in makers else n): s for n, s in specs.items()}, makers


def readings_of(given: Any) -> Readings:
    """Say how learners, texts or objects, want columns with dates or text to be read: all see the same columns.

    >>> readings_of(["date-parts(day) | arf", "arf"]).times
    ('day',)
    """
    if isinstance(given, str) or not isinstance(given, Iterable) or _is_thing(given):
        given = [given]
    found = NONE
    for thing in given.values() if isinstance(given, Mapping) else given:
        learner = make_learner(thing) if isinstance(thing, str) and not is_saved(thing) else thing
        if isinstance(learner, Classifier):
            found = found.joined(learner.readings)
    return found


def named_streams(given: Any, options: Mapping[str, Any]) -> tuple[dict[str, str], Makers]:
    """Give the streams by the names they are shown under, files by short ones, and what makes those that are objects.

    A name that is not known is refused now, a data set that is not here fails later, alone.
    """
    named, makers = _named(given, "on", "stream", _stream_name)
    specs: dict[str, str] = {}
    for name, thing in named.items():
        if not isinstance(thing, str):
            specs[name], makers[name] = name, stream_maker(thing, options)
            continue
        if thing[:1] == "-":
            raise ValueError(f"on must name streams that can be read again and again, got {thing!r}")
        if not _is_data(thing):
            warn_about(open_stream(thing, **options if is_file(thing) else {}), stacklevel=4)
        if not is_file(thing) and not is_own(thing):
            check_importable("stream", parse(thing)[0])
        specs[name] = thing
    if len(set(specs.values())) < len(specs):
        raise ValueError(f"on must name no stream twice, got {params.shown(list(specs.values()))}")
    if isinstance(given, Mapping):
        return specs, makers
    return short_names(specs), makers


def short_names(specs: Mapping[str, str]) -> dict[str, str]:
    """Call files by their own names, without folders and endings, where that leaves no doubt.

    >>> short_names({"runs/may.csv": "runs/may.csv", "sea": "sea"})
    {'may': 'runs/may.csv', 'sea': 'sea'}
    """
    files = {name: Path(spec).name.partition(".")[0] or spec for name, spec in specs.items() if is_file(spec)}
    full = {name: Path(spec).name for name, spec in specs.items() if name in files}
    short: dict[str, str] = {}
    for name in specs:
        wanted = [ways[name] for ways in (files, full) if name in ways and list(ways.values()).count(ways[name]) == 1]
        free = [way for way in wanted if way not in specs or way == name]
        short[free[0] if free else name] = specs[name]
    return short


def _named(
    given: Any, argument: str, kind: str, call: Callable[[Any], str]
) -> tuple[dict[str, Any], dict[str, Callable[[int], Any]]]:
    """Give what was given by name; what has none is called by what it is."""
    if isinstance(given, str) or not isinstance(given, Iterable) or _is_thing(given):
        given = [given]
    if isinstance(given, Mapping):
        for name in given:
            if not isinstance(name, str):
                raise TypeError(f"{argument} must be named by text, got {params.shown(name)}")
        named = dict(given)
    else:
        things = list(given)
        named = {}
        for thing in things:
            name = call(thing)
            if name in named and isinstance(thing, str):
                raise ValueError(f"{argument} must all differ, got {params.shown(things)}")
            while name in named:
                name += "'"
            named[name] = thing
    if not named:
        raise ValueError(f"{argument} must name at least one {kind}, got none")
    return named, {}


def _is_thing(given: Any) -> bool:
    return isinstance(given, Classifier) or callable(getattr(given, "read", None)) or is_table(given)


def _learner_name(thing: Any) -> str:
    text = thing if isinstance(thing, str) else as_text(thing)
    return text if text is not None else getattr(thing, "__name__", None) or type(thing).__name__


def _stream_name(thing: Any) -> str:
    if isinstance(thing, str):
        return thing
    named = getattr(thing, "name", None) or getattr(thing, "__name__", None)
    return named if isinstance(named, str) else type(thing).__name__


def as_text(learner: Any) -> str | None:
    """Write a learner of the library that has seen nothing as a text that makes it; None: there is none.

    >>> from thalweg import AdaptiveRandomForest
    >>> as_text(AdaptiveRandomForest(size=3, seed=5))
    'arf(size=3, seed=5)'
    """
    name = known_name(type(learner).__name__, LEARNERS) if isinstance(learner, Classifier) else None
    if name is None or learner.started or learner.schema is not None or LEARNERS[name].cls is not type(learner):
        return None
    defaults = {**parameters(type(learner)), **LEARNERS[name].preset}
    chosen = {key: value for key, value in learner.get_params(deep=False).items() if value != defaults.get(key)}
    try:
        if any(ast.literal_eval(repr(value)) != value for value in chosen.values()):
            return None
    except (ValueError, SyntaxError):
        return None
    inside = ", ".join(f"{key}={value!r}" for key, value in chosen.items())
    return f"{name}({inside})" if inside else name


def learner_maker(thing: Any) -> Callable[[int], Any]:
    """Give what makes a learner for each run: a function is called, a learner is copied as it is.

    A classifier of scikit-learn or river begins as if it had seen nothing, with the seed where it has none of its own.
    """
    if callable(thing) and not is_foreign(thing):
        return _caller(thing)
    if not isinstance(thing, Classifier) and not is_foreign(thing):
        raise TypeError(
            "learners must be texts such as 'arf(size=30)', learners, classifiers of scikit-learn or river, or "
            f"functions that make one, got {params.shown(thing)}"
        )
    learner = as_learner(thing)
    return lambda seed: (
        learner.copy() if learner is thing else type(learner)(**learner.get_params(deep=False) | {"seed": seed})
    )


def stream_maker(thing: Any, options: Mapping[str, Any]) -> Callable[[int], Any]:
    """Give what makes a stream for each run: a function is called, a stream is copied where it is.

    A frame, or whatever else holds records, becomes a stream, read as the options say.
    """
    if (callable(thing) and not callable(getattr(thing, "read", None))) or isinstance(thing, type):
        return _caller(thing)
    if not isinstance(thing, Stream):
        if not is_table(thing) and not isinstance(thing, (list, tuple)):
            raise TypeError(
                "on must hold texts such as 'sea' or 'flights.csv', streams, frames, lists of records, pairs (X, y), "
                f"or functions that make a stream, got {params.shown(thing)}"
            )
        given = {name: value for name, value in options.items() if name in _OF_FRAMES and value is not None}
        thing = as_stream(thing, name="on", readings=options.get("readings", NONE), **given)
        warn_about(thing, stacklevel=5)
    state = thing.state()

    def again(seed: int) -> Any:
        try:
            stream = copy.deepcopy(thing)
        except TypeError:  # it holds an open file: the runs take turns with it
            stream = thing
        stream.restore(state)
        return stream

    return again


def _caller(thing: Callable[..., Any]) -> Callable[[int], Any]:
    takes_seed = "seed" in parameters(thing)
    return lambda seed: thing(seed=seed) if takes_seed else thing()


def _is_data(text: str) -> bool:
    from thalweg.registry import DATASETS

    return not is_file(text) and not is_own(text) and known_name(parse(text)[0], DATASETS) is not None
