"""How far one record goes: the files and functions of the package that a call enters, with the compiler off.

    python benchmarks/walks.py            # files, functions and depth of each walk
    python benchmarks/walks.py --files    # and which files they are

Functions of ``jit`` are arithmetic without an algorithm; they are counted, and given apart, too.
"""

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = "1"
warnings.simplefilter("ignore")  # random numbers wrap around, which NumPy remarks on

import numpy as np  # noqa: E402

import thalweg  # noqa: E402

PACKAGE = Path(thalweg.__file__).parent


def walk(call: Callable[[], Any]) -> tuple[dict[str, set[str]], int]:
    """Give the functions entered, by file, and how deep the calls went; comprehensions are left out."""
    found: dict[str, set[str]] = {}
    depth = deepest = 0

    def see(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        if (
            event not in ("call", "return")
            or code.co_name.startswith("<")
            or PACKAGE not in Path(code.co_filename).parents
        ):
            return
        depth += 1 if event == "call" else -1
        deepest = max(deepest, depth)
        found.setdefault(str(Path(code.co_filename).relative_to(PACKAGE)), set()).add(code.co_name)

    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found, deepest


def walks() -> dict[str, Callable[[], Any]]:
    """Warm learners, and one more record for each."""
    rng = np.random.default_rng(1)
    forest = thalweg.AdaptiveRandomForest(size=1)
    for x in rng.normal(size=(60, 2)).tolist():
        forest.learn_one(dict(zip("ab", x, strict=True)), int(x[0] > 0.0))
    tree = thalweg.HoeffdingTree()
    for x in rng.normal(size=(60, 2)).tolist():
        tree.learn_one(dict(zip("ab", x, strict=True)), int(x[0] > 0.0))
    tensors, labels = rng.normal(size=(250, 4, 4)), rng.integers(0, 2, 250)
    tensor_tree = thalweg.CKDT().partial_fit(tensors, labels)
    record = {"a": 0.3, "b": 0.2}
    return {
        "HoeffdingTree.learn_one(dict)": lambda: tree.learn_one(record, 1),
        "HoeffdingTree.predict_one(dict)": lambda: tree.predict_one(record),
        "AdaptiveRandomForest(size=1).learn_one(dict)": lambda: forest.learn_one(record, 1),
        "AdaptiveRandomForest(size=1).predict_one(dict)": lambda: forest.predict_one(record),
        "CKDT.test_then_train(1 tensor)": lambda: tensor_tree.test_then_train(tensors[:1], labels[:1]),
    }


def main() -> None:
    """Print a line for each walk."""
    print(f"{'walk':48} {'files':>5} {'without jit':>11} {'functions':>9} {'depth':>5}")
    for name, call in walks().items():
        files, depth = walk(call)
        own = sum(not f.startswith("jit/") for f in files)
        print(f"{name:48} {len(files):5} {own:11} {sum(map(len, files.values())):9} {depth:5}")
        if "--files" in sys.argv:
            for file, functions in files.items():
                print(f"    {file}: {', '.join(sorted(functions))}")


if __name__ == "__main__":
    main()
