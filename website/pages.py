"""Pieces of Markdown that the learner pages and the reference share."""

import re
from functools import cache
from typing import Any

import docstrings
import thalweg
from contents import FAMILIES
from thalweg.registry import LEARNERS, public

PUBLIC = sorted((name for name in thalweg.__all__ if name != "__version__"), key=str.lower)
ROOMS = {
    "balls": "neighbours", "chunks": "ensembles", "compressed": "neighbours", "frozen": "ensembles",
    "index": "ensembles", "keeping": "snapshot", "show": "streams", "subspaces": "tensors", "windows": "neighbours",
}  # fmt: skip
"""Rooms whose names stand on the page of another one in the reference (index.md is the page of all names)."""
UP = "../"
"""Generated pages lie one folder deep."""


def parameters(thing: Any, preset: dict[str, Any] | None = None) -> str:
    """A list of parameters, each with its kind, its default and its meaning; empty if there are none."""
    lines = []
    for p in docstrings.params(thing):
        default = docstrings.default_of(preset[p.name]) if preset and p.name in preset else p.default
        head = [f"`{p.name}`{{ .name }}"]
        head += [f'<span class="kind">{p.kind}</span>'] if p.kind else []
        head += [f'<span class="default">= {default}</span>'] if default else []
        lines.append(f"{' '.join(head)}\n:   {linked(sentence(p.text)) or '&nbsp;'}\n")
    return boxed("parameters", "\n".join(lines)) if lines else ""


def boxed(kind: str, text: str) -> str:
    """A text that the style sheet knows by a word."""
    return f'<div class="{kind}" markdown="1">\n\n{text}\n</div>'


def prose(paragraphs: list[str], but: str = "") -> str:
    """Paragraphs with links to the classes they name, but for one."""
    return "\n\n".join(linked(p, but) for p in paragraphs)


def python(code: str, language: str = "python") -> str:
    """A block of code."""
    return f"```{language}\n{code}\n```"


def sentence(text: str) -> str:
    """A text that begins with a capital letter (a quoted word stays as it is) and ends with a stop."""
    if not text:
        return ""
    text = text if text[0] in "\"'`" or re.match(r"[A-Za-z]\b|\w*_", text) else text[0].upper() + text[1:]
    return text if text[-1] in ".?!" else text + "."


def linked(text: str, but: str = "") -> str:
    """Make links of the public names in a text, but for one; a common word such as Split only where it is code."""

    def link(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return f"[`{name}`]({addresses()[name]})" if name in addresses() and name != but else match[0]

    return re.sub(r"`([A-Z]\w+)`|(?<![\w.\[/\"`])([A-Z]+[a-z]*[A-Z]\w*)\b(?![(`])", link, text)


@cache
def addresses() -> dict[str, str]:
    """Where each public name is described, from a page one folder deep."""
    homes = {e.cls.__name__: f"{UP}learners/{name}.md" for name, e in reversed(LEARNERS.items())}
    return {name: homes.get(name) or f"{UP}reference/{group_of(name)}.md#{name.lower()}" for name in PUBLIC}


def group_of(name: str) -> str:
    """The page of the reference that a public name stands on: that of the room it lives in."""
    _, room, *inner = public()[name].partition(":")[0].split(".")
    if room == "learners":
        room = inner[0]
    return ROOMS.get(room, room)


def family_link(family: str) -> str:
    """The page about a family of learners, from a page one folder deep; empty if there is none."""
    return UP + FAMILIES[family][0] if FAMILIES[family][0] else ""
