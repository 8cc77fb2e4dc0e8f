"""rng="java" against MOA itself, where CapyMOA is installed: the same rows, straight from the Java generators."""

import warnings
from typing import Any

import numpy as np
import pytest

import thalweg
from thalweg.streams.generators.led import LED
from thalweg.streams.generators.mixed import Mixed
from thalweg.streams.generators.random_tree import RandomTree
from thalweg.streams.generators.sine import Sine
from thalweg.streams.generators.stagger import STAGGER
from thalweg.streams.generators.text import Text
from thalweg.streams.generators.waveform import Waveform

CASES: list[tuple[str, Any, dict[str, Any]]] = [
    *((f"SEAGenerator -f {f} -i 7", thalweg.SEA, {"function": f, "seed": 7}) for f in range(1, 5)),
    *(
        (f"AgrawalGenerator -f {f} -i 7", thalweg.Agrawal, {"function": f, "seed": 7, "compat": "moa"})
        for f in range(1, 11)
    ),
    ("RandomRBFGenerator -r 7 -i 8 -c 3", thalweg.RandomRBF, {"model_seed": 7, "seed": 8, "classes": 3}),
    ("RandomRBFGeneratorDrift -i 8 -s 0.01", thalweg.RandomRBF, {"seed": 8, "speed": 0.01}),
    ("HyperplaneGenerator -i 7 -k 3 -t 0.01", thalweg.Hyperplane, {"seed": 7, "drifting": 3, "magnitude": 0.01}),
    ("RandomTreeGenerator -r 7 -i 8", RandomTree, {"model_seed": 7, "seed": 8}),
    ("RandomTreeGenerator -r 8 -d 9 -l 2 -v 3 -o 2", RandomTree,
     {"model_seed": 8, "depth": 9, "first_leaf": 2, "values": 3, "nominals": 2}),
    ("LEDGenerator -i 7", LED, {"seed": 7}),
    ("LEDGeneratorDrift -i 7 -d 4 -n 5", LED, {"seed": 7, "drifting": 4, "noise": 0.05}),
    ("WaveformGenerator -i 7", Waveform, {"seed": 7}),
    ("WaveformGenerator -i 7 -n", Waveform, {"seed": 7, "noise": True}),
    ("TextGenerator -i 7", Text, {"seed": 7, "compat": "moa"}),
    ("TextGenerator -i 8 -a 333", Text, {"seed": 8, "words": 333, "compat": "moa"}),
    *((f"SineGenerator -i 7 -f {f}", Sine, {"seed": 7, "function": f}) for f in range(1, 5)),
    *((f"MixedGenerator -i 7 -f {f} -b", Mixed, {"seed": 7, "function": f, "balance": True}) for f in (1, 2)),
    *((f"STAGGERGenerator -i 7 -f {f}", STAGGER, {"seed": 7, "function": f}) for f in (1, 2, 3)),
]  # fmt: skip


@pytest.fixture(scope="module")
def moa() -> Any:
    """Give what turns a command line into a stream of MOA; the Java machine starts here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("capymoa", reason="CapyMOA is not installed: pip install thalweg[bench]")
        from moa.options import ClassOption
        from moa.streams import InstanceStream

    def make(line: str) -> Any:
        stream = ClassOption.cliStringToObject(f"moa.streams.generators.{line}", InstanceStream, None)
        stream.prepareForUse()
        return stream

    return make


@pytest.mark.parametrize(("line", "cls", "params"), CASES, ids=[line for line, _, _ in CASES])
def test_the_same_rows(moa: Any, line: str, cls: Any, params: dict[str, Any]) -> None:
    stream, n = moa(line), 2000
    rows = np.array([np.array(stream.nextInstance().getData().toDoubleArray()) for _ in range(n)])
    chunk = cls(rng="java", **params).take(n)
    assert np.array_equal(rows[:, :-1], chunk.X)
    assert np.array_equal(rows[:, -1], chunk.y)
