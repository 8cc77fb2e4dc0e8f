"""The reference: every public name, a page for each room of the package. mkdocstrings writes the entries."""

from functools import cache

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
    "active": "Labels on a budget",
    "detectors": "Drift detectors",
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
    entries = [f"::: {path}" for path in [*(path for path in SHARED.get(group, ()) if path not in homes), *homes]]
    return "\n\n".join([f"# {title(group)}", *entries]) + "\n"


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
