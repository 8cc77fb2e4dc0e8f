"""Accuracy of the ensembles beside CapyMOA's with the same parameters: same rows, several seeds.

``python accuracy.py --rows 100000 --seeds 5 --moa-seeds 3 --json accuracy.json``. A line of the table is an ensemble on
a stream: mean and standard deviation over the seeds. Results are written as they come, and a second call goes on.
Streams with nominal features have a second line, with one branch per value as MOA's trees have.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import records
from contests import FORESTS, contest
from play import pin
from report import Table
from rich.console import Console

STREAMS = ("Electricity", "RBF_f", "RBF_m", "SEA_a", "AGR_a", "HYPER", "RTG")
SPLITS: tuple[tuple[str, dict[str, Any]], ...] = (("", {}), (", one branch per value", {"binary_splits": False}))


def ours(name: str, data: records.Records, **params: Any) -> float:
    """Prequential accuracy of thalweg's learner."""
    learner = contest(name).thalweg(**params).declare(data.schema)
    right = 0
    for start in range(0, len(data.y), 1000):
        y = data.y[start : start + 1000]
        proba = learner.test_then_train(data.X[start : start + 1000], y)
        right += int((learner.classes_[proba.argmax(axis=1)] == y).sum())
    return 100 * right / len(data.y)


def theirs(name: str, folder: Path, seed: int) -> float:
    """Prequential accuracy of CapyMOA's learner, in its Java loop."""
    from capymoa.evaluation import prequential_evaluation
    from capymoa.stream import ARFFStream

    stream, make = ARFFStream(folder / "rows.arff"), contest(name).capymoa
    assert make is not None
    learner = make(schema=stream.get_schema(), random_seed=seed)
    return float(prequential_evaluation(stream, learner, window_size=1000, optimise=True).cumulative.accuracy())


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="accuracy of the ensembles beside CapyMOA's, over several seeds")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--size", type=int, default=10, choices=(10, 30, 100))
    parser.add_argument("--seeds", type=int, default=5, help="seeds of thalweg (default 5)")
    parser.add_argument("--moa-seeds", type=int, default=3, help="seeds of CapyMOA, which takes longer (default 3)")
    parser.add_argument("--json", type=Path, default=Path("accuracy.json"))
    options = parser.parse_args()
    pin()
    found: dict[str, dict[str, list[float]]] = json.loads(options.json.read_text()) if options.json.exists() else {}
    names = [c.name for c in FORESTS if c.name.endswith(f" {options.size}")]
    with tempfile.TemporaryDirectory() as temporary:
        for stream in STREAMS:
            data = records.electricity() if stream == "Electricity" else records.paper(stream, options.rows)
            if data is None:
                continue
            folder = Path(temporary) / stream
            data.save(folder)
            for name in names:
                moa: list[float] = []
                for how, params in SPLITS if any(f.values for f in data.schema.features) else SPLITS[:1]:
                    entry = found.setdefault(f"{name} on {stream}{how}", {"thalweg": [], "CapyMOA": moa})
                    moa = entry["CapyMOA"]
                    for seed in range(len(entry["thalweg"]) + 1, options.seeds + 1):
                        entry["thalweg"].append(ours(name, data, seed=seed, **params))
                    for seed in range(len(moa) + 1, options.moa_seeds + 1):
                        moa.append(theirs(name, folder, seed))
                    options.json.write_text(json.dumps(found, indent=1))
    table(found).show(Console(width=120))
    print(table(found).markdown())


def table(found: dict[str, Any]) -> Table:
    """Means and spreads side by side. Below: by more than the seeds of both explain (two standard errors)."""
    rows = []
    for what, entry in found.items():
        a, b = entry["thalweg"], entry["CapyMOA"]
        gap = statistics.mean(a) - statistics.mean(b)
        noise = 2 * (statistics.pvariance(a) / len(a) + statistics.pvariance(b) / len(b)) ** 0.5
        rows.append((what, _said(a), _said(b), f"{gap:+.2f}", "below" if gap < -max(noise, 0.1) else ""))
    return Table("Accuracy, %", ("", "thalweg", "CapyMOA", "difference", ""), rows)


def _said(values: list[float]) -> str:
    return f"{statistics.mean(values):.2f} ± {statistics.pstdev(values):.2f} ({len(values)})"


if __name__ == "__main__":
    main()
