"""Read the docstrings of the library: prose, parameters, reference, examples.

They are written for a reader of the source: parameters are sentences of the form ``name: what it is.`` or
``name, name: see ThatClass.``, in any paragraph. Which names to look for is known from the signature.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import thalweg

EVERYWHERE = {
    "seed": "of all that is drawn by chance.",
    "grace_period": "weight a leaf gains between two attempts to split.",
    "max_leaves": "the tree stops growing there.",
}
"""Words of the library that a docstring may leave out, as they mean the same everywhere."""


@dataclass
class Doc:
    """A docstring in its parts; prose and parameters are Markdown."""

    line: str = ""
    prose: list[str] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    reference: str = ""
    example: str = ""


@dataclass(frozen=True)
class Param:
    """A parameter as the signature has it, with what the docstring says about it."""

    name: str
    kind: str
    default: str
    text: str


def read(thing: Any) -> Doc:
    """Take a docstring apart."""
    text, told = _sections(inspect.cleandoc(thing.__doc__ or ""))
    names = [] if told else [p.name for p in _signature(thing)]
    doc, examples = Doc(), []
    for i, paragraph in enumerate(re.split(r"\n\s*\n", text)):
        if paragraph.lstrip().startswith(">>>"):
            examples.append(inspect.cleandoc(paragraph))
        elif found := re.match(r"References?: ", paragraph):
            doc.reference = _joined(paragraph[found.end() :])
        else:
            before, found_here = _params(paragraph, names)
            doc.params |= found_here
            if i == 0:
                doc.line = _joined(before)
            elif before:
                doc.prose.append(before if before.startswith(("-", "|")) else _joined(before))
    doc.params = _fields(thing) | doc.params | told
    doc.example = "\n\n".join(examples)
    return doc


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """Take the section of parameters out of a docstring with sections, and the underlined heads of the others."""
    head, found, rest = text.partition("Parameters\n----------\n")
    told: dict[str, str] = {}
    if found:
        listed, _, after = rest.partition("\n\n")
        for name, said in re.findall(r"^(\w+) : .*\n((?:    .*\n?)+)", listed, re.MULTILINE):
            told[name] = _joined(said)
        text = head + after
    text = re.sub(r"^References?\n-+\n", "Reference: ", text, flags=re.MULTILINE)
    return re.sub(r"^[A-Z]\w*(?: \w+)?\n-{3,}\n", "", text, flags=re.MULTILINE), told


def _fields(thing: Any) -> dict[str, str]:
    """What stands below the fields of a class of data."""
    kinds = ("__dataclass_fields__", "_fields", "__struct_fields__")
    if not any(hasattr(thing, kind) for kind in kinds) or thing.__module__.startswith("msgspec"):
        return {}
    body = ast.parse(inspect.getsource(thing)).body[0].body  # type: ignore[attr-defined]
    return {
        a.target.id: _joined(b.value.value)
        for a, b in pairwise(body)
        if isinstance(a, ast.AnnAssign) and isinstance(b, ast.Expr) and isinstance(b.value, ast.Constant)
    }


def params(thing: Any) -> list[Param]:
    """The parameters of a class or function, each with its meaning, wherever that is written."""
    return [
        Param(
            p.name, kind_of(p.annotation), "" if p.default is p.empty else default_of(p.default), meaning(thing, p.name)
        )
        for p in _signature(thing)
    ]


def meaning(thing: Any, name: str, depth: int = 4) -> str:
    """What is said about a parameter: by the docstring, a base class's, where they send the reader, or in passing."""
    family = [c for c in getattr(thing, "__mro__", (thing,)) if c is not object]
    told = next((text for c in family if (text := read(c).params.get(name))), "")
    if told and not _points_elsewhere(told):
        return told
    if not told and name in EVERYWHERE:
        return EVERYWHERE[name]
    sent = [c for c in _mentioned(told or " ".join(c.__doc__ or "" for c in family)) if c not in family]
    there = [c for c in sent if name in {p.name for p in _signature(c)}] if depth else []
    found = next((text for c in there if (text := meaning(c, name, depth - 1))), "")
    return found or _in_passing(family + sent, name) or told


def _in_passing(family: list[Any], name: str) -> str:
    """The first sentence that mentions a parameter; one that marks it as code comes before others."""
    for doc in map(read, family):
        texts = [doc.line, *doc.prose, *(text for other, text in doc.params.items() if other != name)]
        sentences = [s for text in texts for s in re.split(r"(?<=\.) (?=[A-Z])", text) if re.search(rf"\b{name}\b", s)]
        if sentences:
            return max(sentences, key=lambda sentence: f"`{name}`" in sentence)
    return ""


def kind_of(annotation: Any) -> str:
    """A type in words: ``number``, ``"gain" or "gini"``, ``whole number or None``."""
    if annotation is inspect.Parameter.empty or annotation is Any:
        return ""
    if isinstance(annotation, str):
        return annotation
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(_quoted(value) for value in arguments)
    if origin in (Union, UnionType):
        parts = [kind_of(a) for a in arguments]
        return " or ".join(dict.fromkeys(p for p in parts if p))
    words = {int: "int", float: "float", bool: "bool", str: "text", NoneType: "None"}
    if annotation in words:
        return words[annotation]
    if origin is not None and origin.__module__ == "collections.abc" and origin.__name__ == "Callable":
        return "a function"
    if origin is tuple:
        return "a tuple"
    return getattr(annotation, "__name__", str(annotation).rpartition(".")[2])


def default_of(value: Any) -> str:
    """A default as one writes it."""
    return _quoted(value) if isinstance(value, str) else getattr(value, "__name__", repr(value))


def signature_of(name: str, thing: Any, width: int = 88) -> str:
    """How it is called, a line if it is short, else a line for each parameter."""
    parts, star = [], False
    for p in _signature(thing):
        if p.kind is p.KEYWORD_ONLY and not star:
            parts, star = [*parts, "*"], True
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        parts.append(f"{stars}{p.name}" + ("" if p.default is p.empty else f"={default_of(p.default)}"))
    line = f"{name}({', '.join(parts)})"
    return line if len(line) <= width else f"{name}(\n    " + ",\n    ".join(parts) + ",\n)"


def _signature(thing: Any) -> list[inspect.Parameter]:
    try:
        found = inspect.signature(thing, eval_str=True)
    except NameError:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return []
    return [p for p in found.parameters.values() if p.name not in ("self", "cls") and not p.name.startswith("_")]


def _params(paragraph: str, names: list[str]) -> tuple[str, dict[str, str]]:
    """Split a paragraph into what comes before the first parameter, and parameters."""
    if not names:
        return paragraph, {}
    name = "(?:" + "|".join(map(re.escape, names)) + ")"
    heads = list(re.finditer(rf"(?:^|(?<=[.;?] )|(?<=\n))({name}(?:,\s{name})*): ", paragraph))
    ends = [head.start() for head in heads[1:]] + [len(paragraph)]
    found: dict[str, str] = {}
    for head, end in zip(heads, ends, strict=False):
        text = _joined(paragraph[head.end() : end]).rstrip("; ")
        found |= dict.fromkeys(re.split(r",\s", head[1]), text)
    return paragraph[: heads[0].start()].strip() if heads else paragraph, found


def _points_elsewhere(text: str) -> bool:
    return len(text) < 120 and re.search(r"\b(?:[Ss]ee|as in|those of) `*[A-Z]\w+", text) is not None


def _mentioned(text: str) -> list[type]:
    """The classes that a text sends the reader to."""
    found = re.findall(r"\b(?:[Ss]ee|as in|those of)\s+`*([A-Z]\w+)", text)
    return [_classes()[name] for name in found if name in _classes()]


@cache
def _classes() -> dict[str, type]:
    """All classes of the library by name."""
    modules = [m.name for m in pkgutil.walk_packages(thalweg.__path__, "thalweg.") if ".compat" not in m.name]
    things = [t for m in modules if not m.endswith("_jit") for t in vars(importlib.import_module(m)).values()]
    return {t.__name__: t for t in things if isinstance(t, type) and t.__module__.startswith("thalweg")}


def _joined(text: str) -> str:
    return re.sub(r"``([^`]+)``", r"`\1`", " ".join(text.split()))


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
