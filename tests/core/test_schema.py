import pytest

from thalweg import Feature, Schema


def test_json_round_trip() -> None:
    schema = Schema(
        (Feature("a"), Feature("b", values=("x", "y"), open=True)), classes=("no", "yes"), shape=(2,), open=True
    )
    assert Schema.from_json(schema.to_json()) == schema


def test_cardinalities() -> None:
    assert Schema((Feature("a"), Feature("b", values=("x", "y")))).cardinalities.tolist() == [0, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Schema((Feature("a"), Feature("a"))),
        lambda: Schema((Feature("a"),), classes=(1, 1)),
        lambda: Schema((Feature("a", values=("x", "x")),)),
    ],
)
def test_twice_the_same_is_refused(make: object) -> None:
    with pytest.raises(ValueError, match="must be distinct"):
        make()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"features": 3}', '{"features": [{"name": 1}]}'])
def test_foreign_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="schema must be the JSON of a Schema"):
        Schema.from_json(text)
