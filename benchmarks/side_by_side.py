"""thalweg beside river, CapyMOA and MOA's pure Java loop: speed as ratios, accuracy next to it, in one run.

One core; one measurement after the other, each in a process of its own; all repeated in turn, so that a busy minute
hits everyone. The figures are medians over the repeats. README.md in this folder says what is measured and how.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import parts
import records
from contests import CONTESTS
from play import Bench, load, machine
from report import Table
from rich.console import Console

import learners


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="thalweg beside river, CapyMOA and MOA's pure Java loop, in one run")
    parser.add_argument("--repeats", type=int, default=3, help="how often each measurement is made (default 3)")
    parser.add_argument("--quick", action="store_true", help="only the first stream")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all figures, repeat by repeat")
    parser.add_argument("--markdown", type=Path, metavar="PATH", help="write the tables")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {options.repeats}")
    console = Console(width=None if sys.stdout.isatty() else 130)
    tables: list[Table] = []
    figures: dict[str, Any] = {}

    def take(key: str, outcome: tuple[Table, Any]) -> None:
        table, figures[key] = outcome
        tables.append(table)
        table.show(console)

    where = machine()
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    said = f"{where['cpu']}, {where['pinned']}, load {where['load']:.1f} at the start; {versions}"
    console.print(said + "\n", highlight=False)
    streams: list[Callable[[], Any]] = [records.rbf_drift, records.agrawal_drift]
    if records.electricity() is not None:
        streams.insert(0, records.electricity)
    else:
        streams.reverse()
        said += ". Electricity is not here (THALWEG_DATA names no folder that has it): AGRAWAL with drift stands in"
        console.print("Electricity is not here: THALWEG_DATA names no folder that has it. AGRAWAL stands in for it.\n")

    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(Path(temporary), options.repeats, console)
        for i, make in enumerate(streams[:1] if options.quick else streams):
            data, folder = make(), bench.folder / f"stream{i}"
            data.save(folder)
            for entry in CONTESTS:
                take(f"{entry.name} on {data.name}", learners.measure(bench, entry, data, folder))
            if i == 0:
                take("one record", parts.one_record(bench, data.name, folder))
        take("adwin", parts.adwin(bench))
        take("start", parts.start(bench))
    take("promises", (Table("Promised", ("", "measured", "bar", "kept"), bench.promises), bench.promises))

    where["load_at_end"] = load()
    if options.json:
        options.json.write_text(json.dumps({"machine": where, "repeats": options.repeats, **figures}, indent=1) + "\n")
    if options.markdown:
        head = f"# Side by side\n\n{said}. Medians of {options.repeats} repeats.\n"
        options.markdown.write_text("\n".join([head, *(table.markdown() for table in tables)]))


if __name__ == "__main__":
    main()
