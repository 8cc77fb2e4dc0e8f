"""Arrays and frames in memory as streams."""

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from thalweg import ArrayStream, Feature, Schema

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

COLUMNS = {"size": [1.5, None, 3.5], "colour": ["red", "blue", "red"], "class": ["no", "yes", "no"]}


@pytest.mark.parametrize("frame", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), pa.table(COLUMNS)])
def test_frames(frame: Any) -> None:
    stream = ArrayStream(frame, "class")
    chunk = stream.take(9)
    assert np.array_equal(chunk.X, [[1.5, 0.0], [np.nan, 1.0], [3.5, 0.0]], equal_nan=True)
    assert chunk.y.tolist() == ["no", "yes", "no"]
    assert stream.schema.features[1] == Feature("colour", values=("red", "blue"), open=True)
    assert stream.rows == 3
    assert repr(stream) == "ArrayStream(3 rows × 2 features)"


def test_right_arrays_are_not_copied_and_never_written_to() -> None:
    X, y = np.random.default_rng(1).random((100, 3)), np.arange(100) % 2
    time = np.arange(100.0)
    before = X.copy(), y.copy(), time.copy()
    stream = ArrayStream(X, y, time=time, label_time=time)
    assert stream.X is X
    chunk = stream.take(10)
    assert chunk.time is not None
    assert chunk.label_time is not None
    for part in (chunk.X, chunk.y, chunk.time, chunk.label_time):
        part[:] = 77
    assert all(np.array_equal(a, b) for a, b in zip(before, (X, y, time), strict=True))
    stream.restart()
    assert np.array_equal(stream.take(100).X, X)
    X.flags.writeable = False
    assert np.array_equal(ArrayStream(X, y).take(100).X, X)


def test_integers_become_floats_only_as_they_are_read() -> None:
    X = np.arange(12, dtype=np.uint8).reshape(4, 3)
    stream = ArrayStream(X, [0, 1, 0, 1])
    assert stream.X is X
    chunk = stream.read(3)
    assert chunk is not None
    assert chunk.X.dtype == np.float64
    assert chunk.X.tolist() == X[:3].tolist()


@pytest.mark.parametrize("y", [[True, False], ["a", "bb"], [1, 2], [1.0, 2.0], np.array([3, 4], dtype=np.uint8)])
def test_labels_stay_the_users_own(y: Any) -> None:
    got = ArrayStream([[0.0], [1.0]], y).take(2).y.tolist()
    assert got == list(y)
    assert type(got[0]) is type(np.asarray(y).tolist()[0])


def test_times() -> None:
    day = datetime.date(1970, 1, 2)
    times = [
        np.array([1, 2]),
        np.array(["1970-01-01T00:00:01", "1970-01-01T00:00:02"], dtype="datetime64[s]"),
        pd.Series(pd.to_datetime(["1970-01-01T00:00:01", "1970-01-01T00:00:02"])),
        pa.array([1.0, 2.0]),
    ]
    for time in times:
        chunk = ArrayStream([[0.0], [1.0]], [0, 1], time=time, label_time=time).take(2)
        assert chunk.time is not None
        assert chunk.label_time is not None
        assert chunk.time.tolist() == chunk.label_time.tolist() == [1.0, 2.0]
    chunk = ArrayStream([[0.0], [1.0]], [0, 1], time=pa.array([day, None])).take(2)
    assert chunk.time is not None
    assert chunk.time[0] == 86_400
    assert np.isnan(chunk.time[1])


@pytest.mark.parametrize(
    ("X", "y", "more", "sentence"),
    [
        ([[1.0]], [0, 1], {}, "y must hold a label for each of the 1 rows of X, got 2"),
        ([[1.0], [np.inf]], [0, 1], {}, "X must be finite"),
        ([1.0], [0], {}, "X must have two dimensions"),
        ([[1.0], [2.0]], [0, None], {}, "y must hold no missing label, got None at index 1"),
        ([[1.0], [2.0]], [0.0, np.nan], {}, "y must hold no missing or infinite label"),
        ([[1.0], [2.0]], "class", {}, "y must hold labels; it may name a column only where X is a frame"),
        (pa.table(COLUMNS), "klass", {}, "y must be one of the columns 'size', 'colour', 'class' of X, got 'klass'"),
        ([[1.0]], [7], {"schema": Schema.numeric(1, classes=(0, 1))}, r"declared classes \[0, 1\], got 7"),
        ([[1.0]], [0], {"schema": Schema.numeric(2)}, "2 features"),
        ([[1.0]], [0], {"time": [1, 2]}, "time must have a number for each of the 1 rows of X, got 2"),
        ([[1.0]], [0], {"label_time": ["noon"]}, "label_time must hold numbers, dates or times"),
    ],
)
def test_bad_input(X: Any, y: Any, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        ArrayStream(X, y, **more)
