"""Tables that come from outside are used only if nothing in them leads astray: a hand-made file must not crash."""

import numpy as np
import pytest

from thalweg import HoeffdingTree, Schema
from thalweg.pool.pool_jit import H_FREE, H_FREE_SLOT, H_NODES, H_SLOTS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 4))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def good() -> dict[str, np.ndarray]:
    tree = HoeffdingTree(grace_period=50, delta=0.1).partial_fit(X, Y)
    assert tree.n_leaves > 5
    return tree.state()


def refuse(state: dict[str, np.ndarray], reason: str = "table") -> None:
    with pytest.raises(ValueError, match=f"state must be what HoeffdingTree.state.* gave: .*{reason}"):
        HoeffdingTree().restore(state)


def test_the_true_state_is_taken(good) -> None:
    HoeffdingTree().restore({k: v.copy() for k, v in good.items()})


@pytest.mark.parametrize("name", ["nodes", "tally", "stats", "watched", "layout", "rng", "head"])
def test_another_type_or_length_is_refused(good, name: str) -> None:
    table = good[name]
    if name != "nodes":
        refuse(good | {name: table.astype(np.float32)}, "type or shape")
    refuse(good | {name: table[:-1].copy()})
    refuse(good | {name: table.reshape(-1, 1, 1, 1).copy()}, "type or shape")


def test_another_schema_is_refused(good) -> None:
    refuse(good | {"schema": np.frombuffer(Schema.numeric(7).to_json(), dtype=np.uint8).copy()})


@pytest.mark.parametrize("field", ["feature", "left"])
@pytest.mark.parametrize("value", [-3, -1000, 10_000, 2**31 - 1, -(2**31)])
def test_a_node_that_points_astray_is_refused(good, field: str, value: int) -> None:
    nodes = good["nodes"].copy()
    nodes[0][field] = value
    refuse(good | {"nodes": nodes})


def test_a_tree_that_bites_its_tail_is_refused(good) -> None:
    nodes = good["nodes"].copy()
    inner = np.flatnonzero(nodes["feature"][: good["head"][H_NODES]] >= 0)
    nodes[inner[-1]]["left"] = nodes[0]["left"]
    refuse(good | {"nodes": nodes})


def test_two_leaves_with_one_slot_are_refused(good) -> None:
    nodes = good["nodes"].copy()
    awake = np.flatnonzero((nodes["feature"] == -1) & (nodes["left"] >= 0))
    nodes[awake[0]]["left"] = nodes[awake[1]]["left"]
    refuse(good | {"nodes": nodes})


@pytest.mark.parametrize("cell", [H_NODES, H_FREE, H_SLOTS, H_FREE_SLOT])
@pytest.mark.parametrize("value", [0, 1, 100_000])
def test_a_counter_that_lies_is_refused(good, cell: int, value: int) -> None:
    head = good["head"].copy()
    head[cell] = value
    refuse(good | {"head": head})


@pytest.mark.parametrize("value", [-1, 10_000, 1])
def test_a_block_outside_its_row_is_refused(good, value: int) -> None:
    watched = good["watched"].copy()
    slot = int(good["nodes"]["left"][good["nodes"]["feature"] == -1].max())
    watched[slot, 0, 1] = value
    refuse(good | {"watched": watched})


def test_random_damage_never_crashes(good) -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        name = rng.choice(["nodes", "watched", "head", "layout"])
        table = good[name].copy()
        raw = table.reshape(-1).view(np.uint8)
        raw[rng.integers(len(raw))] = rng.integers(256)
        tree = HoeffdingTree()
        try:
            tree.restore({k: v.copy() for k, v in good.items()} | {name: table})
        except ValueError:
            continue
        with np.errstate(all="ignore"):
            tree.predict_proba(X[:50])
            tree.partial_fit(X[:300], Y[:300])
