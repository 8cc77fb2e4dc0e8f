"""From a name to what it stands for; and how a program adds names of its own."""

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from thalweg.registry.entry import Entry, Table
from thalweg.registry.learners import LEARNERS
from thalweg.registry.metrics import METRICS
from thalweg.registry.parts import DETECTORS, INDEXES, PROJECTIONS, STRATEGIES, TRANSFORMERS
from thalweg.registry.public import COMMANDS, OTHERS
from thalweg.registry.streams import FORMATS, STREAMS

TABLES: dict[str, Table[Any]] = {
    table.kind: table
    for table in (
        LEARNERS, STREAMS, DETECTORS, STRATEGIES, PROJECTIONS, TRANSFORMERS, INDEXES, METRICS, FORMATS, COMMANDS,
    )
}  # fmt: skip
"""The kinds of names that a program can register."""
PACKAGES = ("active", "checks", "compat", "detectors", "evaluate", "registry", "streams")
"""The packages that are public as a whole."""
_CLASSES = (LEARNERS, STREAMS, DETECTORS, STRATEGIES, PROJECTIONS, TRANSFORMERS, INDEXES, FORMATS)


def public() -> dict[str, str]:
    """Give the public names of the library, each with its home."""
    entries = [entry for table in _CLASSES for entry in table.own.values()]
    return {entry.name: entry.home for entry in [*entries, *OTHERS.values()]}


def register(kind: str, name: str, thing: Any = None, line: str = "", **about: Any) -> Any:
    """Register a name of your own, as the library registers its names.

    A package that others install names its things as entry points instead, in the group ``thalweg.learners``,
    ``thalweg.metrics`` and so on.

    Parameters
    ----------
    kind : str
        "learner", "stream", "detector", "strategy", "projection", "transformer", "index", "metric", "format" or
        "command".
    name : str
        What to call it, on the command line too.
    thing : object
        The class or function, or the text "module:Class", which is loaded when it is needed; None: give a decorator.
    line : str
        What it is, in a line.
    about
        More about it: ``preset``, parameters that the name sets; of a metric ``title``, ``percent``,
        ``lower_is_better``, ``highest`` and ``windowed``; of a format ``endings``, ``text`` and ``target``.

    Examples
    --------
    >>> import thalweg
    >>> @register("metric", "error", line="share of the rows predicted wrong", title="error", lower_is_better=True)
    ... def error(counts):
    ...     return 1.0 - counts.right / counts.weight
    >>> result = thalweg.prequential(thalweg.SEA(seed=1), thalweg.NoChange(), limit=2000)
    >>> result.final["error"] == 1.0 - result.accuracy
    True
    >>> thalweg.registry.METRICS.discard("error")
    """
    if thing is None:

        def decorate(thing: Any) -> Any:
            register(kind, name, thing, line, **about)
            return thing

        return decorate
    from thalweg.core.params import choice, shown

    choice("kind", kind, TABLES)
    if not isinstance(name, str) or not re.fullmatch(r"[\w.+-]+", name):
        raise ValueError(f"name must consist of letters, digits and . + - _, got {shown(name)}")
    table = TABLES[kind]
    if isinstance(thing, str):
        if not re.fullmatch(r"[\w.]+:[\w.]+", thing) or thing.startswith("."):
            raise ValueError(f"thing must be a class, a function or a text like module:Class, got {shown(thing)}")
        home, thing = thing, None
    elif callable(thing):
        home = f"{thing.__module__}:{getattr(thing, '__qualname__', type(thing).__qualname__)}"
    else:
        raise TypeError(f"thing must be a class, a function or a text like module:Class, got {shown(thing)}")
    known = set(table.entry.__dataclass_fields__) - {"home", "line", "thing"}
    if unknown := sorted(set(about) - known):
        raise ValueError(f"a {kind} has {', '.join(sorted(known))}, got {', '.join(unknown)}")
    if kind == "metric":
        about = {"title": name, **about}
    table.add(name, table.entry(home, line, thing=thing, **about))
    return thing


def shared() -> list[dict[str, Any]]:
    """Write down what this program has registered, for another process; what that could not import is left out."""
    return [
        {"kind": kind, "name": name} | {f: getattr(entry, f) for f in table.entry.__dataclass_fields__ if f != "thing"}
        for kind, table in TABLES.items()
        for name, entry in table.added.items()
        if _importable(entry)
    ]


def adopt(registrations: Iterable[Mapping[str, Any]]) -> None:
    """Register what ``shared`` of another process wrote down."""
    for about in registrations:
        fields: dict[str, Any] = {field: tuple(v) if isinstance(v, list) else v for field, v in about.items()}
        register(fields.pop("kind"), fields.pop("name"), fields.pop("home"), **fields)


def check_importable(kind: str, name: str) -> None:
    """Refuse a registered name whose class no other process can import."""
    entry = TABLES[kind].added.get(name)
    if entry is not None and not _importable(entry):
        raise ValueError(
            f"{kind} {name!r} must be defined in a module that other processes can import, it is {entry.home}"
        )


def _importable(entry: Entry) -> bool:
    return not entry.home.startswith("__main__:") and "<" not in entry.home


def find(kind: str, name: str, table: Mapping[str, Entry]) -> Entry:
    """Look a name up, in any letters, or the name of a class; a wrong one gets a sentence with the names that exist.

    >>> find("learner", "ARF", LEARNERS) == find("learner", "AdaptiveRandomForest", LEARNERS) == LEARNERS["arf"]
    True
    """
    meant = known_name(name, table)
    if meant is not None:
        return table[meant]
    from thalweg.core.params import shown

    lower = str(name).lower()
    close = difflib.get_close_matches(str(name), table, n=1) or difflib.get_close_matches(lower, table, n=1)
    hint = f"did you mean {close[0]!r}? `thalweg list` shows all" if close else f"there are {', '.join(table)}"
    raise ValueError(f"{kind} must be a known name, got {shown(name)}: {hint}")


def known_name(name: str, table: Mapping[str, Entry]) -> str | None:
    """Give the name in a table that is meant: itself, in other letters, or by its class; None: there is none.

    >>> known_name("Adaptive_Random_Forest", LEARNERS), known_name("SEA", STREAMS), known_name("forest", LEARNERS)
    ('arf', 'sea', None)
    """
    if name in table:
        return name
    plain = _letters(name)
    same = [known for known in table if _letters(known) == plain]
    classes = {known: entry for known, entry in table.items() if _letters(entry.home.rpartition(":")[2]) == plain}
    bare = [known for known, entry in classes.items() if not entry.preset]
    return next(iter([*same, *bare, *classes]), None)


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", str(name)).lower()


def make(kind: str, text: str, table: Mapping[str, Entry], **params: Any) -> Any:
    """Make what ``name(parameter=value)`` says, with further parameters."""
    from thalweg.core.fields import meant
    from thalweg.core.names import parse
    from thalweg.core.params import shown

    name, given = parse(text, first="columns" if kind == "transformer" else "")
    entry = find(kind, name, table)
    chosen = {**given, **params}
    known = parameters(entry.cls)
    for key in chosen:
        if key not in known:
            raise ValueError(f"{name} has no parameter {shown(key)}: {meant(key, known)}")
    return entry.make(**chosen)


def make_part(argument: str, text: str, table: Mapping[str, Entry], example: str, **own: Any) -> Any:
    """Make what ``name(parameter=value)`` says, for an argument of a learner that takes such texts.

    own: parameters that are set whatever the text says.
    """
    from thalweg.core.names import parse
    from thalweg.core.params import shown

    try:
        name, given = parse(text)
    except ValueError as error:
        raise ValueError(f"{argument} must read like {example}: {error}") from None
    meant = known_name(name, table)
    if meant is None:
        raise ValueError(f"{argument} must be one of {', '.join(table)}, or an object, got {shown(text)}")
    try:
        return table[meant].make(**given | own)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument} {shown(text)} cannot be made: {error}") from None


def parameters(cls: Callable[..., Any]) -> dict[str, Any]:
    """The parameters of a class with their defaults: in the library, those given by keyword, or that have a default."""
    own = getattr(cls, "__module__", "").partition(".")[0] == "thalweg"
    found = inspect.signature(cls).parameters.values()
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    kinds = {inspect.Parameter.KEYWORD_ONLY} | (set() if own else {either})
    return {p.name: p.default for p in found if p.kind in kinds or (p.kind is either and p.default is not p.empty)}


def find_class(name: str, module: str = "thalweg") -> type:
    """Find a class by its own name, for a snapshot: one of the library, or one that is registered.

    Only what can be saved is found: no file can name anything else to be called.
    """
    from thalweg.core.params import shown

    if module.partition(".")[0] == "thalweg":
        entries: Iterable[Entry] = (Entry(home) for known, home in public().items() if known == name)
        who = f"{shown(name)} is not a class of this library"
    else:
        rest = (entry for table in _CLASSES for key, entry in table.items() if key not in table.own)
        entries = (entry for entry in rest if entry.home == f"{module}:{name}")
        who = f"{name} from {shown(module)} is not registered"
    for entry in entries:
        cls = entry.cls
        if isinstance(cls, type) and all(hasattr(cls, verb) for verb in ("state", "restore", "get_params")):
            return cls
    raise ValueError(f"{who}: pass your own with load(path, cls=…)")
