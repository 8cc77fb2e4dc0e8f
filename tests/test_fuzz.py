"""Anything at all, handed to a learner: it works, or one sentence refuses it and nothing changes. Nothing in between.

Set THALWEG_FUZZ to a number of examples for a long run with other examples every time.
"""

import datetime
import os
import tempfile
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from thalweg import ADWIN, Feature, HoeffdingTree, MajorityClass, NaiveBayes, NoChange, Schema, load, save

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

LONG = int(os.environ.get("THALWEG_FUZZ", "0"))


def fuzz(examples: int, **more: Any) -> Any:
    """So many examples, the same every time, or those of a long run."""
    return settings(
        max_examples=LONG or examples, deadline=None, derandomize=not LONG, database=None, print_blob=bool(LONG),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much], **more,
    )  # fmt: skip


# -- what must hold ---------------------------------------------------------------------------------------------------


def bits(obj: Any) -> dict[str, tuple[Any, ...]]:
    """Everything an object knows, to be compared."""
    return {name: (table.dtype, table.shape, table.tobytes()) for name, table in obj.state().items()}


def tried(learner: Any, call: Callable[[], Any]) -> bool:
    """Did the call work? If not, one sentence must say why, and nothing may have changed; a warning is an error."""
    before = bits(learner)
    refusal: Exception | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            call()
        except (ValueError, TypeError) as error:
            refusal = error
    if refusal is not None:
        text = str(refusal)
        assert type(refusal).__module__ == "builtins", repr(refusal)
        assert 10 < len(text) < 400, text
        assert "\n" not in text, text
        assert bits(learner) == before, f"changed by what was refused: {text}"
    return refusal is None


def healthy(learner: Any) -> None:
    """Probabilities are probabilities, and the state can be continued from."""
    P = learner.predict_proba(np.zeros((3, learner.schema.n_features)))
    assert np.isfinite(P).all()
    assert (P >= 0.0).all()
    assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-9
    twin = type(learner)(**learner.get_params(deep=False))
    twin.restore(learner.state())
    assert bits(twin) == bits(learner)
    assert learner.predict_proba_one({}) == twin.predict_proba_one({})


# -- garbage ----------------------------------------------------------------------------------------------------------


class Hostile:
    """A container that fails whatever it is asked."""

    def __array__(self, *_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError("no array")

    def __len__(self) -> int:
        raise RuntimeError("no length")

    def __iter__(self) -> Any:
        raise RuntimeError("nothing in it")

    def __repr__(self) -> str:
        return "a hostile\n thing"


ODD = st.sampled_from(
    [
        10**400, -(10**400), 2**63, 2**64 - 1, float("inf"), float("-inf"), float("nan"), 1e308, 5e-324, -0.0, None,
        np.float16(1.5), np.float32("inf"), np.longdouble("1e400"), np.complex64(1j), np.int8(-1), np.True_,
        np.bytes_(b"a"), np.str_("red"), np.datetime64("2020"), np.datetime64("NaT"), np.timedelta64(1, "s"),
        np.void(b"x"), Decimal("sNaN"),
        Decimal("Infinity"), pd.NA, pd.NaT, pd.Timestamp("2020"), pd.Interval(0, 1), pd.Period("2020"), Ellipsis,
        NotImplemented, object(), Hostile(), Hostile, int, len, slice(3), range(3), memoryview(b"abc"),
        bytearray(b"abc"),
        "red", "\ud800", "a\0", "a\nb", "", "1", "nan", "x" * 999, frozenset({1}), datetime.timedelta(1),
    ]
)  # fmt: skip
CELLS = st.one_of(
    st.floats(-9, 9), st.integers(-3, 9), st.sampled_from(["red", "green", "blue", "violet"]), st.booleans(), ODD,
    st.floats(), st.integers(), st.text(max_size=3), st.binary(max_size=3), st.complex_numbers(), st.dates(),
    st.times(), st.decimals(), st.fractions(),
)  # fmt: skip
NESTED = st.recursive(
    CELLS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner, inner),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
    ),
    max_leaves=12,
)
DTYPES = st.one_of(
    hnp.scalar_dtypes(),
    hnp.array_dtypes(),
    st.sampled_from(["f8", "f4", "f2", "g", "i1", "u8", "?", ">f8", "O", "U2", "V3"]),
).map(np.dtype)


SMALL = st.integers(0, 4)


@st.composite
def arrays(draw: Any, rows: Any = SMALL, columns: Any = SMALL) -> Any:
    """An array of any type, in any guise."""
    shape = draw(st.one_of(st.tuples(rows, columns), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)))
    dtype = draw(DTYPES)
    if dtype.kind == "O":
        array = np.empty(shape, dtype=object)
        for i in np.ndindex(shape):
            array[i] = draw(CELLS)
    elif dtype.kind == "g" or dtype.char == "g":
        array = np.full(shape, np.longdouble(draw(st.sampled_from(["1.5", "1e400", "nan", "-inf"]))))
    else:
        array = draw(hnp.arrays(dtype, shape)) if dtype.kind != "V" or dtype.names else np.zeros(shape, dtype)
    guise = draw(st.integers(0, 6))
    if guise == 1:
        array.flags.writeable = False
    elif guise == 2:
        array = np.asfortranarray(array)
    elif guise == 3 and array.size and dtype.kind in "biufUO" and dtype.char != "e":
        array = np.ma.array(array, mask=draw(hnp.arrays(np.bool_, shape)))
    elif guise == 4:
        return array.tolist()
    elif guise == 5 and dtype.kind in "biuf" and dtype.char not in "eg":
        return memoryview(array)
    elif guise == 6 and array.ndim:
        array = array[::-1]
    return array


def columns(n: int) -> st.SearchStrategy[Any]:
    """A column of a pandas frame, of any type, n long."""
    cells = st.lists(CELLS, min_size=n, max_size=n)
    made: list[Any] = [
        pd.array([1, None] * n, dtype="Int64")[:n],
        pd.array([True, None] * n, dtype="boolean")[:n],
        pd.array(["red", None] * n, dtype="string")[:n],
        pd.Categorical(["red", "blue"] * n)[:n],
        pd.Categorical([1, 2] * n)[:n],
        pd.Categorical([1.5, None] * n)[:n],
        pd.Categorical(pd.to_datetime(["2020", "2021"] * n))[:n],
        pd.Categorical([None] * 2 * n)[:n],
        pd.date_range("2020", periods=n, tz="UTC"),
        pd.to_timedelta(range(n), unit="s"),
        pd.period_range("2020", periods=n, freq="D"),
        pd.IntervalIndex.from_breaks(range(n + 1)),
        pd.arrays.SparseArray([0.0, 1.0] * n)[:n],
        np.array([1j] * n),
        np.zeros(n, "f2"),
        np.full(n, np.inf),
        pd.Series([[1], [2, 3]] * n)[:n].to_numpy(),
    ]
    return st.one_of(
        st.sampled_from(made),
        cells.map(lambda values: pd.Series(values, dtype=object).to_numpy()),
        st.lists(st.floats(-3, 3), min_size=n, max_size=n),
        st.lists(st.sampled_from(["red", "blue", "violet"]), min_size=n, max_size=n),
    )


@st.composite
def frames(draw: Any) -> pd.DataFrame:
    """A pandas frame: the right one but for a column or two, or something else altogether."""
    n = draw(st.integers(0, 4))
    right = {"size": np.arange(float(n)), "weight": np.arange(float(n)), "colour": ["red", "blue", "green", "red"][:n]}
    frame = pd.DataFrame(right)
    for name in draw(st.lists(st.sampled_from(["size", "weight", "colour", "new"]), max_size=2)):
        frame[name] = draw(columns(n))
    change = draw(st.integers(0, 9))
    if change == 1:
        frame = frame[frame.columns[::-1]]
    elif change == 2:
        frame = frame.iloc[:, : draw(st.integers(0, 2))]
    elif change == 3:
        frame.columns = draw(st.permutations(["size", "size", "colour", "new"]))[: frame.shape[1]]
    elif change == 4:
        frame.columns = pd.MultiIndex.from_tuples([("a", i) for i in range(frame.shape[1])])
    elif change == 5:
        frame.columns = pd.Index([0, None, ("a", 1), 2.5, "size"][: frame.shape[1]], dtype=object)
    elif change == 6:
        frame = pd.concat([frame, frame[["size"]] if "size" in frame else frame], axis=1)
    elif change == 7:
        frame.index = pd.MultiIndex.from_arrays([range(n), range(n)])
    return frame


@st.composite
def tables(draw: Any) -> Any:
    """An Arrow table, a record batch or a polars frame with columns of any type."""
    n = draw(st.integers(0, 3))
    words, numbers = ["red", "blue", None][:n], [1.5, 2.5, None][:n]
    text, number = pa.array(words, pa.string()), pa.array(numbers, pa.float64())
    halves = [text[:1].dictionary_encode(), text[1:].dictionary_encode()]
    made: list[Any] = [
        number, text, text.dictionary_encode(), text.cast(pa.large_string()), text.cast(pa.string_view()), pa.nulls(n),
        number.dictionary_encode(), pa.array([[1], [], None][:n]), pa.array([{"a": 1}, {}, None][:n]),
        pa.array([True, False, None][:n]), text.cast(pa.binary()), pa.array([b"ab"] * n, pa.binary(2)),
        pa.array([Decimal("1.5")] * n), pa.array([2**64 - 1] * n, pa.uint64()), pa.array([1] * n, pa.timestamp("us")),
        pa.array([1] * n, pa.date32()), pa.array([1] * n, pa.duration("s")), pa.array([1] * n, pa.time64("ns")),
        pa.array(np.zeros(n, "f2")), pa.array([float("inf")] * n, pa.float64()),
        pa.array([float("nan")] * n, pa.float64()).dictionary_encode(),
        pa.array([[1.0]] * n, pa.list_(pa.float64(), 1)),
        pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int64())), number.cast(pa.decimal128(20, 3)),
        pa.array([datetime.date(2020, 1, 1)] * n, pa.date32()).dictionary_encode(),
        pa.chunked_array([text[:1], text[1:]]),
        pa.nulls(n, pa.string()).dictionary_encode(), pa.chunked_array([], pa.string()), pa.chunked_array(halves),
    ]  # fmt: skip
    if n:
        made.append(pa.RunEndEncodedArray.from_arrays([n], [1.5]))
        made.append(pa.DictionaryArray.from_arrays(pa.array([0] * n), pa.array([None, "red"])))
    fitting = [column for column in made if len(column) == n]
    chosen: dict[str, Any] = {"size": number, "weight": number, "colour": text}
    for name in draw(st.lists(st.sampled_from(["size", "weight", "colour", "new"]), max_size=2)):
        chosen[name] = draw(st.sampled_from(fitting))
    names = list(chosen)
    kind = draw(st.integers(0, 5))
    if kind == 1:
        names[-1] = names[0]
    table = pa.table(list(chosen.values()), names=names)
    if kind == 2 and all(isinstance(column, pa.Array) for column in chosen.values()):
        return pa.record_batch(list(chosen.values()), names=names)
    if kind == 3:
        try:
            return pl.from_arrow(table)
        except Exception:
            assume(False)
    if kind == 4:
        return chosen["size"]
    return table


WHATEVER = st.one_of(
    NESTED, arrays(), arrays(rows=st.just(2), columns=st.just(3)), frames(), tables(),
    st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=3),
    st.lists(st.lists(CELLS, max_size=4), max_size=3),
    st.sampled_from([pl.Series([1.0]), pd.Series([1.0]), pa.array([1.0]), pl.DataFrame(), pd.DataFrame()]),
    st.builds(lambda: (row for row in [[1.0, 2.0, 0.0]])), st.sets(st.integers(0, 3)),
)  # fmt: skip


def rows_of(X: Any, otherwise: int = 2) -> int:
    """How many labels X asks for, if that can be told."""
    try:
        return min(len(X), 50)
    except Exception:
        return otherwise


# -- garbage in, a sentence out ---------------------------------------------------------------------------------------

NAMES = ("size", "weight", "colour")
MAKERS: dict[str, Callable[[], Any]] = {
    "tree": lambda: HoeffdingTree(grace_period=20, delta=0.1, leaf="adaptive"),
    "bayes": NaiveBayes,
    "majority": MajorityClass,
    "no change": NoChange,
}


@cache
def trained(name: str) -> Any:
    """A learner that knows two numbers and a colour; the tree has split on them."""
    rng = np.random.default_rng(5)
    size, colour = rng.normal(size=400).round(2), rng.integers(0, 3, 400)
    frame = pd.DataFrame(
        {"size": size, "weight": rng.normal(size=400).round(2), "colour": np.array(["red", "green", "blue"])[colour]}
    )
    learner = MAKERS[name]().partial_fit(frame, np.where((size > 0) & (colour != 1), "yes", "no"))
    assert name != "tree" or learner.depth >= 2
    return learner


LEARNERS = st.sampled_from(["tree", "tree", "tree", "bayes", "majority", "no change"])
GOOD = np.array([[0.5, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, np.nan, 2.0]])


@fuzz(1000)
@given(LEARNERS, WHATEVER)
def test_whatever_for_rows(name: str, X: Any) -> None:
    learner = trained(name).copy()
    y = ["yes"] * rows_of(X)
    before = bits(learner)
    tried(learner, lambda: learner.predict(X))
    tried(learner, lambda: learner.predict_proba(X))
    assert bits(learner) == before
    other = learner.copy()
    worked = tried(learner, lambda: learner.partial_fit(X, y))
    assert tried(other, lambda: other.test_then_train(X, y)) == worked
    assert bits(other) == bits(learner)
    if worked:
        healthy(learner)


@fuzz(500)
@given(
    LEARNERS, st.one_of(WHATEVER, st.lists(CELLS, min_size=3, max_size=3), arrays(rows=st.just(3), columns=st.just(1)))
)
def test_whatever_for_labels(name: str, y: Any) -> None:
    learner = trained(name).copy()
    X = np.resize(GOOD, (rows_of(y, 3), 3))
    tried(learner, lambda: learner.score(X, y))
    tried(learner, lambda: learner.partial_fit(X, ["yes"] * len(X), classes=y))
    if tried(learner, lambda: learner.partial_fit(X, y)):
        healthy(learner)
        assert all(type(v) is str for v in learner.classes_.tolist())


@fuzz(400)
@given(
    LEARNERS, st.one_of(WHATEVER, st.lists(CELLS, min_size=3, max_size=3), arrays(rows=st.just(3), columns=st.just(1)))
)
def test_whatever_for_weights(name: str, w: Any) -> None:
    learner = trained(name).copy()
    if tried(learner, lambda: learner.partial_fit(GOOD, ["yes", "no", "new"], sample_weight=w)):
        healthy(learner)
    if tried(learner, lambda: learner.learn_one(GOOD[0], "yes", w)):
        healthy(learner)


@fuzz(300)
@given(
    LEARNERS,
    st.one_of(WHATEVER, st.lists(st.integers(-5, 5), max_size=6), hnp.arrays(st.sampled_from(["i8", "u8", "i1"]), 4)),
)
def test_whatever_for_events(name: str, events: Any) -> None:
    learner = trained(name).copy()
    if tried(learner, lambda: learner.play(GOOD, ["yes", "no", "new"], events)):
        healthy(learner)


def hashable(v: Any) -> bool:
    """May it be a key of a dict?"""
    try:
        hash(v)
    except TypeError:
        return False
    return True


RECORDS = st.one_of(
    WHATEVER,
    st.lists(CELLS, min_size=3, max_size=3),
    st.fixed_dictionaries({"size": CELLS, "weight": CELLS, "colour": CELLS}),
    st.fixed_dictionaries({"size": st.floats(-2, 2), "weight": st.floats(-2, 2), "colour": CELLS}),
    st.dictionaries(st.one_of(st.sampled_from([*NAMES, np.str_("size"), "new"]), CELLS.filter(hashable)), CELLS),
)


@fuzz(1000)
@given(LEARNERS, RECORDS, st.one_of(st.just("yes"), NESTED))
def test_whatever_for_a_record(name: str, x: Any, y: Any) -> None:
    learner = trained(name).copy()
    before = bits(learner)
    tried(learner, lambda: learner.predict_one(x))
    tried(learner, lambda: learner.predict_proba_one(x))
    assert bits(learner) == before
    if tried(learner, lambda: learner.learn_one(x, y)):
        healthy(learner)


@fuzz(800)
@given(LEARNERS, st.one_of(WHATEVER, RECORDS), st.booleans(), st.sampled_from(["a", 1, 1.5, True, b"a"]))
def test_whatever_comes_first(name: str, X: Any, one: bool, label: Any) -> None:
    learner = MAKERS[name]()
    labels = [label] * rows_of(X)
    worked = tried(learner, lambda: learner.learn_one(X, label) if one else learner.partial_fit(X, labels))
    if worked and len(learner.classes_):
        healthy(learner)
        assert learner.classes_.tolist() == [label]
        assert type(learner.classes_.tolist()[0]) is type(label)


@fuzz(500)
@given(LEARNERS, st.data())
def test_damaged_states_are_refused_or_harmless(name: str, data: Any) -> None:
    learner = trained(name).copy()
    state = learner.state()
    key = data.draw(st.sampled_from(sorted(state)))
    raw = np.frombuffer(state[key].tobytes(), np.uint8).copy()
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    damaged = state | {key: raw.view(state[key].dtype).reshape(state[key].shape)}
    if tried(learner, lambda: learner.restore(damaged)):
        with np.errstate(all="ignore"):
            learner.predict_proba(np.zeros((3, learner.schema.n_features)))
            learner.partial_fit(np.resize(GOOD, (60, 3)), ["yes", "no", "no"] * 20) if key not in (
                "labels",
                "schema",
            ) else None


@fuzz(300)
@given(st.one_of(WHATEVER, st.lists(st.floats(), max_size=5), st.lists(CELLS, max_size=3)), CELLS)
def test_whatever_for_a_detector(values: Any, value: Any) -> None:
    detector = ADWIN(clock=1)
    detector.update_many(np.r_[np.zeros(100), np.ones(50)])
    tried(detector, lambda: detector.update_many(values))
    tried(detector, lambda: detector.update(value))
    twin = ADWIN(clock=1)
    twin.restore(detector.state())
    assert bits(twin) == bits(detector)
    assert np.isfinite([detector.estimate, detector.variance]).all()


# -- any order of good things -----------------------------------------------------------------------------------------

WORDS = ("red", "green", "blue", "violet", "ultraviolet", "")
NUMBER = st.one_of(st.floats(-4, 4), st.sampled_from([0.0, 1e300, -1e300, 1e-300, 5e-324, float("nan")]))
PARAMETERS: dict[Any, Any] = {
    HoeffdingTree: st.fixed_dictionaries(
        {
            "grace_period": st.sampled_from([5, 20]), "delta": st.sampled_from([0.3, 1e-7]),
            "tau": st.sampled_from([0.0, 0.5]),
            "criterion": st.sampled_from(["gain", "gini"]), "leaf": st.sampled_from(["majority", "bayes", "adaptive"]),
            "binary_splits": st.booleans(), "subspace": st.sampled_from([None, 1, 2]), "drop_poor": st.booleans(),
            "limit_bytes": st.sampled_from([None, 20_000]), "on_limit": st.sampled_from(["sleep", "stop"]),
        }
    ),
    NaiveBayes: st.just({}),
    MajorityClass: st.just({}),
    NoChange: st.just({}),
}  # fmt: skip


class AnyOrder(RuleBasedStateMachine):
    """Two learners get the same: one by chunks, undisturbed; one by rows, copied, saved and loaded on the way."""

    @initialize(
        kind=st.sampled_from([HoeffdingTree, HoeffdingTree, NaiveBayes, MajorityClass, NoChange]), data=st.data()
    )
    def begin(self, kind: Any, data: Any) -> None:
        params = data.draw(PARAMETERS[kind])
        self.one, self.other = kind(**params), kind(**params)
        self.width = 2
        self.labels: Any = data.draw(
            st.sampled_from([("a", "b", "c", "d"), (3, 1, 2, 0), (0.5, 1.5, 2.5, 3.5), (b"a", b"b")])
        )
        self.learned = 0.0
        features = tuple(Feature(f"x{i}") for i in range(2))
        if data.draw(st.booleans()):
            schema = Schema((*features, Feature("word", values=(), open=True)))
            self.words = True
        else:
            schema, self.words = Schema(features), False
        self.one.declare(schema)
        self.other.declare(schema)

    def rows(self, data: Any, n: int) -> pd.DataFrame:
        """Rows of what the learners know now."""
        numbers = data.draw(hnp.arrays(np.float64, (n, self.width), elements=NUMBER))
        frame = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(self.width)])
        if self.words:
            frame["word"] = pd.array(
                data.draw(st.lists(st.sampled_from([*WORDS, None]), min_size=n, max_size=n)), dtype="string"
            )
        return frame

    def weights(self, data: Any, n: int) -> Any:
        """None, or a weight for each row."""
        weight = st.sampled_from([0.0, 1.0, 2.5, 1e-3, 1e6])
        return data.draw(st.one_of(st.none(), st.lists(weight, min_size=n, max_size=n).map(np.array)))

    @rule(n=st.integers(0, 40), data=st.data())
    def learn(self, n: int, data: Any) -> None:
        frame, w = self.rows(data, n), self.weights(data, n)
        few = data.draw(st.integers(1, len(self.labels)))
        y = data.draw(st.lists(st.sampled_from(self.labels[:few]), min_size=n, max_size=n))
        together = self.one.test_then_train(frame, y, w)
        for i in range(n):
            row = slice(i, i + 1)
            alone = self.other.predict_proba(frame[row])[0]
            assert together[i, : len(alone)].tobytes() == alone.tobytes()
            assert not together[i, len(alone) :].any()
            self.other.partial_fit(frame[row], y[row], sample_weight=None if w is None else w[row])
        self.learned += float(n if w is None else w.sum())

    @rule(data=st.data())
    def learn_a_record(self, data: Any) -> None:
        frame = self.rows(data, 1)
        y = data.draw(st.sampled_from(self.labels))
        record = {name: value for name, value in frame.iloc[0].items() if not pd.isna(value)}
        self.one.learn_one(record, y)
        self.other.partial_fit(frame, [y])
        self.learned += 1.0

    @rule(n=st.integers(0, 5), data=st.data())
    def predict(self, n: int, data: Any) -> None:
        before = bits(self.one)
        frame = self.rows(data, n)
        labels, P = self.one.predict(frame), self.one.predict_proba(frame)
        assert P.shape == (n, len(self.one.classes_))
        assert [
            self.one.predict_one(dict(r)) for r in frame.to_dict("records") if not any(map(pd.isna, r.values()))
        ] == [label for label, (_, row) in zip(labels.tolist(), frame.iterrows(), strict=True) if not row.isna().any()]
        if n and P.shape[1]:
            assert np.isfinite(P).all()
            assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-9
        assert bits(self.one) == before

    @rule()
    def copy(self) -> None:
        old = self.other
        self.other = old.copy()
        old.reset()  # what happens to the old one is no matter of the copy

    @rule()
    def keep(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            save(self.other, Path(folder) / "model")
            self.other = load(Path(folder) / "model")
            self.other.state()  # reads everything while the file is there

    @precondition(lambda self: self.width < 5)
    @rule()
    def grow(self) -> None:
        new = Feature(f"x{self.width}")
        for learner in (self.one, self.other):
            schema = learner.schema
            learner.grow(Schema((*schema.features, new), schema.classes, schema.shape, schema.open))
        self.width += 1

    @rule(data=st.data())
    def refuse(self, data: Any) -> None:
        """Something bad in between changes nothing."""
        n = self.one.schema.n_features
        bad = data.draw(
            st.sampled_from([np.zeros((1, n + 1)), np.full((1, n), np.inf), None, "rows", [[1.0], [1.0, 2.0]]])
        )
        assert not tried(self.one, lambda: self.one.partial_fit(bad, [self.labels[0]]))
        label = data.draw(st.sampled_from([None, [], {}, float("nan")]))
        assert not tried(self.one, lambda: self.one.partial_fit(np.zeros((1, n)), [label]))
        assert not tried(self.one, lambda: self.one.learn_one(np.zeros(n), label))

    @invariant()
    def the_two_are_one(self) -> None:
        if hasattr(self, "one"):
            assert bits(self.one) == bits(self.other)
            assert self.one.state_bytes <= (self.one.get_params().get("limit_bytes") or float("inf"))

    def teardown(self) -> None:
        if hasattr(self, "one") and self.learned:
            healthy(self.one)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = fuzz(120, stateful_step_count=20)


def test_the_fuzzers_reach_the_good_cases_too() -> None:
    """Garbage that is always refused would test nothing."""
    counts = {True: 0, False: 0}

    @settings(max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(WHATEVER)
    def count(X: Any) -> None:
        learner = trained("tree").copy()
        counts[tried(learner, lambda: learner.predict(X))] += 1

    count()
    assert counts[True] >= 5
    assert counts[False] >= 50


def test_fractions_and_decimals_are_numbers() -> None:
    learner = trained("tree").copy()
    rows = [[Fraction(1, 2), Decimal("1.5"), 0], [True, None, np.float16(1)]]
    same = np.array([[0.5, 1.5, 0.0], [1.0, np.nan, 1.0]])
    assert learner.predict_proba(rows).tobytes() == learner.predict_proba(same).tobytes()
