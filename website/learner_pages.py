"""The page of a learner: the part written by hand in docs/learners, and what its class and the measurements say."""

import inspect
import json
import re
from pathlib import Path
from typing import Any

import reference_pages
from contents import FAMILIES, family_of
from thalweg.registry import LEARNERS, Entry

HEADINGS = ("Idea", "When to use it", "Cost", "Known differences")
"""What a hand-written part has, in this order."""
SHARED = (
    "`partial_fit`, `predict`, `test_then_train` and the other methods that all learners share are described under "
    "[`Classifier`](../reference/core.md)."
)


def page(name: str, written: str, docs: Path) -> str:
    """Put a page together: what was written by hand, the class as its docstring describes it, and what was measured."""
    entry = LEARNERS[name]
    title, parts = split(written)
    sections = {
        "Idea": parts["Idea"],
        "When to use it": parts["When to use it"],
        "Try it": f"```console\n{command(name)}\n```",
        "The class": f"{reference_pages.entry(entry.cls, level=3)}\n\n{SHARED}",
        "Cost": f"{parts['Cost']}\n\n{measured(name, docs)}",
        "Known differences": parts["Known differences"],
        "See also": read_on(name, docs),
    }
    body = "\n\n".join(f"## {heading}\n\n{text.strip()}" for heading, text in sections.items() if text.strip())
    return f"# {title}\n\n{facts(name, entry)}\n\n{body}\n"


def split(written: str) -> tuple[str, dict[str, str]]:
    """The title and the parts of a hand-written page."""
    head, *rest = re.split(r"^## ", written, flags=re.MULTILINE)
    parts = dict(part.split("\n", 1) for part in rest)
    return head.removeprefix("# ").strip(), {heading.strip(): text.strip() for heading, text in parts.items()}


def facts(name: str, entry: Entry) -> str:
    """What can be seen at a glance."""
    cls: Any = entry.cls
    bounded = cls.bounded or "limit_bytes" in inspect.signature(cls).parameters
    chips = [
        _chip(cls.missing == "native", "missing values", "no missing values"),
        _chip(cls.sparse is True, "sparse rows", "no sparse rows"),
        _chip(cls.tensors, "tensors", ""),
        _chip(bounded, "bounded memory", "memory grows"),
    ]
    preset = ", ".join(f"{k}={v!r}" for k, v in entry.preset.items())
    return (
        f'<p class="line">{entry.line[0].upper()}{entry.line[1:]}.</p>\n\n'
        f'<div class="facts" markdown="1">\n`thalweg.{cls.__name__}({preset})` &nbsp; on the command line: `{name}`\n\n'
        f"{''.join(chips)}\n</div>"
    )


def command(name: str) -> str:
    """How to try it on the command line, with no data at hand."""
    family = family_of(name)
    streams = {
        "Tensors": "sim-tensor --limit 3000",
        "Images": "digits",
        "Compressed": '"text(words=1000)" --limit 20000',
    }
    return f"$ thalweg run {name} {streams.get(family, 'SEA_a --limit 20000')}"


def measured(name: str, docs: Path) -> str:
    """What was measured with the default parameters."""
    found = costs(docs)
    got = found.get("learners", {}).get(name)
    if got is None:
        return ""
    return (
        f"**Measured**: {rate(got['rows_per_second'])} rows per second, predicted and learned, and "
        f"{size(got['bytes'])} of state after {got['rows']:,} rows, with the parameters above ({got['what']}; one "
        f"core, CPU time, {found['date']}; `benchmarks/costs.py`)."
    )


def read_on(name: str, docs: Path) -> str:
    """The page about the family, and the other members."""
    family = family_of(name)
    about = FAMILIES[family][0]
    first = f"[{family}: overview]({family_link(family)})" if about and (docs / about).exists() else family
    others = [f"[{other}]({other}.md)" for other in FAMILIES[family][1] if other != name and other in LEARNERS]
    related = f" Related learners: {', '.join(others)}." if others else ""
    return f"{first}.{related} [All learners](index.md)."


def index(written: str, docs: Path) -> str:
    """The page about all learners: a table for each family behind the hand-written part."""
    found, tables = costs(docs), []
    for family, (about, names) in FAMILIES.items():
        link = f" [{family}: overview]({family_link(family)})." if about and (docs / about).exists() else ""
        rows = [
            f"| [`{name}`]({name}.md) | {LEARNERS[name].line} | {_yes(LEARNERS[name].cls.missing == 'native')} "
            f"| {_yes(LEARNERS[name].cls.sparse is True)} | {_measured_cells(found, name)} |"
            for name in names
            if name in LEARNERS
        ]
        head = "| name | what it is | missing values | sparse rows | rows per second | state |"
        tables.append(f"## {family}\n\n{link}\n\n{head}\n| --- | --- | :-: | :-: | ---: | ---: |\n" + "\n".join(rows))
    streams = sorted({got["what"] for got in found.get("learners", {}).values()})
    note = (
        "Rows per second are predicted and learned, on one core, by CPU time, with the default parameters; state is "
        f"the size of the model at the end. Compare within a table only: the streams differ ({'; '.join(streams)})."
    )
    return "\n\n".join([written.strip(), note if streams else "", *tables]) + "\n"


def costs(docs: Path) -> dict[str, Any]:
    """The measurements of benchmarks/costs.py; empty if there are none."""
    path = docs / "learners" / "costs.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def rate(number: float) -> str:
    """Two digits that count: 12,000 and 1.3 million."""
    if number >= 1_000_000:
        return f"{number / 1_000_000:.1f}\u00a0million"
    digits = len(str(int(number)))
    return f"{round(number, 2 - digits):,}"


def size(number: int) -> str:
    """Bytes for people."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= factor:
            return f"{number / factor:.{1 if number / factor < 10 else 0}f}\u00a0{unit}"
    return f"{number}\u00a0bytes"


def _measured_cells(found: dict[str, Any], name: str) -> str:
    got = found.get("learners", {}).get(name)
    return f"{rate(got['rows_per_second'])} | {size(got['bytes'])}" if got else "|"


def _chip(yes: bool, good: str, bad: str) -> str:
    return f'<span class="yes">{good}</span>' if yes else f'<span class="no">{bad}</span>' if bad else ""


def _yes(value: bool) -> str:
    return "yes" if value else ""


def family_link(family: str) -> str:
    """The page about a family of learners, from a page one folder deep; empty if there is none."""
    return f"../{FAMILIES[family][0]}" if FAMILIES[family][0] else ""
