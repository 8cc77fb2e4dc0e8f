"""How fast each generator is, beside MOA's own in a pure Java loop and river's: rows per second of CPU, in one run.

One core; each measurement in a process of its own; all repeated in turn. A process warms up, then makes several passes
of about a fifth of a second. ``python generators.py --repeats 5 --json out.json``.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from contests import Factory, later
from play import Bench, load, machine, require
from report import Table, rate, times
from rich.console import Console

PASSES, WARM = 5, 2.0
CHUNK = 1000
"""Rows that ``prequential`` reads at once."""
MOA_BAR, RIVER_BAR = 1.5, 50.0


@dataclass(frozen=True)
class Generator:
    """One generator in three libraries, with the same parameters. None: the library has no such generator."""

    name: str
    thalweg: Factory
    moa: str | None
    river: Factory | None


def _ours(name: str, **params: Any) -> Factory:
    return later(f"thalweg.{name}", **params)


def _rivers(name: str, **params: Any) -> Factory:
    return later(f"river.datasets.synth.{name}", **params)


_SEEDS = {"seed_model": 1, "seed_sample": 1}
GENERATORS = (
    Generator("sea", _ours("SEA"), "SEAGenerator", _rivers("SEA", noise=0.1, seed=1)),
    Generator("agrawal", _ours("Agrawal"), "AgrawalGenerator", _rivers("Agrawal", perturbation=0.05, seed=1)),
    Generator(
        "random-tree", _ours("RandomTree"), "RandomTreeGenerator", _rivers("RandomTree", seed_tree=1, seed_sample=1)
    ),
    Generator("rbf", _ours("RandomRBF"), "RandomRBFGenerator", _rivers("RandomRBF", **_SEEDS)),
    Generator(
        "rbf-drift",
        _ours("RandomRBF", classes=5, speed=0.001),
        "RandomRBFGeneratorDrift -c 5 -s 0.001",
        _rivers("RandomRBFDrift", n_classes=5, change_speed=0.001, n_drift_centroids=50, **_SEEDS),
    ),
    Generator(
        "hyperplane",
        _ours("Hyperplane", magnitude=0.001),
        "HyperplaneGenerator -t 0.001",
        _rivers("Hyperplane", mag_change=0.001, seed=1),
    ),
    Generator("led", _ours("LED"), "LEDGenerator", _rivers("LED", noise_percentage=0.1, irrelevant_features=True)),
    Generator(
        "led-drift",
        _ours("LED", drifting=7),
        "LEDGeneratorDrift -d 7",
        _rivers("LEDDrift", noise_percentage=0.1, irrelevant_features=True, n_drift_features=7, seed=1),
    ),
    Generator("waveform", _ours("Waveform"), "WaveformGenerator", _rivers("Waveform", seed=1)),
    Generator("sine", _ours("Sine"), "SineGenerator", _rivers("Sine", has_noise=True, seed=1)),
    Generator("mixed", _ours("Mixed"), "MixedGenerator", _rivers("Mixed", seed=1)),
    Generator("stagger", _ours("STAGGER"), "STAGGERGenerator", _rivers("STAGGER", seed=1)),
    Generator("text", _ours("Text"), "TextGenerator", None),
    Generator("text, sparse", _ours("Text", sparse=True), "TextGenerator", None),
    Generator("hyper-cube", _ours("HyperCube"), None, None),
)


# -- in a process of its own -------------------------------------------------------------------------------------------


def measure(library: str, name: str) -> dict[str, Any]:
    """Draw rows, first until it is warm and the number for a pass is known; give rows and CPU seconds of the passes."""
    generator = next(g for g in GENERATORS if g.name == name)
    factory = generator.thalweg if library == "thalweg" else generator.river
    assert factory is not None
    stream = factory()
    draw = partial(_read, stream) if library == "thalweg" else partial(_exhaust, iter(stream))
    rows, seconds = CHUNK, 0.0
    draw(rows)
    while seconds < 0.2:
        seconds = _seconds(draw, rows)
        rows = 2 * rows if seconds < 0.2 else rows
    return {"rows": rows, "passes": [[_seconds(draw, rows)] for _ in range(PASSES)]}


def _seconds(draw: Callable[[int], None], rows: int) -> float:
    start = time.process_time()
    draw(rows)
    return time.process_time() - start


def _read(stream: Any, rows: int) -> None:
    for _ in range(rows // CHUNK):
        stream.read(CHUNK)


def _exhaust(rows_of: Any, rows: int) -> None:
    for _ in islice(rows_of, rows):
        pass


# -- the run -----------------------------------------------------------------------------------------------------------


def _by(bench: Bench, library: str, name: str) -> Any:
    require(library)
    return json.loads(bench.python(__file__, "--worker", library, name).splitlines()[-1])


def _work(bench: Bench, generator: Generator) -> dict[str, Callable[[], Any]]:
    work: dict[str, Callable[[], Any]] = {"thalweg": partial(_by, bench, "thalweg", generator.name)}
    if generator.moa is not None:
        line = f"generators.{generator.moa}"
        work["moa"] = partial(bench.java, "generator", line, str(WARM), str(PASSES))
    if generator.river is not None:
        work["river"] = partial(_by, bench, "river", generator.name)
    return work


def _speed(runs: Any, clock: int = 0) -> float | None:
    """Rows per second: the median of the repeats, each of which is the median of its passes."""
    if not runs or isinstance(runs, str):
        return None
    return median(run["rows"] / median(seconds[clock] for seconds in run["passes"]) for run in runs)


def _row(bench: Bench, name: str, found: dict[str, Any]) -> tuple[str, ...]:
    own, thread, process = _speed(found["thalweg"]), _speed(found.get("moa"), 2), _speed(found.get("moa"), 0)
    river = _speed(found.get("river"))
    if own is None:
        raise SystemExit(f"thalweg's {name}: {found['thalweg']}")
    if thread is not None:
        bench.promise(f"{name}: times MOA's thread", own / thread, least=MOA_BAR, unit=" ×")
    if river is not None:
        bench.promise(f"{name}: times river", own / river, least=RIVER_BAR, unit=" ×")
    cells = [name, rate(own)]
    for speed in (thread, process, river):
        cells += ["–", "–"] if speed is None else [rate(speed), times(own / speed)]
    return tuple(cells)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Each generator beside MOA's and river's: rows per second of CPU")
    parser.add_argument("--repeats", type=int, default=5, help="how often each measurement is made (default 5)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these generators")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all figures, repeat by repeat")
    parser.add_argument("--markdown", type=Path, metavar="PATH", help="write the tables")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measure(*options.worker)))
        return
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {options.repeats}")
    names = [g.name for g in GENERATORS]
    for name in options.only or ():
        if name not in names:
            parser.error(f"--only must name generators ({', '.join(names)}), got {name}")
    chosen = [g for g in GENERATORS if not options.only or g.name in options.only]
    console = Console(width=None if sys.stdout.isatty() else 130)
    where = machine()
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(Path(temporary), options.repeats, console)
        work = {f"{g.name}/{who}": measured for g in chosen for who, measured in _work(bench, g).items()}
        found = bench.turns("generators", work)
    figures = {
        g.name: {who: found[f"{g.name}/{who}"] for who in ("thalweg", "moa", "river") if f"{g.name}/{who}" in found}
        for g in chosen
    }
    columns = ("generator", "thalweg", "MOA, its thread", "ours", "MOA, process", "ours", "river", "ours")
    note = (
        f"Medians of {options.repeats} processes, each the median of {PASSES} passes; thalweg in chunks of {CHUNK:,}. "
        f"MOA: nextInstance in a Java loop after {WARM:g} s of warming up; its thread: without garbage collection and "
        "compilation. ours: how many times faster thalweg is."
    )
    table = Table("Rows per second of CPU", columns, [_row(bench, n, f) for n, f in figures.items()], note)
    promises = Table("Promised", ("", "measured", "bar", "kept"), bench.promises)
    table.show(console)
    promises.show(console)
    where["load_at_end"] = load()
    if options.json:
        options.json.write_text(
            json.dumps({"machine": where, "repeats": options.repeats, "generators": figures}, indent=1) + "\n"
        )
    if options.markdown:
        options.markdown.write_text("\n".join(["# Generators\n", table.markdown(), promises.markdown()]))


if __name__ == "__main__":
    main()
