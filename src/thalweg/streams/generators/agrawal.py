"""AGRAWAL: loan applicants and ten rules that part them in two groups."""

from typing import final

import numpy as np

from thalweg.core.chunk import Chunk
from thalweg.core.params import choice, flag, number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Feature, Schema
from thalweg.streams.draw_jit import sown
from thalweg.streams.generators.agrawal_jit import fill
from thalweg.streams.source import Generator

SCHEMA = Schema(
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


@final
class Agrawal(Generator):
    """Six numeric and three nominal features of a person; one of ten functions says who gets a loan (class 0).

    function: 1 to 10. perturbation: share of its range by which a numeric value moves after the label is given.
    balance: classes take turns. compat: "moa" keeps MOA's bound of 135,000 for a perturbed house value (they
    reach 1,350,000), so that nearly nine tenths of them are equal. rng: "splitmix", or "java" for MOA's very
    rows (with compat="moa"). limit: rows, None: endless.

    Agrawal, Imielinski, Swami: Database mining: a performance perspective. IEEE TKDE 5(6), 1993.

    >>> stream = Agrawal(function=1, perturbation=0.0)
    >>> chunk = stream.take(1000)
    >>> age = chunk.X[:, stream.schema.names.index("age")]
    >>> bool((((age >= 40) & (age < 60)) == chunk.y).all())
    True
    """

    def __init__(
        self,
        *,
        function: int = 1,
        perturbation: float = 0.05,
        balance: bool = False,
        compat: str | None = None,
        rng: str = "splitmix",
        seed: int = 1,
        limit: int | None = None,
    ) -> None:
        whole("function", function, least=1, most=10)
        number("perturbation", perturbation, least=0, most=1)
        flag("balance", balance)
        if compat is not None:
            choice("compat", compat, ("moa",))
        choice("rng", rng, ("splitmix", "java"))
        whole("seed", seed, least=0)
        self._set_limit(limit)
        self.function, self.perturbation, self.balance = function, perturbation, balance
        self.compat, self.rng, self.seed = compat, rng, seed
        self.restart()

    @property
    def schema(self) -> Schema:
        """Nine features, three of them nominal, two classes."""
        return SCHEMA

    def _start(self) -> None:
        self._random = sown(self.seed, java=self.rng == "java")
        self._wanted = np.ones(1, dtype=np.int64)

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, 9)), np.empty(n, dtype=np.int64)
        dearest = 135_000.0 if self.compat == "moa" else 1_350_000.0
        share, java = float(self.perturbation), self.rng == "java"
        fill(self._random, self._wanted, int(self.function), share, dearest, self.balance, java, X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return {"random": self._random, "wanted": self._wanted}

    def _adopt(self, tables: State, given: int) -> None:
        self._random, self._wanted = tables["random"], tables["wanted"]
