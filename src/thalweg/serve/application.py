"""``thalweg.serve.app``: a service from a few words, as an ASGI application."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from thalweg.core.classifier import Classifier
from thalweg.core.schema import Schema
from thalweg.registry import STRATEGIES
from thalweg.registry.finding import make
from thalweg.registry.typed import make_learner
from thalweg.serve.alarms import Alarms, Webhook
from thalweg.serve.contest import Contest
from thalweg.serve.engine import Engine
from thalweg.serve.security import Gate, read_tokens
from thalweg.serve.service import Service
from thalweg.serve.topics import Topics


def app(
    learner: str | Classifier,
    folder: str | os.PathLike[str],
    *,
    target: str | None = None,
    schema: Schema | None = None,
    budget: float | None = None,
    strategy: str | Any | None = None,
    shadows: Iterable[str] | Mapping[str, Classifier] = (),
    every: float | Literal["each"] = 1_000,
    seconds: bool = False,
    sync: Literal["always", "interval", "never"] = "always",
    promote: Contest | None = None,
    token_file: str | os.PathLike[str] | None = None,
    rate: float | None = None,
    min_accuracy: float | None = None,
    no_labels: float | None = None,
    webhook: str | None = None,
    webhook_secret: str | None = None,
    max_body: int = 16 << 20,
    max_rows: int = 10_000,
    max_features: int = 10_000,
    timeout: float = 30.0,
    extra: Literal["ignore", "refuse"] = "ignore",
    lease: float = 120.0,
    hold: float = 60.0,
    second: float = 0.1,
    seed: int | None = None,
    source: str | None = None,
    labels: str | None = None,
    to: str | None = None,
    key: str | None = None,
    on_gap: Literal["stop", "continue"] = "stop",
    **more: Any,
) -> Service:
    """Make a service: an ASGI application that any ASGI server runs, and that can be mounted in another one.

    It starts with its server; mounted in Starlette or FastAPI, which tell a mounted application nothing, with the first
    request, or with theirs by ``lifespan=service.lifespan``.

    Parameters
    ----------
    learner : str | Classifier
        A name as on the command line, a saved model, or a learner.
    folder : str | os.PathLike[str]
        For the journal and the snapshots. One that has some is continued, bit for bit.
    target : str | None
        The field of records that holds the label, where they have it.
    schema : Schema | None
        The features, and the classes, where they are known beforehand.
    budget, strategy : float | None, str | object | None
        The share of the labels to ask for, and how to choose them ("avu" by default); None: all labels are wanted.
    shadows : Iterable[str] | Mapping[str, Classifier]
        Challengers: names as on the command line, or learners by name.
    every, seconds : float | Literal["each"], bool
        Learned rows, or seconds, between the versions that answer; "each": answers know all labels before.
    sync : Literal["always", "interval", "never"]
        See ``thalweg.serve.journal.Journal``.
    promote : Contest | None
        The test by which a shadow takes the champion's place by itself; None: only a person promotes.
    token_file, rate : str | os.PathLike[str] | None, float | None
        Tokens and their roles; requests per second and token.
    min_accuracy, no_labels, webhook, webhook_secret : float | None, float | None, str | None, str | None
        Lines of alarms, and where they are sent.
    max_body, max_rows, max_features, timeout, extra : int, int, int, float, Literal["ignore", "refuse"]
        The largest requests; seconds for a body to come; what becomes of fields that the schema does not have.
    lease, hold, second : float, float, float
        Of the desk: seconds after which a question goes to another expert, seconds within which an answer can be
        undone, and the share of the questions that a second expert answers, too.
    seed : int | None
        For learners that draw random numbers.
    source, labels, to : str | None
        Topics: of records, of their labels, and for answers, such as ``redis://localhost/clicks``. The extras of the
        brokers are needed.
    key, on_gap : str | None, Literal["stop", "continue"]
        The field that names a record of a topic, None: the broker's own key; what to do where the broker has dropped
        messages that were not read yet.
    **more : object
        As ``thalweg.serve.engine.Engine`` has them: window, max_open, max_age, max_seconds, max_disk, keep, …

    Examples
    --------
    >>> import tempfile
    >>> service = app("naive-bayes", tempfile.mkdtemp(), budget=0.3)
    >>> service.engine.learning.name, service.engine.book.policy
    ('naive-bayes', AVU(budget=0.3))
    >>> service.engine.close()
    """
    name = learner if isinstance(learner, str) else type(learner).__name__
    model = make_learner(learner, seed=seed) if isinstance(learner, str) else learner
    if strategy is not None and budget is None and isinstance(strategy, str):
        raise ValueError(f"strategy needs budget, the share of the labels to ask for, got strategy={strategy!r} alone")
    chosen: Any = strategy
    if budget is not None:
        chosen = make("strategy", strategy or "avu", STRATEGIES, budget=budget)
    others = dict(shadows) if isinstance(shadows, Mapping) else {s: make_learner(s, seed=seed) for s in shadows}
    tokens = None if token_file is None else read_tokens(token_file)
    engine = Engine(
        model, folder, name=name, strategy=chosen, shadows=others, schema=schema, every=every, seconds=seconds,
        sync=sync, promote=promote, **more,
    )  # fmt: skip
    service = Service(
        engine, target=target, gate=Gate(tokens, rate), max_body=max_body, max_rows=max_rows,
        max_features=max_features, timeout=timeout, extra=extra, lease=lease, hold=hold, second=second,
    )  # fmt: skip
    service.monitor.rules = Alarms(min_accuracy=min_accuracy, no_labels=no_labels)
    if webhook is not None:
        service.monitor.webhook = Webhook(webhook, webhook_secret)
    if source is not None or labels is not None or to is not None:
        try:
            service.topics = Topics(service, records=source, labels=labels, to=to, key=key, on_gap=on_gap)
        except BaseException:
            engine.close()
            raise
    return service
