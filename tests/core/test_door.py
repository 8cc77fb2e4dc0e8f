import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

from thalweg import Feature, HoeffdingTree, NaiveBayes, Schema
from thalweg.core import door

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 3)).round(3)
Y = RNG.integers(0, 2, size=60)


def through(data: object, schema: Schema | None = None, *, missing: bool = True, learning: bool = True):
    return door.rows(data, schema, missing=missing, learning=learning)


def test_a_right_array_passes_as_it_is() -> None:
    array = np.ascontiguousarray(X)
    assert through(array)[0] is array


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.asfortranarray(X),
        lambda: X[::-1][::-1],
        lambda: X.tolist(),
        lambda: X.astype(object),
        lambda: pd.DataFrame(X),
        lambda: pd.DataFrame(X, columns=["x0", "x1", "x2"]),
        lambda: pl.DataFrame(X, schema=["x0", "x1", "x2"]),
        lambda: pa.table({f"x{i}": X[:, i] for i in range(3)}),
        lambda: pa.record_batch({f"x{i}": X[:, i] for i in range(3)}),
        lambda: np.matrix(X),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_all_containers_give_the_same_rows(make) -> None:
    rows, _ = through(make())
    assert type(rows) is np.ndarray
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous
    assert rows.flags.writeable
    assert np.array_equal(rows, X)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, np.int64, np.bool_, np.float16])
def test_all_numeric_types_pass(dtype: type) -> None:
    data = (X * 3).astype(dtype)
    assert np.array_equal(through(data)[0], data.astype(np.float64))


def test_a_read_only_array_is_copied_not_refused() -> None:
    frozen = X.copy()
    frozen.flags.writeable = False
    rows, _ = through(frozen)
    assert np.array_equal(rows, X)
    assert rows.flags.writeable


def test_columns_are_found_by_name_in_any_order() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    _, schema = through(frame)
    assert np.array_equal(through(frame[["c", "a", "b"]], schema)[0], X)


def test_text_columns_become_open_nominal_features_in_order_of_appearance() -> None:
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0], "s": ["blue", "red", "blue"]})
    rows, schema = through(frame)
    assert schema.features[1] == Feature("s", values=("blue", "red"), open=True)
    assert rows[:, 1].tolist() == [0.0, 1.0, 0.0]
    more = pd.DataFrame({"n": [1.0, 2.0], "s": ["green", None]})
    rows, grown = through(more, schema)
    assert grown.features[1].values == ("blue", "red", "green")
    assert rows[0, 1] == 2.0
    assert np.isnan(rows[1, 1])
    rows, same = through(more, schema, learning=False)  # predicting: unseen, and the schema stays
    assert same is schema
    assert rows[0, 1] == 2.0


def test_categories_of_pandas_get_codes_by_rows_not_by_dictionary() -> None:
    frame = pd.DataFrame({"s": pd.Categorical(["z", "a", "z"], categories=["a", "m", "z"])})
    assert through(frame)[1].features[0].values == ("z", "a")


def test_nulls_are_missing_values() -> None:
    table = pa.table({"a": pa.array([1, None, 3]), "b": pa.array([True, False, None])})
    rows, _ = through(table)
    assert np.isnan(rows[1, 0])
    assert np.isnan(rows[2, 1])
    assert rows[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("data", "error", "sentence"),
    [
        (X[:, :2], ValueError, "3 features"),
        (np.zeros((2, 4)), ValueError, "4 features.* 3 features"),
        (X[0], ValueError, "two dimensions"),
        (np.zeros((2, 2, 0)), ValueError, "none of them empty"),
        (3.0, ValueError, "two dimensions"),
        ("abc", TypeError, "rows of numbers"),
        (None, TypeError, "rows of numbers"),
        ({"a": 1}, TypeError, "rows of numbers"),
        (np.array([["a", "b", "c"]]), ValueError, "numbers"),
        (np.array([["a", 1, 2]], dtype=object), TypeError, "numbers"),
        ([[1.0, 2.0], [1.0]], ValueError, "one width"),
        (X + 1j, ValueError, "real numbers"),
        (np.array([[1.0, np.inf, 0.0]]), ValueError, "row 0, feature 'x1'"),
        (np.array([[1.0, -np.inf, 0.0]]), ValueError, "finite"),
        (scipy.sparse.csr_matrix(X), TypeError, "dense"),
        (pd.DataFrame({"x0": [1.0], "x1": [1.0]}), ValueError, r"lacks \['x2'\]"),
        (pd.DataFrame({"x0": [1.0], "x1": [1.0], "x2": [1.0], "z": [1.0]}), ValueError, r"\['z'\] in addition"),
        (
            pd.DataFrame({"x0": [1.0], "x1": [1.0], "x2": pd.to_datetime(["2026-01-01"])}),
            TypeError,
            "timestamp.*column 'x2'",
        ),
        (pd.DataFrame({"x0": ["a"], "x1": [1.0], "x2": [1.0]}), TypeError, "column 'x0'"),
        (np.zeros((1, 3), dtype="datetime64[s]"), ValueError, "numbers"),
    ],
)
def test_bad_rows_get_a_sentence(data: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        through(data, Schema.numeric(3))


def test_missing_values_only_where_the_learner_has_a_rule() -> None:
    data = np.array([[1.0, np.nan, 0.0]])
    assert np.isnan(through(data)[0][0, 1])
    with pytest.raises(ValueError, match="missing value"):
        through(data, missing=False)


@pytest.mark.parametrize("code", [-1.0, 0.5])
def test_a_nominal_cell_holds_a_whole_code(code: float) -> None:
    schema = Schema((Feature("s", values=("a", "b")),))
    with pytest.raises(ValueError, match="whole codes"):
        through(np.array([[code]]), schema)


# -- one record -------------------------------------------------------------------------------------------------------


def test_dict_and_row_are_the_same_record() -> None:
    tree = HoeffdingTree().partial_fit(X, Y)
    row = X[0]
    assert tree.predict_proba_one(dict(zip(["x0", "x1", "x2"], row, strict=True))) == tree.predict_proba_one(row)
    assert tree.predict_proba_one(row.tolist()) == tree.predict_proba_one(row)


def test_a_dict_may_lack_a_feature_and_bring_a_new_one() -> None:
    tree = NaiveBayes()
    tree.learn_one({"a": 1.0}, "p")
    tree.learn_one({"b": 2.0, "c": "red"}, "q")
    assert tree.schema is not None
    assert tree.schema.names == ("a", "b", "c")
    assert tree.schema.features[2].nominal
    assert set(tree.predict_proba_one({"zzz": 1.0})) == {"p", "q"}  # predicting: an unknown feature is ignored
    assert tree.schema.names == ("a", "b", "c")


@pytest.mark.parametrize(
    ("x", "error", "sentence"),
    [
        ({"x0": 1.0, "x1": 2.0, "x2": 3.0, "new": 1.0}, ValueError, "got 'new' too"),
        ({"x0": "1.0", "x1": 2.0, "x2": 3.0}, TypeError, "number for feature 'x0'"),
        ({"x0": [1.0], "x1": 2.0, "x2": 3.0}, TypeError, "number for feature 'x0'"),
        ({"x0": float("inf"), "x1": 2.0, "x2": 3.0}, ValueError, "finite"),
        ({1: 1.0, "x1": 2.0, "x2": 3.0}, ValueError, "features"),
        ([1.0, 2.0], ValueError, "3 features"),
        ([[1.0, 2.0, 3.0]], ValueError, "one dimension"),
        ("abc", ValueError, "one dimension"),
        (None, ValueError, "one dimension"),
        (7, ValueError, "one dimension"),
    ],
)
def test_bad_records_get_a_sentence(x: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        door.one_row(x, Schema.numeric(3), missing=True, learning=True)


@pytest.mark.parametrize(
    ("w", "error", "sentence"),
    [
        ([1.0], ValueError, "each of the 3 rows"),
        ([1.0, -1.0, 1.0], ValueError, "index 1"),
        ([1.0, np.nan, 1.0], ValueError, "index 1"),
        ([1.0, np.inf, 1.0], ValueError, "finite"),
        (["a", "b", "c"], TypeError, "numbers"),
        (-2.0, ValueError, "≥ 0"),
    ],
)
def test_bad_weights_get_a_sentence(w: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        door.weights(w, 3)


RECORDS = [{"sky": "clear", "degrees": 21.0}, {"sky": "rain"}, {"degrees": 3.0, "sky": "clear", "wind": 2.0}]


def test_dicts_are_rows_and_mean_what_they_mean_one_by_one() -> None:
    rows, schema = through(RECORDS)
    assert schema.names == ("sky", "degrees", "wind")
    np.testing.assert_array_equal(rows, [[0.0, 21.0, np.nan], [1.0, np.nan, np.nan], [0.0, 3.0, 2.0]])
    tree, other = HoeffdingTree(), HoeffdingTree()
    tree.partial_fit(RECORDS, ["a", "b", "a"])
    for x, y in zip(RECORDS, ["a", "b", "a"], strict=True):
        other.learn_one(x, y)
    np.testing.assert_array_equal(tree.predict_proba(iter(RECORDS)), other.predict_proba(RECORDS))
    one_by_one = [list(tree.predict_proba_one(x).values()) for x in RECORDS]
    np.testing.assert_array_equal(tree.predict_proba(tuple(RECORDS)), one_by_one)


def test_a_bad_dict_among_rows_gets_a_sentence_and_changes_nothing() -> None:
    tree = HoeffdingTree().partial_fit(RECORDS, ["a", "b", "a"])
    before = tree.state()
    for bad, words in (([*RECORDS, [1, 2]], r"X must hold dicts alone, or none, got \[1, 2\] as record 3"),
                       ([{"degrees": "warm"}], "must hold a number for feature 'degrees', got 'warm'")):  # fmt: skip
        with pytest.raises(TypeError, match=words):
            tree.partial_fit(bad, ["a"] * len(bad))
    assert all(np.array_equal(before[k], v) for k, v in tree.state().items())


@pytest.mark.parametrize("make", [
    lambda frame: frame.iloc[1], lambda frame: frame.iloc[[1]], lambda frame: pl.from_pandas(frame)[1],
    lambda frame: pa.Table.from_pandas(frame).slice(1, 1), lambda frame: frame.to_dict("records")[1],
])  # fmt: skip
def test_one_record_may_be_a_series_or_a_frame_of_one_row(make) -> None:
    frame = pd.DataFrame({"plan": ["basic", "plus"] * 30, "calls": range(60)})
    tree = HoeffdingTree().partial_fit(frame, ["no", "yes"] * 30)
    other = tree.copy()
    expected = tree.predict_proba(frame)[1]
    assert list(tree.predict_proba_one(make(frame)).values()) == expected.tolist()
    tree.learn_one(make(frame), "yes")
    other.partial_fit(frame.iloc[[1]], ["yes"])
    assert all(np.array_equal(v, other.state()[k]) for k, v in tree.state().items())


def test_a_series_without_names_is_a_row_and_many_rows_are_no_record() -> None:
    tree = HoeffdingTree().partial_fit(X, Y)
    assert tree.predict_one(pd.Series(X[0])) == tree.predict_one(X[0]) == tree.predict_one(pl.Series(X[0]))
    with pytest.raises(ValueError, match="x must be one record, got a frame of 60 rows"):
        tree.predict_one(pd.DataFrame(X, columns=["x0", "x1", "x2"]))


def test_what_a_learner_does_not_know_is_refused_or_ignored() -> None:
    frame = pd.DataFrame({"plan": ["basic", "plus"] * 30, "calls": range(60)})
    tree = HoeffdingTree()
    with pytest.raises(ValueError, match="extra must be set when the features are known"):
        tree.extra = "ignore"
    tree.partial_fit(frame, ["no", "yes"] * 30)
    record = {"plan": "plus", "calls": 3, "sent": "today"}
    for call in (lambda: tree.predict_one(record), lambda: tree.learn_one(record, "yes"),
                 lambda: tree.predict([record]), lambda: tree.predict(pd.DataFrame([record]))):  # fmt: skip
        with pytest.raises(ValueError, match="'sent'.*learner.extra = 'ignore' leaves"):
            call()
    with pytest.raises(ValueError, match="extra must be one of 'refuse', 'ignore', got 'yes'"):
        tree.extra = "yes"
    tree.extra = "ignore"
    answer = tree.predict_one({"plan": "plus", "calls": 3})
    assert tree.predict_one(record) == answer == tree.predict([record])[0] == tree.predict(pd.DataFrame([record]))[0]
    assert tree.learn_one(record, "yes").schema.names == ("plan", "calls")
    again = HoeffdingTree()
    again.restore(tree.state())
    assert again.extra == "ignore"
    assert again.predict_one(record) == tree.predict_one(record)
    with pytest.raises(ValueError, match="lacks"):
        tree.predict(pd.DataFrame([{"plan": "plus", "sent": "today"}]))
