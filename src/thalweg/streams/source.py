"""What all streams share: a limit, a position, and simple ways to read. A stream adds five short methods to it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from thalweg.core import fields
from thalweg.core.chunk import Chunk
from thalweg.core.declared import check
from thalweg.core.fields import Parametrised
from thalweg.core.params import shown, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.streams.draw_jit import Drawn, Floats, Ints, Seeds, is_sown, sown

if TYPE_CHECKING:
    from thalweg.streams.looking import Peek

FAR = 1 << 52
"""No stream gets so far: a position beyond it is made up."""
_AT_ONCE = 1000  # records that are read at a time where they are given one by one
Rng = Literal["splitmix", "java"]
"""Whose random numbers: the library's own, or those of java.util.Random."""

# Parameters that several streams have, declared once.
SEED: Any = fields.whole(default=1, doc="Random seed.", least=0)
LIMIT: Any = fields.whole(default=None, doc="Largest number of rows; None: until the stream ends.", least=0)
RNG: Any = fields.choice(
    default="splitmix", doc="Whose random numbers: the library's own, or Java's, for MOA's very rows."
)
BALANCE: Any = fields.flag(default=False, doc="Do the classes take turns?")


class Source(Parametrised, ABC):
    """Gives records in order. Its state is its position: whoever restores it reads on, bit for bit.

    How many records are read at a time never changes what they are.

    Examples
    --------
    >>> from thalweg import SEA
    >>> stream = SEA(seed=7, limit=2_500)
    >>> [len(chunk) for chunk in stream.chunks(1_000)]
    [1000, 1000, 500]
    """

    name: str | None = fields.fixed(None)
    """What the stream is called in tables and pictures, where it has a name of its own."""
    white: float | None = fields.fixed(None)
    """The highest value that a pixel may have, where the records are images of a known scale from 0."""
    sparse: bool = fields.fixed(False)
    """Are the rows of its chunks a ``scipy.sparse.csr_array``?"""
    opens_files: ClassVar[bool] = True
    """Do its parameters name files, or anything else outside this program? Then ``load`` asks for the caller's word."""
    looked_at: bool = fields.fixed(False)
    """Has somebody been told what its columns look like? Then nobody needs to be told again."""
    _limit: int | None = fields.fixed(None)
    _given: int = fields.fixed(0)

    # -- what a stream writes -----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """What a record looks like."""

    @abstractmethod
    def _start(self) -> None:
        """Go to the first record."""

    @abstractmethod
    def _next(self, n: int) -> Chunk | None:
        """Give up to n ≥ 1 next records; an empty chunk: nothing yet; None: ended."""

    @abstractmethod
    def _tables(self) -> State:
        """Give the tables that the next records depend on, not copied."""

    @abstractmethod
    def _adopt(self, tables: State, given: int) -> None:
        """Continue from tables that ``_tables`` gave after ``given`` records."""

    @property
    def drifts(self) -> tuple[int, ...]:
        """Known rows where the concept changes, counted from the start; empty when unknown or when it never rests."""
        return ()

    @property
    def rows(self) -> int | None:
        """How many records there are from the start to the end; None: endless, or not known before it is read."""
        return self._limit

    @property
    def endless(self) -> bool:
        """Is it known that the stream never ends?"""
        return False

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def limit(self) -> int | None:
        """After how many records the stream ends; None: when there are no more."""
        return self._limit

    @limit.setter
    def limit(self, limit: int | None) -> None:
        self._set_limit(limit)

    def _set_limit(self, limit: int | None) -> None:
        if limit is not None:
            whole("limit", limit, least=0)
            limit = int(limit)
        self._limit = limit

    def read(self, n: int) -> Chunk | None:
        """Give up to n next records: an empty chunk means "nothing yet", None "ended".

        Examples
        --------
        >>> from thalweg import SEA
        >>> SEA(limit=10).read(100).X.shape
        (10, 3)
        """
        if type(n) is not int or not 0 <= n < 1 << 60:
            whole("n", n, least=0)
        if self._limit is not None:
            if self._given >= self._limit:
                return None
            n = min(n, self._limit - self._given)
        if n == 0:
            return self._empty()
        chunk = self._next(n)
        if chunk is not None:
            self._given += len(chunk)
        return chunk

    def take(self, n: int) -> Chunk:
        """Give the next n records, fewer only where the stream has no more.

        Examples
        --------
        >>> from thalweg import SEA
        >>> X, y = (chunk := SEA().take(5)).X, chunk.y
        >>> X.shape, y.shape
        ((5, 3), (5,))
        """
        whole("n", n, least=0)
        parts: list[Chunk] = []
        while n > 0:
            chunk = self.read(n)
            if chunk is None or len(chunk) == 0:
                break
            parts.append(chunk)
            n -= len(chunk)
        return Chunk.join(parts) if parts else self._empty()

    def chunks(self, n: int) -> Iterator[Chunk]:
        """Give the remaining records, n at a time."""
        whole("n", n, least=1)
        while (chunk := self.read(n)) is not None:
            yield chunk

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        """Give the remaining records one by one, each with its label.

        A record is a dict of what is known, nominal values by name; a tensor is an array, and a sparse row a matrix.

        Examples
        --------
        >>> from thalweg import ArrayStream
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"sky": ["clear", None], "degrees": [21, 9], "play": ["yes", "no"]})
        >>> for x, y in ArrayStream(frame, "play"):
        ...     print(x, y)
        {'sky': 'clear', 'degrees': 21.0} yes
        {'degrees': 9.0} no
        """
        for chunk in self.chunks(_AT_ONCE):
            yield from records(chunk, self.schema)

    def peek(self, rows: int, cells: int) -> "Peek | None":
        """Look at records that will be read, without reading them, where that costs little; None: it does not.

        rows, cells: how many records and values at most.
        """
        return None

    def restart(self) -> None:
        """Go back to the first record: the same stream comes again."""
        self._start()
        self._given = 0

    def _empty(self) -> Chunk:
        X = np.empty((0, self.schema.n_features))
        return Chunk(csr(X) if self.sparse else X, np.empty(0, dtype=np.int64))

    # -- position -----------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Copy out the position, as named arrays."""
        return {"given": np.array([self._given])} | {name: table.copy() for name, table in self._tables().items()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Read on from the position that ``state`` of a stream with the same parameters gave."""
        mine = f"state must be what {type(self).__name__}.state() gave with the same parameters"
        if not isinstance(state, Mapping):
            raise TypeError(f"{mine}, a dict of arrays, got {shown(state)}")
        for name, table in ({"given": np.zeros(1, dtype=np.int64)} | self._tables()).items():
            if name not in state:
                raise ValueError(f"{mine}: it lacks {name!r}")
            got = state[name]
            if not isinstance(got, np.ndarray):
                raise TypeError(f"{mine}: {name!r} must be an array, got {shown(got)}")
            text = table.dtype == np.uint8  # a text of any length
            if got.dtype != table.dtype or (got.shape != table.shape and not text):
                raise ValueError(f"{mine}: {name!r} must be {table.dtype} {table.shape}, got {got.dtype} {got.shape}")
            if got.dtype.kind == "f" and not np.isfinite(got).all():
                raise ValueError(f"{mine}: {name!r} must hold finite numbers")
        given = int(state["given"][0])
        if not 0 <= given <= FAR:
            raise ValueError(f"{mine}: 'given' must be at least 0 and at most {FAR}, got {given}")
        if "random" in state and not is_sown(state["random"]):
            raise ValueError(f"{mine}: 'random' is no state of random numbers")
        self._adopt({name: table.copy() for name, table in state.items() if name != "given"}, given)
        self._given = given


class Generator(Source):
    """A stream that makes its records by a rule and by chance: without a limit it never ends.

    A generator is its parameters, its schema and a compiled routine that ``_fill`` calls. What the next records depend
    on stands in the tables ``_now``: the random numbers, and what ``_first_tables`` adds to them. One that can also
    draw Java's random numbers declares ``rng: Rng = RNG``; one whose classes can take turns has ``balance = BALANCE``.

    Examples
    --------
    >>> from thalweg import SEA
    >>> SEA().endless, SEA(limit=1_000).endless
    (True, False)
    """

    opens_files = False

    seed: int = SEED
    limit: int | None = fields.whole(default=None, doc="Largest number of rows; None: no limit.", least=0)

    rng: Rng = fields.fixed("splitmix")
    _schema: Schema = fields.fixed(Schema(()))
    _now: State = fields.fixed({})

    def _prepare(self) -> None:
        """Check and make what follows from the parameters, then go to the first record."""
        self.restart()

    def _first_tables(self, random: Seeds) -> State:
        """Make what the first record depends on, beside the random numbers, from which this may draw."""
        return {"wanted": np.ones(1, dtype=np.int64)} if "balance" in self._fields else {}

    def _fill(self, X: Floats, y: Ints) -> None:
        """Write the next records and the codes of their classes."""
        raise NotImplementedError

    @property
    def schema(self) -> Schema:
        """What a record looks like."""
        return self._schema

    @property
    def endless(self) -> bool:
        """Has it no limit?"""
        return self._limit is None

    @property
    def _random(self) -> Seeds:
        return self._now["random"]

    @property
    def _java(self) -> bool:
        return self.rng == "java"

    @property
    def _wanted(self) -> Ints:
        """The class that comes next, where they take turns."""
        return self._now["wanted"]

    def _start(self) -> None:
        random = sown(self.seed, java=self._java)
        self._now = {"random": random} | self._first_tables(random)

    def _next(self, n: int) -> Chunk:
        X, y = np.empty((n, self._schema.n_features)), np.empty(n, dtype=np.int64)
        self._fill(X, y)
        return Chunk(X, y)

    def _tables(self) -> State:
        return self._now

    def _adopt(self, tables: State, given: int) -> None:
        check(Drawn, tables)
        self._now = {name: tables[name] for name in self._now}


def records(chunk: Chunk, schema: Schema) -> Iterator[tuple[Any, Any]]:
    """Give the records of a chunk one by one, as ``learn_one`` takes them, each with its label."""
    labels = chunk.y.tolist()
    if not isinstance(chunk.X, np.ndarray):
        yield from zip((chunk.X[i : i + 1] for i in range(len(labels))), labels, strict=True)
        return
    if schema.shape is not None and schema.rank is None:
        yield from zip((row.reshape(schema.shape) for row in chunk.X), labels, strict=True)
        return
    words = {f.name: f.values for f in schema.features if f.values is not None}
    for row, label in zip(chunk.X.tolist(), labels, strict=True):
        known = {name: v for name, v in zip(schema.names, row, strict=True) if v == v}
        for name in words.keys() & known.keys():
            known[name] = words[name][int(known[name])]
        yield known, label


def csr(X: Any, shape: tuple[int, ...] | None = None) -> Any:
    """Make rows, or (values, columns, starts) of rows, sparse.

    >>> csr(np.eye(3)).nnz
    3
    """
    from scipy.sparse import csr_array

    return csr_array(X, shape=shape)


def regular(period: int, limit: int | None) -> tuple[int, ...]:
    """Give the positions of drifts that come at regular intervals; where there is no end, the first thousand.

    >>> regular(100, 350)
    (100, 200, 300)
    """
    return tuple(range(period, 1001 * period if limit is None else limit, period))
