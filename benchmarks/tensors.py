"""Learners of tensors: accuracy on generated tensors and on images, time, memory, alarms.

``python tensors.py sim images --seeds 1 --json tensors.json``. Tables: ``sim`` (SimTensor of order 3 to 15 with four
kinds of drift), ``images`` (MNIST, CIFAR-10 and the digits, beside learners of pixels), ``drift`` (images that are
turned, recoloured or relabelled), ``time`` (CPU time of one), ``memory`` (a million tensors), ``detector`` (false
alarms and delays), ``routes`` (exact, sketched and warm-started bases). Results are written as they come, all of the
first seed first, and a second call goes on. Images are read from the folder that THALWEG_DATA names.
"""

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from report import Table
from rich.console import Console

import thalweg
from thalweg import CKDT, ImageDrift, SimTensor, TensorDriftDetector
from thalweg.registry import LEARNERS as NAMES
from thalweg.registry import find, make, parameters
from thalweg.tensors.bases import Decomposition

Cell = dict[str, Any]
"""What one run gave."""
Runs = Iterator[tuple[str, int, Callable[[int], Cell]]]
"""Their names, how many seeds are enough, and what measures one."""
CHUNK = 1_000

# -- generated tensors ------------------------------------------------------------------------------------------------

LEARNERS = ("ckdt", "mddt", "opor", "lrtcr", "lrtd")
DRIFTS = ("none", "gradual", "incremental", "sudden")
ORDERS = (3, 6, 9, 12, 15)
TENSORS = 20_000
PAPER = {
    "none": (83.86, 22.75, 77.93, 82.19, 82.83),
    "gradual": (82.19, 18.43, 70.03, 72.38, 72.84),
    "incremental": (80.86, 13.73, 62.78, 67.93, 68.45),
    "sudden": (79.28, 7.04, 54.89, 57.44, 58.93),
}
"""Accuracy of LEARNERS over orders 3 to 15, from Table 2 of the CKDT paper."""


def sim_cells() -> Runs:
    """Each learner, drift and order: the lowest, the middle and the highest first."""
    for order in (*ORDERS[::2], *ORDERS[1::2]):
        for drift in DRIFTS:
            for learner in LEARNERS:
                yield f"{learner} {drift} {order}", 10, partial(sim, learner, drift, order)


def sim(learner: str, drift: str, order: int, seed: int) -> Cell:
    """Run a learner on tensors of one order with one kind of drift."""
    stream, model = (
        SimTensor(order=order, drift=drift, limit=TENSORS, seed=seed),
        make("learner", learner, NAMES, seed=seed),
    )
    right, took = 0, 0.0
    while (some := stream.read_tensors(CHUNK)) is not None:
        hits, seconds = test_then_train(model, *some)
        right, took = right + int(hits.sum()), took + seconds
    return {"accuracy": 100 * right / TENSORS, "ms": 1e3 * took / TENSORS, "builds": model.n_builds}


def test_then_train(model: Any, X: Any, y: Any) -> tuple[Any, float]:
    """Which of some records are predicted right, each learned right then, and the CPU seconds."""
    start = time.process_time()
    P = model.test_then_train(X, y)
    took = time.process_time() - start
    return model.classes_[P.argmax(axis=1)] == y, took


def sim_tables(found: dict[str, list[Cell]]) -> Iterator[Table]:
    """Average for each drift over the orders that all learners have; then all orders."""
    rows, wide = [], []
    whole = [o for o in ORDERS if all(found.get(f"{m} {drift} {o}") for m in LEARNERS for drift in DRIFTS)]
    for drift in DRIFTS:
        ours = []
        for learner in LEARNERS:
            runs = {o: [r["accuracy"] for r in found.get(f"{learner} {drift} {o}", [])] for o in ORDERS}
            seeds = min((len(runs[o]) for o in whole), default=0)
            ours.append(_range([statistics.mean(runs[o][s] for o in whole) for s in range(seeds)], 2))
            wide.append((f"{drift}, {learner}", *(_range(runs[o], 2) for o in ORDERS)))
        rows.append((f"{drift}", *ours))
        rows.append((f"{drift}, paper", *(f"{v:.1f}" for v in PAPER[drift])))
    yield Table(
        f"SimTensor, mean over orders {', '.join(map(str, whole))}",
        ("", *LEARNERS),
        rows,
        "Mean of the seeds, (least to most).",
    )
    yield Table("SimTensor, by order", ("", *map(str, ORDERS)), wide)


def _range(values: list[float], digits: int = 1) -> str:
    """Write a mean, with the range."""
    if not values:
        return "–"
    mean, low, high = (f"{v:.{digits}f}" for v in (statistics.mean(values), min(values), max(values)))
    return mean if low == high else f"{mean} ({low}–{high})"


# -- images -----------------------------------------------------------------------------------------------------------

IMAGES = {"mnist": 20_000, "cifar10": 10_000, "digits": 1_797}
"""And how many come."""
ON_IMAGES = {
    "ckdt": 3, "ckdt(preset=paper)": 1, "ckdt-forest(size=30)": 3, "mddt": 3, "mcdiarmid-tree": 1,
    "hoeffding-tree": 1, "arf(size=100)": 1, "knn": 1, "pca-knn": 1, "subspace-tree": 1,
}  # fmt: skip
"""And how many seeds are enough."""
START = 200
"""Images before the forest has landmarks."""


def image_cells() -> Runs:
    """Each learner and stream."""
    for name, seeds in ON_IMAGES.items():
        for stream in IMAGES:
            yield f"{name} {stream}", seeds, partial(images, name, stream)


@lru_cache(maxsize=1)
def images_of(stream: str) -> tuple[Any, Any, Any]:
    """Read images: rows, labels, and what they are."""
    source = thalweg.load_dataset(stream, limit=IMAGES[stream])
    chunk = source.read(IMAGES[stream])
    return np.asarray(chunk.X, dtype=float), np.asarray(chunk.y), source.schema


def images(name: str, stream: str, seed: int) -> Cell:
    """Run a learner on images; one of vectors gets their pixels."""
    X, y, schema = images_of(stream)
    known = parameters(find("learner", name.split("(")[0], NAMES).cls)
    model = make("learner", name, NAMES, **({"seed": seed} if "seed" in known else {})).declare(schema)
    hits, took = [], 0.0
    for i in range(0, len(y), CHUNK):
        some, seconds = test_then_train(model, X[i : i + CHUNK], y[i : i + CHUNK])
        hits, took = [*hits, some], took + seconds
    right = np.concatenate(hits)
    return {"accuracy": float(right.mean()), "after": float(right[START:].mean()), "ms": 1e3 * took / len(y),
            "builds": getattr(model, "n_builds", 0)}  # fmt: skip


def image_tables(found: dict[str, list[Cell]]) -> Iterator[Table]:
    """Accuracy from the first image on, and after the first 200; CPU time of an image of CIFAR-10."""
    rows = []
    for name in ON_IMAGES:
        cells = []
        for stream in IMAGES:
            runs = found.get(f"{name} {stream}", [])
            cells.append(
                " / ".join(_range([r[what] for r in runs], 3).replace("0.", ".") for what in ("accuracy", "after"))
            )
        times = [r["ms"] for r in found.get(f"{name} cifar10", [])]
        rows.append((name, *cells, f"{min(times):.2f}" if times else "–"))
    yield Table("Images, all / after the first 200", ("", *IMAGES, "ms, cifar10"), rows)


# -- images that change -----------------------------------------------------------------------------------------------

DRIFTED = {"mnist": ("invert", "rotate", "relabel"), "cifar10": ("recolour", "rotate", "relabel")}
WIDTHS = {"abrupt": 0, "gradual": 1_000}
FOLLOWERS = ("ckdt", "ckdt-forest")
CHANGE = 5_000
"""Images before the drift, and after it."""


def drift_cells() -> Runs:
    """Each learner, stream and kind of drift."""
    for stream, kinds in DRIFTED.items():
        for kind in kinds:
            for pace in WIDTHS:
                for name in FOLLOWERS:
                    yield f"{name} {stream} {kind} {pace}", 2, partial(recovery, name, stream, kind, pace)


def recovery(name: str, stream: str, kind: str, pace: str, seed: int) -> Cell:
    """Accuracy over 1,000 images before a drift and over those 1,501 to 2,000 after it, and when it is nearly as high.

    That is the number of images after (the middle of) the drift at which the accuracy over the last 500, all of them
    after its width, is within 2 points of that before; -1 for never.
    """
    width = WIDTHS[pace]
    images = f"{stream}(limit={2 * CHANGE})"
    source = ImageDrift(stream=images, change=kind, position=CHANGE, width=width, seed=seed)
    model, hits = make("learner", name, NAMES, seed=seed).declare(source.schema), []
    while (chunk := source.read(CHUNK)) is not None:
        hits.append(test_then_train(model, np.asarray(chunk.X, dtype=float), np.asarray(chunk.y))[0])
    right = np.concatenate(hits).astype(float)
    before = right[CHANGE - width - 1_000 : CHANGE - width].mean()
    ends = range(CHANGE + width // 2 + 500, len(right) + 1)
    back = next((end - CHANGE for end in ends if right[end - 500 : end].mean() >= before - 0.02), -1)
    later = right[CHANGE + 1_500 : CHANGE + 2_000].mean()
    return {"before": float(before), "later": float(later), "back": back, "builds": model.n_builds}


def drift_tables(found: dict[str, list[Cell]]) -> Iterator[Table]:
    """One row for each stream, pace and learner; a kind of drift in each column, one seed after the other."""
    rows = []
    for stream, kinds in DRIFTED.items():
        for pace in WIDTHS:
            for name in FOLLOWERS:
                cells = []
                for kind in kinds:
                    runs = found.get(f"{name} {stream} {kind} {pace}", [])
                    texts = [f"{r['back']} ({r['before']:.3f} → {r['later']:.3f})" for r in runs]
                    cells.append("; ".join(texts).replace("0.", ".").replace("-1 ", "never ") or "–")
                rows.append((f"{name}, {stream}, {pace}", *cells))
    yield Table("Images until a drift is made good", ("", "recoloured", "rotated", "relabelled"), rows)


# -- time, memory, alarms ---------------------------------------------------------------------------------------------


def time_cells() -> Runs:
    """CKDT on tensors of some kinds, the others on two of them."""
    for what in ("32x32x3", "8x8", "28x28", "order 3", "order 15"):
        yield f"ckdt {what}", 1, partial(speed, what, "ckdt")
    for what in ("32x32x3", "order 15"):
        for name in (*LEARNERS[1:], "ckdt-forest(size=30)"):
            yield f"{name} {what}", 1, partial(speed, what, name)


def speed(what: str, name: str, seed: int, n: int = 1_000) -> Cell:
    """CPU time of a tensor, predicted and learned, after a first thousand: the median of five passes."""
    if what.startswith("order"):
        X, y = SimTensor(order=int(what.split()[1]), limit=6 * n, seed=seed).read_tensors(6 * n)
    else:
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 6 * n)
        X = rng.gamma(2.0 + y.reshape(-1, *[1] * (what.count("x") + 1)), size=(6 * n, *map(int, what.split("x"))))
    model = make("learner", name, NAMES, seed=seed)
    took = [1e3 * test_then_train(model, X[i : i + n], y[i : i + n])[1] / n for i in range(0, 6 * n, n)]
    return {"ms": statistics.median(took[1:]), "least": min(took[1:]), "most": max(took[1:])}


def time_tables(found: dict[str, list[Cell]]) -> Iterator[Table]:
    """One row for each learner and kind of tensor."""
    rows = [(name, *(f"{r[0][what]:.3f}" for what in ("ms", "least", "most"))) for name, r in found.items() if r]
    yield Table("CPU time of a tensor, ms", ("", "median", "least", "most"), rows)


def memory_cells() -> Runs:
    """One run."""
    yield "ckdt 8x8", 1, memory


def memory(seed: int, n: int = 1_000_000, every: int = 200_000) -> Cell:
    """A million tensors of 8 x 8 with a drift every 200,000: bytes of the state and of the process on the way."""
    rng, model = np.random.default_rng(seed), CKDT(seed=seed)
    notes = []
    for i in range(0, n, 5_000):
        if i % every == 0:
            shapes = rng.uniform(0.5, 4.0, 2)
        y = rng.integers(0, 2, 5_000)
        model.partial_fit(rng.gamma(shapes[y][:, None, None], size=(5_000, 8, 8)), y)
        if (i + 5_000) % 100_000 == 0:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            rss = pages * resource.getpagesize()
            notes.append((i + 5_000, model.state_bytes / 2**20, rss / 2**20, model.n_builds))
    return {"notes": notes}


def memory_tables(found: dict[str, list[Cell]]) -> Iterator[Table]:
    """How much there was after every 100,000."""
    rows = [
        (f"{n:,}", f"{state:.2f}", f"{rss:.0f}", str(builds)) for n, state, rss, builds in found["ckdt 8x8"][0]["notes"]
    ]
    yield Table("Memory, MiB", ("tensors", "state", "process", "builds"), rows)


STILL: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "normal 8x8": lambda rng, n: rng.normal(size=(n, 8, 8)),
    "gamma 8x8": lambda rng, n: rng.gamma(2.0, size=(n, 8, 8)),
    "normal 32x32x3": lambda rng, n: rng.normal(size=(n, 32, 32, 3)),
}
RUNS = 40
"""Streams with one drift each."""


def detector_cells() -> Runs:
    """Tensors that stay, and SimTensor with one drift."""
    for rule in ("cusum", "paper"):
        for still in STILL:
            yield f"{rule} false {still}", 1, partial(false_drifts, rule, still)
        for order in (3, 6, 15):
            yield f"{rule} sudden {order}", 1, partial(delays, rule, "sudden", order)
            yield f"{rule} incremental {order}", 1, partial(delays, rule, "incremental", order)


def false_drifts(rule: Any, still: str, seed: int, n: int = 20_000) -> Cell:
    """How many drifts are found in tensors that do not change, for each 5,000."""
    rng, detector = np.random.default_rng(seed), TensorDriftDetector(rule=rule)
    for _ in range(n // 500):
        detector.update_many(STILL[still](rng, 500))
    return {"false": 5_000 * detector.n_detections / n}


def delays(rule: Any, drift: str, order: int, seed: int) -> Cell:
    """How many drifts are found in time: a sudden one within 100 tensors, an incremental one within its 300."""
    n, within, width = (500, 100, 0.1) if drift == "sudden" else (1_200, 300, 0.5)
    found, early = [], 0
    for run in range(RUNS):
        stream = SimTensor(order=order, size=20, limit=n, drift=drift, changes=1, width=width, seed=RUNS * seed + run)
        at = np.flatnonzero(TensorDriftDetector(rule=rule).update_many(stream.read_tensors(n)[0]) == 2)
        (change,) = stream.drifts
        early += int((at < change).sum())
        found += [int(at[at >= change][0]) - change] if (at >= change).any() else [n]
    return {"share": float(np.mean(np.array(found) < within)), "delay": float(np.median(found)), "early": early / RUNS}


def detector_tables(found: dict[str, list[Cell]]) -> Iterator[Table]:
    """One row for each case."""
    rows = []
    for case in dict.fromkeys(name.split(" ", 1)[1] for name in found):
        cells = []
        for rule in ("cusum", "paper"):
            text = ""
            for r in found.get(f"{rule} {case}", []):
                text = f"{100 * r['share']:.0f} %, {r['delay']:.0f} tensors" if "share" in r else f"{r['false']:.2f}"
                text += f", {r['early']:.2f} before" if r.get("early") else ""
            cells.append(text or "–")
        rows.append((case, *cells))
    yield Table("Drifts found in time and the delay; false ones in 5,000 tensors", ("", "cusum", "paper"), rows)


# -- routes to a basis ------------------------------------------------------------------------------------------------

ROUTES = ("svd", "gram", "randomised", "warm")
ROUTED = {"digits": 1_797, "mnist": 10_000, "cifar10": 10_000, "224x224": 1_000, "60x60x25": 400, "100x100x30": 120}
"""Tensors, and how many come; of the last only bases are found: learners take tensors of that size for sparse ones."""
LANDMARKS, COMPARED = 20, 100
"""Tensors that a warm start comes from, and those whose bases are compared with exact ones."""


def route_cells() -> Runs:
    """Each route on small and large tensors."""
    for what in ROUTED:
        for route in ROUTES:
            yield f"{route} {what}", 1, partial(by_route, route, what)


def by_route(route: str, what: str, seed: int) -> Cell:
    """Accuracy and time of CKDT with a route; time and error of the bases alone."""
    model, right, took, n, first = CKDT(route=route, seed=seed), 0, 0.0, ROUTED[what], None
    for X, y in tensors_of(what, seed):
        first = X if first is None else first
        if what == "100x100x30":
            return bases_of(route, first)
        hits, seconds = test_then_train(model, X, y)
        right, took = right + int(hits.sum()), took + seconds
    return {"accuracy": right / n, "ms": 1e3 * took / n, **bases_of(route, first)}


def tensors_of(what: str, seed: int, chunk: int = 120) -> Iterator[tuple[Any, Any]]:
    """Images as they are; images of MNIST with each pixel drawn as 8 x 8 and noise; or two classes of large tensors."""
    rng = np.random.default_rng(seed)
    made = what in ("60x60x25", "100x100x30")
    if made:
        truth, shape = np.random.default_rng(0), tuple(map(int, what.split("x")))
        lines = [[truth.normal(size=(size, 8)) for size in shape] for _ in range(2)]
    else:
        images, labels, schema = images_of("mnist" if what == "224x224" else what)
    for i in range(0, ROUTED[what], chunk):
        m = min(chunk, ROUTED[what] - i)
        if made:  # eight components, weaker and weaker; classes differ a little in all factors
            y = rng.integers(0, 2, m)
            a, b, c = (
                u + 0.2 * y[:, None, None] * v + 0.7 * rng.normal(size=(m, *u.shape))
                for u, v in zip(*lines, strict=True)
            )
            outer = (a[:, :, None] * b[:, None] * 0.8 ** np.arange(8)).reshape(m, -1, 8)
            X = (outer @ c.swapaxes(1, 2)).reshape(m, *shape)
            yield X + rng.normal(size=X.shape), y
            continue
        X, y = images[i : i + m].reshape(m, *schema.shape), labels[i : i + m]
        if what == "224x224":
            X = np.kron(X.reshape(m, 28, 28), np.ones((1, 8, 8))) + rng.normal(0, 10, (m, 224, 224))
        yield X, y


def bases_of(route: str, X: Any) -> Cell:
    """CPU time of the bases of a tensor (median of five), and their chordal distance from exact ones."""
    some = X[LANDMARKS : LANDMARKS + COMPARED]
    how, times = Decomposition(route=route), []
    starts = how.starts(X[:LANDMARKS])
    for _ in range(5):
        start = time.process_time()
        found = how.of(some, starts)
        times.append(1e3 * (time.process_time() - start) / len(some))
    exact = Decomposition(route="svd").of(some)
    each = np.arange(len(some))
    errors = found.distances(exact)[each, each]
    return {"bases": statistics.median(times), "error": float(errors.mean()), "worst": float(errors.max())}


def route_tables(found: dict[str, list[Cell]]) -> Iterator[Table]:
    """One row for each kind of tensor and route."""
    rows = []
    for what in ROUTED:
        for route in ROUTES:
            for r in found.get(f"{route} {what}", []):
                learner = (f"{r['accuracy']:.3f}", f"{r['ms']:.2f}") if "ms" in r else ("–", "–")
                values = (*learner, f"{r['bases']:.3f}")
                rows.append((what, route, *values, f"{r['error']:.1e}", f"{r['worst']:.1e}"))
    head = ("", "route", "accuracy", "ms", "ms, bases alone", "chordal distance from the exact, mean", "most")
    yield Table("Routes to a basis", head, rows)


# -- the command ------------------------------------------------------------------------------------------------------

TABLES: dict[str, tuple[Any, Any]] = {
    "sim": (sim_cells, sim_tables), "images": (image_cells, image_tables), "time": (time_cells, time_tables),
    "drift": (drift_cells, drift_tables), "memory": (memory_cells, memory_tables),
    "detector": (detector_cells, detector_tables), "routes": (route_cells, route_tables),
}  # fmt: skip
"""How the runs of each are made, and what is printed of them."""


def main() -> None:
    """Measure what is asked for and not there yet, and print all."""
    parser = argparse.ArgumentParser(description="learners of tensors")
    parser.add_argument("tables", nargs="+", choices=tuple(TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", help="only runs whose name has one of these words")
    parser.add_argument("--json", type=Path, default=Path("tensors.json"))
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    found = json.loads(options.json.read_text()) if options.json.exists() else {}
    for table in options.tables:
        runs = found.setdefault(table, {})
        for seed in range(1, options.seeds + 1):
            for name, seeds, measure in TABLES[table][0]():
                wanted = not options.only or set(options.only) & set(name.split())
                if wanted and len(runs.setdefault(name, [])) < seed <= seeds:
                    runs[name].append(measure(seed))
                    options.json.write_text(json.dumps(found, indent=1))
                    print(f"{table}, seed {seed}: {name}: {runs[name][-1]}", flush=True)
    tables = [table for name in options.tables for table in TABLES[name][1](found[name])]
    for table in tables:
        table.show(Console(width=170))
    if options.markdown:
        options.markdown.write_text("\n".join(table.markdown() for table in tables))


if __name__ == "__main__":
    main()
