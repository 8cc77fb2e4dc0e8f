"""What the checks are made of: streams to learn, comparisons to the bit, and sentences for broken promises."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg import registry
from thalweg.core.chunk import Chunk
from thalweg.core.classifier import Classifier
from thalweg.core.protocols import Detector, State, Stateful, Stream
from thalweg.keeping import snapshot

Floats = NDArray[np.float64]
Make = Callable[[], Classifier]
Check = Callable[[Callable[[], Any]], None]


class Promises(list[Check]):
    """The checks of one file, in order; used as a decorator it takes one more."""

    def __call__(self, check: Check) -> Check:
        """Take one more check."""
        self.append(check)
        return check


def data(n: int = 450, *, features: int = 4, classes: int = 3, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Make rows with some structure, some noise and a drift, of numbers that float32 holds exactly."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-64, 64, (n, features)) / 8.0
    score = X[:, 0] + 0.5 * X[:, -1] * np.where(np.arange(n) < n // 2, 1.0, -1.0) + rng.normal(0, 0.5, n)
    return X, np.digitize(score, np.linspace(-6, 6, classes + 1)[1:-1]).astype(np.int64)


def errors(seed: int = 0) -> Floats:
    """Errors with a rate of 10 %, then 60 %, then 10 %."""
    rate = np.repeat([0.1, 0.6, 0.1], 700)
    return (np.random.default_rng(seed).random(len(rate)) < rate).astype(np.float64)


def expect(kept: Any, sentence: str) -> None:
    if not kept:
        raise AssertionError(sentence)


def same(a: NDArray[Any], b: NDArray[Any], sentence: str) -> None:
    """Demand equal bits."""
    expect(a.shape == b.shape, f"{sentence}: shapes {a.shape} and {b.shape}")
    if a.tobytes() != b.tobytes():
        differ = np.flatnonzero([x.tobytes() != y.tobytes() for x, y in zip(a, b, strict=True)])
        i = int(differ[0])
        raise AssertionError(f"{sentence}: {len(differ)} of {len(a)} rows differ, first row {i}: {a[i]} and {b[i]}")


def same_state(a: State, b: State, sentence: str) -> None:
    expect(a.keys() == b.keys(), f"{sentence}: tables {sorted(a)} and {sorted(b)}")
    for name in a:
        x, y = a[name], b[name]
        same = x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
        expect(same, f"{sentence}: table {name!r} differs ({x.dtype} {x.shape} and {y.dtype} {y.shape})")


@contextmanager
def unchanged(obj: Stateful, sentence: str) -> Iterator[None]:
    before = {name: table.copy() for name, table in obj.state().items()}
    yield
    same_state(before, obj.state(), sentence)


def refuses(obj: Stateful, what: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Demand a ValueError or TypeError with a sentence, and that nothing changes."""
    with unchanged(obj, f"{what} must change nothing"):
        try:
            call(*args, **kwargs)
        except (ValueError, TypeError) as error:
            expect(str(error).strip(), f"{what} must be refused with a sentence, got none")
        except Exception as error:
            raise AssertionError(
                f"{what} must be refused with a ValueError or TypeError, got {type(error).__name__}: {error}"
            ) from error
        else:
            raise AssertionError(f"{what} must be refused")


def global_random() -> bytes:
    """Give the state of NumPy's global generator, which nothing may touch."""
    state: Any = np.random.get_state()  # noqa: NPY002
    return bytes(state[1].tobytes())


def is_proba(P: Floats, what: str) -> None:
    expect(np.isfinite(P).all(), f"probabilities must be finite {what}")
    expect((P >= 0).all(), f"probabilities must not be negative {what}")
    worst = np.abs(P.sum(axis=1) - 1.0).max(initial=0.0)
    expect(worst < 1e-9, f"probabilities must sum to 1 {what}: off by {worst:.3g}")


def pad(rows: Sequence[Floats], classes: int) -> Floats:
    """Put rows of different lengths together, with zeros for the classes that came later."""
    P = np.zeros((len(rows), classes))
    for i, row in enumerate(rows):
        P[i, : len(row)] = row
    return P


def by_rows(learner: Classifier, X: Any, y: Any, w: Floats | None = None) -> Floats:
    """Test, then train, with the two verbs, row by row."""
    rows = []
    for i in range(len(y)):
        rows.append(learner.predict_proba(X[i : i + 1])[0])
        learner.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=None if w is None else w[i : i + 1])
    return pad(rows, len(learner.classes_))


def by_chunks(learner: Classifier, X: Any, y: Any, size: int, w: Floats | None = None) -> Floats:
    parts: list[Floats] = []
    for i in range(0, len(y), size):
        at = slice(i, i + size)
        parts += list(learner.test_then_train(X[at], y[at], None if w is None else w[at]))
    return pad(parts, len(learner.classes_))


def trained(make: Make, n: int = 450) -> Classifier:
    return make().partial_fit(*data(n))


def read_records(source: Stream, n: int, size: int) -> Chunk:
    """Read n records, ``size`` at a time; fewer only where the stream ends."""
    parts: list[Chunk] = []
    while n > 0 and (chunk := source.read(min(size, n))) is not None and len(chunk):
        expect(len(chunk) <= size, f"read({size}) must give at most {size} records, got {len(chunk)}")
        parts.append(chunk)
        n -= len(chunk)
    expect(parts, "a stream must have records")
    return Chunk.join(parts)


def loop_equals_chunks(make: Make, X: Any, y: Any, w: Floats | None = None) -> Classifier:
    rows = make()
    expected = by_rows(rows, X, y, w)
    for size in (1, 7, 1000):
        learner = make()
        got = by_chunks(learner, X, y, size, w)
        same(expected, got, f"test_then_train by chunks of {size} must equal predicting and learning row by row")
        same_state(rows.state(), learner.state(), f"chunks of {size} must lead to the state of single rows")
    return rows


# -- compiled and not -------------------------------------------------------------------------------------------------


def registered(kind: type) -> bool:
    try:
        return registry.find_class(kind.__name__) is kind
    except ValueError:
        return False


def savable(obj: Any) -> bool:
    """Can a file hold this object? Not where it was given its records as an array."""
    return registered(type(obj)) and not any(isinstance(v, np.ndarray) for v in obj.get_params().values())


def same_uncompiled(obj: Any) -> None:
    """Compare what an object answers here with what it answers in a Python that compiles nothing."""
    if not savable(obj):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "object")
        snapshot.save(obj, path)
        code = "import sys; from thalweg.checks.parts import answer; sys.stdout.write(answer(sys.argv[1]))"
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, path],
            env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        expect(done.returncode == 0, f"it must run without compilation: {done.stderr.strip()[-500:]}")
        here, there = answer(path).split("\n"), done.stdout.split("\n")
    differ = [i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b]
    expect(len(here) == len(there), f"it must give as much without compilation: {len(here)} and {len(there)} lines")
    if differ:
        i = differ[0]
        raise AssertionError(
            f"it must give the same bits without compilation: {len(differ)} of {len(here)} lines differ, "
            f"first {i}: {here[i]} and {there[i]}"
        )


def answer(path: str) -> str:
    """Let a saved object do its work on a short stream; write every number of the result exactly."""
    obj = snapshot.load(path, open_files=True)
    if isinstance(obj, Classifier):
        X, y = data(260, seed=36)
        rows = obj.test_then_train(X, y)
        rows = np.r_[rows, obj.predict_proba(X[:20])]
    elif isinstance(obj, Detector):
        rows = np.c_[obj.update_many(errors(6)[300:1300])].astype(np.float64)
        rows = np.r_[rows, [[obj.estimate]]]
    else:
        chunk = read_records(obj, 120, 120)
        rows = np.c_[chunk.X, np.unique(chunk.y, return_inverse=True)[1]]
    return "\n".join(" ".join(float(v).hex() for v in row) for row in rows)
