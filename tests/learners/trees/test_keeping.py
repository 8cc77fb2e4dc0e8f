"""What the trees with side tables keep: the same in pieces and from a file, without compilation, and if damaged."""

import numpy as np
import pytest
from shadowing import bits, by_chunks, mixed, named, numbers, plain_bits, same

from thalweg import ExtremelyFastDecisionTree, HoeffdingAdaptiveTree, load, save

MIXED = (None, 3, None, 5, 2)
EAGER = {"grace_period": 20, "delta": 0.1, "tau": 0.25}
QUICK = {
    HoeffdingAdaptiveTree: EAGER | {"drift": "adwin(delta=0.3)", "min_rows": 40, "switch_delta": 0.3},
    ExtremelyFastDecisionTree: EAGER | {"review_period": 25},
}
OWN_TABLES = {
    HoeffdingAdaptiveTree: ("links", "marks", "pairs", "turns"),
    ExtremelyFastDecisionTree: ("links", "turns"),
}
DAMAGED = {
    HoeffdingAdaptiveTree: (("nodes", "links", "head", "pairs", "marks"), 4000),
    ExtremelyFastDecisionTree: (("nodes", "links", "head", "watched"), 1000),
}
"""Tables to damage, and in how many of their first bytes."""


@pytest.fixture(params=list(QUICK), ids=lambda cls: cls.__name__)
def cls(request):
    return request.param


@pytest.fixture
def good(cls):
    """The state of a tree that has grown; of an adaptive one with alternates."""
    X, y = numbers(3000)
    if cls is ExtremelyFastDecisionTree:
        tree = cls(**QUICK[cls]).partial_fit(X[:2500], y[:2500])
        assert tree.n_leaves > 3
        return tree.state()
    tree, at = cls(**QUICK[cls]).partial_fit(X[:1000], y[:1000]), 1000
    while tree.alternates["growing"] < 2:
        tree.partial_fit(X[at : at + 10], y[at : at + 10])
        at += 10
    return tree.state()


@pytest.mark.parametrize("limit", [None, 60_000])
def test_any_chunk_size_gives_the_same_bits(cls, limit):
    X, y = mixed(3000, MIXED, missing=0.05)
    w = np.random.default_rng(6).exponential(1.0, len(y))
    runs = [
        by_chunks(lambda: named(cls(**QUICK[cls], limit_bytes=limit), MIXED), X, y, size, w)[0]
        for size in (1, 17, 3000)
    ]
    assert runs[0]["turns"][:2].min() > 0
    assert all(same(runs[0], run) for run in runs[1:])


@pytest.mark.parametrize("at", [700, 1150, 1400, 2100])
def test_it_goes_on_from_a_file_as_if_nothing_had_happened(cls, tmp_path, at):
    X, y = numbers(3000, classes=3)
    stayed = cls(**QUICK[cls]).partial_fit(X[:at], y[:at])
    save(stayed, tmp_path / "tree.safetensors")
    loaded = load(tmp_path / "tree.safetensors")
    for tree in (stayed, loaded):
        tree.partial_fit(X[at:], y[at:])
    assert same(stayed.state(), loaded.state())


def test_compiled_and_plain_agree_bit_for_bit(cls):
    assert plain_bits(cls.__name__, QUICK[cls]) == bits(cls.__name__, QUICK[cls])


def test_another_table_is_refused(cls, good):
    for name in OWN_TABLES[cls]:
        table = good[name]
        for bad in (table[:-1].copy(), table.astype(np.float32), table.reshape(-1, 1, 1)):
            with pytest.raises(ValueError, match=f"state must be what {cls.__name__}.state"):
                cls(**QUICK[cls]).restore(good | {name: bad})


def test_random_damage_never_crashes(cls, good):
    X, y = numbers(600)
    rng = np.random.default_rng(1)
    names, first = DAMAGED[cls]
    refused = 0
    for _ in range(200):
        name = rng.choice(names)
        table = good[name].copy()
        raw = table.reshape(-1).view(np.uint8)
        raw[rng.integers(min(len(raw), first))] = rng.integers(256)
        tree = cls(**QUICK[cls])
        try:
            tree.restore({k: v.copy() for k, v in good.items()} | {name: table})
        except ValueError:
            refused += 1
            continue
        with np.errstate(all="ignore"):
            tree.test_then_train(X, y)
    assert 20 < refused < 200


def test_it_can_be_looked_at(cls):
    X, y = numbers(2000)
    tree = cls(**QUICK[cls])
    with pytest.raises(ValueError, match="not seen a row"):
        tree.describe()
    tree.partial_fit(X, y)
    assert tree.describe().count(" of ") == tree.n_leaves > 1
    assert tree.to_dot().startswith("digraph")
    assert "…" not in tree.to_dot()
    assert tree.to_dot(max_depth=0).count("at its split") == 1  # the drawing ends there, the tree does not
    assert tree.depth > 0
