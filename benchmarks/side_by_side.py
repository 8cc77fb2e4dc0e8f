"""thalweg beside river, CapyMOA and MOA's pure Java loop: speed as ratios, accuracy next to it, in one run.

One core; one measurement after the other; each in a process of its own; all repeated in turn, so that a busy
minute hits everyone. Printed figures are medians over the repeats. See README.md in this folder.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import play
import records
from contests import CONTESTS
from report import Table, rate, times
from rich.console import Console

PASSES = 5
"""Passes over a stream in one process: the first is cold; the third to the fifth count as warmed up."""
ADWIN_VALUES = 1_000_000
ADWIN_EVERY = 50_000
DELTA = 0.002
IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
RUN = ("-c", "from thalweg.cli import main; main()", "run", "hoeffding-tree", "sea", "--limit", "1000", "--json", "-")

# What the table of a learner shows: label, who measured it, which variant, which passes, and the variant of thalweg
# that does the same work: the bare loop with its accuracy, or an evaluation with all metrics.
LINES = (
    ("thalweg test_then_train", "thalweg", "loop", "warm", None),
    ("thalweg prequential", "thalweg", "prequential", "warm", None),
    ("river loop", "river", "loop", "cold", "loop"),
    ("CapyMOA prequential, ARFF, cold", "capymoa", "arff", "cold", "prequential"),
    ("CapyMOA prequential, ARFF, warm", "capymoa", "arff", "warm", "prequential"),
    ("CapyMOA prequential, memory, warm", "capymoa", "memory", "warm", "prequential"),
    ("MOA pure Java, cold", "moa", "process", "cold", "loop"),
    ("MOA pure Java, warm", "moa", "process", "warm", "loop"),
    ("MOA pure Java, warm, loop's thread only", "moa", "thread", "warm", "loop"),
)


class Bench:
    """All measurements of one run."""

    def __init__(self, folder: Path, repeats: int, console: Console) -> None:
        self.folder, self.repeats, self.console = folder, repeats, console
        self.java = play.Java(folder)
        self.bars: list[tuple[str, str, str, str]] = []

    def turns(self, work: dict[str, Callable[[], Any]], what: str, repeats: int = 0) -> dict[str, Any]:
        """Measure each in turn, several times over. Who cannot take part gets a reason (text) instead of a list."""
        found: dict[str, Any] = {who: [] for who in work}
        repeats = repeats or self.repeats
        for repeat in range(repeats):
            for who, measure in work.items():
                if isinstance(found[who], str):
                    continue
                with self.console.status(f"{what}: {who}, {repeat + 1} of {repeats}"):
                    try:
                        found[who].append(measure())
                    except play.AbsentError as reason:
                        found[who] = str(reason)
        return found

    def bar(self, what: str, value: float, least: float = -np.inf, most: float = np.inf, unit: str = "") -> None:
        """Hold a figure against what the project promised."""
        wanted = f"≥ {least:g}{unit}" if least > -np.inf else f"≤ {most:g}{unit}"
        self.bars.append((what, f"{value:.3g}{unit}", wanted, "yes" if least <= value <= most else "NO"))

    # -- learners on streams ------------------------------------------------------------------------------------------

    def learner(self, data: records.Records, folder: Path, name: str, river_nominal: bool) -> tuple[Table, Any]:
        """One learner on one stream in all libraries."""
        command = ""

        def by(library: str, passes: int = PASSES) -> dict[str, Any]:
            play.require(library)
            got: dict[str, Any] = play.worker(self.folder, library, name=name, folder=str(folder), passes=passes)
            if not got:
                raise play.AbsentError("has no such learner")
            return got

        def river() -> dict[str, Any]:
            if data.nominal and not river_nominal:
                raise play.AbsentError("numeric features only")
            return by("river", passes=1)

        def capymoa() -> dict[str, Any]:
            nonlocal command
            got = by("capymoa")
            command = got.pop("command")
            return got

        def moa() -> dict[str, Any]:
            if not self.java.missing and not command:
                raise play.AbsentError("needs CapyMOA's learner")
            got = self.java("learner", str(folder / "rows.arff"), command, str(PASSES))
            accuracy, passes = got["accuracy"], got["passes"]
            return {
                "process": {"accuracy": accuracy, "passes": [p[:2] for p in passes]},
                "thread": {"accuracy": accuracy, "passes": [[p[2], p[1]] for p in passes]},
            }

        work = {"thalweg": lambda: by("thalweg"), "river": river, "capymoa": capymoa, "moa": moa}
        found = self.turns(work, f"{name} on {data.name}")
        return self._learner_table(data, name, found), found | {"command": command}

    def _learner_table(self, data: records.Records, name: str, found: dict[str, Any]) -> Table:
        n, rows, own = len(data.y), [], {}
        for label, who, variant, stage, against in LINES:
            if isinstance(found[who], str):
                if not rows or rows[-1][1:2] != (found[who],):
                    rows.append((label.split(",")[0], found[who], "", "", "", ""))
                continue
            passes = [pick(run[variant]["passes"], stage) for run in found[who]]
            cpu = [n / p[0] for p in passes]
            accuracy = found[who][0][variant]["accuracy"]
            if who == "thalweg":
                own[variant] = median(cpu)
            ratio = "" if against is None else times(own[against] / median(cpu))
            wall = rate(median(n / p[1] for p in passes))
            rows.append(
                (label, f"{accuracy:.2f}", rate(median(cpu)), f"{rate(min(cpu))} – {rate(max(cpu))}", wall, ratio)
            )
            if name == "Hoeffding tree" and data.name == "Electricity" and against is not None:
                self._tree_bars(label, own[against] / median(cpu), found["thalweg"][0]["loop"]["accuracy"] - accuracy)
        columns = ("", "accuracy %", "rows / CPU s", "least – most", "rows / s", "thalweg is")
        return Table(f"{name} on {data.name}, {n:,} rows × {data.X.shape[1]}", columns, rows)

    def _tree_bars(self, label: str, ratio: float, gap: float) -> None:
        if label == "CapyMOA prequential, ARFF, cold":
            self.bar("Electricity, tree: |accuracy − CapyMOA's|, points", abs(gap), most=0.5)
            self.bar("Electricity, tree: speed against CapyMOA", ratio, least=12, unit=" ×")
        elif label == "MOA pure Java, warm":
            self.bar("Electricity, tree: speed against MOA's warm Java loop", ratio, least=2, unit=" ×")
        elif label == "river loop":
            self.bar("Electricity, tree: speed against river", ratio, least=20, unit=" ×")

    # -- one record ---------------------------------------------------------------------------------------------------

    def one_record(self, data: records.Records, folder: Path) -> tuple[Table, Any]:
        """What one call costs."""

        def by(library: str) -> Any:
            play.require(library)
            return play.worker(self.folder, "one-record", library=library, name=CONTESTS[0].name, folder=str(folder))

        found = self.turns({"thalweg": lambda: by("thalweg"), "river": lambda: by("river")}, "one record")
        rows = []
        for who in ("thalweg", "river"):
            if isinstance(found[who], str):
                rows.append((who, found[who], ""))
                continue
            for kind in ("dict", "array") if who == "thalweg" else ("dict",):
                us = [median(run[f"{verb}, {kind}"] for run in found[who]) for verb in ("predict_one", "learn_one")]
                rows.append((f"{who}, {kind}", *(f"{u:.1f}" for u in us)))
                if who == "thalweg":
                    self.bar(f"one tree, {kind} row: predict_one", us[0], most=8, unit=" µs")
                    self.bar(f"one tree, {kind} row: learn_one", us[1], most=8, unit=" µs")
        note = "A Hoeffding tree that has learned 20,000 rows; 5,000 calls, each timed by itself."
        columns = ("", "predict_one", "learn_one")
        return Table(f"One record of {data.name}: median µs of a call", columns, rows, note), found

    # -- ADWIN --------------------------------------------------------------------------------------------------------

    def adwin(self) -> tuple[Table, Any]:
        """A million values, whose mean changes every 50,000."""
        rng = np.random.default_rng(1)
        means = np.tile([0.1, 0.3, 0.2, 0.5, 0.25], 4)
        values = (rng.random(ADWIN_VALUES) < np.repeat(means, ADWIN_EVERY)).astype("<f8")
        path = self.folder / "values.f64"
        values.tofile(path)

        def by(library: str, passes: int) -> Any:
            play.require(library)
            return play.worker(self.folder, "adwin", library=library, path=str(path), delta=DELTA, passes=passes)

        work = {
            "thalweg": lambda: by("thalweg", PASSES),
            "river": lambda: by("river", 1),
            "moa": lambda: self.java("adwin", str(path), str(DELTA), str(PASSES)),
        }
        found = self.turns(work, "ADWIN")
        starts = np.arange(ADWIN_EVERY, ADWIN_VALUES, ADWIN_EVERY)
        rises = starts[np.diff(means) > 0]
        rows: list[tuple[str, ...]] = []
        ours = found["thalweg"][0]["changes"] if not isinstance(found["thalweg"], str) else []
        own = 0.0
        labels = {"thalweg": "thalweg update_many", "river": "river loop", "moa": "MOA pure Java, warm"}
        for who, label in labels.items():
            if isinstance(found[who], str):
                rows.append((label, found[who], "", "", "", ""))
                continue
            speed = median(
                ADWIN_VALUES / pick(run["passes"], "warm" if who != "river" else "cold")[0] for run in found[who]
            )
            own = speed if who == "thalweg" else own
            changes = np.array(found[who][0]["changes"])
            first = [changes[(changes >= s) & (changes < s + ADWIN_EVERY)][:1] for s in rises]
            delays = [int(f[0] - s) for f, s in zip(first, rises, strict=True) if len(f)]
            agree = "" if who == "thalweg" else "yes" if changes.tolist() == ours else "no"
            seen = f"{len(delays)} of {len(rises)}, after {median(delays):.0f}" if delays else f"0 of {len(rises)}"
            ratio = "" if who == "thalweg" or not own else times(own / speed)
            rows.append((label, rate(speed), ratio, str(len(changes)), seen, agree))
            if who == "river" and own:
                self.bar("ADWIN: speed against river", own / speed, least=5, unit=" ×")
            if who == "moa" and ours:
                self.bar("ADWIN: detections that differ from MOA's", len(set(ours) ^ set(changes.tolist())), most=0)
        columns = ("", "values / CPU s", "thalweg is", "detections", "rises found, median delay", "same as ours")
        note = "river counts falls as well as rises and forgets its whole window at each, so its positions differ."
        return Table(f"ADWIN, {ADWIN_VALUES:,} zeros and ones", columns, rows, note), found

    # -- start --------------------------------------------------------------------------------------------------------

    def start(self) -> tuple[Table, Any]:
        """How long a person waits before anything happens."""

        def importing(module: str) -> float:
            play.require(module)
            return float(play.python(self.folder, "-c", IMPORT.format(module)).splitlines()[-1])

        def first(name: str) -> dict[str, str]:
            return {"THALWEG_CACHE": tempfile.mkdtemp(prefix=name, dir=self.folder)}

        imports = self.turns({m: lambda m=m: importing(m) for m in ("thalweg", "river", "capymoa")}, "import", 5)
        kept = first("warm")
        tree = self.turns({"first": lambda: play.worker(self.folder, "tree-start", kept)["seconds"]}, "compile", 1)
        tree |= self.turns({"warm": lambda: play.worker(self.folder, "tree-start", kept)["seconds"]}, "start", 5)
        kept = first("run")
        command = self.turns({"first": lambda: play.seconds_of(self.folder, *RUN, **kept)}, "thalweg run", 1)
        command |= self.turns({"warm": lambda: play.seconds_of(self.folder, *RUN, **kept)}, "thalweg run", 5)
        found = {
            "import thalweg": imports["thalweg"],
            "import river": imports["river"],
            "import capymoa (starts a JVM)": imports["capymoa"],
            "thalweg: first use of a tree, nothing compiled": tree["first"],
            "thalweg: first use of a tree in a later process": tree["warm"],
            "thalweg run, 1,000 rows, nothing compiled": command["first"],
            "thalweg run, 1,000 rows, later": command["warm"],
        }
        bars = (("import thalweg", 0.3), ("thalweg: first use of a tree, nothing compiled", 30.0),
                ("thalweg run, 1,000 rows, later", 2.0))  # fmt: skip
        for what, most in bars:
            if not isinstance(found[what], str):
                self.bar(what, median(found[what]), most=most, unit=" s")
        rows = [(what, v if isinstance(v, str) else f"{median(v):.2f}") for what, v in found.items()]
        note = "thalweg run: the whole process, from start to end."
        return Table("Start: median seconds on the clock", ("", "seconds"), rows, note), found


def pick(passes: list[list[float]], stage: str) -> tuple[float, float]:
    """Give CPU and wall seconds of a pass: the first, or the mean from the third on."""
    chosen = np.array(passes[:1] if stage == "cold" else passes[2:])
    cpu, wall = chosen.mean(axis=0)
    return float(cpu), float(wall)


def streams(only_first: bool, console: Console) -> Iterator[records.Records]:
    """Give the streams of the comparison."""
    real = records.electricity()
    if real is None:
        console.print(
            "Electricity is not here: THALWEG_DATA names no folder with electricity.parquet. "
            "AGRAWAL with drift stands in for it.\n", style="yellow",
        )  # fmt: skip
        yield records.agrawal_drift()
    else:
        yield real
    if not only_first:
        yield records.rbf_drift()
        if real is not None:
            yield records.agrawal_drift()


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="thalweg beside river, CapyMOA and MOA's pure Java loop, in one run")
    parser.add_argument("--repeats", type=int, default=3, help="how often each measurement is made (default 3)")
    parser.add_argument("--quick", action="store_true", help="only the first stream")
    parser.add_argument("--json", metavar="PATH", help="write all figures, repeat by repeat")
    parser.add_argument("--markdown", metavar="PATH", help="write the tables")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {options.repeats}")

    console = Console(width=None if sys.stdout.isatty() else 140)
    machine = play.machine(play.pin())
    said = "; ".join([
        machine["cpu"], machine["pinned"], f"load {machine['load']:.1f} at the start",
        ", ".join(f"{name} {version}" for name, version in machine["versions"].items()),
    ])  # fmt: skip
    console.print(said + "\n")
    tables: list[Table] = []
    figures: dict[str, Any] = {}

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        bench = Bench(folder, options.repeats, console)

        def done(key: str, outcome: tuple[Table, Any]) -> None:
            table, figures[key] = outcome
            tables.append(table)
            table.show(console)

        for i, data in enumerate(streams(options.quick, console)):
            place = folder / f"stream{i}"
            data.save(place)
            for entry in CONTESTS:
                done(f"{entry.name} on {data.name}", bench.learner(data, place, entry.name, entry.river_nominal))
            if i == 0:
                done("one record", bench.one_record(data, place))
        done("adwin", bench.adwin())
        done("start", bench.start())

    bars = Table("What was promised", ("", "measured", "promised", "kept"), list(bench.bars))
    tables.append(bars)
    bars.show(console)
    machine["load at the end"] = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    if options.json:
        whole = {"machine": machine, "repeats": options.repeats, "bars": bench.bars, "figures": figures}
        Path(options.json).write_text(json.dumps(whole, indent=1) + "\n")
    if options.markdown:
        text = [f"# Side by side\n\n{said}. Medians of {options.repeats} repeats.\n", *(t.markdown() for t in tables)]
        Path(options.markdown).write_text("\n".join(text))


if __name__ == "__main__":
    main()
