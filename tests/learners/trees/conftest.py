"""Where the real data is."""

import os
from pathlib import Path

import numpy as np
import pytest

pytest.register_assert_rewrite("growing")

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def electricity():
    """The eight features and the label codes of Electricity; skipped where the data is not there."""
    folder = Path(os.environ.get("THALWEG_DATA") or ROOT.parent / "shared" / "data")
    path = folder / "electricity.parquet"
    if not path.exists():
        pytest.skip(f"no electricity.parquet in {folder}: set THALWEG_DATA to the folder that holds it")
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    columns = [table.column(name).to_numpy().astype(np.float64) for name in table.column_names[:8]]
    _, y = np.unique(table.column(table.column_names[-1]).to_numpy(zero_copy_only=False), return_inverse=True)
    return np.ascontiguousarray(np.column_stack(columns)), y.astype(np.int64)
