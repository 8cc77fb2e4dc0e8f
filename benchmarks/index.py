"""Indexes of rules and frozen forests, side by side in one run on one core.

``python benchmarks/index.py hypercube majority frozen growth update tables peers --markdown index.md`` (or some).

| table     | what is measured                                                                                        |
| hypercube | µs per record of each kind of index on the moving cube, 5 and 10 features, 30 and 100 trees             |
| majority  | µs per record where votes are counted until the class has the majority, and to the end                  |
| frozen    | µs per record of a forest of 100 trees, living and frozen, one record and 1,000 at a time               |
| growth    | µs per record from 10 to 400 trees, and the exponent that fits                                          |
| update    | ms to insert and to delete a classifier of about 250 rules, among 100 of them                           |
| tables    | tables 3 and 4 of the paper on data sets that can be had: time, memory, error                           |
| peers     | scikit-learn's, LightGBM's, treelite's and lleaves' ensembles of equal size, where they are installed   |

Times are CPU seconds, medians of rounds in which all contenders take turns. Real data are read from the folder that
THALWEG_DATA names.

P. Zhang, J. Li, P. Wang, B. J. Gao, X. Zhu, L. Guo, "Enabling fast prediction for ensemble models on data streams",
KDD 2011.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from report import Table, times
from rich.console import Console

from thalweg import AdaptiveRandomForest, HyperCube, load_dataset
from thalweg.index.bitmap import BitmapIndex
from thalweg.index.e_tree import ETree
from thalweg.index.index import Index
from thalweg.index.linear import CompiledTrees, LinearRules, LinearTrees
from thalweg.index.rules import Rules
from thalweg.learners.chunks.chunk_tree import ChunkTree, grow_tree, sklearn_tree
from thalweg.learners.chunks.target import CLEAR

KINDS: dict[str, Callable[[], Index]] = {
    "rule scan": LinearRules,
    "tree by tree": LinearTrees,
    "trees, in batches": CompiledTrees,
    "bitmap": BitmapIndex,
    "E-tree": ETree,
    "E-tree, R* split": lambda: ETree(split="rstar", reinsert=0.0),
    "E-tree, R*": lambda: ETree(split="rstar"),
}
CHUNK, BATCH, ROUNDS = 10_000, 1_000, 5


def seconds(contenders: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """The median CPU seconds of each; they take turns. The first turn, which compiles, does not count."""
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, play in contenders.items():
            begin = time.process_time()
            play()
            if turn:
                found[name].append(time.process_time() - begin)
    return {name: statistics.median(values) for name, values in found.items()}


def micro(contenders: dict[str, tuple[Callable[[Any], Any], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """The same in µs per record: of each contender what answers, and its records."""
    plays = {name: (lambda answer=answer, X=X: answer(X)) for name, (answer, X) in contenders.items()}
    return {name: 1e6 * s / len(contenders[name][1]) for name, s in seconds(plays, rounds).items()}


def by_ones(answer: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Ask about one record after the other."""

    def ask(X: Any) -> None:
        for r in range(len(X)):
            answer(X[r : r + 1])

    return ask


# -- the moving cube --------------------------------------------------------------------------------------------------


def cube(features: int, n: int) -> tuple[list[Rules], Any]:
    """Trees of n chunks of the cube, as rules with hard votes and equal weights, and records to ask about.

    They are scikit-learn's by entropy, with about 250 leaves; the library's own, by gain ratio and pruned, need 15.
    """
    stream, values, found = HyperCube(features=features, seed=3), np.zeros(features, dtype=np.int64), []
    for _ in range(n):
        chunk = stream.read(CHUNK)
        tree = sklearn_tree(chunk.X, chunk.y, w=np.ones(CHUNK), classes=2, min_leaf=20.0).hard()
        found.append(replace(tree.rules(values > 0, 2), say=1.0 / n))
    return found, stream.read(5_000).X


def targets(ensemble: list[Rules], target: int = 1) -> list[Rules]:
    """What the paper indexes: the rules of one class."""
    return [rules.only(target) for rules in ensemble]


def fast_rows(index: Index, X: Any) -> Any:
    """As many records as take a moment, not a minute."""
    return X[:200] if isinstance(index, LinearRules) else X[:BATCH]


def cubes() -> Iterator[tuple[str, list[Rules], Any]]:
    """The paper's Syn-5 and Syn-10: a name, the rules of the abnormal class in each member, and records."""
    for d in (5, 10):
        ensemble, X = cube(d, 100)
        for n in (30, 100):
            yield f"d = {d}, n = {n}", [replace(rules, say=1.0 / n) for rules in targets(ensemble[-n:])], X


def hypercube() -> Iterator[Table]:
    """The paper's Syn-5 and Syn-10."""
    rows = []
    for label, members, X in cubes():
        indexes = {name: make().insert_all(members) for name, make in KINDS.items()}
        _agree(indexes, X)
        took = micro({name: (index.scores, fast_rows(index, X)) for name, index in indexes.items()})
        best = min(took, key=lambda name: took[name])
        tested = indexes["E-tree"].entries_tested(X[:BATCH]) / BATCH / sum(map(len, members))
        rows.append((
            label, f"{sum(map(len, members)):,}", *(f"{took[name]:.2f}" for name in KINDS),
            times(took["rule scan"] / took["E-tree"]), f"{tested:.0%}", best, times(took["rule scan"] / took[best]),
            times(took["tree by tree"] / took[best]),
        ))  # fmt: skip
    columns = ("µs per record", "rules", *KINDS, "scan / E-tree", "boxes tested", "best", "scan / best", "trees / best")
    yield Table(
        "Hyper-cube, rules of the abnormal class", columns, rows,
        "The paper's own ratios: LE-tree 19 to 22 times its scan (n = 30), GE-tree 73 to 115 times (n = 100).",
    )  # fmt: skip


def majority() -> Iterator[Table]:
    """Rules of the abnormal class, counted to the end and until they have the majority."""
    rows = []
    for label, members, X in cubes():
        indexes = {name: KINDS[name]().insert_all(members) for name in ("E-tree", "E-tree, R*")}
        plays = {}
        for name, index in indexes.items():
            until = partial(index.scores_until, c=1, enough=CLEAR)
            ask = fast_rows(index, X)
            if not np.array_equal(until(ask)[:, 1] > CLEAR, index.scores(ask)[:, 1] > CLEAR):
                raise AssertionError(f"{name} decides otherwise")
            plays |= {name: (index.scores, ask), f"{name}, majority": (until, ask)}
        took = micro(plays)
        tree: Any = indexes["E-tree"]
        left = tree.entries_tested(X[:BATCH], c=1, enough=CLEAR) / tree.entries_tested(X[:BATCH])
        share = float((tree.scores(X[:BATCH])[:, 1] > CLEAR).mean())
        rows.append((label, f"{share:.0%}", *(f"{took[name]:.2f}" for name in plays), f"{left:.0%}"))
    columns = ("µs per record", "abnormal", *plays, "boxes still tested, E-tree")
    yield Table("Hyper-cube, counted until there is a majority", columns, rows)


def _agree(indexes: dict[str, Index], X: Any) -> None:
    """All must say the same; that is what makes them comparable."""
    first = next(iter(indexes.values())).scores(X[:300])
    for name, index in indexes.items():
        if not np.array_equal(index.scores(X[:300]), first):
            raise AssertionError(f"{name} says something else")


def growth() -> Iterator[Table]:
    """From 10 to 400 trees."""
    sizes = (10, 25, 50, 100, 200, 400)
    for d in (5, 10):
        ensemble, X = cube(d, sizes[-1])
        found: dict[str, list[float]] = {name: [] for name in KINDS}
        for n in sizes:
            members = targets(ensemble[:n])
            indexes = {name: make().insert_all(members) for name, make in KINDS.items()}
            took = micro({name: (index.scores, fast_rows(index, X)) for name, index in indexes.items()}, 3)
            for name in KINDS:
                found[name].append(took[name])
        rows = [
            (name, *(f"{t:.2f}" for t in found[name]), f"{np.polyfit(np.log(sizes), np.log(found[name]), 1)[0]:.2f}")
            for name in KINDS
        ]
        columns = ("µs per record", *(f"n = {n}" for n in sizes), "exponent")
        yield Table(f"Growth, hyper-cube, d = {d}", columns, rows)


def update() -> Iterator[Table]:
    """One classifier in, the oldest out, among 100 with all their leaves."""
    rows = []
    for d in (5, 10):
        ensemble, _ = cube(d, 130)
        for name, make in KINDS.items():
            index = make().insert_all(ensemble[:100])
            index.insert(1_000, ensemble[0])
            index.delete(1_000)  # compiled
            took: dict[str, list[float]] = {"insert": [], "delete": []}
            for k in range(100, 130):
                begin = time.process_time()
                index.insert(k, ensemble[k])
                between = time.process_time()
                index.delete(k - 100)
                took["insert"].append(1e3 * (between - begin))
                took["delete"].append(1e3 * (time.process_time() - between))
            size = statistics.mean(len(rules) for rules in ensemble)
            cells = [f"{f(values):.2f}" for values in took.values() for f in (statistics.median, max)]
            rows.append((f"{name}, d = {d}", f"{size:.0f}", f"{index.n_rules:,}", *cells))
    columns = ("ms", "rules of one", "rules of all", "insert, median", "insert, most", "delete, median", "delete, most")
    yield Table("Update: a classifier in, another out", columns, rows)


# -- forests ----------------------------------------------------------------------------------------------------------


def forest(name: str, size: int = 100) -> tuple[AdaptiveRandomForest, Any, Any]:
    """An ARF that has learned a stream, and the stream's rows and labels."""
    chunk = load_dataset(name).read(45_000 if name == "electricity" else 30_000)
    return AdaptiveRandomForest(size=size).partial_fit(chunk.X, chunk.y), chunk.X, chunk.y


def frozen() -> Iterator[Table]:
    """A forest of 100 trees, living and frozen."""
    rows = []
    for name in ("electricity", "covtype"):
        live, X, _ = forest(name)
        still, ask = live.compile(), np.ascontiguousarray(X[-BATCH:])
        if not np.array_equal(still.predict_proba(ask), live.predict_proba(ask)):
            raise AssertionError("the frozen forest says something else")
        batch = micro({"live": (live.predict_proba, ask), "frozen": (still.predict_proba, ask)}, 15)
        ones = micro({"live": (by_ones(live.predict_proba), ask[:200]),
                      "frozen": (by_ones(still.predict_proba), ask[:200])})  # fmt: skip
        for what, took in (("1,000 at a time", batch), ("one at a time", ones)):
            rows.append((f"{name}, {what}", f"{len(still.tables()['leaves']):,}", f"{took['live']:.2f}",
                         f"{took['frozen']:.2f}", times(took["live"] / took["frozen"])))  # fmt: skip
    yield Table("ARF of 100 trees", ("µs per record", "leaves", "living", "frozen", "living / frozen"), rows)


def peers() -> Iterator[Table]:
    """Ensembles of equal size in other libraries."""
    for name in ("electricity", "covtype"):
        live, X, y = forest(name)
        still, ask = live.compile(), np.ascontiguousarray(X[-BATCH:])
        leaves = round(len(still.tables()["leaves"]) / len(still))
        contenders = {"thalweg, frozen ARF": (still.predict_proba, leaves)}
        contenders |= dict(_sklearn(X[:-BATCH], y[:-BATCH], leaves))
        contenders |= dict(_lightgbm(X[:-BATCH], y[:-BATCH], leaves))
        batch = micro({key: (answer, ask) for key, (answer, _) in contenders.items()})
        ones = micro({key: (by_ones(answer), ask[:50]) for key, (answer, _) in contenders.items()}, 3)
        rows = [(key, f"{contenders[key][1]:,}", f"{batch[key]:.2f}", f"{ones[key]:.1f}") for key in contenders]
        columns = ("µs per record", "leaves of a tree", "1,000 at a time", "one at a time")
        yield Table(
            f"Beside other libraries, 100 trees, {name}", columns, rows,
            "One thread each. Leaves of other libraries hold numbers; those of the ARF answer by naive Bayes, too. "
            "LightGBM grows a tree for each class in each round: as many rounds as make about 100 trees.",
        )  # fmt: skip


def _sklearn(X: Any, y: Any, leaves: int) -> Iterator[tuple[str, tuple[Callable[[Any], Any], int]]]:
    """scikit-learn's forest, and the same one in an index of ours and compiled by treelite."""
    try:
        from sklearn.ensemble import RandomForestClassifier
    except ImportError:
        return
    from thalweg.index.sources import rules_of

    model = RandomForestClassifier(100, max_leaf_nodes=leaves, random_state=0, n_jobs=1).fit(X, y)
    size = round(statistics.mean(tree.get_n_leaves() for tree in model.estimators_))
    yield "scikit-learn, random forest", (model.predict_proba, size)
    members = rules_of(model)
    yield "thalweg, that forest, trees in batches", (CompiledTrees().insert_all(members).scores, size)
    yield "thalweg, that forest, bitmap", (BitmapIndex().insert_all(members).scores, size)
    try:
        import tempfile

        import tl2cgen
        import treelite

        whole = treelite.sklearn.import_model(model)
        path = Path(tempfile.mkdtemp()) / "forest.so"
        tl2cgen.export_lib(whole, toolchain="gcc", libpath=path, params={"parallel_comp": 25}, verbose=False)
        compiled = tl2cgen.Predictor(path, nthread=1)
        yield "treelite (tl2cgen), that forest", (lambda rows: compiled.predict(tl2cgen.DMatrix(rows)), size)
        yield "treelite (GTIL), that forest", (lambda rows: treelite.gtil.predict(whole, rows, nthread=1), size)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        print(f"treelite: {error}")


def _lightgbm(X: Any, y: Any, leaves: int) -> Iterator[tuple[str, tuple[Callable[[Any], Any], int]]]:
    """LightGBM's trees, and the same ones compiled by lleaves."""
    try:
        import lightgbm
    except ImportError:
        return
    classes = len(np.unique(y))
    rounds = 100 if classes == 2 else round(100 / classes)  # each round grows a tree for each class
    model = lightgbm.LGBMClassifier(n_estimators=rounds, num_leaves=leaves, n_jobs=1, verbose=-1).fit(X, y)
    booster = model.booster_
    yield "LightGBM", (lambda rows: booster.predict(rows, num_threads=1), leaves)
    try:
        import tempfile

        import lleaves

        path = Path(tempfile.mkdtemp()) / "model.txt"
        booster.save_model(path)
        compiled = lleaves.Model(model_file=str(path))
        compiled.compile()
        yield "lleaves, LightGBM's trees", (lambda rows: compiled.predict(rows, n_jobs=1), leaves)
    except (ImportError, AttributeError, OSError, RuntimeError, ValueError) as error:
        print(f"lleaves: {error}")


# -- the paper's tables -----------------------------------------------------------------------------------------------

PUBLISHED: dict[str, tuple[float, ...]] = {
    "Adult": (6523, 80.80, 19.66, 20361, 6.37, 7452, 2135.06, 19.59, 449078, 800.14),
    "Intrusion (KDD 10 %)": (62, 1.50, 1.03, 337, 0.93, 169, 114.90, 0.96, 444.50, 107.76),
    "Magic": (3145, 40.45, 7.18, 36250, 3.07, 7263, 1378.14, 4.74, 336880, 401.40),
    "Spam (Spambase)": (3484, 46.29, 8.28, 47406, 3.15, 5933, 2547.07, 9.18, 368969, 155.17),
    "Wine, red": (3657, 46.50, 22.32, 31250, 3.57, 11220, 632.56, 23.38, 305950, 463.10),
    "Wine, white": (3031, 118.50, 23.43, 38120, 2.95, 8849, 5825.37, 23.43, 350640, 1070.60),
}
"""Table 4: LE-tree ms, KB, error; L-Ensemble ms, KB; GE-tree ms, KB, error; G-Ensemble ms, KB."""
SETS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "Adult": ("adult", lambda y: y == y[0]),
    "Intrusion (KDD 10 %)": ("kddcup99", lambda y: np.char.startswith(y.astype(str), "normal")),
    "Magic": ("magic", lambda y: y == y[0]),
    "Spam (Spambase)": ("spambase", lambda y: y == y[0]),
    "Wine, red": ("wine-red", lambda y: y.astype(float) > 5),
    "Wine, white": ("wine-white", lambda y: y.astype(float) > 5),
}
"""The paper decides between two classes; which, for wine, it does not say: ours is a quality above 5."""
LOCAL, GLOBAL, EVERY = 30, 100, 5
"""Trees of the local and of the global ensembles; after so many chunks the next one tells the error."""


def tables() -> Iterator[Table]:
    """Tables 3 and 4 of the paper, on chunks of 1,000 and 10,000 rows."""
    for size in (1_000, 10_000):
        third: list[tuple[str, ...]] = []
        fourth: list[tuple[str, ...]] = []
        for name in SETS:
            members, X, error = trained(name, size)
            counts = [sum(len(r) for r in targets(members, c)) for c in (0, 1)]
            minor = int(counts[1] < counts[0])
            for c in (0, 1):
                kinds = {"LE": _indexes(members[-LOCAL:], c), "GE": _indexes(members, c)}
                took = {key: _times(indexes, X) for key, indexes in kinds.items()}
                third.append((
                    f"{name}, {'minor' if c == minor else 'major'}", f"{counts[c]:,}",
                    *(v for key in kinds for v in (f"{took[key]['E-tree']:.2f}", _kib(kinds[key]["E-tree"]))),
                ))  # fmt: skip
                if c == minor:
                    fourth += _fourth(name, kinds, took, error[c])
        columns = ("class", "rules", "LE-tree µs", "LE-tree KiB", "GE-tree µs", "GE-tree KiB")
        yield Table(f"Table 3: rules of either class, chunks of {size:,}", columns, third)
        columns = ("", "µs per record", "KiB", "error", "published ms", "KB", "error")
        yield Table(
            f"Table 4: rules of the class that has fewer, chunks of {size:,}", columns, fourth,
            "Published: for a batch of unstated size, so times can only be compared with each other; L- and G-Ensemble "
            "look at every rule. Rows are drawn over and over, as the paper's streams seem to be: most have been "
            "learned before they are asked about, which flatters the errors.",
        )  # fmt: skip


def trained(name: str, size: int) -> tuple[list[Rules], Any, tuple[Any, Any]]:
    """The trees of 100 chunks, records to ask about, and the errors of the last 30 trees and of all, by target."""
    dataset, positive = SETS[name]
    stream = load_dataset(dataset)
    chunk = stream.read(1_000_000)
    y = positive(np.asarray(chunk.y, dtype=object).astype(str)).astype(np.int64)
    nominal = np.array([feature.nominal for feature in stream.schema.features])
    values = np.where(nominal, np.nanmax(chunk.X, axis=0).astype(np.int64) + 1, 0)
    rng = np.random.default_rng(1)
    order = np.concatenate([rng.permutation(len(y)) for _ in range(-(-size * (GLOBAL + 1) // len(y)))])
    trees: list[ChunkTree] = []
    lone: list[Index] = []  # an index of each tree, to ask it alone
    wrong = np.zeros((2, 2))  # by target, of the last trees and of all
    rows = 0
    for k in range(GLOBAL + 1):
        mine = order[k * size : (k + 1) * size]
        X, codes = np.ascontiguousarray(chunk.X[mine]), y[mine]
        if k and k % EVERY == 0:
            step = slice(0, 1_000)
            votes = np.stack([index.scores(X[step]).argmax(axis=1) for index in lone])
            for j, part in enumerate((votes[-LOCAL:], votes)):
                for c in (0, 1):
                    said = (part == c).mean(axis=0) > 0.5
                    wrong[c, j] += np.count_nonzero(said != (codes[step] == c))
            rows += len(codes[step])
        if k < GLOBAL:
            trees.append(grow_tree(X, codes, values, classes=2).hard())
            lone.append(CompiledTrees().insert_all([trees[-1].rules(nominal, 2)]))
    errors = wrong / max(1, rows)
    return [tree.rules(nominal, 2) for tree in trees], X, (errors[0], errors[1])


def _indexes(members: list[Rules], target: int) -> dict[str, Index]:
    chosen = [replace(rules, say=1.0 / len(members)) for rules in targets(members, target)]
    return {name: KINDS[name]().insert_all(chosen) for name in ("rule scan", "E-tree", "bitmap")}


def _times(indexes: dict[str, Index], X: Any) -> dict[str, float]:
    _agree(indexes, X)
    return micro({name: (index.scores, fast_rows(index, X)) for name, index in indexes.items()}, 3)


def _kib(index: Index) -> str:
    return f"{index.nbytes / 1024:,.0f}"


def _fourth(name: str, kinds: Any, took: Any, error: Any) -> list[tuple[str, ...]]:
    """The lines of one data set."""
    p = PUBLISHED[name]
    lines = []
    for j, (key, scan) in enumerate((("LE", "L"), ("GE", "G"))):
        ms, kb, wrong, scan_ms, scan_kb = p[5 * j : 5 * j + 5]
        theirs = {"E-tree": (f"{key}-tree", ms, kb), "rule scan": (f"{scan}-Ensemble", scan_ms, scan_kb)}
        for kind, (title, its_ms, its_kb) in theirs.items():
            lines.append((f"{name}, {title}", f"{took[key][kind]:.2f}", _kib(kinds[key][kind]), f"{error[j]:.2%}",
                          f"{its_ms:,.0f}", f"{its_kb:,.1f}", f"{wrong:.2f} %"))  # fmt: skip
        lines.append((f"{name}, {scan}-Ensemble, bitmap", f"{took[key]['bitmap']:.2f}", _kib(kinds[key]["bitmap"]),
                      f"{error[j]:.2%}", "", "", ""))  # fmt: skip
    return lines


TABLES = {f.__name__: f for f in (hypercube, majority, frozen, growth, update, tables, peers)}


def main() -> None:
    """Run the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"{', '.join(TABLES)}; all by default")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file, too")
    options = parser.parse_args()
    unknown = [name for name in options.tables if name not in TABLES]
    if unknown:
        parser.error(f"a table must be one of {', '.join(TABLES)}, got {unknown[0]}")
    console, written = Console(width=200), []
    for name in options.tables or TABLES:
        for table in TABLES[name]():
            table.show(console)
            written.append(table.markdown())
            if options.markdown:
                options.markdown.write_text("\n".join(written), "utf-8")


if __name__ == "__main__":
    main()
