"""rng="java" gives MOA's very rows: 2,000 of each, written down from MOA itself (SHA-256 of X and y, first row)."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thalweg
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.hyperplane_jit import build
from thalweg.streams.generators.led import LED
from thalweg.streams.generators.mixed import Mixed
from thalweg.streams.generators.random_tree import RandomTree
from thalweg.streams.generators.sine import Sine
from thalweg.streams.generators.stagger import STAGGER
from thalweg.streams.generators.text import Text
from thalweg.streams.generators.waveform import Waveform

NEW = (RandomTree, LED, Waveform, Sine, Mixed, STAGGER, Text)
CLASSES: dict[str, Any] = {cls.__name__: cls for cls in NEW}
CLASSES |= {name: getattr(thalweg, name) for name in ("SEA", "Agrawal", "RandomRBF", "Hyperplane")}
GOLDEN = json.loads((Path(__file__).parent / "moa_rows.json").read_text())


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda g: f"{g['class']}-{g['params'].get('function', '')}")
def test_the_rows_of_moa(golden: dict[str, Any]) -> None:
    stream = CLASSES[golden["class"]](rng="java", **golden["params"])
    chunk = stream.take(2000)
    if "ones" in golden:  # a wide row of zeros and ones
        assert np.flatnonzero(chunk.X[0]).tolist() == golden["ones"]
        assert chunk.y[0] == golden["label"]
    else:
        assert [*chunk.X[0].tolist(), int(chunk.y[0])] == golden["first"]
    data = chunk.X.astype("<f8").tobytes() + chunk.y.astype("<i8").tobytes()
    assert hashlib.sha256(data).hexdigest() == golden["sha256"]


def test_the_numbers_of_java_util_random() -> None:
    numbers = np.empty(3)
    build(sown(1, java=True), True, numbers)
    assert numbers.tolist() == [0.7308781907032909, 0.41008081149220166, 0.20771484130971707]


def test_sea_as_in_the_specification() -> None:
    chunk = thalweg.SEA(rng="java", seed=1).take(3)
    rows = [(7.308782, 4.100808, 2.077148), (6.588672, 7.107396, 1.527362), (9.398654, 9.471949, 9.370821)]
    assert np.allclose(chunk.X, rows, atol=5e-7)
    assert chunk.y.tolist() == [1, 1, 1]


def test_class_shares_of_rbf_200_by_10() -> None:
    shares = [0.0485, 0.0903, 0.0431, 0.1953, 0.0420, 0.1394, 0.1282, 0.0968, 0.0547, 0.1616]
    y = thalweg.RandomRBF(rng="java", classes=10, features=200).take(20_000).y
    got = np.bincount(y, minlength=10) / len(y)
    assert (np.abs(got - shares) < 4 * np.sqrt(np.array(shares) / len(y)) + 0.0005).all()
