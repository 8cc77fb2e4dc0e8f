"""Every wrapper around every registered learner, and every public class that has a state through a file.

A wrapper adds something to a learner, and must not take anything away: where it adds nothing (a vote of one, a budget
for every label) it gives the same bits as the learner alone, however the rows come, are divided, delayed or saved.
"""

import contextlib
import importlib.util
import inspect
import sqlite3
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array

import thalweg
from thalweg import (
    AVU,
    CKDT,
    ActiveLearner,
    Balanced,
    CostSensitive,
    Feature,
    HoeffdingTree,
    MajorityClass,
    NaiveBayes,
    NoChange,
    Projected,
    Random,
    Schema,
    StreamingDeepForest,
    Threshold,
    Trainer,
    Vote,
    registry,
)
from thalweg.index.sources import rules_of

pd = pytest.importorskip("pandas")

ROWS, CUT = 54, 31
WORDS = np.array(["calm", "rising", "flood"])
FEW = {
    "layers": 2, "size": 2, "warmup": 16, "max_leaves": 4, "window": 20, "min_rebuild": 12, "landmarks": 5,
    "pool": 10, "grace_period": 15, "chunk": 12, "units": 8,
}  # fmt: skip
WRAPPERS = {
    "active": lambda learner: ActiveLearner(learner=learner, strategy=Random(budget=1.0)),
    "vote": lambda learner: Vote(learners=(learner,)),
    "projected": lambda learner: Projected(learner=learner, projection="gaussian(p=5)"),
}
TENSORS = [name for name, entry in registry.LEARNERS.items() if entry.cls.tensors]
PLAIN = [name for name in registry.LEARNERS if name not in TENSORS]


def small(name, **more):
    """Make a registered learner that is quick, and changes often."""
    entry = registry.LEARNERS[name]
    known = registry.parameters(entry.cls)
    chosen = {key: n for key, n in (FEW | more).items() if key in known}
    if "window" in known and "min_stm" in known:
        chosen |= {"window": 60, "min_stm": 10}
    return entry.make(**chosen)


def labels():
    """Three classes, the last of which appears late."""
    y = np.random.default_rng(7).integers(0, 3, ROWS)
    y[:20] = np.minimum(y[:20], 1)
    return WORDS[y]


def rows_for(learner):
    """All kinds of rows that a learner takes, by name."""
    rng, y = np.random.default_rng(3), labels()
    tensors = rng.normal(size=(ROWS, 3, 4)) + (y == "calm")[:, None, None]
    kinds = {"tensors": tensors}
    if not learner.tensors:
        kinds["rows"] = np.ascontiguousarray(tensors.reshape(ROWS, 12)[:, :7])
        if learner.missing == "native":
            lacking = kinds["rows"].copy()
            lacking[rng.random(lacking.shape) < 0.1] = np.nan
            kinds["rows that lack values"] = lacking
    if learner.sparse and not learner.tensors:
        kinds["sparse rows"] = csr_array(np.where(rng.random((ROWS, 30)) < 0.2, rng.normal(size=(ROWS, 30)), 0.0))
    return kinds


def declared(learner, X, classes):
    """Declare the features of X, and the classes."""
    shape = X.shape[1:]
    return learner.declare(Schema.tensor(shape, classes) if len(shape) > 1 else Schema.numeric(shape[0], classes))


def events(n):
    """Labels that come late: up to five rows after their own, not all in order."""
    due = sorted(range(n), key=lambda r: r + 5 * (r % 2))
    order = [e for r in range(n) for e in (r, ~due[r - 5]) if e >= 0 or r >= 5]
    return np.array(order + [~r for r in due[n - 5 :]])


def reopened(learner, folder):
    """Save a learner, and load it."""
    thalweg.save(learner, folder / "learner.safetensors")
    return thalweg.load(folder / "learner.safetensors")


def sound(proba, classes):
    """Is each row an answer: numbers that sum to 1, as soon as a class is known?"""
    assert proba.shape[1] == classes
    assert (proba >= 0.0).all()
    assert np.allclose(proba.sum(axis=1), 1.0, rtol=0.0, atol=1e-9)


RARE = {
    "balanced": lambda learner: Balanced(learner),
    "under": lambda learner: Balanced(learner, class_weight="under", seed=4),
    "weights by label": lambda learner: Balanced(learner, class_weight={"flood": 3.5}),
    "costs": lambda learner: CostSensitive(learner, costs={("flood", "calm"): 5.0}),
    "alerts": lambda learner: Threshold(learner, positive="rising", alerts=0.3),
    "precision": lambda learner: Threshold(learner, precision=0.4),
}
"""Wrappers that do change something."""


@pytest.mark.parametrize(
    ("wrapper", "name"), [(list(RARE)[i % len(RARE)], name) for i, name in enumerate(registry.LEARNERS)]
)
def test_a_wrapper_for_rare_classes_around_each_learner(wrapper, name, tmp_path):
    learner, y = small(name), labels()
    for X in rows_for(learner).values():
        whole, parts, learned = (RARE[wrapper](learner) for _ in range(3))
        proba = whole.test_then_train(X, y)
        found = [parts.test_then_train(X[:CUT], y[:CUT])]
        parts = reopened(parts, tmp_path)
        found += [parts.test_then_train(X[i : i + 7], y[i : i + 7]) for i in range(CUT, ROWS, 7)]
        for i, part in zip((0, *range(CUT, ROWS, 7)), found, strict=True):
            np.testing.assert_array_equal(part, proba[i : i + len(part), : part.shape[1]])
        sound(proba[1:], 3)
        learned.partial_fit(X, y)
        np.testing.assert_array_equal(learned.predict_proba(X), whole.predict_proba(X))
        asking = ActiveLearner(learner=RARE[wrapper](learner), strategy=Random(budget=1.0))
        np.testing.assert_array_equal(asking.test_then_train(X, y), proba)


def alone(wrapper, learner, outer, X):
    """Give what the wrapped learner is compared with, and the rows as it sees them."""
    return learner.fresh(), outer.project(X) if wrapper == "projected" else X


CASES = [(wrapper, name) for name in registry.LEARNERS for wrapper in WRAPPERS if wrapper != "projected"]
CASES += [("projected", name) for name in PLAIN]


@pytest.mark.parametrize("known", [False, True], ids=["undeclared", "declared"])
@pytest.mark.parametrize(("wrapper", "name"), CASES)
def test_a_wrapper_that_adds_nothing_changes_nothing(wrapper, name, known, tmp_path):
    learner, y = small(name), labels()
    outer = WRAPPERS[wrapper](learner)
    for kind, X in rows_for(outer).items():
        outer = WRAPPERS[wrapper](learner)
        if known:
            declared(outer, X, tuple(WORDS))
        first = outer.test_then_train(X[:CUT], y[:CUT])
        single, Z = alone(wrapper, learner, outer, X)
        if known:
            declared(single, Z, tuple(WORDS))
        sound(first[0 if known else 1 :], 3)
        sound(outer.predict_proba(X), 3)
        np.testing.assert_array_equal(first, single.test_then_train(Z[:CUT], y[:CUT]), err_msg=kind)
        outer = reopened(outer, tmp_path)
        rest = [outer.test_then_train(X[i : i + 9], y[i : i + 9]) for i in range(CUT, ROWS, 9)]
        want = single.test_then_train(Z[CUT:], y[CUT:])
        np.testing.assert_array_equal(np.concatenate(rest), want, err_msg=kind)
        assert outer.classes_.tolist() == single.classes_.tolist()
        assert outer.schema.n_features == np.prod(X.shape[1:])


@pytest.mark.parametrize(("wrapper", "name"), CASES)
def test_records_one_by_one_and_late_labels(wrapper, name, tmp_path):
    learner, y = small(name), labels()
    kinds = rows_for(WRAPPERS[wrapper](learner))
    X = kinds.get("rows", kinds["tensors"])
    outer, order = WRAPPERS[wrapper](learner), events(CUT)
    outer.learn_one(X[0], y[0])
    single, Z = alone(wrapper, learner, outer, X)
    single.learn_one(Z[0], y[0])
    late, want = outer.play(X[:CUT], y[:CUT], order), single.play(Z[:CUT], y[:CUT], order)
    np.testing.assert_array_equal(late, want)
    sound(late, 3)
    outer = reopened(outer, tmp_path)
    for i in range(CUT, CUT + 5):
        assert outer.predict_one(X[i]) == single.predict_one(Z[i])
        assert outer.predict_proba_one(X[i]) == single.predict_proba_one(Z[i])
        outer.learn_one(X[i], y[i])
        single.learn_one(Z[i], y[i])
    outer.learn_one(X[0], "drought")  # a class that was never heard of
    assert sum(outer.predict_proba_one(X[1]).values()) == pytest.approx(1.0, abs=1e-9)
    assert outer.classes_.tolist()[-1] == "drought"


@pytest.mark.parametrize("name", registry.LEARNERS)
def test_a_budget_in_an_evaluation_and_live(name, tmp_path):
    learner, y = small(name), labels()
    kinds = rows_for(learner)
    for X in (kinds.get("sparse rows", kinds["tensors"]), kinds.get("rows", kinds["tensors"])):
        whole, parts = (ActiveLearner(learner=learner, strategy=AVU(budget=0.5, seed=2)) for _ in range(2))
        proba = whole.test_then_train(X, y)
        assert 10 < whole.asked_rows.sum() <= 28
        known = np.flatnonzero(proba.any(axis=1))
        assert len(known) > ROWS - 5
        sound(proba[known], len(whole.classes_))
        found = [parts.test_then_train(X[:CUT], y[:CUT])]
        parts = reopened(parts, tmp_path)
        found += [parts.test_then_train(X[i : i + 7], y[i : i + 7]) for i in range(CUT, ROWS, 7)]
        for i, part in zip((0, *range(CUT, ROWS, 7)), found, strict=True):
            np.testing.assert_array_equal(part, proba[i : i + len(part), : part.shape[1]])

        live, single = ActiveLearner(learner=learner, strategy=Random(budget=1.0)), learner.fresh()
        tickets = live.ask(X[:CUT])
        assert tickets.tolist() == list(range(CUT))
        live.tell(tickets[:9][::-1], y[:9][::-1])
        live = reopened(live, tmp_path)
        assert live.tell(tickets[::-1], y[:CUT][::-1]).learned == CUT - 9
        order = np.r_[8:-1:-1, CUT - 1 : 8 : -1]
        single.partial_fit(X[order], y[order])
        np.testing.assert_array_equal(live.predict_proba(X), single.predict_proba(X))
        sound(live.predict_proba(X), len(live.classes_))


@pytest.mark.parametrize("name", registry.LEARNERS)
def test_a_vote_of_two_is_their_mean(name):
    learner, y = small(name), labels()
    vote = Vote(learners=(learner, MajorityClass()), weights=(3, 1))
    assert (vote.missing, vote.sparse, vote.tensors) == (learner.missing, False, learner.tensors)
    X = rows_for(learner)["tensors"]
    proba = vote.test_then_train(X, y)
    one, other = learner.fresh().test_then_train(X, y), MajorityClass().test_then_train(X, y)
    np.testing.assert_allclose(proba, 0.75 * one + 0.25 * other, rtol=1e-12)
    members = vote.members
    np.testing.assert_array_equal(members[0].predict(X), learner.fresh().partial_fit(X, y).predict(X))


@pytest.mark.parametrize("name", registry.LEARNERS)
def test_a_trainer(name, tmp_path):
    learner, y = small(name), labels()
    kinds = rows_for(learner)
    X = kinds.get("sparse rows", kinds["tensors"])
    with Trainer(learner.fresh(), tmp_path, every=CUT) as trainer:
        trainer.feed(X[:CUT], y[:CUT])
        trainer.feed(X[CUT:40], y[CUT:40])
    with Trainer(learner.fresh(), tmp_path, every=CUT) as trainer:
        assert trainer.rows == CUT  # what came after the last version was not published
        trainer.feed(X[CUT:], y[CUT:])
        single = learner.fresh().partial_fit(X, y)
        np.testing.assert_array_equal(trainer.learner.predict_proba(X), single.predict_proba(X))
        with pytest.raises((ValueError, TypeError)):
            trainer.feed(X[:, :2], y)
        np.testing.assert_array_equal(trainer.learner.predict_proba(X), single.predict_proba(X))


@pytest.mark.parametrize("name", PLAIN)
def test_river_s_verbs(name):
    pytest.importorskip("river")
    from thalweg.compat.river import wrap

    learner, y = small(name), labels()
    X = rows_for(learner)["rows"][:12]
    model, single = wrap(learner.fresh()), learner.fresh()
    for row, label in zip(X, y[:12].tolist(), strict=True):
        record = {f"f{i}": float(v) for i, v in enumerate(row)}
        assert model.predict_proba_one(record) == single.predict_proba_one(record)
        model.learn_one(record, label)
        single.learn_one(record, label)
    assert model.predict_one(record) == single.predict_one(record)


@pytest.mark.parametrize("forest", ["arf", "srp", "leveraging-bagging", "online-bagging", "smooth-boost"])
@pytest.mark.parametrize("wrapper", ["active", "vote"])
def test_a_wrapper_around_a_cascade_of_each_kind_of_forest(forest, wrapper):
    X, y = rows_for(NaiveBayes())["rows"], labels()
    learner = StreamingDeepForest(layers=2, size=2, forests=(forest,))
    proba = WRAPPERS[wrapper](learner).test_then_train(X, y)
    np.testing.assert_array_equal(proba, learner.test_then_train(X, y))


@pytest.mark.parametrize("name", ["hoeffding-tree", "knn", "sdf", "csb-knn", "chunk-ensemble"])
def test_wrappers_inside_wrappers(name, tmp_path):
    X, y = rows_for(NaiveBayes())["rows"], labels()
    inner = Projected(learner=Vote(learners=(small(name), NoChange())), projection="gaussian(p=5)")
    outer = ActiveLearner(learner=Vote(learners=(inner,)), strategy=Random(budget=1.0))
    proba = outer.test_then_train(X[:CUT], y[:CUT])
    np.testing.assert_array_equal(proba, inner.fresh().test_then_train(X[:CUT], y[:CUT]))
    again = reopened(outer, tmp_path)
    np.testing.assert_array_equal(again.test_then_train(X[CUT:], y[CUT:]), outer.test_then_train(X[CUT:], y[CUT:]))
    sound(outer.model.members[0].predict_proba(X), 3)


# -- what tensors may do that rows may not --------------------------------------------------------------------------


def growing():
    """Tensors whose first mode grows."""
    rng, y = np.random.default_rng(5), labels()
    small_ones, large = rng.normal(size=(CUT, 3, 4)), rng.normal(size=(ROWS - CUT, 5, 4))
    return small_ones, large, y[:CUT], y[CUT:]


@pytest.mark.parametrize("wrapper", ["active", "vote"])
def test_tensors_that_grow_do_so_inside_a_wrapper(wrapper):
    before, after, y, z = growing()
    learner = small("ckdt", evolving=True)
    outer, single = WRAPPERS[wrapper](learner), learner.fresh()
    assert outer.evolving
    np.testing.assert_array_equal(outer.test_then_train(before, y), single.test_then_train(before, y))
    np.testing.assert_array_equal(outer.test_then_train(after, z), single.test_then_train(after, z))
    assert outer.learn_one(after[0], z[0]).predict_one(after[1]) == single.learn_one(after[0], z[0]).predict_one(
        after[1]
    )
    assert outer.schema.shape == (5, 4)


def test_tensors_that_grow_in_a_trainer(tmp_path):
    before, after, y, z = growing()
    learner = small("ckdt", evolving=True)
    with Trainer(learner.fresh(), tmp_path, every=10) as trainer:
        trainer.feed(before, y)
        trainer.feed(after, z)
        single = learner.partial_fit(before, y).partial_fit(after, z)
        np.testing.assert_array_equal(trainer.learner.predict_proba(after), single.predict_proba(after))


def test_tensors_that_wait_for_a_label_while_others_grow():
    before, after, y, z = growing()
    learner = small("ckdt", evolving=True)
    live = ActiveLearner(learner=learner, strategy=Random(budget=1.0))
    early = live.ask(before)
    late = live.ask(after)
    live.tell(early, y)
    live.tell(late, z)
    padded = np.zeros((len(before), 5, 4))
    padded[:, :3] = before
    single = learner.partial_fit(padded, y).partial_fit(after, z)
    np.testing.assert_array_equal(live.predict_proba(after), single.predict_proba(after))


# -- what makes no sense is refused in a sentence -------------------------------------------------------------------


ASKING = ActiveLearner(learner=NaiveBayes())


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Vote(learners=(ASKING,)), "^each of learners must be a learner that takes all labels, got ActiveLear"),
        (lambda: Projected(learner=ASKING), "^learner must be a learner that takes all labels, got ActiveLearner"),
        (lambda: ActiveLearner(learner=ASKING), "^learner must be a learner that takes all labels, got ActiveLearner"),
        (lambda: Vote(learners=(NaiveBayes, NoChange())), "^each of learners must be a learner, got"),
        (lambda: Projected(learner="arf"), "^learner must be a learner, got 'arf'"),
        (lambda: Trainer(NaiveBayes, "."), "^learner must be a learner of this library, got"),
    ],
)
def test_learners_that_cannot_be_inside(make, sentence):
    with pytest.raises(TypeError, match=sentence):
        make()


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_behind_a_projection_are_no_tensors(name):
    learner = Projected(learner=small(name), projection="gaussian(p=5)")
    X, y = rows_for(NaiveBayes())["tensors"], labels()
    with pytest.raises(ValueError, match=r"^X must hold tensors, .* got rows of 5 numbers"):
        learner.partial_fit(X, y)
    assert learner.schema is None
    assert not len(learner.classes_)
    sound(Projected(learner=small(name, shape=(-1,)), projection="gaussian(p=5)").test_then_train(X, y)[1:], 3)


@pytest.mark.parametrize("wrapper", ["active", "vote"])
@pytest.mark.parametrize("name", registry.LEARNERS)
def test_a_wrapper_refuses_what_its_learner_refuses(name, wrapper):
    learner, y = small(name), labels()
    outer, kinds = WRAPPERS[wrapper](learner), rows_for(learner)
    dense = kinds["tensors"]
    outer.partial_fit(dense, y)
    before = outer.predict_proba(dense)
    lacking = dense.copy()
    lacking[0, 0, 0] = np.nan
    if learner.missing == "reject":
        with pytest.raises(ValueError, match=r"^X must hold no missing value \(NaN\) for this learner"):
            outer.partial_fit(lacking, y)
    if not learner.sparse:
        with pytest.raises(TypeError, match="^X must be dense for this learner"):
            outer.partial_fit(csr_array(dense.reshape(ROWS, 12)), y)
    with pytest.raises(ValueError, match="^X must hold tensors of shape"):
        outer.partial_fit(dense[:, :2], y)
    np.testing.assert_array_equal(outer.predict_proba(dense), before)


def test_all_or_none_in_a_vote():
    X, y = rows_for(NaiveBayes())["rows"], labels()
    vote = Vote(learners=(registry.LEARNERS["knn"].make(), HoeffdingTree()))
    with pytest.raises(TypeError, match="^X must be dense for this learner"):
        vote.partial_fit(csr_array(X), y)
    before, after, y, z = growing()
    vote = Vote(learners=(CKDT(evolving=True), NaiveBayes())).partial_fit(before, y)
    with pytest.raises(ValueError, match=r"^X must hold tensors of shape \(3, 4\), got tensors of shape \(5, 4\)"):
        vote.partial_fit(after, z)
    sound(vote.predict_proba(before), 3)


# -- what is saved can be loaded ------------------------------------------------------------------------------------


STATEFUL = [
    name
    for name in thalweg.__all__
    if inspect.isclass(cls := getattr(thalweg, name)) and hasattr(cls, "state") and not inspect.isabstract(cls)
    if name != "MessageStream" or importlib.util.find_spec("adbc_driver_sqlite") is not None  # read by that
]
UNSAVED = {"ArrayStream", "IterableStream"}
"""Streams of what is in memory only: ``save`` says so."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make small files of every format."""
    pytest.importorskip("pyarrow")
    return small_files(tmp_path_factory.mktemp("files"))


def small_files(folder):
    """Write a small file of every format; give the folder."""
    import pyarrow as pa
    from pyarrow import ipc, parquet

    table = pa.table({"a": [1.0, 2.0, 3.0], "class": ["x", "y", "x"]})
    parquet.write_table(table, folder / "t.parquet")
    with ipc.new_file(folder / "t.arrow", table.schema) as file:
        file.write_table(table)
    (folder / "t.csv").write_text("a,class\n1,x\n2,y\n3,x\n")
    (folder / "t.arff").write_text("@relation t\n@attribute a numeric\n@attribute class {x,y}\n@data\n1,x\n2,y\n")
    (folder / "t.jsonl").write_text('{"a": 1.0, "class": "x"}\n{"a": 2.0, "class": "y"}\n')
    (folder / "t.svm").write_text("1 1:0.5\n-1 2:1.5\n")
    np.savez(folder / "t.npz", X=np.ones((3, 2)), y=np.arange(3))
    with contextlib.closing(sqlite3.connect(folder / "t.db")) as base:
        base.execute("create table t (n integer, a real, class text)")
        base.executemany("insert into t values (?, ?, ?)", [(1, 1.0, "x"), (2, 2.0, "y"), (3, 3.0, "x")])
        base.commit()
    return folder


def example(name, folder):
    """Make one of a public class that has seen something."""
    X, y, sea = rows_for(NaiveBayes())["rows"], labels(), thalweg.SEA(seed=1)
    files = {"ARFF": "arff", "CSV": "csv", "JSONLines": "jsonl", "LibSVM": "svm", "NPZ": "npz", "Parquet": "parquet",
             "Arrow": "arrow"}  # fmt: skip
    made = {f"{kind}Stream": lambda end=end: getattr(thalweg, name)(folder / f"t.{end}") for kind, end in files.items()}
    made |= {
        "ActiveLearner": lambda: ActiveLearner(learner=NaiveBayes()),
        "Vote": lambda: Vote(learners=(NaiveBayes(), NoChange())),
        "Projected": lambda: Projected(learner=NaiveBayes()),
        "RetrainOnDrift": lambda: thalweg.RetrainOnDrift(NaiveBayes()),
        "HashedText": lambda: thalweg.HashedText("words"),
        "Pipeline": lambda: thalweg.pipeline("standard-scaler", "imputer", NaiveBayes()),
        "Balanced": lambda: Balanced(NaiveBayes(), class_weight="under"),
        "CostSensitive": lambda: CostSensitive(NaiveBayes(), costs={("flood", "calm"): 5.0}),
        "Threshold": lambda: Threshold(NaiveBayes(), alerts=0.2),
        "FrozenForest": lambda: thalweg.AdaptiveRandomForest(size=2).partial_fit(X, y).compile(),
        "FrozenDeepForest": lambda: StreamingDeepForest(layers=1, size=1).partial_fit(X, y).compile(),
        "FrozenEnsemble": lambda: thalweg.ChunkEnsemble(chunk=20).partial_fit(X, y).compile(),
        "ChordalFeatures": lambda: thalweg.ChordalFeatures().fit(np.random.default_rng(1).normal(size=(8, 3, 4))),
        "DelayedLabels": lambda: thalweg.DelayedLabels(sea, delay=3),
        "DriftStream": lambda: thalweg.DriftStream(sea, thalweg.SEA(seed=2), 100),
        "FeatureDrift": lambda: thalweg.FeatureDrift(sea, 100, swap=[(0, 1)]),
        "Imbalance": lambda: thalweg.Imbalance(sea, (0.5, 1.0)),
        "IncrementalDrift": lambda: thalweg.IncrementalDrift(sea, 100, 50),
        "LabelNoise": lambda: thalweg.LabelNoise(sea),
        "MissingValues": lambda: thalweg.MissingValues(sea),
        "PriorDrift": lambda: thalweg.PriorDrift(sea, (0.5, 0.5), (0.9, 0.1), 100),
        "RecurringDrift": lambda: thalweg.RecurringDrift([sea, thalweg.SEA(seed=2)], 100),
        "BayesNetStream": lambda: thalweg.BayesNetStream(thalweg.STAGGER(seed=1, limit=500)),
        "ArrayStream": lambda: thalweg.ArrayStream(X, y),
        "MessageStream": lambda: thalweg.MessageStream(f"sqlite:///{folder}/t.db?query=select * from t&order=n"),
        "IterableStream": lambda: thalweg.IterableStream(({"a": 1.0}, "x") for _ in range(9)),
    }
    thing = made.get(name, getattr(thalweg, name))()
    if isinstance(thing, thalweg.Classifier):
        thing.partial_fit(rows_for(thing)["tensors"], y)
    elif isinstance(thing, thalweg.Transformer):
        thing.partial_fit(pd.DataFrame({"words": y}) if name == "HashedText" else X, y)
    elif hasattr(thing, "read"):
        thing.read(2)
    elif hasattr(thing, "insert_all"):
        thing.insert_all(some_rules())
        thing.delete(1)
    elif hasattr(thing, "reference"):
        thing.update_many(rows_for(CKDT())["tensors"])
        thing.update_many(np.tile(rows_for(CKDT())["tensors"][:20], (4, 1, 1)))
    return thing


@cache
def some_rules():
    """The rules of a few trees on numbers and a nominal feature."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=(900, 2)), rng.integers(0, 3, 900)])
    features = (Feature("a"), Feature("b"), Feature("c", values=("u", "v", "w")))
    forest = thalweg.OnlineBagging(size=6, grace_period=30, delta=0.1, tau=0.5)
    forest.declare(Schema(features, classes=("down", "up")))
    return rules_of(forest.partial_fit(X, np.where((X[:, 0] > 0) ^ (X[:, 2] == 1), "up", "down")))


@pytest.mark.parametrize("name", STATEFUL)
def test_what_is_saved_can_be_loaded(name, folder, tmp_path):
    thing = example(name, folder)
    if name in UNSAVED:
        with pytest.raises(TypeError, match="must be|cannot be"):
            thalweg.save(thing, tmp_path / "thing")
        return
    thalweg.save(thing, tmp_path / "thing")
    again = thalweg.load(tmp_path / "thing", open_files=True)
    assert type(again) is type(thing)
    before, after = thing.state(), again.state()
    assert before.keys() == after.keys()
    for key, table in before.items():
        np.testing.assert_array_equal(after[key], table, err_msg=key)


class Narrow(MajorityClass):
    """Refuses features that join."""

    def _extend(self, schema):
        raise ValueError("no feature can join")


def test_a_vote_grows_with_all_of_its_learners_or_not_at_all():
    X, y = np.random.default_rng(1).normal(size=(60, 3)), np.arange(60) % 2
    vote = Vote(learners=(NaiveBayes(), Narrow())).partial_fit(X, y)
    before = vote.state()
    with pytest.raises(ValueError, match="no feature can join"):
        vote.grow(Schema.numeric(5))
    after = vote.state()
    assert list(after) == list(before)
    for name, table in before.items():
        np.testing.assert_array_equal(after[name], table, err_msg=name)
    vote.partial_fit(X, y)
