"""Names with parameters, as people write them."""

import pytest

from thalweg.core.names import parse


@pytest.mark.parametrize(
    "text",
    [
        "",
        "arf(",
        "arf(5)",
        "arf(size=5)(seed=3)",
        "arf(a=1).b(c=2)",
        "arf(size=5, size=6)",
        "arf(size=x+)",
        "arf(size=x*y)",
        "arf(size=[x*y])",
        "arf(size=not x)",
        "arf(size=x if y else z)",
        "a b",
        None,
    ],
)
def test_what_is_no_name_is_refused(text):
    with pytest.raises(ValueError, match="must read like"):
        parse(text)


def test_names_and_parameters():
    assert parse(" led-drift ") == ("led-drift", {})
    assert parse("arf(subspace='all', drift=None,)") == ("arf", {"subspace": "all", "drift": None})


def test_names_inside_are_text_with_quotes_or_without():
    assert parse("sim-tensor(order=6,drift=sudden)") == ("sim-tensor", {"order": 6, "drift": "sudden"})
    assert parse("x(a=rbf-drift(seed=3), b=hddm-w, c='d')") == (
        "x",
        {"a": "rbf-drift(seed=3)", "b": "hddm-w", "c": "d"},
    )
    assert parse("x(a=é(b='ü'),  b=1)") == ("x", {"a": "é(b='ü')", "b": 1})
