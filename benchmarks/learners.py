"""A learner on a stream in all libraries: accuracy, speed, and how many times faster thalweg is."""

from pathlib import Path
from statistics import median
from typing import Any

from contests import Contest
from play import PASSES, AbsentError, Bench, pick, require
from records import Records
from report import Table, rate, times

# The lines of the table: label, who measured it, which variant, which passes, and the variant of thalweg that does the
# same work: the bare loop with its accuracy, or an evaluation with windows and all metrics.
LINES = (
    ("thalweg test_then_train", "thalweg", "loop", "warm", None),
    ("thalweg prequential", "thalweg", "prequential", "warm", None),
    ("river loop", "river", "loop", "cold", "loop"),
    ("CapyMOA prequential, cold", "capymoa", "prequential", "cold", "prequential"),
    ("CapyMOA prequential, warm", "capymoa", "prequential", "warm", "prequential"),
    ("MOA pure Java, cold", "moa", "process", "cold", "loop"),
    ("MOA pure Java, warm", "moa", "process", "warm", "loop"),
    ("MOA pure Java, warm, its thread only", "moa", "thread", "warm", "loop"),
)
PROMISES = {
    "river loop": 20,
    "CapyMOA prequential, cold": 12,
    "CapyMOA prequential, warm": 12,
    "MOA pure Java, warm": 2,
    "MOA pure Java, warm, its thread only": 2,
}
"""How many times faster the Hoeffding tree must be on Electricity."""


def measure(bench: Bench, entry: Contest, data: Records, folder: Path) -> tuple[Table, Any]:
    """Run all libraries in turn over the rows in the folder."""
    command = ""

    def by(library: str, passes: int = PASSES) -> Any:
        require(library)
        got = bench.worker(library, name=entry.name, folder=str(folder), passes=passes)
        if not got:
            raise AbsentError("has no such learner")
        return got

    def river() -> Any:
        if any(f.nominal for f in data.schema.features) and not entry.river_nominal:
            raise AbsentError("takes numeric features only")
        return by("river", passes=1)

    def capymoa() -> Any:
        nonlocal command
        got = by("capymoa")
        command = got["command"]
        return got

    def moa() -> Any:
        if not command:
            raise AbsentError("needs CapyMOA, which says how to make the learner")
        got = bench.java("learner", str(folder / "rows.arff"), command, str(PASSES))
        process = [[cpu, wall] for cpu, wall, _ in got["passes"]]
        thread = [[cpu, wall] for _, wall, cpu in got["passes"]]
        return {kind: got | {"passes": passes} for kind, passes in (("process", process), ("thread", thread))}

    work = {"thalweg": lambda: by("thalweg"), "river": river, "capymoa": capymoa, "moa": moa}
    found = bench.turns(f"{entry.name} on {data.name}", work)
    table = Table(
        f"{entry.name} on {data.name}, {len(data.y):,} rows × {data.X.shape[1]}",
        ("", "accuracy %", "rows / CPU s", "least – most", "rows / s", "thalweg is"),
        _rows(bench, found, len(data.y), (entry.name, data.name) == ("Hoeffding tree", "Electricity")),
    )
    return table, found


def _rows(bench: Bench, found: dict[str, Any], n: int, promised: bool) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    own: dict[str, tuple[float, float]] = {}
    for label, who, variant, stage, same in LINES:
        if isinstance(found[who], str):
            reason = (label.split(",")[0], found[who], "", "", "", "")
            rows += [reason] if reason not in rows else []
            continue
        passes = [pick(run[variant]["passes"], stage) for run in found[who]]
        cpu, wall = [n / p[0] for p in passes], [n / p[1] for p in passes]
        accuracy, speed = found[who][0][variant]["accuracy"], median(cpu)
        ratio = 0.0
        if same is None:
            own[variant] = accuracy, speed
        elif same in own:
            ratio = own[same][1] / speed
            if promised and label in PROMISES:
                bench.promise(f"Electricity, tree: times faster than {label}", ratio, least=PROMISES[label], unit=" ×")
            if promised and label == "CapyMOA prequential, cold":
                gap = abs(own[same][0] - accuracy)
                bench.promise("Electricity, tree: accuracy from CapyMOA's", gap, most=0.5, unit=" points")
        spread = f"{rate(min(cpu))} – {rate(max(cpu))}"
        rows.append((label, f"{accuracy:.2f}", rate(speed), spread, rate(median(wall)), times(ratio) if ratio else ""))
    return rows
