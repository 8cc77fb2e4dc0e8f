import datetime

import numpy as np
import pytest

from thalweg.core.labels import Labels


@pytest.mark.parametrize(
    "y",
    [
        [3, 1, 3],
        ["b", "a", "b"],
        [True, False],
        [1.5, 2.5],
        [b"x", b"y"],
        np.array([2, 9], dtype=np.uint8),
        np.array(["u", "v"]),
        np.array(["u", "v"], dtype=object),
        np.array([np.int64(3), np.int64(4)], dtype=object),
    ],
)
def test_round_trip_keeps_values_types_and_codes(y: object) -> None:
    labels = Labels()
    codes, new = labels.read(y)
    labels.admit(new)
    again = Labels.from_bytes(labels.to_bytes())
    assert again.values == labels.values
    assert [type(v) for v in again.values] == [type(v) for v in labels.values]
    assert again.read(y)[0].tolist() == codes.tolist()
    assert [labels.values[c] for c in codes] == [v.item() if isinstance(v, np.generic) else v for v in y]


def test_codes_follow_the_order_of_appearance() -> None:
    labels = Labels()
    labels.admit(labels.read(["c", "a"])[1])
    codes, new = labels.read(["a", "z", "c", "z"])
    assert codes.tolist() == [1, 2, 0, 2]
    assert new == ["z"]


def test_reading_admits_nothing() -> None:
    labels = Labels()
    labels.read([1, 2, 3])
    assert len(labels) == 0


def test_any_hashable_label_can_be_learned_but_only_plain_ones_saved() -> None:
    labels = Labels()
    day = datetime.date(2026, 1, 1)
    labels.admit(labels.read([day])[1])
    assert labels.read_one(day) == (0, [])
    with pytest.raises(TypeError, match="labels of type date cannot be saved"):
        labels.to_bytes()


def test_tuples_are_labels_not_rows() -> None:
    labels = Labels()
    codes, new = labels.read([("a", 1), ("b", 2), ("a", 1)])
    assert codes.tolist() == [0, 1, 0]
    assert new == [("a", 1), ("b", 2)]


@pytest.mark.parametrize(
    ("y", "error", "sentence"),
    [
        ([1, "a"], TypeError, "one type"),
        ([1, True], TypeError, "one type"),
        ([None], ValueError, "missing"),
        ([float("nan")], ValueError, "missing"),
        (np.array([1.0, np.inf]), ValueError, "index 1"),
        ([[1], {}], TypeError, "hashable"),
        ("abc", TypeError, "sequence"),
        (7, TypeError, "sequence"),
        (np.zeros((2, 2)), ValueError, "one dimension"),
    ],
)
def test_bad_labels_get_a_sentence(y: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        Labels().read(y)


def test_a_label_of_another_type_is_refused() -> None:
    labels = Labels(["a", "b"])
    with pytest.raises(TypeError, match="the classes so far are str, got int 1"):
        labels.read([1])
    with pytest.raises(ValueError, match="declared classes"):
        labels.read(["c"])


def test_bool_and_int_do_not_mix_though_python_says_they_are_equal() -> None:
    labels = Labels()
    labels.admit(labels.read([0, 1])[1])
    with pytest.raises(TypeError, match="got bool"):
        labels.read([True])
    with pytest.raises(TypeError, match="got bool"):
        labels.read_one(True)
