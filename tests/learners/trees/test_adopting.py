"""Tables that come from outside are used only if nothing in them leads astray: a hand-made file must not crash."""

import numpy as np
import pytest

from thalweg import Feature, HoeffdingTree, Schema
from thalweg.pool.leaf_jit import L_ROOM, S_NUMBERS
from thalweg.pool.pool_jit import H_FREE, H_FREE_SLOT, H_NEED, H_NODES, H_SLOTS

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


def with_free_pairs(good) -> tuple[dict[str, np.ndarray], int]:
    """Cut a split above two leaves back to a leaf, so that its children are on the free list."""
    nodes, head = good["nodes"].copy(), good["head"].copy()
    for i in np.flatnonzero(nodes["feature"][: head[H_NODES]] >= 0):
        pair = int(nodes[i]["left"])
        if (nodes["feature"][pair : pair + 2] == -1).all():
            nodes[i] = (0.0, -1, -1)
            nodes[pair]["left"], head[H_FREE] = -1, pair
            return good | {"nodes": nodes, "head": head}, pair
    raise AssertionError("no split above two leaves")


def test_free_pairs_are_taken(good) -> None:
    state, _ = with_free_pairs(good)
    HoeffdingTree().restore(state)


@pytest.mark.parametrize("off", [1, -1])
def test_a_free_pair_that_lies_across_two_is_refused(good, off: int) -> None:
    state, pair = with_free_pairs(good)
    state["head"][H_FREE] = pair + off
    refuse(state)


def test_a_free_list_that_bites_its_tail_is_refused(good) -> None:
    state, pair = with_free_pairs(good)
    state["nodes"][pair]["left"] = pair
    refuse(state)


def test_children_that_lie_across_two_pairs_are_refused(good) -> None:
    state, pair = with_free_pairs(good)
    state["nodes"]["left"][state["nodes"]["left"] == pair] = pair + 1
    state["head"][H_FREE], state["head"][H_NODES] = -1, state["head"][H_NODES] - 1
    refuse(state)


@pytest.mark.parametrize("more", [2**62, 2**61, 2**31, 1])
def test_room_for_values_that_the_schema_does_not_have_is_refused(good, more: int) -> None:
    layout = good["layout"].copy()
    layout[L_ROOM] += more
    refuse(good | {"layout": layout})


def nominal_state() -> dict[str, np.ndarray]:
    schema = Schema((Feature("a", values=("u", "v")), Feature("b", values=("u", "v")), Feature("c")))
    rows = np.c_[RNG.integers(0, 2, (50, 2)), RNG.normal(size=50)]
    return HoeffdingTree().declare(schema).partial_fit(rows, Y[:50]).state()


@pytest.mark.parametrize("room", [6, 2**21, 2**62])
def test_room_and_width_that_go_beyond_a_closed_feature_are_refused(room: int) -> None:
    """Also where no slot is there, whose real width would tell."""
    state = nominal_state()
    state["layout"][L_ROOM, 0] = room
    state |= {"stats": np.zeros((0, 2**30)), "watched": state["watched"][:0].copy()}
    refuse(state)


def test_an_attribute_that_is_watched_twice_is_refused() -> None:
    state = nominal_state()
    assert sorted(state["watched"][0, :, 0].tolist()) == [0, 1, 2]
    state["watched"][0, 2, 0] = state["watched"][0, 1, 0]
    refuse(state)


def test_more_numeric_attributes_than_there_are_are_refused() -> None:
    state = nominal_state()
    state["watched"][0, :, 0], state["stats"][0, S_NUMBERS] = -1, 2
    refuse(state)


def test_more_room_for_classes_than_labels_could_need_is_refused(good) -> None:
    wide = np.zeros((len(good["tally"]), 50))
    refuse(good | {"tally": wide})


def test_a_need_that_no_plain_tree_has_is_refused(good) -> None:
    head = good["head"].copy()
    head[H_NEED] = 1
    refuse(good | {"head": head})


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
