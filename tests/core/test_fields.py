"""Parameters declared as fields: constructor, checks, documentation, old words."""

import inspect
import warnings
from typing import Any, Literal

import pytest

from thalweg.core.fields import REQUIRED, Parametrised, again, choice, fixed, flag, free, in_todays_words, number, whole


class Family(Parametrised):
    """What a family shares."""

    grace_period: float = number(default=200, doc="Weight between two attempts.", least=1)
    delta: float = number(default=1e-7, doc="Allowed error (δ).", above=0, below=1)
    leaf: Literal["majority", "bayes"] = choice(default="bayes", doc="How a leaf answers.", old_values={"nb": "bayes"})
    limit_bytes: int | None = whole(default=None, doc="Ceiling; None: no limit.", least=10)
    kind: str = fixed("tree")


class Member(Family):
    """A member of the family.

    Notes
    -----
    None.

    Examples
    --------
    >>> Member(size=3)
    Member(size=3)
    """

    size: int = whole(default=10, doc="Number of trees.", least=1, old="n_trees")
    delta: float = again(default=0.01)
    prune: bool = flag(default=True, doc="Let no split compete.")

    def _prepare(self) -> None:
        if self.size > 5 and not self.prune:
            raise ValueError(f"prune must be True where size is above 5, got {self.prune}")


def even(name: str, value: Any) -> None:
    if value % 2:
        raise ValueError(f"{name} must be even, got {value}")


class Needs(Parametrised):
    """One that must be given something."""

    learner: Any = free(default=REQUIRED, doc="What is wrapped.")
    n: int = free(default=2, doc="An even number.", check=even)


def test_the_constructor_sets_what_is_given_and_the_defaults() -> None:
    made = Member(size=3, leaf="majority")
    assert made.get_params() == {
        "size": 3, "delta": 0.01, "prune": True, "grace_period": 200, "leaf": "majority", "limit_bytes": None,
    }  # fmt: skip
    assert repr(made) == "Member(size=3, leaf='majority')"
    assert made.kind == "tree"
    assert list(inspect.signature(Member).parameters) == list(made.get_params())
    assert inspect.signature(Member).parameters["delta"].default == 0.01
    assert Family().delta == 1e-7


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"delta": 2}, r"delta must lie in \(0, 1\), got 2"),
        ({"size": 2.5}, r"size must be a whole number in \[1, ∞\), got 2.5"),
        ({"leaf": "oak"}, "leaf must be one of 'majority', 'bayes', got 'oak'"),
        ({"prune": 1}, "prune must be True or False, got 1"),
        ({"limit_bytes": 3}, r"limit_bytes must lie in \[10, ∞\), got 3"),
        ({"size": 6, "prune": False}, "prune must be True where size is above 5"),
        ({"sizes": 6}, "Member has no parameter 'sizes': did you mean 'size'"),
    ],
)
def test_what_a_parameter_must_not_be_gets_a_sentence(given, sentence) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        Member(**given)


def test_a_parameter_that_is_required_and_one_with_a_check_of_its_own() -> None:
    assert Needs(learner="x").get_params() == {"learner": "x", "n": 2}
    with pytest.raises(TypeError, match="Needs must be given 'learner'"):
        Needs()
    with pytest.raises(ValueError, match="n must be even, got 3"):
        Needs(learner=1, n=3)


def test_old_words_work_with_a_warning_and_load_without_one() -> None:
    with pytest.warns(DeprecationWarning, match="'n_trees' of Member is now called 'size'"):
        assert Member(n_trees=4).size == 4
    with pytest.warns(DeprecationWarning, match="'leaf' of Member is now called leaf='bayes'"):
        assert Member(leaf="nb").leaf == "bayes"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert in_todays_words(Member._fields, {"n_trees": 4, "leaf": "nb"}) == {"size": 4, "leaf": "bayes"}


def test_the_docstring_has_a_section_of_parameters_before_the_others() -> None:
    doc = Member.__doc__ or ""
    assert "size : int in [1, ∞), default 10\n    Number of trees." in doc
    assert 'leaf : {"majority", "bayes"}, default "bayes"' in doc
    assert "limit_bytes : int or None in [10, ∞), default None" in doc
    assert doc.index("Parameters\n-----") < doc.index("Notes\n-----") < doc.index("Examples\n----")


def test_a_parameter_cannot_be_declared_again_that_no_base_has() -> None:
    with pytest.raises(TypeError, match="Odd declares 'size' again, and no base class has it"):
        type("Odd", (Parametrised,), {"__annotations__": {"size": int}, "size": again(default=3)})


class Placed(Parametrised):
    """Has parameters that may be given by position, those of the base first."""

    stream: str = free(doc="The first.", kw_only=False)
    seed: int = whole(default=1, doc="By name only.")


class Further(Placed):
    """Adds one, and keeps another under a name of its own."""

    width: float = number(default=2.0, doc="The second.", kw_only=False)
    _given: str | None = free(default=None, doc="The schema that was given.", alias="schema")

    @property
    def schema(self) -> str:
        """What it has become."""
        return self._given or "inferred"


def test_parameters_by_position_come_first_and_those_of_the_base_before_them():
    assert list(inspect.signature(Further).parameters) == ["stream", "width", "schema", "seed"]
    made = Further("a", 3.0, schema="known")
    assert (made.stream, made.width, made.schema, made.seed) == ("a", 3.0, "known", 1)
    assert repr(made) == "Further('a', width=3.0, schema='known')"
    assert Further("a").get_params() == {"stream": "a", "width": 2.0, "schema": None, "seed": 1}


@pytest.mark.parametrize(
    ("given", "named", "sentence"),
    [
        ((), {}, "Further must be given 'stream'"),
        (("a", 1.0, 2), {}, "Further takes 2 positional arguments: stream, width, but 3 were given"),
        (("a",), {"stream": "b"}, "Further got 'stream' twice, by position and by name"),
    ],
)
def test_what_is_wrong_with_positions_is_said_in_a_sentence(given, named, sentence):
    with pytest.raises(TypeError, match=f"^{sentence}$"):
        Further(*given, **named)
