"""CSV files: rows per second of ``CSVStream``, and of pandas and pyarrow that read chunks and turn them into arrays.

All give, for each chunk, X (float64, nominal columns as codes that are the same in all chunks) and the labels, but for
the ways that say they do less. pandas reads in the three ways below, pyarrow in two, with one thread. pandas reads with
its defaults, so its numbers may be off in the last bit; the others round exactly. All run in one process, by turns;
figures are medians. The exit code is 0 when ``CSVStream`` is at least 3 times as fast as the fastest of them. With
--big-gb 2 a file of that size is read too, and memory is watched.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from thalweg.streams.files.csv.csv_stream import CSVStream

CHUNK = 10_000
MB = 1_000_000
BAR = 3.0


def write_numeric(path: Path, rows: int) -> None:
    """Write ten columns of all digits a double has, and a label."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=rows) for i in range(10)})
    frame["class"] = np.array(["up", "down", "flat"])[rng.integers(0, 3, rows)]
    frame.to_csv(path, index=False)


def write_mixed(path: Path, rows: int) -> None:
    """Write five columns of four decimals, three of 20, 40 and 60 words, one of whole numbers, and a label."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"x{i}": rng.normal(size=rows).round(4) for i in range(5)})
    for j in range(3):
        n = 20 * (j + 1)
        frame[f"t{j}"] = np.array([f"word{j}_{k}" for k in range(n)])[rng.integers(0, n, rows)]
    frame["k"] = rng.integers(0, 1000, rows)
    frame["class"] = np.array(["up", "down", "flat"])[rng.integers(0, 3, rows)]
    frame.to_csv(path, index=False)


def joined(codes: dict[str, int], words: Any) -> Any:
    """Give the codes of words over all chunks; new ones join. The last one is for missing values."""
    return np.array([codes.setdefault(w, len(codes)) for w in words] + [np.nan])


def by_factorize(path: Path, words: list[str]) -> list[tuple[Any, Any]]:
    """Read with pandas: words become codes by ``factorize``."""
    known: dict[str, dict[str, int]] = {w: {} for w in words}
    last: list[tuple[Any, Any]] = []
    for chunk in pd.read_csv(path, chunksize=CHUNK):
        for w in words:
            codes, found = pd.factorize(chunk[w])
            chunk[w] = joined(known[w], found)[codes]
        last = [(chunk.drop(columns="class").to_numpy(dtype=np.float64), chunk["class"].to_numpy().astype(np.int64))]
    return last


def by_category(path: Path, words: list[str]) -> list[tuple[Any, Any]]:
    """Read with pandas: words are read as categories."""
    known: dict[str, dict[str, int]] = {w: {} for w in words}
    last: list[tuple[Any, Any]] = []
    for chunk in pd.read_csv(path, chunksize=CHUNK, dtype=dict.fromkeys(words, "category")):
        for w in words:
            kept = chunk[w].cat
            chunk[w] = joined(known[w], kept.categories)[kept.codes.to_numpy()]
        last = [(chunk.drop(columns="class").to_numpy(dtype=np.float64), chunk["class"].to_numpy().astype(np.int64))]
    return last


def as_it_comes(path: Path, words: list[str]) -> list[tuple[Any, Any]]:
    """Read with pandas: ``to_numpy`` and nothing else, as most people do; words stay words."""
    last: list[tuple[Any, Any]] = []
    for chunk in pd.read_csv(path, chunksize=CHUNK):
        last = [(chunk.drop(columns="class").to_numpy(), chunk["class"].to_numpy())]
    return last


def by_arrow(path: Path, words: list[str]) -> list[tuple[Any, Any]]:
    """Read with pyarrow, in one thread: words are read as dictionaries."""
    known: dict[str, dict[str, int]] = {w: {} for w in words}
    last: list[tuple[Any, Any]] = []
    for batch in arrow_batches(path, dict.fromkeys(words, pa.dictionary(pa.int32(), pa.string()))):
        X, y = np.empty((batch.num_rows, batch.num_columns - 1)), np.empty(0)
        for f, name in enumerate(batch.schema.names):  # the label is the last
            column = batch.column(f)
            if name in known:
                values = joined(known[name], column.dictionary.to_pylist())[column.indices.to_numpy()]
            else:
                values = column.to_numpy(zero_copy_only=False)
            if name == "class":
                y = values.astype(np.int64)
            else:
                X[:, f] = values
        last = [(X, y)]
    return last


def arrow_only(path: Path, words: list[str]) -> list[tuple[Any, Any]]:
    """Read with pyarrow, in one thread, and make no arrays: columns stay columns, words stay words."""
    last: list[tuple[Any, Any]] = []
    for batch in arrow_batches(path, {}):
        last = [(batch, None)]
    return last


def arrow_batches(path: Path, types: dict[str, Any]) -> Any:
    """Give the batches of a file as pyarrow's reader with constant memory finds them."""
    reading = arrow_csv.ReadOptions(use_threads=False)
    return arrow_csv.open_csv(path, reading, convert_options=arrow_csv.ConvertOptions(column_types=types))


def by_thalweg(path: Path, words: list[str]) -> list[tuple[Any, Any]]:
    """Read with thalweg; types are inferred, as pandas does."""
    last: list[tuple[Any, Any]] = []
    for chunk in CSVStream(path).chunks(CHUNK):
        last = [(chunk.X, chunk.y)]
    return last


WAYS: dict[str, Callable[[Path, list[str]], list[tuple[Any, Any]]]] = {
    "thalweg": by_thalweg,
    "pandas, factorize": by_factorize,
    "pandas, category": by_category,
    "pandas, as it comes": as_it_comes,
    "pyarrow, dictionary": by_arrow,
    "pyarrow, no arrays": arrow_only,
}


def check(path: Path, words: list[str]) -> None:
    """Refuse to compare what does not give the same numbers (but for pandas' last bit) and the same classes."""
    ((X, y),), ((theirs, codes),), ((arrow, _),) = (way(path, words) for way in (by_thalweg, by_factorize, by_arrow))
    assert np.allclose(X[:, :5], theirs[:, :5], rtol=1e-14, atol=0)  # the first five are numbers in both files
    n = min(len(X), len(arrow))
    assert np.array_equal(X[-n:, :5], arrow[-n:, :5])
    assert len(set(zip(y.tolist(), codes.tolist(), strict=True))) == len(set(y.tolist())) == 3


def compare(name: str, path: Path, words: list[str], rows: int, repeats: int) -> float:
    """Read one file in all ways, by turns; print a table; give the lesser ratio to the fastest other way."""
    check(path, words)
    cpu: dict[str, list[float]] = {way: [] for way in WAYS}
    wall: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(repeats):
        for way, read in WAYS.items():
            c, t = time.process_time(), time.perf_counter()
            read(path, words)
            cpu[way].append(rows / (time.process_time() - c))
            wall[way].append(rows / (time.perf_counter() - t))
    print(f"\n{name}: {rows:,} rows, {path.stat().st_size / MB:.0f} MB, chunks of {CHUNK:,}")
    print(f"{'':24}{'M rows / CPU s':>16}{'thalweg is':>12}{'M rows / s':>14}{'thalweg is':>12}")
    c, w = ({way: statistics.median(v) for way, v in kind.items()} for kind in (cpu, wall))
    for way in WAYS:
        times = f"{c['thalweg'] / c[way]:11.2f}×", f"{w['thalweg'] / w[way]:11.2f}×"
        print(f"{way:24}{c[way] / MB:16.2f}{times[0]}{w[way] / MB:14.2f}{times[1]}")
    return min(kind["thalweg"] / max(v for way, v in kind.items() if way != "thalweg") for kind in (c, w))


def resident() -> float:
    """Give the MB of memory that the process holds now."""
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmRSS")).split()[1]) * 1024 / MB


def read_big(folder: Path, part: Path, size: float) -> bool:
    """Read a file of so many GB, made of copies of another one; memory must not grow after the first tenth."""
    path = folder / "big.csv"
    head, _, body = part.read_bytes().partition(b"\n")
    with path.open("wb") as file:
        file.write(head + b"\n")
        while file.tell() < size * 1e9:
            file.write(body)
    del body
    total, rows, early, late = path.stat().st_size, 0, 0.0, 0.0
    per_row = (part.stat().st_size - len(head)) / sum(1 for _ in part.open("rb"))
    start, cpu = time.perf_counter(), time.process_time()
    for chunk in CSVStream(path).chunks(CHUNK):
        rows += len(chunk)
        if rows * per_row < total / 10:
            early = max(early, resident())
        else:
            late = max(late, resident())
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    speed = f"{seconds:.1f} s ({cpu:.1f} s of CPU), {total / seconds / MB:.0f} MB/s"
    print(f"\n{total / 1e9:.2f} GB: {rows:,} rows in {speed}")
    print(f"peak memory: {early:.0f} MB in the first tenth, {late:.0f} MB after: ", end="")
    flat = late - early < 16
    print("ok" if flat else "GROWS")
    return flat


def main() -> int:
    """Write, read, judge."""
    parser = argparse.ArgumentParser(description="CSVStream, pandas and pyarrow, side by side")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--big-gb", type=float, default=0, help="also read a file of so many GB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        numeric, mixed = folder / "numeric.csv", folder / "mixed.csv"
        write_numeric(numeric, options.rows)
        write_mixed(mixed, options.rows)
        ratios = [
            compare("numeric", numeric, ["class"], options.rows, options.repeats),
            compare("mixed", mixed, ["t0", "t1", "t2", "class"], options.rows, options.repeats),
        ]
        for kind, ratio in zip(("numeric", "mixed"), ratios, strict=True):
            print(f"{kind}: {ratio:.2f} × the fastest other way: {'ok' if ratio >= BAR else f'BELOW {BAR}'}")
        flat = not options.big_gb or read_big(folder, numeric, options.big_gb)
    return 0 if min(ratios) >= BAR and flat else 1


if __name__ == "__main__":
    sys.exit(main())
