"""The reference: every public name, a page for each room of the package. mkdocstrings writes the entries."""

import inspect
import pydoc
from functools import cache
from typing import Any

import thalweg
from thalweg.registry import LEARNERS

PUBLIC = sorted((name for name in thalweg.__all__ if name != "__version__"), key=str.lower)
TITLES = {
    "core": "Classifier, schema, chunk",
    "evaluate": "Evaluation",
    "comparison": "Comparison",
    "trees": "Trees",
    "forests": "Forests",
    "deep": "Deep forest",
    "networks": "Networks",
    "windows": "Neighbours",
    "compressed": "Learners behind a projection",
    "balls": "Balls",
    "tensors": "Tensors",
    "subspaces": "Images",
    "chunks": "Chunk ensembles",
    "baselines": "Baselines",
    "rare": "Rare classes",
    "adapted": "Models of other libraries",
    "active": "Labels on a budget",
    "detectors": "Drift detectors",
    "prepare": "Preprocessing and pipelines",
    "projections": "Projections",
    "streams": "Streams and data",
    "rules": "Rule indexes",
    "frozen": "Frozen forests",
    "serve": "Serving",
    "keeping": "Saving and loading",
    "show": "Pictures and tables",
    "checks": "Contract checks",
    "registry": "Registering names",
}
"""The pages, in the order of the navigation; a room that is not here comes last, by its own name."""
SHARED = {
    "core": ("thalweg.core.classifier.Classifier",),
    "evaluate": ("thalweg.evaluate.result.Result",),
    "active": ("thalweg.active.strategy.Strategy",),
    "detectors": ("thalweg.detectors.detector.Detector",),
    "prepare": ("thalweg.prepare.transformer.Transformer",),
    "projections": ("thalweg.projections.projection.Projection",),
    "streams": ("thalweg.streams.source.Source",),
    "rules": ("thalweg.index.index.Index",),
}
"""Classes whose verbs others inherit, described once, on the page of their room."""


@cache
def home(name: str) -> str:
    """Where a public name is defined."""
    return f"{getattr(thalweg, name).__module__}.{name}"


def group_of(name: str) -> str:
    """The page that a public name stands on: its room, among the learners that of its family."""
    rooms = home(name).split(".")
    room = rooms[2] if rooms[1] == "learners" else rooms[1]
    return "rules" if room == "index" else room  # index.md is the page of all names


@cache
def groups() -> dict[str, list[str]]:
    """The public names by page."""
    found: dict[str, list[str]] = {group: [] for group in TITLES}
    for name in PUBLIC:
        found.setdefault(group_of(name), []).append(name)
    return {group: names for group, names in found.items() if names}


def title(group: str) -> str:
    """What a page is called."""
    return TITLES.get(group, group.capitalize())


def page(group: str) -> str:
    """The public names of a room, and what they inherit."""
    homes = [home(name) for name in groups()[group]]
    shared = [entry(pydoc.locate(path)) for path in SHARED.get(group, ()) if path not in homes]
    entries = [entry(getattr(thalweg, name)) for name in groups()[group]]
    return "\n\n".join([f"# {title(group)}", *shared, *entries]) + "\n"


def entry(thing: Any, level: int = 2) -> str:
    """What mkdocstrings is asked for: a class or function, with what a class inherits and no other page describes."""
    members = f"\n      inherited_members: {inherited(thing)}" if isinstance(thing, type) and inherited(thing) else ""
    options = f"      heading_level: {level}{members}"
    return f"::: {thing.__module__}.{thing.__name__}\n    options:\n{options}"


def inherited(cls: type) -> list[str]:
    """Public methods and properties from classes that have no entry in the reference."""
    described = {path for paths in SHARED.values() for path in paths} | {home(name) for name in PUBLIC}
    bases = [base for base in cls.__mro__[1:] if base.__module__.startswith("thalweg.")]
    verbs = {name for base in bases if f"{base.__module__}.{base.__name__}" in described for name in dir(base)}
    found = {
        name: None
        for base in bases
        for name, member in vars(base).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
    }
    return [name for name in found if name not in verbs and name not in vars(cls)]


def index(written: str) -> str:
    """All public names on one page, each with its line, behind the hand-written part."""
    parts = [written.strip()]
    for group, names in groups().items():
        rows = [f"| [`{name}`]({address(name)}) | {line(name)} |" for name in names]
        parts.append(f"## {title(group)}\n\n| name | what it is |\n| --- | --- |\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def address(name: str) -> str:
    """Where a public name is described, from the index of the reference."""
    pages = {entry.cls.__name__: f"../learners/{learner}.md" for learner, entry in reversed(LEARNERS.items())}
    return pages.get(name) or f"{group_of(name)}.md#{home(name)}"


def line(name: str) -> str:
    """The first paragraph of what is said about a public name, as one line."""
    first = (getattr(thalweg, name).__doc__ or "").strip().split("\n\n")[0]
    return " ".join(first.split()).replace("``", "`")
