"""The same bits with the compiler off: what is compiled is what is written."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from growing import declared, mixed_stream

KINDS = (None, 3, None, 4, None)
STREAMS = {
    "few classes": {"classes": 3, "criterion": "gain", "subspace": 3},
    "many classes": {"classes": 12, "criterion": "gini", "subspace": None},
}


def bits(name):
    """Every probability and every cell of the tables after a short stream, as text."""
    options = dict(STREAMS[name])
    X, y = mixed_stream(5, 600, KINDS, options.pop("classes"), missing=0.05)
    w = np.random.default_rng(6).exponential(1.0, 600)
    tree = declared(KINDS, grace_period=20, delta=0.1, tau=0.4, limit_bytes=60_000, **options)
    proba = tree.test_then_train(X, y, w)
    tables = {"proba": proba, "tally": tree._pool.tally, "stats": tree._pool.stats}
    assert tree.n_leaves > 5
    return [f"{key} {' '.join(v.hex() for v in table.ravel().tolist())}" for key, table in tables.items()]


@pytest.mark.parametrize("name", STREAMS)
def test_compiled_and_plain_agree_bit_for_bit(name):
    here = Path(__file__).parent
    code = f"import sys; sys.path[:0] = {[str(here), str(here.parents[1])]!r}\nimport test_jit_off\n"
    code += f"print('\\n'.join(test_jit_off.bits({name!r})))"
    run = subprocess.run(
        [sys.executable, "-W", "ignore::RuntimeWarning", "-c", code],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    for compiled, plain in zip(bits(name), run.stdout.strip().split("\n"), strict=True):
        assert compiled == plain
