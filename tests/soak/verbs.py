"""Call the verbs of every learner, and every reader of files, with anything at all.

    python -m soak.verbs --calls 20000                   # of each learner and reader, one process each
    python -m soak.verbs --calls 500 --only arf csv --seed 3

A call works, or is refused with a ValueError or TypeError of one sentence, and then nothing has changed. Anything else,
and a crash or a hang of the process, is a failure.
"""

import argparse
import faulthandler
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

import thalweg
from contracts.test_wrappers import labels, rows_for, small
from thalweg import registry

HERE = Path(__file__).resolve()
SECONDS = 120
ODD = (None, True, "", "word", b"raw", 0, -1, 2**70, 1.5, float("nan"), float("inf"), 1j, (), [], {}, object(), [[]],
       [["a", "b"]], [[1, 2], [3]], np.zeros((0, 7)), np.zeros((3, 0)), np.zeros((2, 3, 4, 5)), np.array(3.0),
       np.array(["x", "y"]), np.array([None, 1], dtype=object), np.ma.masked_array([[1.0]], [[True]]))  # fmt: skip


# -- what is handed over ----------------------------------------------------------------------------------------------


def rows(rng, learner):
    """Rows that may or may not be what the learner takes."""
    kinds = rows_for(learner)
    X = kinds[str(rng.choice(sorted(kinds)))]
    X = X[: int(rng.integers(0, 9))]
    if rng.random() < 0.45:
        return X
    if rng.random() < 0.2:
        return ODD[rng.integers(len(ODD))]
    if not isinstance(X, np.ndarray):
        with np.errstate(all="ignore"):
            return csr_array(X * float(rng.choice((1.0, np.nan, np.inf, 1e308))))
    X, twist = X.copy(), rng.integers(9)
    if twist == 0 and X.size:
        X.reshape(-1)[rng.integers(X.size)] = rng.choice((np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 1e160))
    elif twist == 1:
        X = X.astype(rng.choice((np.float32, np.int8, np.bool_, np.complex128, np.float16, object, "U3")))
    elif twist == 2:
        X = X[..., : rng.integers(0, X.shape[-1] + 1)]
    elif twist == 3:
        X = np.concatenate([X, X], axis=-1)
    elif twist == 4:
        X = X[::-1]
    elif twist == 5:
        X = np.asfortranarray(X)
    elif twist == 6:
        X = X.tolist()
    elif twist == 7:
        X = X.astype(">f8")
    else:
        X.flags.writeable = False
    return X


def targets(rng, n):
    """Labels that may or may not fit n rows."""
    y = labels()[:n]
    twist = rng.integers(12)
    if twist < 6:
        return y
    if twist == 6:
        return y[: max(0, n - 1)]
    if twist == 7:
        return y.tolist()
    if twist == 8:
        return [None] * n
    if twist == 9:
        return np.full(n, np.nan)
    if twist == 10:
        return rng.choice(np.array([f"class {i}" for i in range(40)]), n)
    return ODD[rng.integers(len(ODD))]


def record(rng, learner):
    """One record that may or may not be what the learner takes."""
    kinds = rows_for(learner)
    x = kinds.get("rows", kinds["tensors"])[rng.integers(20)]
    twist = rng.integers(8)
    if twist < 3:
        return x
    if twist == 3 and x.ndim == 1:
        return {f"x{i}": float(v) for i, v in enumerate(x)}
    if twist == 4 and x.ndim == 1:
        return {f"x{i}": v for i, v in enumerate([*x.tolist()[:-1], rng.choice((np.nan, np.inf, "word", None))])}
    if twist == 5:
        return x[..., :-1]
    if twist == 6:
        return x.tolist()
    return ODD[rng.integers(len(ODD))]


def weights(rng, n):
    """Weights that may or may not fit n rows."""
    return (None, np.ones(n), np.zeros(n), rng.random(n), -np.ones(n), [np.nan] * n, np.ones(n + 1), "heavy")[
        rng.integers(8)
    ]


# -- calls ------------------------------------------------------------------------------------------------------------


def call(rng, learner, other):
    """Call one verb."""
    verb = rng.integers(12)
    X = rows(rng, learner)
    n = next(iter(getattr(X, "shape", ())), 3)
    if verb == 0:
        learner.predict_proba(X)
    elif verb == 1:
        learner.predict(X)
    elif verb in (2, 3):
        learner.partial_fit(X, targets(rng, n), sample_weight=weights(rng, n))
    elif verb in (4, 5):
        learner.test_then_train(X, targets(rng, n))
    elif verb == 6:
        events = rng.integers(-n - 1, n + 1, rng.integers(0, 12)) if n else ODD[rng.integers(len(ODD))]
        learner.play(X, targets(rng, n), events)
    elif verb == 7:
        learner.learn_one(record(rng, learner), rng.choice(labels()), rng.choice((1.0, 1.0, 0.0, -1.0, np.nan, 2.5)))
    elif verb == 8:
        learner.predict_proba_one(record(rng, learner))
    elif verb == 9:
        learner.predict_one(record(rng, learner))
    elif verb == 10:
        learner.restore(other if rng.random() < 0.2 else ODD[rng.integers(len(ODD))])
    else:
        learner.set_params(**{str(rng.choice(["size", "seed", "k", "window", "nothing"])): ODD[rng.integers(8)]})


def bits(learner):
    """Everything a learner knows, to be compared."""
    return {name: (table.dtype, table.shape, table.tobytes()) for name, table in learner.state().items()}


def try_learner(name, calls, seed):
    """Call the verbs of one learner; give the failures."""
    failures, learner = [], small(name)
    other = small("naive-bayes").partial_fit(np.zeros((2, 3)), ["a", "b"]).state()
    refused = 0
    for number in range(calls):
        rng = np.random.default_rng([seed, number])
        if number % 200 == 0:
            learner = small(name)
            if number % 400:
                kinds = rows_for(learner)
                learner.partial_fit(kinds.get("rows", kinds["tensors"]), labels())
        before = bits(learner)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            call(rng, learner, other)
        except (ValueError, TypeError) as error:
            refused += 1
            text = str(error)
            if "\n" in text or len(text) < 8 or bits(learner) != before:
                failures.append(f"{number}: {'changed' if bits(learner) != before else 'said'}: {text[:90]}")
        except Exception as error:
            failures.append(_told(number, error))
    faulthandler.cancel_dump_traceback_later()
    print(f"{name}: {calls} calls, {refused} refused, {len(failures)} failed")
    return failures


# -- readers ----------------------------------------------------------------------------------------------------------


def files(folder):
    """Write small sound files of each format, with a nominal column, missing values and quotes; give their bytes."""
    import pyarrow as pa
    from pyarrow import ipc, parquet

    n = 40
    table = pa.table({"a": [float(i) for i in range(n)], "b": ["x", "y", None, 'q"']* (n // 4),
                      "class": ["no", "yes"] * (n // 2)})  # fmt: skip
    coded = table.set_column(1, "b", table["b"].dictionary_encode()).append_column(
        "c", pa.array([True, None] * (n // 2))
    )
    parquet.write_table(table, folder / "t.parquet", row_group_size=10)
    parquet.write_table(coded, folder / "u.parquet", compression="zstd", use_dictionary=False, data_page_version="2.0")
    for name, some, packing in (("t", table, None), ("u", coded, "zstd")):
        with ipc.new_file(
            folder / f"{name}.arrow", some.schema, options=ipc.IpcWriteOptions(compression=packing)
        ) as file:
            file.write_table(some.combine_chunks(), max_chunksize=10)
    lines = [f'{i}.5,"w{i % 3}",{"no" if i % 2 else "yes"}' for i in range(n)]
    (folder / "t.csv").write_text("a,b,class\n" + "\n".join(lines) + "\n")
    head = "@relation t\n@attribute a numeric\n@attribute b {w0,w1,w2}\n@attribute class {no,yes}\n@data\n"
    (folder / "t.arff").write_text(head + "\n".join(line.replace('"', "") for line in lines) + "\n")
    records = [json.dumps({"a": i, "b": f"w{i % 3}", "class": "no" if i % 2 else "yes"}) for i in range(n)]
    (folder / "t.jsonl").write_text("\n".join(records) + "\n")
    (folder / "t.svm").write_text("\n".join(f"{i % 2} 1:{i}.5 {2 + i % 3}:1" for i in range(n)) + "\n")
    X, y = np.random.default_rng(1).normal(size=(n, 3)), np.arange(n) % 2
    rows = csr_array(np.where(X > 0, X, 0.0))
    np.savez(folder / "t.npz", X=X, y=y)
    np.savez_compressed(
        folder / "u.npz", data=rows.data, indices=rows.indices, indptr=rows.indptr, shape=rows.shape, y=y.astype(str)
    )
    found = {}
    for path in sorted(folder.iterdir()):
        found.setdefault(path.suffix[1:], []).append(path.read_bytes())
    return found


def damaged(raw, rng):
    """Flip, cut, double or exchange bytes, or the numbers that say where things are; mostly where structure is."""
    if raw[:2] == b"PK" and rng.random() < 0.5:
        return _repacked(raw, rng)
    parts, raw = structure(raw), bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 5))):
        start, end = parts[rng.integers(len(parts))] if rng.random() < 0.6 else (0, len(raw))
        end = min(end, len(raw))
        at = int(rng.integers(min(start, end - 1), end)) if end else 0
        kind = rng.integers(8)
        if not raw or kind == 0:
            del raw[at:]
        elif kind in (1, 2):
            raw[at] ^= 1 << int(rng.integers(8))
        elif kind == 3:
            raw[at : at + 1] = bytes(rng.choice((b"\xff\xff\xff\x7f", b"\x00" * 8, b'"', b"\n", b",,", b"\xff" * 8)))
        elif kind == 4:
            raw[at:at] = raw[at : at + int(rng.integers(1, 40))]
        elif kind == 5:
            del raw[at : at + int(rng.integers(1, 40))]
        else:
            size = int(rng.choice((1, 2, 4, 8)))
            at -= at % size
            number = int.from_bytes(raw[at : at + size], "little") + int(
                rng.choice((1, -1, 8, -8, 64, 1 << 31, 1 << 40))
            )
            if rng.random() < 0.5:
                number = int(rng.choice((0, 1, -1, len(raw), len(raw) + 1, 1 << 31, (1 << 31) - 1, 1 << 40, 1 << 62)))
            raw[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "little")
    return bytes(raw)


def structure(raw):
    """Give the parts of a file that say where everything is: from where to where."""
    ends = [(0, min(64, len(raw))), (max(0, len(raw) - 96), len(raw))]
    last = int.from_bytes(raw[-8:-4], "little") if raw[:4] == b"PAR1" else int.from_bytes(raw[-10:-6], "little")
    if raw[:4] == b"PAR1":  # Thrift: the footer, whose length stands before the last four bytes
        return [*ends, (len(raw) - 8 - last, len(raw))]
    if raw[:6] == b"ARROW1":  # flatbuffers: a message begins with -1 and its length, the footer ends with its length
        marks = [at for at in range(8, len(raw) - 8, 8) if raw[at : at + 4] == b"\xff" * 4]
        messages = [(at, at + 8 + int.from_bytes(raw[at + 4 : at + 8], "little")) for at in marks]
        return [*ends, *messages, (len(raw) - 10 - last, len(raw))]
    if raw[:2] == b"PK":  # the local header of each member and of the array in it, and the directory
        return [*ends, *((m.start(), m.start() + 160) for m in re.finditer(b"PK\x03\x04|PK\x01\x02", raw))]
    return ends


def _repacked(raw, rng):
    """Damage the arrays of an archive behind right checksums; now and then one that unpacks to far more than it is."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as before, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as after:
        for name in before.namelist():
            data = before.read(name)
            pick = rng.random()
            if pick < 0.4:
                data = damaged(data[:128], rng) + data[128:]
            elif pick < 0.5:
                data = damaged(data, rng)
            elif pick < 0.52:
                data += bytes(1 << 24)
            after.writestr(name, data)
    return file.getvalue()


def try_reader(ending, calls, seed):
    """Read damaged files of one format; give the failures."""
    failures, folder, refused = [], Path(tempfile.mkdtemp()), 0
    sound = files(folder)[ending]
    path = folder / f"damaged.{ending}"
    for number in range(calls):
        rng = np.random.default_rng([seed, number])
        path.write_bytes(damaged(sound[number % len(sound)], rng))
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        print(f"at {number}", file=sys.stderr, flush=True)
        try:
            stream = thalweg.open_file(path) if ending in ("svm", "npz") else thalweg.open_file(path, target="class")
            while (chunk := stream.read(7)) is not None and len(chunk):
                assert len(chunk) == len(chunk.y)
        except (ValueError, TypeError, OSError) as error:
            refused += 1
            if isinstance(error, OSError) and error.errno is not None:
                failures.append(_told(number, error))
        except Exception as error:
            failures.append(_told(number, error))
    faulthandler.cancel_dump_traceback_later()
    print(f"{ending}: {calls} files, {refused} refused, {len(failures)} failed")
    return failures


def _told(number, error):
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{number}: {type(error).__name__}: {str(error)[:100]} ({Path(where.filename).name}:{where.lineno})"


READERS = ("arff", "arrow", "csv", "jsonl", "npz", "parquet", "svm")


def main():
    """Try some here, or every learner and reader in a process of its own."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--calls", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", nargs="*")
    options.add_argument("--here", action="store_true", help="in this process")
    given = options.parse_args()
    names = given.only or [*registry.LEARNERS, *READERS]
    if given.here:
        warnings.simplefilter("ignore")
        bad = 0
        for name in names:
            failures = (try_reader if name in READERS else try_learner)(name, given.calls, given.seed)
            bad += bool(failures)
            for line in failures[:12]:
                print(f"    {line}")
        sys.exit(bad > 0)
    bad = 0
    for name in names:
        command = [sys.executable, "-m", "soak.verbs", "--here", "--only", name,
                   *(f"--{key}={getattr(given, key)}" for key in ("calls", "seed"))]  # fmt: skip
        done = subprocess.run(command, env=os.environ, cwd=HERE.parents[1], capture_output=True, text=True, check=False)
        print(done.stdout, end="", flush=True)
        if done.returncode not in (0, 1) or (done.returncode and not done.stdout):
            print(f"{name}: ended with {done.returncode}\n    {done.stderr[-1500:]}", flush=True)
        bad += done.returncode != 0
    print(f"{bad} of {len(names)} failed")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
