"""What is not a learner on a stream: one record, ADWIN, and the start."""

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from contests import CONTESTS
from play import HERE, PASSES, Bench, Seconds, pick, require
from report import Table, rate, times

VALUES, EVERY, DELTA = 1_000_000, 50_000, 0.002
MEANS = np.tile([0.1, 0.3, 0.2, 0.5, 0.25], 4)
RUN = ("-c", "from thalweg.cli import main; main()", "run", "hoeffding-tree", "sea", "--limit", "1000", "--json", "-")
STARTS = {"a Hoeffding tree, nothing compiled yet": 30.0, "thalweg run, 1,000 rows, nothing compiled yet": 30.0,
          "thalweg run, 1,000 rows, later": 2.0, "import thalweg": 0.3}  # fmt: skip
"""Seconds that these may take."""


def one_record(bench: Bench, stream: str, folder: Path) -> tuple[Table, Any]:
    """What one call costs on a tree that has learned."""

    def by(library: str) -> Any:
        require(library)
        return bench.worker("one-record", library=library, name=CONTESTS[0].name, folder=str(folder))

    found = bench.turns("one record", {"thalweg": lambda: by("thalweg"), "river": lambda: by("river")})
    rows: list[tuple[str, ...]] = []
    for who, kind in (("thalweg", "dict"), ("thalweg", "array"), ("river", "dict")):
        if isinstance(found[who], str):
            rows.append((f"{who}, {kind}", found[who], ""))
            continue
        us = {verb: median(run[f"{verb}, {kind}"] for run in found[who]) for verb in ("predict_one", "learn_one")}
        rows.append((f"{who}, {kind}", *(f"{u:.1f}" for u in us.values())))
        if who == "thalweg":
            for verb, u in us.items():
                bench.promise(f"one tree, {verb}, {kind} row", u, most=8, unit=" µs")
    note = "After 20,000 rows; 5,000 calls, each timed by itself."
    title = f"One record of {stream}, Hoeffding tree: median µs of a call"
    return Table(title, ("", "predict_one", "learn_one"), rows, note), found


def adwin(bench: Bench) -> tuple[Table, Any]:
    """A million zeros and ones, whose mean changes every 50,000."""
    path = bench.folder / "values.f64"
    values = np.random.default_rng(1).random(VALUES) < np.repeat(MEANS, EVERY)
    values.astype("<f8").tofile(path)

    def by(library: str, passes: int) -> Any:
        require(library)
        return bench.worker("adwin", library=library, path=str(path), delta=DELTA, passes=passes)

    work = {
        "thalweg": lambda: by("thalweg", PASSES),
        "river": lambda: by("river", 1),
        "moa": lambda: bench.java("adwin", str(path), str(DELTA), str(PASSES)),
    }
    found = bench.turns("ADWIN", work)
    rows: list[tuple[str, ...]] = []
    own, ours = 0.0, []
    lines = (("thalweg", "update_many", "warm"), ("river", "loop", "cold"), ("moa", "pure Java, warm", "warm"))
    for who, how, stage in lines:
        label = f"{who.replace('moa', 'MOA')} {how}"
        if isinstance(found[who], str):
            rows.append((label, found[who], "", "", "", ""))
            continue
        speed = median(VALUES / pick(run["passes"], stage)[0] for run in found[who])
        changes = found[who][0]["changes"]
        ratio = agrees = ""
        if who == "thalweg":
            own, ours = speed, changes
        elif own:
            ratio, agrees = times(own / speed), "yes" if changes == ours else "no"
            if who == "river":
                bench.promise("ADWIN: times faster than river", own / speed, least=5, unit=" ×")
            else:
                bench.promise("ADWIN: detections where MOA differs", len({*ours} ^ {*changes}), most=0, unit="")
        rows.append((label, rate(speed), ratio, str(len(changes)), _delays(changes), agrees))
    columns = ("", "values / CPU s", "thalweg is", "detections", "rises found", "same positions as ours")
    note = "river reports falls as well as rises, and drops its whole window at each: its positions differ by design."
    return Table(f"ADWIN over {VALUES:,} values", columns, rows, note), found


def _delays(changes: list[int]) -> str:
    """Say how many rises of the mean were seen before the next change, and how long it took."""
    rises = np.flatnonzero(np.diff(MEANS) > 0) * EVERY + EVERY
    seen, spots = np.array(changes), []
    for rise in rises.tolist():
        spots += [int(s) - rise for s in seen[(seen >= rise) & (seen < rise + EVERY)][:1]]
    return f"{len(spots)} of {len(rises)}" + (f", after {median(spots):.0f}" if spots else "")


def start(bench: Bench) -> tuple[Table, Any]:
    """How long a person waits before anything happens: whole processes, from start to end."""

    def importing(library: str, what: str) -> Seconds:
        require(library)
        return bench.seconds("-c", what)

    tree, command = (Path(tempfile.mkdtemp(dir=bench.folder)) for _ in range(2))
    use = (str(HERE / "worker.py"), "tree-start", "{}")
    once = {
        "a Hoeffding tree, nothing compiled yet": lambda: bench.seconds(*use, cache=tree),
        "thalweg run, 1,000 rows, nothing compiled yet": lambda: bench.seconds(*RUN, cache=command),
    }
    often = {
        "a Hoeffding tree, later": lambda: bench.seconds(*use, cache=tree),
        "thalweg run, 1,000 rows, later": lambda: bench.seconds(*RUN, cache=command),
        "Python, doing nothing": lambda: bench.seconds("-c", "pass"),
        "import thalweg": lambda: bench.seconds("-c", "import thalweg"),
        "import thalweg's tree": lambda: bench.seconds("-c", "from thalweg import HoeffdingTree"),
        "import river's tree": lambda: importing("river", "from river import tree"),
        "import CapyMOA's tree, start a JVM": lambda: importing("capymoa", "import capymoa.classifier"),
    }
    found = bench.turns("first use", once, 1) | bench.turns("start", often, 5)
    rows: list[tuple[str, ...]] = []
    for what, measured in found.items():
        if isinstance(measured, str):
            rows.append((what, measured, ""))
            continue
        wall, cpu = median(m.wall for m in measured), median(m.cpu for m in measured)
        rows.append((what, f"{wall:.2f}", f"{cpu:.2f}"))
        if what in STARTS:
            bench.promise(what, wall, most=STARTS[what], unit=" s")
    return Table("Start: a whole process, seconds", ("", "on the clock", "CPU"), rows), found
