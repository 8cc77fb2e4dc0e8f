"""Learners and streams from what a person types: ``arf(size=30)``, ``sdf@0.7``, ``SEA_a``, ``flights.csv``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.core.names import parse
from thalweg.registry.entry import Format
from thalweg.registry.finding import find, make, parameters
from thalweg.registry.learners import LEARNERS
from thalweg.registry.parts import STRATEGIES
from thalweg.registry.public import OTHERS
from thalweg.registry.streams import DATASETS, FORMATS, PAPERS, STREAMS, format_of

if TYPE_CHECKING:
    from thalweg.core.classifier import Classifier
    from thalweg.core.protocols import Stream

ENDLESS = 100_000
"""Rows of an endless stream to read where no limit is given."""


def make_learner(text: str, *, seed: int | None = None, **chosen: Any) -> "Classifier":
    """Make a learner from its name, with parameters; ``name@0.7``: one that asks for that share of the labels (AVU).

    seed: for a learner that draws random numbers, unless the text sets it. chosen: further parameters.

    >>> make_learner("arf(size=30)", seed=7)
    AdaptiveRandomForest(size=30, seed=7)
    >>> make_learner("naive-bayes@0.5").strategy
    AVU(budget=0.5)
    """
    spec, budget = split_budget(text)
    if seed is not None and learner_takes_seed(spec):
        chosen = {"seed": seed, **chosen}
    learner: Classifier = make("learner", spec, LEARNERS, **chosen)
    if budget is None:
        return learner
    return asking(learner, "avu", budget)


def asking(learner: "Classifier", strategy: str, budget: float) -> "Classifier":
    """Let a learner ask for a share of the labels, by a strategy's name."""
    chosen = make("strategy", strategy, STRATEGIES, budget=budget)
    made: Classifier = OTHERS["ActiveLearner"].make(learner=learner, strategy=chosen)
    return made


def split_budget(text: str) -> tuple[str, float | None]:
    """Split ``name(…)@0.7`` into what is before the @ and the share of the labels.

    >>> split_budget("sdf(size=5)@0.7")
    ('sdf(size=5)', 0.7)
    """
    spec, at, share = text.rpartition("@")
    if not at:
        return text, None
    try:
        return spec, float(share)
    except ValueError:
        raise ValueError(f"the share of labels after @ must be a number such as 0.7, got {share!r}") from None


def learner_takes_seed(text: str) -> bool:
    """Does a seed change this learner? Not where it draws no random numbers, nor where the text sets the seed."""
    name, given = parse(split_budget(text)[0])
    return "seed" not in given and "seed" in parameters(find("learner", name, LEARNERS).cls)


def stream_takes_seed(text: str) -> bool:
    """Does a seed change this stream? Not where it is a file or a data set, nor where the text sets the seed."""
    if is_file(text):
        return False
    name, given = parse(text)
    return (name in STREAMS or name in PAPERS) and "seed" not in given


def is_file(text: str) -> bool:
    """Does this name a file, and no stream of the registry?"""
    return not _is_known(text) and (Path(text).is_file() or bool(_formats(text)))


def open_stream(text: str, *, seed: int | None = None, target: str | None = None, **columns: Any) -> "Stream":
    """Open a stream by its name, or a file; target: the column to predict, where it is a file.

    columns: ``drop`` and ``nominal`` of a file. seed: of a generated stream, unless the text sets it.

    >>> open_stream("agrawal(function=3)", seed=5)
    Agrawal(function=3, seed=5)
    """
    if text[:1] == "-" or target is not None or is_file(text):
        if target is None and text[:1] != "-" and not Path(text).exists():
            raise FileNotFoundError(f"{text} does not exist")
        if target is None and any(f.target is None for f in _formats(text) or [FORMATS["csv"]]):
            where = "standard input" if text[:1] == "-" else text
            raise ValueError(f"--target must name the column of {where} to predict")
        options = {name: given for name, given in columns.items() if given}
        return OTHERS["open_file"].cls(text, target=target, **options)  # type: ignore[no-any-return]
    name, given = parse(text)
    entry = find("stream", name, {**STREAMS, **PAPERS, **DATASETS})
    if name in DATASETS:
        return entry.make(**given)  # type: ignore[no-any-return]
    more = {} if seed is None or "seed" in given else {"seed": seed}
    return make("stream", text, {**STREAMS, **PAPERS}, **more)  # type: ignore[no-any-return]


def is_endless(stream: "Stream") -> bool:
    """Is it known that the stream goes on for ever? One that does not say so may end."""
    return bool(getattr(stream, "endless", False))


def _is_known(text: str) -> bool:
    return text in STREAMS or text in PAPERS or text in DATASETS


def _formats(text: str) -> list[Format]:
    """Give the formats that the endings of a name speak of."""
    found = (format_of(suffix.lower()) for suffix in Path(text).suffixes)
    return [known for known in found if known is not None]
