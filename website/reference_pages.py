"""The reference: every public name, from its signature and docstring, a page for each package."""

import inspect
from typing import Any

import docstrings
import examples
import pages
import thalweg
from thalweg.active.strategy import Strategy
from thalweg.core.classifier import Classifier
from thalweg.detectors.detector import Detector
from thalweg.evaluate.result import Result
from thalweg.index.index import Index
from thalweg.projections.projection import Projection
from thalweg.streams.source import Source

GROUPS = {
    "core": "Classifier, schema, chunk",
    "evaluate": "Evaluation",
    "comparison": "Comparison",
    "trees": "Trees",
    "forests": "Forests",
    "deep": "Deep forest",
    "networks": "Networks",
    "neighbours": "Neighbours and balls",
    "tensors": "Tensors and images",
    "baselines": "Baselines",
    "active": "Labels on a budget",
    "detectors": "Drift detectors",
    "projections": "Projections",
    "streams": "Streams and data",
    "ensembles": "Compiled ensembles",
    "serve": "Serving",
    "snapshot": "Saving and loading",
    "checks": "Contract checks",
    "registry": "Names of your own",
}
"""The rooms with public names, in the order of the navigation; one that is not here comes last, by its own name."""

SHARED = {
    Source: ("streams", "What every stream has"),
    Detector: ("detectors", "What every detector has"),
    Projection: ("projections", "What every projection has"),
    Index: ("ensembles", "What every index has"),
    Result: ("evaluate", "Result of an evaluation"),
    Classifier: ("core", "Classifier"),
    Strategy: ("active", "Strategy"),
}
"""Classes whose verbs are shown once: on which page, under which heading."""


def groups() -> dict[str, list[str]]:
    """The public names by package."""
    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in pages.PUBLIC:
        found.setdefault(pages.group_of(name), []).append(name)
    return {group: names for group, names in found.items() if names}


def title(group: str) -> str:
    """What a page is called."""
    return GROUPS.get(group, group.capitalize())


def index(written: str) -> str:
    """All public names on one page, each with its line, behind the hand-written part."""
    parts = [written.strip()]
    for group, names in groups().items():
        rows = [f"| [`{n}`]({group}.md#{n.lower()}) | {docstrings.read(getattr(thalweg, n)).line} |" for n in names]
        parts.append(f"## {title(group)}\n\n| name | what it is |\n| --- | --- |\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def page(group: str) -> str:
    """The public names of a package, and what they share."""
    names = groups()[group]
    shared = [
        f"## {heading}\n\n{docstrings.read(cls).line}\n\n{members(cls)}"
        for cls, (where, heading) in SHARED.items()
        if where == group and heading not in names
    ]
    return "\n\n".join([f"# {title(group)}", *(entry(name) for name in names), *shared]) + "\n"


def entry(name: str) -> str:
    """One public name: how it is called, what it is, its parameters, an example, its verbs."""
    thing = getattr(thalweg, name)
    doc = docstrings.read(thing)
    address = pages.addresses()[name]
    parts = [
        f"## {name}",
        pages.python(docstrings.signature_of(name, thing)),
        pages.linked(doc.line, but=name),
        f"[More about it]({address})." if "learners/" in address else "",
        pages.prose(doc.prose, but=name),
        pages.parameters(thing),
        f"*Reference*: {doc.reference}" if doc.reference else "",
        pages.python(examples.complete(doc.example, thing), "pycon") if doc.example else "",
        members(thing) if isinstance(thing, type) else "",
    ]
    return "\n\n".join(part for part in parts if part)


def members(cls: type) -> str:
    """The public methods and properties of a class; what many share is shown once, and linked."""
    bases = [base for base in SHARED if issubclass(cls, base) and cls is not base]
    shared = {name for base in bases for name in dir(base)}
    rows = [member(cls, name) for name in sorted(dir(cls)) if not name.startswith("_") and name not in shared]
    listed = "\n".join(row for row in rows if row)
    links = [f"[{SHARED[base][1]}]({SHARED[base][0]}.md#{_anchor(SHARED[base][1])})" for base in bases]
    note = f"And the verbs of {', '.join(links)}." if links else ""
    return "\n\n".join(part for part in (pages.boxed("parameters verbs", listed) if listed else "", note) if part)


def member(cls: type, name: str) -> str:
    """A method or property in a line or two; nothing for what has no docstring."""
    found = inspect.getattr_static(cls, name)
    target: Any = found.fget if isinstance(found, property) else getattr(cls, name)
    if not getattr(target, "__doc__", "") or not (isinstance(found, property) or inspect.isroutine(target)):
        return ""
    call = name if isinstance(found, property) else docstrings.signature_of(name, target, width=10_000)
    return f"`{call}`{{ .name }}\n:   {pages.linked(docstrings.read(target).line)}\n"


def _anchor(heading: str) -> str:
    return heading.lower().replace(" ", "-")
