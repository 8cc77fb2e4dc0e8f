"""What a paper's experiment is: its learners and streams by name, three scales, its claims, its published numbers.

Each paper has a folder with ``plan.toml`` and the tables it printed, one CSV file each, as printed.
"""

import csv
import difflib
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, final

import msgspec

from thalweg.core.params import shown

NAMES = ("sdf", "csknn", "abacoc", "ckdt", "etree")
"""The papers, in the order of the library's story."""
SCALES = ("smoke", "small", "full")
Measure = Literal["accuracy", "error", "time", "memory", "answer", "index"]
Published = Mapping[str, Mapping[str, float]]
"""From rows to learners to numbers."""


@final
class Scale(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of it to run."""

    limit: int | None = None
    """Rows of each run; None: all there are."""
    seeds: int = 1
    rows: tuple[str, ...] = ()
    """Rows of the tables to run; none named: all."""
    values: dict[str, int | str] = {}
    """What stands in braces in learners and streams."""
    says: str = ""
    """What differs from the paper at this scale, in a sentence."""


@final
class PaperTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table to make: learners by streams, one quantity."""

    name: str
    title: str
    learners: dict[str, str]
    """The columns, as the paper calls them, and how they are made."""
    rows: dict[str, str | list[str]]
    """The rows, as the paper calls them, and their streams: of several the mean is taken."""
    measure: Measure = "accuracy"
    """Accuracy or error in per cent; of a run, CPU time of a record (µs) or size of the model at the end (kB); of a
    model that has learned, CPU time of an answer (µs) or size of its index (kB)."""
    published: str = ""
    """The file of published numbers; empty: the paper prints none."""
    where: str = ""
    """Where they stand in the paper."""
    relative_to: str = ""
    """Give all numbers as multiples of this column; empty: as they are."""
    limits: dict[str, int] = {}
    """Rows of each run of this table, by scale, where they are not those of the scale."""

    @property
    def lower_is_better(self) -> bool:
        """Is less more?"""
        return self.measure != "accuracy"


@final
class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the paper says about a table: one learner is better than others, on the mean."""

    says: str
    table: str
    better: str
    than: tuple[str, ...]
    on: tuple[str, ...] = ()
    """Rows it is said of; none named: all."""
    within: float = 0.0
    """It still holds when it is worse by so much."""
    same: bool = False
    """It is said to be neither better nor worse."""
    where: str = ""


@final
class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A paper's experiment.

    >>> plan = read_plan("sdf")
    >>> plan.title, list(plan.tables[0].learners)[-2:], plan.tables[0].where
    ('Streaming Deep Forest', ['SDF', 'SDF(0.7)'], 'Table 2')
    """

    name: str
    title: str
    reference: str
    tables: tuple[PaperTable, ...]
    scales: dict[str, Scale]
    claims: tuple[Claim, ...] = ()
    missing: dict[str, str] = {}
    """Rows of the paper's tables that cannot be run at all, and why."""

    def table(self, name: str) -> PaperTable:
        """Find a table by its name."""
        return next(table for table in self.tables if table.name == name)


def read_plan(name: str) -> Plan:
    """Read the plan of a paper: sdf, csknn, abacoc, ckdt or etree."""
    check_name("paper", name, NAMES)
    with (files(__package__) / name / "plan.toml").open("rb") as file:
        found = tomllib.load(file)
    tables: dict[str, Any] = {}
    for table in found["tables"]:
        grid = tables.get(table.pop("grid", ""), {})  # the learners and rows of a table before it
        tables[table["name"]] = {key: grid[key] for key in ("learners", "rows") if key in grid} | table
    return msgspec.convert({**found, "name": name, "tables": list(tables.values())}, Plan)


def read_published(name: str, file: str) -> Published:
    """Read a table as a paper printed it.

    >>> read_published("sdf", "table2.csv")["Electricity"]["SDF"]
    91.318
    """
    text = (files(__package__) / name / file).read_text("utf-8")
    lines = csv.DictReader(text.splitlines())
    return {line.pop("stream"): {learner: float(value) for learner, value in line.items()} for line in lines}


def check_name(kind: str, name: Any, known: tuple[str, ...]) -> None:
    """Refuse a name that is none of those known, in a sentence."""
    if name not in known:
        close = difflib.get_close_matches(str(name), known, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(f"{kind} must be one of {', '.join(known)}, got {shown(name)}{hint}")
