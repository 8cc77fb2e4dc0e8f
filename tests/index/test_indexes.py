"""All indexes find the same rules and give the same scores, to the last bit, whatever is inserted and deleted."""

import numpy as np
import pytest

from index.test_rule_boxes import hard_rows
from thalweg import Agrawal, HoeffdingTree, RandomRBF
from thalweg.index import e_tree_nodes_jit as node
from thalweg.index.bitmap import BitmapIndex
from thalweg.index.choose import make_index
from thalweg.index.e_tree import ETree
from thalweg.index.linear import CompiledTrees, LinearRules, LinearTrees
from thalweg.index.rules import box
from thalweg.index.sources import rules_of
from thalweg.registry import INDEXES
from twins import e_tree as twin_tree
from twins import rules as twin

MAKE = {
    "linear rules": LinearRules,
    "linear trees": LinearTrees,
    "compiled trees": CompiledTrees,
    "bitmap": BitmapIndex,
    "e-tree": ETree,
    "e-tree 3, 1": lambda: ETree(most=3, least=1),
    "e-tree 4, 2": lambda: ETree(most=4, least=2),
    "e-tree, along an axis": lambda: ETree(most=8, split="rstar"),
    "e-tree, nothing again": lambda: ETree(most=8, split="rstar", reinsert=0.0),
    "e-tree 3, 1, half again": lambda: ETree(most=3, least=1, split="rstar", reinsert=0.5),
}


def grown(nominal, n, seed):
    """Trees on different parts of a stream, as rules, and rows of the stream."""
    stream = Agrawal(seed=seed) if nominal else RandomRBF(classes=3, features=4, seed=seed)
    found = []
    for k in range(n):
        chunk = stream.read(600)
        tree = HoeffdingTree(grace_period=30, delta=0.1, tau=0.9, subspace=3, seed=k, binary_splits=k % 2 == 0)
        X = chunk.X.copy()
        X[::17] = np.nan
        found += rules_of(tree.declare(stream.schema).partial_fit(X, chunk.y))
    return found, stream.read(400).X


def same(indexes, X, name=""):
    """Do all say what the first says?"""
    first, *others = indexes
    scores, match = first.scores(X), first.match(X)
    for other in others:
        assert np.array_equal(other.scores(X), scores), (type(other), name)
        mine = other.match(X)
        for table in ("start", "classifier", "rule"):
            assert np.array_equal(getattr(mine, table), getattr(match, table)), (type(other), table, name)


@pytest.mark.parametrize("nominal", [False, True])
def test_random_steps(nominal):
    ensemble, X = grown(nominal, 12, seed=3)
    rng = np.random.default_rng(7)
    X = hard_rows(ensemble, X, rng)
    indexes, plain = [make() for make in MAKE.values()], twin.Ensemble()
    there, fresh = [], 0
    for step in range(100):
        what = rng.random()
        if what < 0.45 or len(there) < 2:
            rules, weight = ensemble[rng.integers(len(ensemble))], float(rng.random())
            for index in (*indexes, plain):
                index.insert(fresh, rules, weight)
            there.append(fresh)
            fresh += 1
        elif what < 0.85:
            gone = there.pop(rng.integers(len(there)))
            for index in (*indexes, plain):
                index.delete(gone)
        else:
            name, weight = there[rng.integers(len(there))], float(rng.choice([0.0, rng.random()]))
            for index in (*indexes, plain):
                index.set_weight(name, weight)
        for index in indexes:
            if isinstance(index, ETree):
                index.validate()
        rows = X[rng.integers(0, len(X), 40)]
        same(indexes, rows, step)
        assert indexes[0].match(rows)[0] == plain.match(rows[0])
        assert indexes[0].scores(rows)[0].tolist() == plain.scores(rows[0], indexes[0].payload.shape[1])
    for name in there:
        for index in indexes:
            index.delete(name)
    same(indexes, X)
    assert all(index.n_rules == 0 and not index.scores(X).any() for index in indexes)
    for index in indexes:
        index.insert(1, ensemble[0])
    same(indexes, X)


def test_many_rules_in_many_blocks():
    ensemble, X = grown(False, 30, seed=4)
    ensemble = ensemble * 10
    indexes = [make().insert_all(ensemble) for make in (LinearRules, BitmapIndex, CompiledTrees, ETree)]
    assert len(indexes[0]) > 4_096
    same(indexes, hard_rows(ensemble, X, np.random.default_rng(1)))
    for index in indexes:
        for name in range(70, 160):
            index.delete(name)
    same(indexes, X)


def test_votes_of_one_tree_are_the_tree_s():
    stream = RandomRBF(classes=3, seed=1)
    chunk = stream.read(4_000)
    tree = HoeffdingTree(leaf="majority", grace_period=50, tau=0.5).partial_fit(chunk.X, chunk.y)
    for kind in INDEXES:
        assert np.array_equal(make_index(kind, rules_of(tree)).scores(chunk.X), tree.predict_proba(chunk.X))


def test_the_paper_s_example():
    tree = ETree(most=3, least=1)
    cubes = [(0, 1.5), (0.5, 2), (1, 2.5), (2.5, 4), (3.5, 5)]
    for k, (a, b) in enumerate(cubes[:4], start=1):
        tree.insert(k, box([(a, b), (a, b)], [0, 1]), weight=0.2)
    root = int(tree.head[0])
    groups = [sorted(1 + tree.entry[c, : tree.links[c, 0]]) for c in tree.entry[root, : tree.links[root, 0]]]
    assert sorted(groups) == [[1, 2, 3], [4]]
    tree.insert(5, box([cubes[4]] * 2, [0, 1]), weight=0.2)
    tree.validate()
    assert tree.match([[4, 4]])[0] == [(4, 0), (5, 0)]
    assert tree.entries_tested([[4, 4]]) == 4
    assert tree.scores([4, 4]).tolist() == [[0.0, 0.4]]


def test_strange_rules():
    inf = np.inf
    strange = [
        box([(-inf, inf), (-inf, inf)], [1, 0]),
        box([(1, 1), (-inf, 0)], [0, 1]),
        box([(-inf, -inf), (inf, inf)], [0.5, 0.5]),
        box([(5e-324, 1e308), (-1e308, -0.0)], [0.25, 0.75]),
    ]
    edge = [-inf, -1e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, np.nextafter(1, 2), 1e308, inf, np.nan]
    X = np.array([[a, b] for a in edge for b in edge])
    for repeat in (1, 60):
        indexes = [make().insert_all(strange * repeat) for key, make in MAKE.items() if "trees" not in key]
        same(indexes, X)
        plain = twin.Ensemble()
        for k, rules in enumerate(strange):
            plain.insert(k, rules, 1.0)
        if repeat == 1:
            assert [indexes[0].match(X)[r] for r in range(len(X))] == [plain.match(x) for x in X]
    points = [box([(0.5, 0.5)], [1.0])] * 2_000
    tree = ETree(most=10).insert_all(points)
    tree.validate()
    assert tree.scores([[0.5], [0.4]]).tolist() == [[2_000.0], [0.0]]


@pytest.mark.parametrize("name", MAKE)
def test_saved_and_continued(name):
    ensemble, X = grown(True, 6, seed=5)
    index = MAKE[name]().insert_all(ensemble)
    index.delete(2)
    index.set_weight(4, 0.5)
    twin_index = MAKE[name]()
    twin_index.restore(index.state())
    same([index, twin_index], X)
    for each in (index, twin_index):
        each.delete(0)
        each.insert(9, ensemble[2], 0.1)
    same([index, twin_index], X)
    assert index.classifiers == twin_index.classifiers
    broken = index.state()
    broken["owner"] = broken["owner"] + 100
    with pytest.raises(ValueError, match="state must be what"):
        twin_index.restore(broken)
    with pytest.raises(ValueError, match="it lacks"):
        twin_index.restore({})
    same([index, twin_index], X)


@pytest.mark.parametrize("name", MAKE)
def test_bad_input_changes_nothing(name):
    ensemble, X = grown(True, 2, seed=6)
    index = MAKE[name]()
    assert index.scores(X).shape == (len(X), 0)
    index.insert(1, ensemble[0])
    before = index.scores(X)
    with pytest.raises(ValueError, match="name must be new"):
        index.insert(1, ensemble[1])
    with pytest.raises(KeyError, match="name must be a classifier"):
        index.delete(2)
    with pytest.raises(KeyError, match="name must be a classifier"):
        index.set_weight(2, 1.0)
    with pytest.raises(ValueError, match="weight must lie"):
        index.set_weight(1, -1.0)
    with pytest.raises(TypeError, match="rules must be Rules"):
        index.insert(2, "rules")
    with pytest.raises((ValueError, TypeError), match="rules"):
        index.insert(2, box([(0, 1)], [1.0]))
    with pytest.raises(ValueError, match="X must be rows of 9 numbers"):
        index.scores(X[:, :3])
    with pytest.raises(ValueError, match="X must be rows of numbers"):
        index.scores([["a"] * 9])
    assert np.array_equal(index.scores(X), before)
    assert list(index.classifiers) == [1]


def test_which_index():
    ensemble, X = grown(False, 8, seed=7)
    ensemble = ensemble * 4
    assert isinstance(make_index("auto", ensemble), BitmapIndex)
    assert isinstance(make_index("auto", ensemble[:1]), LinearRules)
    chosen = make_index("auto", ensemble, sample=X)
    assert "the fastest on 200 records" in chosen.reason
    assert "limit_bytes" in make_index("auto", ensemble, limit_bytes=1000).reason
    with pytest.warns(DeprecationWarning, match="limit_bytes"):
        assert "limit_bytes" in make_index("auto", ensemble, max_bytes=1000).reason
    assert make_index("e-tree", ensemble, most=10).most == 10
    with pytest.raises(ValueError, match="kind must be one of"):
        make_index("fast")
    with pytest.raises(ValueError, match="takes no parameters"):
        make_index("auto", most=3)
    with pytest.raises(ValueError, match="most must lie"):
        ETree(most=2)
    with pytest.raises(ValueError, match="least must lie"):
        ETree(most=10, least=6)
    with pytest.raises(ValueError, match="reinsert must lie"):
        ETree(reinsert=0.6)


def test_validate_finds_damage():
    ensemble, _ = grown(False, 4, seed=8)
    for name, column in {"links": 0, "entry": 0, "home": 0}.items():
        tree = ETree(most=6).insert_all(ensemble)
        table = getattr(tree, name)
        table.reshape(len(table), -1)[0 if name == "home" else tree.head[0], column] += 1
        with pytest.raises(ValueError, match="the E-tree is damaged"):
            tree.validate()
    tree = ETree(most=6).insert_all(ensemble)
    tree.low[tree.head[0], 0, 0] = 12_345.0
    with pytest.raises(ValueError, match="union of its entries"):
        tree.validate()


@pytest.mark.parametrize("split", ["greedy", "rstar"])
def test_whole_branches_find_their_place_again(split):
    """Of many rules only a few stay: nodes of every level are dissolved, and the tree gets lower."""
    rng = np.random.default_rng(11)
    corner = rng.random((3_000, 2))
    order = np.argsort(corner[:, 0])
    tree, plain = ETree(most=4, split=split), LinearRules()
    for index in (tree, plain):
        for name, (a, b) in enumerate(corner.tolist()):
            index.insert(name, box([(a, a + 0.05), (b, b + 0.05)], [1.0]))
    high = tree.height
    X = rng.random((300, 2))
    for step, part in enumerate(np.array_split(order[:-5], 30)):
        for name in part.tolist():
            tree.delete(name)
            plain.delete(name)
        tree.validate()
        same([plain, tree], X, step)
    assert high >= 6 > tree.height
    assert tree.n_rules == 5


def squares(n, seed, side=0.1):
    """Rules that are squares here and there."""
    corner = np.random.default_rng(seed).random((n, 2)).round(3)
    return [box([(a, a + side), (b, b + side)], [1.0]) for a, b in corner.tolist()]


@pytest.mark.parametrize("reinsert", [0.0, 0.3, 0.5])
@pytest.mark.parametrize(("most", "least"), [(3, 1), (6, 3), (10, 4)])
def test_the_r_star_tree_is_the_plain_one(most, least, reinsert):
    tree = ETree(most=most, least=least, split="rstar", reinsert=reinsert)
    plain = twin_tree.RStarTree(most, least, reinsert)
    for name, rules in enumerate(squares(150, seed=most)):
        tree.insert(name, rules)
        plain.insert(name, rules.lo[0].tolist(), rules.hi[0].tolist())

    def groups(i):
        entries = tree.entry[i, : tree.links[i, 0]].tolist()
        return [int(tree.owner[e]) for e in entries] if tree.links[i, 2] == 0 else [groups(e) for e in entries]

    assert groups(int(tree.head[0])) == plain.groups()


def test_what_is_inserted_again_finds_a_better_place():
    rules, X = squares(2_000, seed=3, side=0.02), np.random.default_rng(4).random((500, 2))
    first, again = (ETree(most=10, split="rstar", reinsert=share).insert_all(rules) for share in (0.0, 0.3))
    same([first, again], X)
    assert again.entries_tested(X) < 0.95 * first.entries_tested(X)
    assert again.head[1] < first.head[1]  # fuller nodes: fewer of them


@pytest.mark.parametrize("make", [LinearRules, BitmapIndex, ETree, lambda: ETree(most=4, split="rstar")])
def test_counting_until_there_is_enough(make):
    rng = np.random.default_rng(5)
    corner = rng.random((400, 2)) * 0.7
    index = make()
    for name, (a, b) in enumerate(corner.tolist()):
        index.insert(name, box([(a, a + 0.5), (b, b + 0.5)], [0.0, 1.0]), weight=float(rng.random()))
    X = rng.random((300, 2))
    whole, enough = index.scores(X), 0.25 * sum(index.classifiers.values())
    part = index.scores_until(X, 1, enough)
    over = whole[:, 1] > enough
    assert 50 < over.sum() < 250
    assert np.array_equal(part[~over], whole[~over])
    assert (part[over, 1] > enough).all()
    assert (part <= whole * (1 + 1e-12)).all()
    assert np.array_equal(index.scores_until(X, 1, np.inf), whole)
    if isinstance(index, ETree):
        assert index.entries_tested(X, c=1, enough=enough) < 0.9 * index.entries_tested(X)
        assert (part[over, 1] < whole[over, 1]).any()
    with pytest.raises(ValueError, match="c must"):
        index.scores_until(X, 2, 0.5)


def test_tables_that_cannot_be_written_to_answer_too():
    index = make_index("bitmap", [box([(0.0, 1.0)], [0.0, 1.0]), box([(0.5, 2.0)], [1.0, 0.0])])
    state = index.state()
    for table in state.values():
        table.flags.writeable = False
    again = BitmapIndex()
    again.restore(state, copy=False)
    X = [[0.25], [0.75], [1.5], [3.0]]
    assert np.array_equal(again.scores(X), index.scores(X))


def put(name, place, value, field=None):
    """Write one cell of one table of a state."""

    def change(state):
        (state[name] if field is None else state[name][field])[place] = value

    return change


def refuse(index, changes):
    """Each change of the tables gets its sentence, and the index stays as it is."""
    before = index.state()
    for said, change in changes.items():
        state = index.state()
        change(state)
        with pytest.raises(ValueError, match=said):
            index.restore(state)
    assert all(table.tobytes() == before[name].tobytes() for name, table in index.state().items())


@pytest.mark.parametrize("kind", INDEXES)
def test_tables_of_strangers_are_refused(kind):
    index = make_index(kind, grown(True, 4, 1)[0])
    mine = "state must be what .* gave: .*"
    refuse(index, {
        f"{mine}'values' must hold numbers from 0 to": put("values", 0, 2**63 - 3),
        f"{mine}do not fit each other": put("values", 0, 64),
        f"{mine}'owner' must hold numbers from 0 to": put("owner", 0, 4),
        f"{mine}in the order of their classifiers": put("owner", 0, 1),
        f"{mine}'alive' must hold numbers from 0 to 1": put("alive", 0, 2),
        f"{mine}two of its classifiers have the same name": put("names", 0, 1),
        f"{mine}'weight' must hold numbers of at least 0": put("weight", 0, -1.0),
        f"{mine}'bits' has another type or shape": lambda state: state.update(bits=state["bits"].astype(np.int64)),
        f"{mine}it lacks 'names'": lambda state: state.pop("names"),
    })  # fmt: skip


def test_names_that_no_table_can_hold():
    with pytest.raises(ValueError, match="name must"):
        LinearRules().insert(2**63, box([(0.0, 1.0)], [0.0, 1.0]))


@pytest.mark.parametrize("kind", ["linear-trees", "compiled-trees"])
def test_trees_of_strangers_are_refused(kind):
    index = make_index(kind, grown(True, 4, 1)[0])
    inner = np.flatnonzero(index.packed["left"] != np.arange(len(index.packed)))
    leaf = int(index.packed["left"].argmax())
    refuse(index, {
        "point outside themselves": put("packed", 0, len(index.packed) - 1, "left"),
        "lead back to themselves": put("packed", int(inner[1]), 0, "left"),
        "go on from leaves": put("packed", leaf, 1.0, "threshold"),
        "must hold numbers from 0 to": put("packed", 0, 2 * len(index.values), "feature"),
        "do not follow each other": put("roots", 1, 0),
        "not those of its classifiers": put("grown", 0, 1),
    })  # fmt: skip


def test_nodes_of_an_e_tree_from_strangers_are_refused():
    index = make_index("e-tree", grown(True, 4, 1)[0], most=4)
    refuse(index, {
        "free nodes are apart": put("head", node.FREE, int(index.head[node.ROOT])),
        "'head.1.' must hold numbers from 1 to": put("head", node.USED, len(index.links) + 1),
        "'head.3.' must hold numbers from 4 to 4": put("head", node.MOST, 5),
        "each node knows its parent": put("entry", (int(index.head[node.ROOT]), 0), int(index.head[node.ROOT])),
    })  # fmt: skip
