"""AGRAWAL: loan applicants and ten rules that part them in two groups."""

from typing import Literal, final

from thalweg.core.fields import choice, number, whole
from thalweg.core.schema import Feature, Schema
from thalweg.streams.draw_jit import Floats, Ints
from thalweg.streams.generators.agrawal_jit import fill
from thalweg.streams.source import BALANCE, RNG, Generator, Rng


@final
class Agrawal(Generator):
    """Six numeric and three nominal features of a person; one of ten functions says who gets a loan (class 0).

    MOA's very rows come with ``rng="java", compat="moa"``.

    References
    ----------
    Agrawal, Imielinski, Swami: Database mining: a performance perspective. IEEE TKDE 5(6), 1993.

    Examples
    --------
    >>> stream = Agrawal(function=1, perturbation=0.0)
    >>> chunk = stream.take(1000)
    >>> age = chunk.X[:, stream.schema.names.index("age")]
    >>> bool((((age >= 40) & (age < 60)) == chunk.y).all())
    True
    """

    function: int = whole(default=1, doc="Which of the ten functions.", least=1, most=10)
    perturbation: float = number(
        default=0.05, doc="Share of its range by which a numeric value moves after the label is given.", least=0, most=1
    )
    balance: bool = BALANCE
    compat: Literal["moa"] | None = choice(
        default=None,
        doc='"moa" keeps MOA\'s bound of 135,000 for a perturbed house value (they reach 1,350,000), so that nearly '
        "nine tenths of them are equal.",
    )
    rng: Rng = RNG

    _schema = Schema(
        (
            Feature("salary"),
            Feature("commission"),
            Feature("age"),
            Feature("elevel", values=tuple(f"level{i}" for i in range(5))),
            Feature("car", values=tuple(f"car{i}" for i in range(1, 21))),
            Feature("zipcode", values=tuple(f"zipcode{i}" for i in range(1, 10))),
            Feature("hvalue"),
            Feature("hyears"),
            Feature("loan"),
        ),
        classes=(0, 1),
    )

    def _fill(self, X: Floats, y: Ints) -> None:
        dearest = 135_000.0 if self.compat == "moa" else 1_350_000.0
        share = float(self.perturbation)
        fill(self._random, self._wanted, int(self.function), share, dearest, self.balance, self._java, X, y)
