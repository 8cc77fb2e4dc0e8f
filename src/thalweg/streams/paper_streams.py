"""The streams of the papers, under the names and with the settings of their authors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from thalweg.core.params import choice, whole
from thalweg.streams.drift import DriftStream
from thalweg.streams.generators.agrawal import Agrawal
from thalweg.streams.generators.hyper_cube import HyperCube
from thalweg.streams.generators.hyperplane import Hyperplane
from thalweg.streams.generators.led import LED
from thalweg.streams.generators.random_tree import RandomTree
from thalweg.streams.generators.rbf import RandomRBF
from thalweg.streams.generators.sea import SEA
from thalweg.streams.generators.text import Text
from thalweg.streams.source import Rng, Source

Make = Callable[[int, int, Rng], Source]
"""From limit, seed and random source to a stream."""

_PERIOD = 250_000


@dataclass(frozen=True)
class PaperStream:
    """A stream of a paper: what it is, and how to make it.

    >>> stream = PAPER_STREAMS["SEA_g"](rows=1000)
    >>> stream.name, stream.rows
    ('SEA_g', 1000)
    """

    name: str
    line: str
    """What it is, in a line."""
    rows: int
    """How many records the authors used."""
    make: Make
    with_period: Callable[[int], Make] | None = None
    """How to make it with so many records between two drifts; None: there are none between its concepts."""

    def __call__(
        self, *, rows: int | None = None, seed: int = 1, rng: Rng = "java", period: int | None = None
    ) -> Source:
        """Make it. rows: None: as many as the authors used. rng: "java": their very records, where the seed is 1.

        period: records between two drifts, None: as the authors have it.
        """
        make = self.make
        if period is not None:
            whole("period", period, least=1)
            if self.with_period is None:
                raise ValueError(f"period must be None for {self.name}, which does not go from concept to concept")
            make = self.with_period(int(period))
        if rows is not None:
            whole("rows", rows, least=0)
        whole("seed", seed, least=0)
        choice("rng", rng, ("splitmix", "java"))
        stream = make(self.rows if rows is None else int(rows), int(seed), rng)
        stream.name = self.name
        return stream


def paper_stream(
    name: str, *, rows: int | None = None, seed: int = 1, rng: Rng = "java", period: int | None = None
) -> Source:
    """Make the stream of that name.

    Parameters
    ----------
    name : str
        As the paper has it: AGR_a, SEA_g, RBF_f, …; ``thalweg list`` has them all.
    rows : int | None
        How many; None: as many as the authors used.
    seed : int
        Random seed.
    rng : Rng
        "java" gives the very records of MOA, which they used: all concepts have the same seed, so that a concept that
        comes again replays its records, and MOA's slips are kept; "splitmix" gives every concept a seed of its own.
        Syn-5 and Syn-10 are no streams of MOA: for them ``rng`` changes nothing.
    period : int | None
        Records between two drifts of AGR, SEA and LED, whose gradual changes take a fifth of it; None: 250,000, as the
        authors have it.

    Examples
    --------
    >>> paper_stream("AGR_a").drifts
    (250000, 500000, 750000)
    >>> paper_stream("SEA_g", rows=40_000, period=10_000).drifts
    (10000, 20000, 30000)
    """
    choice("name", name, PAPER_STREAMS)
    return PAPER_STREAMS[name](rows=rows, seed=seed, rng=rng, period=period)


Concepts = Sequence[Callable[[int, Rng], Source]]


def _drifting(concepts: Concepts, period: int, width: int) -> Make:
    """Nest drifts: each counts its own records, so that the same position is reached again and again."""

    def make(rows: int, seed: int, rng: Rng) -> Source:
        seeds = [seed if rng == "java" else len(concepts) * seed + k for k in range(len(concepts))]
        streams = [concept(s, rng) for concept, s in zip(concepts, seeds, strict=True)]
        new, inner = streams.pop(), len(streams) - 1
        while inner > 0:
            new = DriftStream(streams[inner], new, period, width, rng=rng, seed=seeds[inner])
            inner -= 1
        return DriftStream(streams[0], new, period, width, rng=rng, seed=seeds[0], limit=rows)

    return make


def _abrupt(name: str, line: str, concepts: Concepts) -> PaperStream:
    def make(period: int) -> Make:
        return _drifting(concepts, period, 50)

    return PaperStream(name, line, _MILLION, make(_PERIOD), make)


def _gradual(name: str, line: str, concepts: Concepts) -> PaperStream:
    def make(period: int) -> Make:
        return _drifting(concepts, period, max(1, period // 5))

    return PaperStream(name, line, _MILLION, make(_PERIOD), make)


def _agrawal(function: int) -> Callable[[int, Rng], Source]:
    return lambda seed, rng: Agrawal(function=function, compat="moa" if rng == "java" else None, rng=rng, seed=seed)


def _sea(function: int) -> Callable[[int, Rng], Source]:
    return lambda seed, rng: SEA(function=function, rng=rng, seed=seed)


def _led(drifting: int) -> Callable[[int, Rng], Source]:
    return lambda seed, rng: LED(drifting=drifting, rng=rng, seed=seed)


# The authors' command lines name no function for the third concept, and MOA's default is 1.
_AGRAWALS, _SEAS = [_agrawal(f) for f in (1, 2, 1, 4)], [_sea(f) for f in (1, 2, 1, 4)]
_LEDS = [_led(d) for d in (1, 3, 5, 7)]


def _rbf(classes: int, features: int, speed: float) -> Make:
    def make(rows: int, seed: int, rng: Rng) -> Source:
        return RandomRBF(
            classes=classes, features=features, speed=speed, model_seed=seed, rng=rng, seed=seed, limit=rows
        )

    return make


def _tweets(words: int) -> Make:
    def make(rows: int, seed: int, rng: Rng) -> Source:
        return Text(words=words, compat="moa" if rng == "java" else None, rng=rng, seed=seed, limit=rows)

    return make


def _tree(rows: int, seed: int, rng: Rng) -> Source:
    return RandomTree(model_seed=seed, rng=rng, seed=seed, limit=rows)


def _hyperplane(rows: int, seed: int, rng: Rng) -> Source:
    return Hyperplane(drifting=10, magnitude=0.001, rng=rng, seed=seed, limit=rows)


def _cube(features: int) -> Make:
    """Make the E-tree paper's cube: it has nothing of MOA's, so that the random source does not matter.

    The paper tells width, step and period; the share inside and the noise are ours (its own would leave three records
    in a hundred inside, and at ten features one in a thousand). A hundred periods: as many as its largest ensemble has
    members.
    """
    return lambda rows, seed, rng: HyperCube(features=features, seed=seed, limit=rows)


_MILLION, _TENTH = 1_000_000, 100_000

PAPER_STREAMS: Mapping[str, PaperStream] = MappingProxyType(
    {
        stream.name: stream
        for stream in (
            _abrupt("AGR_a", "AGRAWAL functions 1, 2, 1, 4, three abrupt drifts", _AGRAWALS),
            _gradual("AGR_g", "AGRAWAL functions 1, 2, 1, 4, three gradual drifts", _AGRAWALS),
            _abrupt("SEA_a", "SEA functions 1, 2, 1, 4, three abrupt drifts", _SEAS),
            _gradual("SEA_g", "SEA functions 1, 2, 1, 4, three gradual drifts", _SEAS),
            _abrupt("LED_a", "LED, 1, 3, 5, 7 segments swapped, three abrupt drifts", _LEDS),
            _gradual("LED_g", "LED, 1, 3, 5, 7 segments swapped, three gradual drifts", _LEDS),
            PaperStream("RTG", "random tree, five nominal and five numeric features", _MILLION, _tree),
            PaperStream("RBF_m", "moving clusters, five classes, moderate speed", _MILLION, _rbf(5, 10, 0.0001)),
            PaperStream("RBF_f", "moving clusters, five classes, fast", _MILLION, _rbf(5, 10, 0.001)),
            PaperStream("HYPER", "a plane that turns, 5 % noise", _MILLION, _hyperplane),
            PaperStream("Tweets-500", "messages of 500 words", _TENTH, _tweets(500)),
            PaperStream("Tweets-1000", "messages of 1,000 words", _TENTH, _tweets(1000)),
            PaperStream("Tweets-1500", "messages of 1,500 words", _TENTH, _tweets(1500)),
            PaperStream("RBF-200x10", "clusters that rest, 200 features, ten classes", _TENTH, _rbf(10, 200, 0.0)),
            PaperStream("Syn-5", "a cube that moves every 10,000 rows, five features", _MILLION, _cube(5)),
            PaperStream("Syn-10", "a cube that moves every 10,000 rows, ten features", _MILLION, _cube(10)),
        )
    }
)
"""By name, in the order of the papers."""
