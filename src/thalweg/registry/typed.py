"""Learners and streams from what a person types: ``arf(size=30)``, ``sdf@0.7``, ``SEA_a``, ``flights.csv``."""

import copy
import glob
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.core.names import parse, steps
from thalweg.registry.entry import Entry, Format
from thalweg.registry.finding import find, known_name, make, parameters
from thalweg.registry.learners import LEARNERS
from thalweg.registry.parts import STRATEGIES, TRANSFORMERS
from thalweg.registry.public import OTHERS
from thalweg.registry.streams import DATASETS, FORMATS, PAPERS, STREAMS, format_of

if TYPE_CHECKING:
    from thalweg.core.classifier import Classifier
    from thalweg.core.protocols import Stream

SCHEMES = ("kafka", "redis", "rediss", "nats", "postgresql", "postgres", "sqlite")
"""What the addresses of brokers and databases begin with."""
ENDLESS = 100_000
"""Rows of an endless stream to read where no limit is given."""
WRAPPERS = {"balanced": "Balanced", "cost-sensitive": "CostSensitive", "threshold": "Threshold"}
"""Learners that are put around another one, by name: ``balanced(arf)``."""
DEFAULT = "class"
"""The column to predict in a file that has it, where none is named."""


def make_learner(text: str, *, seed: int | None = None, **chosen: Any) -> "Classifier":
    """Make a learner from its name, with parameters; ``name@0.7``: one that asks for that share of the labels (AVU).

    A file that ``save`` wrote is a learner too, with all that it knows; so is ``module:object``, a class, a function or
    a learner of one's own. Transformers may stand before a learner, each followed by a bar: ``standard-scaler | arf``.
    seed: for a learner that draws random numbers, unless the text sets it. chosen: further parameters of the learner.

    >>> make_learner("arf(size=30)", seed=7)
    AdaptiveRandomForest(size=30, seed=7)
    >>> make_learner("naive-bayes@0.5").strategy
    AVU(budget=0.5)
    >>> make_learner("standard-scaler | naive-bayes")
    Pipeline(transformers=(StandardScaler(),), learner=NaiveBayes())
    >>> make_learner("threshold(balanced(arf), alerts=0.01)", seed=7)
    Threshold(Balanced(AdaptiveRandomForest(seed=7)), alerts=0.01)
    """
    if is_saved(text):
        if chosen:
            raise ValueError(f"{next(iter(chosen))} must not be set for a saved model, {text} has its own parameters")
        return OTHERS["load"].cls(text)  # type: ignore[no-any-return]
    spec, budget = split_budget(text)
    *before, last = steps(spec)
    around = _around(last)
    learner: Classifier
    if around is not None:
        name, inside, given = around
        learner = OTHERS[WRAPPERS[name]].make(learner=make_learner(inside, seed=seed), **given | chosen)
    else:
        if seed is not None and learner_takes_seed(last):
            chosen = {"seed": seed, **chosen}
        learner = make_own(last, **chosen) if is_own(last) else make("learner", last, LEARNERS, **chosen)
    if before:
        learner = prepared(before, learner)
    if budget is None:
        return learner
    return asking(learner, "avu", budget)


def prepared(transformers: Iterable[str], learner: "Classifier") -> "Classifier":
    """Put transformers, by their names, in front of a learner."""
    made = tuple(make("transformer", text, TRANSFORMERS) for text in transformers)
    pipeline: Classifier = OTHERS["Pipeline"].make(transformers=made, learner=learner)
    return pipeline


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
    if is_saved(text):
        return False
    spec = steps(split_budget(text)[0])[-1]
    if is_own(spec):
        thing, given = find_own(spec)
        return callable(thing) and "seed" not in given and "seed" in parameters(thing)
    around = _around(spec)
    if around is not None:
        return learner_takes_seed(around[1])
    name, given = parse(spec)
    return "seed" not in given and "seed" in parameters(find("learner", name, LEARNERS).cls)


def is_saved(text: str) -> bool:
    """Does this name a file with a saved model, and no learner of the registry?"""
    return known_name(text, LEARNERS) is None and not is_own(text) and Path(text).is_file()


def is_own(text: str) -> bool:
    """Does this read like ``module:object``, or ``module:object(parameter=value)``?

    >>> is_own("mine.forests:Mine(size=3)"), is_own("arf"), is_own("flights.csv")
    (True, False, False)
    """
    return re.fullmatch(r"[^\W\d][\w.]*:[^\W\d][\w.]*(\(.*\))?", text, re.DOTALL) is not None


def find_own(text: str) -> tuple[Any, dict[str, Any]]:
    """Import what ``module:object(parameter=value)`` names; modules are also looked for in the present folder."""
    module, _, rest = text.partition(":")
    name, given = parse(rest)
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return Entry(f"{module}:{name}").cls, given
    except ModuleNotFoundError as error:
        raise ValueError(f"{text!r} names the module {module!r}, which cannot be imported: {error}") from None
    except AttributeError:
        raise ValueError(f"{text!r} names {name!r}, which the module {module!r} does not have") from None


def make_own(text: str, **chosen: Any) -> Any:
    """Make what ``module:object(parameter=value)`` names: a class or function is called, an object is copied."""
    thing, given = find_own(text)
    if callable(thing):
        return thing(**given | chosen)
    if given or chosen:
        raise ValueError(f"{text!r} is an object that is made already, it takes no parameters")
    return copy.deepcopy(thing)


def _around(spec: str) -> tuple[str, str, dict[str, Any]] | None:
    """Split ``balanced(arf, strength=0.5)`` into the wrapper's name, the learner inside and its other parameters."""
    if spec.partition("(")[0].strip() not in WRAPPERS:
        return None
    name, given = parse(spec, first="learner")
    inside = given.pop("learner", None)
    if not isinstance(inside, str):
        raise ValueError(f"{name} must be given a learner, as in {name}(arf), got {spec}")
    return name, inside, given


def for_rare_class(
    learner: "Classifier", *, class_weight: str | None = None, costs: list[str] | None = None,
    alerts: float | None = None, precision: float | None = None, positive: str | None = None,
) -> "Classifier":  # fmt: skip
    """Put around a learner what the options of the command line ask for.

    >>> from thalweg import NaiveBayes
    >>> for_rare_class(NaiveBayes(), class_weight="yes=10,no=1", alerts=0.05)
    Threshold(Balanced(NaiveBayes(), class_weight={'yes': 10.0, 'no': 1.0}), alerts=0.05)
    >>> for_rare_class(NaiveBayes(), costs=["yes:no=10"])
    CostSensitive(NaiveBayes(), costs={('yes', 'no'): 10.0})
    """
    if costs and (alerts is not None or precision is not None):
        raise ValueError("--costs must not be given with --alerts or --precision: each decides in its own way")
    if positive is not None and alerts is None and precision is None:
        raise ValueError(f"--positive needs --alerts or --precision, got --positive {positive}")
    if class_weight is not None:
        pairs = class_weight.split(",") if "=" in class_weight else []
        weights = {_label(label): number for label, number in (_pair("--class-weight", p, "yes=10") for p in pairs)}
        learner = OTHERS["Balanced"].make(learner=learner, class_weight=weights or class_weight)
    if costs:
        found = {}
        for text in (part for given in costs for part in given.split(",")):
            pair, number = _pair("--costs", text, "yes:no=10")
            true, colon, guess = pair.partition(":")
            if not colon:
                raise ValueError(f"--costs must read like yes:no=10, label, guess and cost, got {text}")
            found[_label(true), _label(guess)] = number
        learner = OTHERS["CostSensitive"].make(learner=learner, costs=found)
    if alerts is not None or precision is not None:
        named = None if positive is None else _label(positive)
        learner = OTHERS["Threshold"].make(learner=learner, positive=named, alerts=alerts, precision=precision)
    return learner


def _pair(option: str, text: str, example: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise ValueError(f"{option} must read like {example}, got {text}") from None


def _label(text: str) -> Any:
    """Read a label as a file has it: a whole number where it is one, else text."""
    text = text.strip()
    return int(text) if text.removeprefix("-").isdigit() else text


def stream_takes_seed(text: str) -> bool:
    """Does a seed change this stream? Not where it is a file or a data set, nor where the text sets the seed."""
    if is_file(text):
        return False
    if is_own(text):
        thing, given = find_own(text)
        return callable(thing) and "seed" not in given and "seed" in parameters(thing)
    name, given = parse(text)
    return known_name(name, {**STREAMS, **PAPERS}) is not None and "seed" not in given


def is_address(text: str) -> bool:
    """Does this read like the address of a broker or a database?

    >>> is_address("redis://localhost/clicks"), is_address("clicks.csv")
    (True, False)
    """
    scheme, sign, _ = text.partition("://")
    return bool(sign) and scheme in SCHEMES


def is_file(text: str) -> bool:
    """Does this name a file, or the address of a broker, and no stream of the registry?"""
    if is_address(text):
        return True
    known = text in STREAMS or text in PAPERS or text in DATASETS or is_own(text)
    return not known and (Path(text).is_file() or Path(text).is_dir() or bool(_formats(text)))


def open_stream(text: str, *, seed: int | None = None, target: str | None = None, **options: Any) -> "Stream":
    """Open a stream by its name, a file, or an address; target: the column to predict, where it is no generator.

    options: of a file, as ``open_file`` takes them. seed: of a generated stream, unless the text sets it.

    >>> open_stream("agrawal(function=3)", seed=5)
    Agrawal(function=3, seed=5)
    """
    options = {name: given for name, given in options.items() if given is not None and given != ()}
    if is_address(text):
        named = {} if target is None else {"target": target}
        return OTHERS["MessageStream"].make(address=text, **named | options)  # type: ignore[no-any-return]
    if text[:1] == "-" or target is not None or "format" in options or is_file(text):
        return _open_file(text, target, options)
    if options:
        raise ValueError(f"{next(iter(options))} says how a file is read, got the stream {text!r}")
    if is_own(text):
        given = {} if seed is None or not stream_takes_seed(text) else {"seed": seed}
        return make_own(text, **given)  # type: ignore[no-any-return]
    name, given = parse(text)
    tables = {**STREAMS, **PAPERS, **DATASETS}
    entry = find("stream", name, tables)
    if known_name(name, tables) in DATASETS:
        return entry.make(**given)  # type: ignore[no-any-return]
    more = {} if seed is None or "seed" in given else {"seed": seed}
    return make("stream", text, {**STREAMS, **PAPERS}, **more)  # type: ignore[no-any-return]


def _open_file(text: str, target: str | None, options: dict[str, Any]) -> "Stream":
    """Open a file; where no target is named it is the column ``class``, if there is one."""
    if target is None and text[:1] != "-" and not Path(text).exists() and not glob.has_magic(text):
        raise FileNotFoundError(f"{text} does not exist")
    guessed = target is None and any(f.target is None for f in _formats(text) or [FORMATS["csv"]])
    try:
        return OTHERS["open_file"].cls(text, target=DEFAULT if guessed else target, **options)  # type: ignore[no-any-return]
    except ValueError as error:
        if not guessed or not str(error).startswith("target must"):
            raise
        where = "standard input" if text[:1] == "-" else text
        rule = str(error).removeprefix("target must be ").rpartition(" of ")[0]
        raise ValueError(f"--target must name the column of {where} to predict: {rule}") from None


def is_endless(stream: "Stream") -> bool:
    """Is it known that the stream goes on for ever? One that does not say so may end."""
    return bool(getattr(stream, "endless", False))


def _formats(text: str) -> list[Format]:
    """Give the formats that the endings of a name speak of."""
    found = (format_of(suffix.lower()) for suffix in Path(text).suffixes)
    return [known for known in found if known is not None]
