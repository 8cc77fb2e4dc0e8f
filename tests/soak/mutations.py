"""Change the tables of saved models behind a right checksum, restore them, and use what was not refused.

    python -m soak.mutations --each 2000                # all classes that can be saved, one process each
    python -m soak.mutations --each 200 --only WindowKNN --rows 500 --seed 7
    python -m soak.mutations --only WindowKNN --again 123   # one mutation once more, with its traceback

No class is known by name: specimens come from the registry, and a mutation only knows arrays. With the compiler off, or
with bounds checks compiled in (the default here), a wrong index is an IndexError and so a failure, as is everything
else but a ValueError from ``restore`` or from a verb. A crash or a hang ends the process of the class, and is one too.
"""

import argparse
import copy
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve()
SECONDS = 120
"""A single mutation that takes longer hangs."""
NUMBERS = (0, 1, -1, -2, 2, 3, 7, 8, 2**15, 2**31 - 1, -(2**31), 2**32, 2**40, 2**53, 2**61, 2**62, 2**63 - 3,
           2**63 - 1, -(2**62), -(2**63), 0.5, -0.5, 1e-300, 1e17, 1e70, 1e154, 1e300, 1.7e308, -1e300,
           float("nan"), float("inf"), float("-inf"))  # fmt: skip


HASTY = {
    "delta": 0.3,
    "tau": 0.5,
    "switch_delta": 0.3,
    "min_rows": 10,
    "review_period": 30,
    "drift": "adwin(delta=0.3)",
}
"""Parameters, of whichever learner has them, with which it changes often."""
GROWN_ROWS = 600


def mutated(state, rng):
    """Change one to three things about the arrays of a state."""
    state = {name: table.copy() for name, table in state.items()}
    for _ in range(min(len(state), rng.choice((1, 1, 1, 2, 3)))):
        name = str(rng.choice(sorted(state)))
        state[name] = _changed(state[name], rng, state)
        if state[name] is None:
            del state[name]
    return state


def _changed(table, rng, state):
    kind = rng.choice(("cell", "cell", "cell", "cell", "column", "all", "swap", "shape", "dtype", "bit", "gone"),
                      p=(0.17, 0.17, 0.17, 0.17, 0.1, 0.03, 0.08, 0.06, 0.02, 0.02, 0.01))  # fmt: skip
    if kind == "gone":
        return None
    if kind == "dtype":
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            to = rng.choice((np.float32, np.float64, np.int32, np.int64, np.uint64, np.uint8, np.bool_))
            return table.astype(to) if table.dtype.names is None else table.view(np.uint8)
    if table.dtype == np.uint8 and table[:1].tobytes() in (b"{", b"[") and rng.random() < 0.7:
        with suppress(ValueError):  # changed before, it may be JSON no more
            said = json.dumps(_retold(json.loads(table.tobytes()), rng))
            return np.frombuffer(bytearray(said, "utf-8"), dtype=np.uint8)
    if kind == "shape" or not table.size:
        return _reshaped(table, rng)
    if kind == "bit":
        raw = table.reshape(-1).view(np.uint8)
        raw[rng.integers(len(raw))] ^= np.uint8(1 << rng.integers(8))
        return table
    cells = table[str(rng.choice(table.dtype.names))] if table.dtype.names else table
    if kind == "swap":
        a, b = (tuple(rng.integers(n) for n in cells.shape) for _ in range(2))
        cells[a], cells[b] = cells[b], cells[a].copy()
        return table
    where = [rng.integers(n) for n in cells.shape]
    value = _value(cells, tuple(where), rng, state)
    if kind == "column":
        where[:-1] = [slice(None)] * (cells.ndim - 1)
    _put(cells, ... if kind == "all" else tuple(where), value)
    return table


def _retold(said, rng):
    """Change something inside of what was read from JSON."""
    if isinstance(said, (dict, list)) and said and rng.random() < 0.8:
        said = said.copy()
        at = list(said)[rng.integers(len(said))] if isinstance(said, dict) else int(rng.integers(len(said)))
        if rng.random() < 0.15:
            del said[at]
        elif isinstance(said, list) and rng.random() < 0.2:
            said.insert(at, said[rng.integers(len(said))])
        else:
            said[at] = _retold(said[at], rng)
        return said
    if isinstance(said, bool):
        return not said
    return (None, True, 0, -1, 7, 2**40, 2**70, 0.5, "", "x0", [], ["a", "b"], [2, 3], {})[rng.integers(14)]


def _value(cells, where, rng, state):
    sizes = [n for other in state.values() for n in other.shape]
    pick = rng.random()
    if pick < 0.35:
        return cells[where].item() + int(rng.choice((1, -1, 2, 64)))
    if pick < 0.6 and sizes:
        return int(rng.choice(sizes)) + int(rng.choice((0, 1, -1)))
    if pick < 0.75:
        return cells[tuple(rng.integers(n) for n in cells.shape)].item()
    return NUMBERS[rng.integers(len(NUMBERS))]


def _put(cells, where, value):
    if cells.dtype.kind == "f":
        with np.errstate(all="ignore"):
            cells[where] = value
    elif cells.dtype.kind == "b":
        cells[where] = bool(value)
    else:
        info = np.iinfo(cells.dtype)
        finite = 0 if value != value else max(min(value, float(info.max)), float(info.min))
        cells[where] = max(min(int(finite), int(info.max)), int(info.min))


def _reshaped(table, rng):
    if not table.ndim:
        return table.reshape(1)
    axis = rng.integers(table.ndim)
    n = table.shape[axis]
    if rng.random() < 0.1:
        return np.asfortranarray(table) if table.ndim > 1 else table[::-1]
    size = int(rng.choice((0, 1, max(0, n - 1), n + 1, 2 * n, n // 2)))
    wide = np.concatenate([table, np.zeros((*table.shape[:axis], size, *table.shape[axis + 1 :]), table.dtype)], axis)
    return np.ascontiguousarray(np.take(wide, range(size), axis))


# -- specimens and their use ------------------------------------------------------------------------------------------


def use(obj, rows):
    """Do with an object what people do; give another that continues from what it saves."""
    if isinstance(obj, thalweg.core.classifier.Classifier):
        X, y = specimen_rows(obj)
        more = [np.arange(len(y))] * (1 + rows // len(y))
        some = np.concatenate(more)[:rows]
        obj.predict_proba(X[:20])
        for at in range(0, len(some), 50):
            obj.partial_fit(X[some[at : at + 50]], y[some[at : at + 50]])
        obj.test_then_train(X[:5], y[:5])
        obj.predict(X[:5])
        if hasattr(obj, "tell"):
            obj.ask(X[:20])
            waiting = obj.open_tickets[::2]
            obj.tell(waiting, np.resize(y, len(waiting)))
        if hasattr(obj, "compile"):
            obj.compile().predict_proba(X[:20] if not hasattr(X, "tocsr") else X[:20].toarray())
    elif hasattr(obj, "predict_proba"):
        schema, rng = obj.schema or thalweg.Schema.numeric(1), np.random.default_rng(1)
        nominal = list(schema.nominal_codes)
        X = rng.normal(size=(40, schema.n_features)) * 10.0 ** rng.integers(-1, 9)
        X[:, nominal] = rng.integers(0, 2, (40, len(nominal)))
        X[rng.random(X.shape) < 0.05] = np.nan
        for some in (X, X[:3], np.zeros_like(X), np.ones_like(X)):
            obj.predict_proba(some)
            obj.predict(some)
    elif hasattr(obj, "proceed"):
        obj.proceed(rows)
    elif hasattr(obj, "read"):
        for _ in range(3):
            obj.read(max(1, rows // 3))
    elif hasattr(obj, "update_many"):
        shape = getattr(obj, "layout", (None, None))[1] or ()
        obj.update_many(np.random.default_rng(1).random((rows, *shape)))
    elif hasattr(obj, "scores"):
        rng = np.random.default_rng(1)
        X = np.floor(4.0 * rng.random((40, len(obj.values)))) - 1.0
        X[rng.random(X.shape) < 0.1] = np.nan
        for name in [-1, *list(obj.classifiers)[:3]]:
            if name >= 0:
                obj.delete(name)
            obj.insert(2**40 + name, some_rules()[0])
            for some in (X, X[:3]):
                obj.scores(some)
                obj.scores_until(some, 0, 0.5)
                obj.match(some)
    elif hasattr(obj, "ask"):
        obj.ask(np.full((rows, 3), 1.0 / 3.0))
    elif hasattr(obj, "transform"):
        obj.transform(np.zeros((2, *getattr(obj, "shape", (7,)))))
    again = type(obj)(**copy.deepcopy(obj.get_params(deep=False) if hasattr(obj, "fresh") else obj.get_params()))
    again.restore(obj.state())


def specimen_rows(learner):
    """Rows and labels such as the learner was made with."""
    kinds = rows_for(learner)
    schema = learner.schema
    if schema is not None and schema.nominal.any():
        return changing_rows()
    for X in kinds.values():
        if schema is None or X[0].size == schema.n_features:
            return X, labels()
    return np.zeros((ROWS, schema.n_features)), labels()


def specimens():
    """Builders of one object of each class that can be saved, which has seen something, by name."""
    made = {}
    for name, entry in registry.LEARNERS.items():
        made[name] = lambda name=name: _trained(small(name))
        if not entry.cls.tensors:
            made[f"{name} (grown)"] = lambda name=name: _grown(small(name, **HASTY))
        made[f"{name} (early)"] = lambda name=name: _trained(small(name), few=7)
        if entry.cls.sparse and not entry.cls.tensors:
            made[f"{name} (sparse)"] = lambda name=name: _trained(small(name), "sparse rows")
    for wrapper, make in (WRAPPERS | RARE).items():
        made[wrapper] = lambda make=make: _trained(make(small("hoeffding-tree")))
        made[f"{wrapper} of knn"] = lambda make=make: _trained(make(small("knn")))
    folder = small_files(Path(tempfile.mkdtemp()))
    for name in STATEFUL:
        if name not in UNSAVED and not issubclass(getattr(thalweg, name), thalweg.core.classifier.Classifier):
            made[name] = lambda name=name: example(name, folder)
            others = OTHER_CHOICES.keys() & getattr(thalweg, name)._fields.keys()
            if others:
                given = {param: OTHER_CHOICES[param] for param in others}
                made[f"{name} (other choices)"] = lambda name=name, given=given: _other(example(name, folder), given)
    for delay in (0, 7, "time"):
        made[f"checkpoint (delay {delay})"] = lambda delay=delay: Checkpoint(delay=delay)
    return made


def changing_rows():
    """Numbers and nominal values, whose meaning turns round twice: with these trees split, and are replaced."""
    rng = np.random.default_rng(5)
    codes = np.stack([rng.integers(0, 3, GROWN_ROWS), rng.integers(0, 5, GROWN_ROWS)], axis=1)
    X = np.concatenate([rng.normal(size=(GROWN_ROWS, 3)), codes], axis=1)
    turned = np.arange(GROWN_ROWS) // (GROWN_ROWS // 3) % 2
    y = ((X[:, 0] > 0) + (X[:, 3] == 1) + turned) % 3
    return X, np.array(["calm", "rising", "flood"])[y.astype(int)]


def _grown(learner):
    features = [Feature(name) for name in "abc"] + [Feature("d", values=("u", "v", "w")), Feature("e", (), open=True)]
    return learner.declare(Schema(tuple(features))).partial_fit(*changing_rows())


OTHER_CHOICES = {"rng": "java", "balance": True}


def _other(stream, given):
    stream = type(stream)(**stream.get_params(deep=False) | given)
    stream.read(3)
    return stream


class Checkpoint:
    """A run as ``prequential`` writes it to a file: what it is made of is changed there."""

    def __init__(self, delay):
        self.delay = delay
        self.path = Path(tempfile.mkdtemp()) / "run"
        self.run(90, resume=False)

    def get_params(self):
        """Give what makes another one."""
        return {"delay": self.delay}

    def run(self, limit, resume=True):
        """Go on, to so many rows in all."""
        stream = thalweg.DelayedLabels(thalweg.LED(seed=1, rng="java"), 11.0)
        learner = thalweg.ActiveLearner(learner=small("majority"), strategy=thalweg.AVU(budget=0.6))
        return thalweg.prequential(stream, learner, limit=limit, every=40, window=30, delay=self.delay,
                                   checkpoint=self.path, checkpoint_every=40, resume=resume)  # fmt: skip

    def proceed(self, rows):
        """Go on with more rows."""
        self.run(90 + rows)

    def state(self):
        """Give the tables of the file."""
        return read_arrays(self.path)[0]

    def restore(self, state):
        """Write the file again with these tables, and look whether it can be continued."""
        header = {k: v for k, v in read_arrays(self.path)[1].items() if "format" not in k and "version" not in k}
        write_arrays(self.path, state, header)
        self.run(90)


def _trained(learner, kind=None, few=None):
    kinds = rows_for(learner)
    X = kinds[kind] if kind else kinds.get("rows", kinds["tensors"])
    learner.partial_fit(X[:few], labels()[:few])
    if hasattr(learner, "tell"):
        learner.tell(learner.ask(X)[::3], labels()[::3])
    return learner


# -- one class --------------------------------------------------------------------------------------------------------


def attempt(obj, params, seed, number, rows):
    """Try one mutation; say what became of it."""
    rng = np.random.default_rng([seed, number])
    state = mutated(obj.state(), rng)
    again = type(obj)(**copy.deepcopy(params))
    try:
        again.restore(state)
    except ValueError:
        return "refused"
    except KeyError:
        return "refused"
    try:
        use(again, rows)
    except ValueError:
        return "refused later"
    return "used"


def run(name, each, rows, seed, first=0):
    """Try mutations of one class in this process; print a line, and the failures."""
    obj = specimens()[name]()
    params = obj.get_params(deep=False) if hasattr(obj, "fresh") else obj.get_params()
    counts, failures = {}, []
    for number in range(first, first + each):
        print(f"at {number}", file=sys.stderr, flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            said = attempt(obj, params, seed, number, rows)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # anything else is what we look for
            said = "failed"
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            failures.append(f"{number}: {type(error).__name__}: {str(error)[:100]} ({place})")
        faulthandler.cancel_dump_traceback_later()
        counts[said] = counts.get(said, 0) + 1
    print(f"{name}: " + ", ".join(f"{n} {said}" for said, n in sorted(counts.items())))
    for line in failures[:12]:
        print(f"    {line}")
    return not failures


def main():
    """Run one class here, or every class in a process of its own."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--each", type=int, default=200)
    options.add_argument("--rows", type=int, default=500)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", nargs="*")
    options.add_argument("--here", action="store_true", help="in this process")
    options.add_argument("--again", type=int, help="one mutation, with its traceback")
    options.add_argument("--off", action="store_true", help="with the compiler off instead of bounds checks")
    given = options.parse_args()
    if given.again is not None:
        obj = specimens()[given.only[0]]()
        print(
            attempt(
                obj,
                obj.get_params(deep=False) if hasattr(obj, "fresh") else obj.get_params(),
                given.seed,
                given.again,
                given.rows,
            )
        )
        return
    if given.here:
        good = [run(name, given.each, given.rows, given.seed) for name in given.only]
        sys.exit(not all(good))
    env = dict(os.environ)
    env |= {"NUMBA_DISABLE_JIT": "1"} if given.off else {"NUMBA_BOUNDSCHECK": "1"}
    if not given.off:
        env["THALWEG_CACHE"] = env.get("THALWEG_CACHE", str(Path.home() / ".cache")) + "/bounds-checked"
    bad = 0
    for name in given.only or specimens():
        command = [sys.executable, "-W", "ignore", "-m", "soak.mutations", "--here", "--only", name,
                   *(f"--{key}={getattr(given, key)}" for key in ("each", "rows", "seed"))]  # fmt: skip
        done = subprocess.run(command, env=env, cwd=HERE.parents[1], capture_output=True, text=True, check=False)
        print(done.stdout, end="", flush=True)
        if done.returncode not in (0, 1) or (done.returncode and not done.stdout):
            print(f"{name}: ended with {done.returncode}\n    {done.stderr[-1500:]}", flush=True)
        bad += done.returncode != 0
    print(f"{bad} classes failed")
    sys.exit(bad > 0)


import numpy as np  # noqa: E402

import thalweg  # noqa: E402
import thalweg.core.classifier  # noqa: E402
from contracts.test_wrappers import (  # noqa: E402
    RARE,
    ROWS,
    STATEFUL,
    UNSAVED,
    WRAPPERS,
    example,
    labels,
    rows_for,
    small,
    small_files,
    some_rules,
)  # fmt: skip
from thalweg import Feature, Schema, registry  # noqa: E402
from thalweg.keeping.arrays_file import read_arrays, write_arrays  # noqa: E402

if __name__ == "__main__":
    main()
