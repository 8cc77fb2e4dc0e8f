"""The size of a model does not depend on whether its run was interrupted."""

import pytest

from thalweg import SEA, registry
from thalweg.evaluate.prequential import prequential


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("hoeffding-tree", {"grace_period": 30, "delta": 0.1}),
        ("arf", {"size": 3, "grace_period": 30, "delta": 0.1}),
        ("arf", {"size": 3, "grace_period": 30, "delta": 0.1, "limit_bytes": 60_000}),
    ],
)
def test_a_resumed_run_tells_the_same_sizes(tmp_path, name, params) -> None:
    def make():
        return registry.LEARNERS[name].make(**params)

    options = {"every": 100, "chunk": 100, "limit": 2_000}
    whole = prequential(SEA(seed=1), make(), **options)
    path = tmp_path / "run.safetensors"
    for rows in range(300, 2_100, 300):
        part = prequential(
            SEA(seed=1), make(), checkpoint=path, resume=rows > 300, **options | {"limit": min(rows, 2_000)}
        )
    last = prequential(SEA(seed=1), make(), checkpoint=path, resume=True, **options)
    assert part.rows <= last.rows == whole.rows
    assert list(last.curve["state_bytes"]) == list(whole.curve["state_bytes"])
    assert (last.state_bytes, last.peak_bytes) == (whole.state_bytes, whole.peak_bytes)


def test_the_size_of_a_forest_is_that_of_its_tables() -> None:
    chunk = SEA(seed=1).read(2_000)
    forest = registry.LEARNERS["arf"].make(size=3, grace_period=30, delta=0.1).partial_fit(chunk.X, chunk.y)
    tables = {name: table for name, table in forest.state().items() if name not in ("labels", "schema")}
    assert forest.state_bytes == sum(table.nbytes for table in tables.values())
