"""Ensembles of 200 trees beside the numbers of the Streaming Deep Forest paper (its table 2), prequential accuracy.

``python published.py --learners arf srp --streams Electricity RTG``. All else takes hours. Results are written as they
come, and a second call goes on. Real streams are read from the folder that THALWEG_DATA names.
"""

import argparse
import json
import time
from pathlib import Path

from report import Table
from rich.console import Console

import thalweg
from thalweg import registry

PUBLISHED = {
    "Electricity": (89.0228, 89.4333, 88.4225, 88.3077),
    "Covtype": (92.5220, 94.8010, 93.5106, 87.2538),
    "Adult": (83.9503, 84.6485, 84.2554, 83.4200),
    "RTG": (94.0765, 90.7654, 97.8457, 94.6737),
    "SEA_a": (89.6332, 88.2105, 86.9402, 88.9516),
    "AGR_a": (90.7030, 93.0238, 89.8923, 93.0665),
    "RBF_f": (73.7903, 75.2759, 63.4204, 43.4631),
}
LEARNERS = ("arf", "srp", "leveraging-bagging", "smooth-boost")


def measure(learner: str, stream: str, size: int, seed: int) -> dict[str, float]:
    """Run one learner over a whole stream."""
    real = stream in ("Electricity", "Covtype", "Adult")
    source = thalweg.load_dataset(stream.lower()) if real else thalweg.paper_stream(stream)
    made = registry.LEARNERS[learner].make(size=size, seed=seed)
    start = time.process_time()
    result = thalweg.prequential(source, made, metrics=("accuracy",))
    return {"accuracy": 100 * result.accuracy, "rows": result.rows, "seconds": time.process_time() - start,
            "bytes": result.peak_bytes}  # fmt: skip


def main() -> None:
    """Measure what is asked for and not there yet, and print all."""
    parser = argparse.ArgumentParser(description="200 trees beside the published accuracy")
    parser.add_argument("--learners", nargs="+", default=["arf"], choices=LEARNERS)
    parser.add_argument("--streams", nargs="+", default=list(PUBLISHED), choices=list(PUBLISHED))
    parser.add_argument("--size", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("published.json"))
    options = parser.parse_args()
    found = json.loads(options.json.read_text()) if options.json.exists() else {}
    for learner in options.learners:
        for stream in options.streams:
            if (key := f"{learner} on {stream}") not in found:
                found[key] = measure(learner, stream, options.size, options.seed)
                options.json.write_text(json.dumps(found, indent=1))
    rows = []
    for key, got in found.items():
        learner, stream = key.split(" on ")
        paper = PUBLISHED[stream][LEARNERS.index(learner)]
        rows.append((key, f"{paper:.2f}", f"{got['accuracy']:.2f}", f"{got['accuracy'] - paper:+.2f}",
                     f"{got['rows'] / got['seconds']:,.0f}", f"{got['bytes'] / 1e6:,.0f}"))  # fmt: skip
    table = Table("200 trees", ("", "published", "thalweg", "difference", "rows / CPU s", "MB"), rows)
    table.show(Console(width=110))
    print(table.markdown())


if __name__ == "__main__":
    main()
