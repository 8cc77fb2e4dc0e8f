"""Learners and streams from what a person types: ``arf(size=30)``, ``sdf@0.7``, ``SEA_a``, ``flights.csv``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg import registry
from thalweg.core.names import parse

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
    learner: Classifier = registry.make("learner", spec, registry.LEARNERS, **chosen)
    if budget is None:
        return learner
    from thalweg.active.learner import ActiveLearner

    strategy = registry.make("strategy", "avu", registry.STRATEGIES, budget=budget)
    return ActiveLearner(learner=learner, strategy=strategy)


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
    entry = registry.find("learner", name, registry.LEARNERS)
    return "seed" not in given and "seed" in registry.parameters(entry.cls)


def stream_takes_seed(text: str) -> bool:
    """Does a seed change this stream? Not where it is a file or a data set, nor where the text sets the seed."""
    if is_file(text):
        return False
    name, given = parse(text)
    return name in {**registry.STREAMS, **registry.PAPERS} and "seed" not in given


def is_file(text: str) -> bool:
    """Does this name a file, and no stream of the registry?"""
    return text not in _known() and (Path(text).is_file() or bool(_suffixes(text)))


def open_stream(text: str, *, seed: int | None = None, target: str | None = None, **columns: Any) -> "Stream":
    """Open a stream by its name, or a file; target: the column to predict, where it is a file.

    columns: ``drop`` and ``nominal`` of a file. seed: of a generated stream, unless the text sets it.

    >>> open_stream("agrawal(function=3)", seed=5)
    Agrawal(function=3, seed=5)
    """
    from thalweg.streams.datasets.loading import DATASETS, load_dataset
    from thalweg.streams.files.opening import open_file

    if text[:1] == "-" or target is not None or is_file(text):
        if target is None and text[:1] != "-" and not Path(text).exists():
            raise FileNotFoundError(f"{text} does not exist")
        if target is None and not _suffixes(text) & {".libsvm", ".svm", ".npz"}:
            where = "standard input" if text[:1] == "-" else text
            raise ValueError(f"--target must name the column of {where} to predict")
        return open_file(text, target=target, **{name: given for name, given in columns.items() if given})
    name, given = parse(text)
    registry.find("stream", name, _known())
    if name in DATASETS:
        return load_dataset(name, **given)
    more = {} if seed is None or "seed" in given else {"seed": seed}
    return registry.make("stream", text, {**registry.STREAMS, **registry.PAPERS}, **more)  # type: ignore[no-any-return]


def is_endless(stream: "Stream") -> bool:
    """Is it known that the stream goes on for ever? One that does not say so may end."""
    return bool(getattr(stream, "endless", False))


def _known() -> dict[str, registry.Entry]:
    from thalweg.streams.datasets.loading import DATASETS

    data = {name: registry.Entry("", d.line) for name, d in DATASETS.items()}
    return {**registry.STREAMS, **registry.PAPERS, **data}


def _suffixes(text: str) -> set[str]:
    from thalweg.streams.files.opening import KINDS

    return {s.lower() for s in Path(text).suffixes} & set(KINDS)
