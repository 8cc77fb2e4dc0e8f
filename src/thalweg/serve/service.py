"""The service: what each request does. ``thalweg.serve.state`` says what the page is built on."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, final

import msgspec
import numpy as np
from numpy.typing import NDArray

from thalweg import __version__
from thalweg.core import params
from thalweg.serve import state
from thalweg.serve.arrow import to_arrow
from thalweg.serve.asgi import Kernel, Receive, Reply, Request, Send, error, reply
from thalweg.serve.desk import Desk
from thalweg.serve.engine import Engine
from thalweg.serve.jobs import Given, Outcome
from thalweg.serve.learning import Event, Version
from thalweg.serve.listeners import Listeners
from thalweg.serve.monitoring import Monitor, prometheus
from thalweg.serve.openapi import document
from thalweg.serve.pages import add_pages
from thalweg.serve.records import ARROW, Read, Reader, encode, to_json
from thalweg.serve.requests import (
    Promote,
    River,
    Rollback,
    check_texts,
    explained,
    idempotency_key,
    read_json,
    read_labels,
    whole,
)  # fmt: skip
from thalweg.serve.security import Gate
from thalweg.serve.writer import UnavailableError

if TYPE_CHECKING:
    from thalweg.serve.topics import Topics

Floats = NDArray[np.float64]
_AHEAD = 0.002
"""An answer that takes longer, in seconds, is made in a thread beside the loop."""


@final
class Service:
    """An ASGI application around an engine.

    engine: what learns. target: the field of records that holds the label. gate: who may do what. max_body, max_rows,
    max_features: the largest requests. timeout: seconds for a body to come. extra: "ignore" or "refuse" fields that the
    schema does not have. lease, hold, second: see ``Desk``.
    """

    def __init__(
        self, engine: Engine, *, target: str | None = None, gate: Gate | None = None, max_body: int = 16 << 20,
        max_rows: int = 10_000, max_features: int = 10_000, timeout: float = 30.0, extra: str = "ignore",
        lease: float = 120.0, hold: float = 60.0, second: float = 0.1,
    ) -> None:  # fmt: skip
        params.choice("extra", extra, ("ignore", "refuse"))
        for what, value in (("max_body", max_body), ("max_rows", max_rows), ("max_features", max_features)):
            params.whole(what, value, least=1)
        params.number("timeout", timeout, above=0)
        self.engine = engine
        self.reader = Reader(
            target=target, missing=engine.missing, extra=extra, max_rows=min(max_rows, engine.book.max_open),
            max_features=max_features, max_bytes=max_body,
        )  # fmt: skip
        self.monitor = Monitor(engine)
        self.topics: Topics | None = None
        self.started = 0.0
        self._starting = asyncio.Lock()
        self.listeners = Listeners()
        self._known_events: set[Event] = set()
        self._ticker: asyncio.Task[None] | None = None
        self._sender: asyncio.Task[None] | None = None
        self._cost = 0.0  # seconds per row of an answer, about
        self._asked = 0.0
        engine.view_of = state.learning_view
        engine.on_events = self._tell_events
        self.kernel = kernel = Kernel(
            gate or Gate(None), max_body=max_body, timeout=timeout, on_done=self.monitor.request
        )  # fmt: skip
        kernel.add("POST", "/v1/predict", self.predict, "predict", body=True)
        kernel.add("POST", "/v1/explain", self.explain, "predict", body=True)
        kernel.add("POST", "/v1/labels", self.labels, "label", body=True)
        kernel.add("POST", "/v1/learn", self.learn, "label", body=True)
        kernel.add("GET", "/v1/wanted", self.wanted, "label")
        kernel.add("GET", "/v1/model", self.model, "predict")
        kernel.add("GET", "/v1/model/file", self.model_file, "admin")
        kernel.add("POST", "/v1/model/rollback", self.rollback, "admin", body=True)
        kernel.add("POST", "/v1/model/promote", self.promote, "admin", body=True)
        kernel.add("POST", "/v1/snapshot", self.snapshot, "admin")
        kernel.add("GET", "/v1/state", self.state, "predict")
        kernel.add("GET", "/v1/events", self.events, "predict")
        kernel.add("GET", "/healthz", self.healthy, None)
        kernel.add("GET", "/readyz", self.ready, None)
        kernel.add("GET", "/metrics", self.metrics, "predict")
        kernel.add("GET", "/openapi.json", self.openapi, None)
        for path, handler, role in (
            ("/api/predict/", self.predict, "predict"), ("/api/learn/", self.river_learn, "label"),
        ):  # fmt: skip
            kernel.add("POST", path, handler, role, body=True)
        kernel.add("GET", "/api/metrics/", self.river_metrics, "predict")
        kernel.add("GET", "/api/stream/events/", self.events, "predict")
        self.desk = Desk(engine, engine.snapshots.folder / "desk.json", lease=lease, hold=hold, second=second)
        self._desk_runs: asyncio.Task[None] | None = None
        add_pages(kernel, self.desk)

    # -- ASGI ---------------------------------------------------------------------------------------------------------

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request; the application starts with its server, or, mounted in another, with the first request."""
        if scope["type"] == "http":
            if not self.started:
                await self.start()
            await self.kernel(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await self.start()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def start(self) -> None:
        """Start the engine, once."""
        async with self._starting:
            if not self.started:
                await self.engine.start()
                self._ticker = asyncio.create_task(self._tick())
                self._desk_runs = asyncio.create_task(self.desk.run())
                if self.monitor.webhook is not None:
                    self._sender = asyncio.create_task(self.monitor.webhook.run())
                if self.topics is not None:
                    await self.topics.start()
                self.started = time.time()

    async def stop(self) -> None:
        """Stop the engine; everything is in its folder."""
        if self.started:
            for task in (self._ticker, self._sender, self._desk_runs):
                if task is not None:
                    task.cancel()
            self.started = 0.0
            with contextlib.suppress(UnavailableError):  # then it stays in the desk's file
                await self.desk.tell_due(everything=True)
            if self.topics is not None:
                await self.topics.stop()
            await self.engine.stop()
            if self.topics is not None:
                await self.topics.close()

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: Any = None) -> AsyncIterator[None]:
        """For the ``lifespan`` of an application in which this one is mounted."""
        await self.start()
        try:
            yield
        finally:
            await self.stop()

    # -- records ------------------------------------------------------------------------------------------------------

    async def _read(self, request: Request) -> Read:
        return await self.read(request.body, request.kind, request.query.get("id"))

    async def read(self, body: bytes, kind: str, id_column: str | None = None) -> Read:
        """Read records; where they add to the schema, write that down first."""
        schema = self.engine.book.schema
        try:
            read = self.reader.read(body, kind, schema, id_column)
        except (ValueError, TypeError):
            self.monitor.refused += 1
            raise
        while read.schema is not schema and read.schema != schema and len(read.X):
            await self.engine.grow(read.schema)
            schema = self.engine.book.schema
            read = self.reader.read(body, kind, schema, id_column)
        return read

    def answered(self, given: Given) -> None:
        """Count answers, and tell of labels that are wanted."""
        self.monitor.answered(given.rows)
        if any(given.why):
            self._say_wanted()

    async def predict(self, request: Request) -> Reply:
        """``POST /v1/predict``: answers, and tickets."""
        key = idempotency_key(request)
        engine = self.engine
        if key is not None:
            kept = engine.book.remembered(key)
            if kept is not None:
                if isinstance(kept, Outcome):
                    return error(
                        409, "the idempotency key must be that of a request for answers, it was one for labels"
                    )
                return Reply(200, to_json(kept, kept.rows == 1 and b'"records"' not in request.body))
        read = await self._read(request)
        if not len(read.X):
            raise ValueError("records must not be empty")
        if engine.each:
            given = await engine.records(read.X, read.ids, key)
        else:
            proba, version = await self._answer(read.X)
            given = await engine.record(read.X, proba, version, read.ids, key)
        self.answered(given)
        if request.kind == ARROW and b"json" not in request.headers.get(b"accept", b""):
            answer = Reply(200, to_arrow(given), ARROW.encode(), ((b"x-version", b"%d" % given.version),))
        else:
            answer = Reply(200, to_json(given, read.single))
        return answer

    async def _answer(self, X: Floats) -> tuple[Floats, Version]:
        """Answer rows; where that is known to take a while, beside the loop."""
        if self._cost * len(X) > _AHEAD:
            return await asyncio.to_thread(self._measured, X)
        return self._measured(X)

    def _measured(self, X: Floats) -> tuple[Floats, Version]:
        """Answer rows, and remember what a row costs of the processor, which a busy machine does not change."""
        began = time.thread_time()
        found = self.engine.answer(X)
        took = time.thread_time() - began
        if len(X) >= 64 or took > _AHEAD or self._cost * len(X) > _AHEAD:
            each = took / len(X)  # the first answer may have compiled something: what is less counts for more
            self._cost += (0.1 if each > self._cost else 0.5) * (each - self._cost)
        return found

    async def explain(self, request: Request) -> Reply:
        """``POST /v1/explain``: why the champion, as it is now, answers as it does for one record."""
        read = await self._read(request)
        if len(read.X) != 1:
            raise ValueError(f"body must hold one record, got {len(read.X)}")

        def why() -> dict[str, Any]:
            learner: Any = self.engine.learning.learner
            explain = getattr(learner, "explain_one", None)
            if explain is None or not learner.started:
                what = (
                    "has learned nothing yet"
                    if explain is not None
                    else "cannot explain its answers; trees and forests can"
                )
                raise ValueError(f"the learner, a {type(learner).__name__}, {what}")
            schema = learner.schema
            row = read.X[0] if schema.shape is None else read.X[0].reshape(schema.shape)
            return {"version": self.engine.learning.position, **explained(explain(row))}

        return reply(await self.engine.in_learner(why))

    # -- labels -------------------------------------------------------------------------------------------------------

    async def labels(self, request: Request) -> Reply:
        """``POST /v1/labels``: labels of earlier records, by ticket or by the client's own names."""
        return await self._take_labels(request, *read_labels(request.body))

    async def _take_labels(self, request: Request, labels: Any, tickets: Any, ids: Any, expert: Any) -> Reply:
        if (tickets is None) == (ids is None):
            raise ValueError("body must hold tickets or ids, one for each label")
        names = tickets if tickets is not None else ids
        if len(names) != len(labels):
            raise ValueError(f"labels must be as many as the {len(names)} tickets or ids, got {len(labels)}")
        if len(labels) > self.reader.max_rows:
            raise ValueError(f"a request must have at most {self.reader.max_rows:,} labels, got {len(labels):,}")
        if tickets is not None and any(not 0 <= t < 1 << 62 for t in tickets):
            raise ValueError("tickets must be whole numbers that the service gave")
        check_texts("labels", labels)
        check_texts("ids", ids or [])
        outcome = await self.engine.labels(
            labels, tickets=tickets, ids=ids, key=idempotency_key(request), expert=expert and expert[:100]
        )  # fmt: skip
        return self._outcome(outcome)

    def _outcome(self, outcome: Any) -> Reply:
        if not isinstance(outcome, Outcome):
            return error(409, "the idempotency key must be that of a request for labels, it was one for answers")
        if outcome.refused is not None:
            self.monitor.refused += 1
            return error(400, outcome.refused)
        self.monitor.labels += outcome.scored
        return Reply(200, encode({
            "learned": outcome.learned, "scored": outcome.scored, "repeated": outcome.repeated,
            "unknown": outcome.unknown, "expired": outcome.expired, "early": outcome.early,
        }))  # fmt: skip

    async def learn(self, request: Request) -> Reply:
        """``POST /v1/learn``: records with labels."""
        read = await self._read(request)
        if not len(read.X):
            raise ValueError("records must not be empty")
        if read.labels is None or any(label is None for label in read.labels):
            where = "" if self.reader.target is None else f", or records a field {self.reader.target!r}"
            raise ValueError(f"body must hold labels{where}, one for each record")
        check_texts("labels", read.labels)
        self.engine.book.labels.read(read.labels, "labels")  # says what is wrong with them
        return self._outcome(await self.engine.learn(read.X, read.labels, key=idempotency_key(request)))

    async def wanted(self, request: Request) -> Reply:
        """``GET /v1/wanted``: the open questions."""
        n = whole(request, "n", 20, 1, 200)
        order = request.query.get("order", "oldest")
        params.choice("order", order, ("oldest", "newest", "uncertain"))
        learning = self.engine.learning
        ranges = {} if learning.schema is None else state.usual_ranges(learning, learning.schema)
        return reply(state.wanted_view(self.engine, n, order, ranges))

    # -- the model ----------------------------------------------------------------------------------------------------

    async def model(self, _request: Request) -> Reply:
        """``GET /v1/model``: what it is."""
        seen, engine = await self.engine.look(), self.engine
        schema = engine.book.schema
        return reply({
            **seen["model"], "version": engine.version.number if not engine.each else engine.learning.position,
            "position": engine.applied, "schema": None if schema is None else msgspec.to_builtins(schema),
            "classes": engine.book.labels.values, "versions": engine.snapshots.positions(),
            "shadows": [shadow["name"] for shadow in seen["shadows"]],
            "history": [e for e in seen["events"] if e["kind"] != "drift"], "library": __version__,
        })  # fmt: skip

    async def model_file(self, _request: Request) -> Reply:
        """``GET /v1/model/file``: the champion, as ``thalweg.save`` writes it."""
        import tempfile
        from pathlib import Path

        from thalweg.keeping.snapshot import save

        copy = await self.engine.in_learner(lambda: self.engine.learning.learner.copy())

        def write() -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                save(copy, Path(folder) / "model")
                return (Path(folder) / "model").read_bytes()

        named = (b"content-disposition", b'attachment; filename="model.safetensors"')
        return Reply(200, await asyncio.to_thread(write), b"application/octet-stream", (named,))

    async def rollback(self, request: Request) -> Reply:
        """``POST /v1/model/rollback``: back to a version of which there is a snapshot."""
        given: Rollback = read_json(request.body, Rollback)
        await self.engine.roll_back(given.version, f"{given.why[:200]} ({request.caller.name or 'local'})")
        return await self.model(request)

    async def promote(self, request: Request) -> Reply:
        """``POST /v1/model/promote``: let a shadow take the champion's place."""
        given: Promote = read_json(request.body, Promote)
        await self.engine.promote(given.name, f"{given.why[:200]} ({request.caller.name or 'local'})")
        return await self.model(request)

    async def snapshot(self, _request: Request) -> Reply:
        """``POST /v1/snapshot``: write one now."""
        return reply({"position": await self.engine.snapshot()})

    # -- looking ------------------------------------------------------------------------------------------------------

    async def state(self, request: Request) -> Reply:
        """``GET /v1/state``: what the page shows."""
        ring = request.query.get("ring", "fine")
        found = await state.service_view(self)
        if request.query.get("history") != "0":
            found["history"] = state.history_view(self.engine.learning, ring)
        return reply(found)

    async def events(self, _request: Request) -> Reply:
        """``GET /v1/events``: server-sent events."""
        parts = self.listeners.listen({"version": self.engine.version.number})
        if parts is None:
            return error(503, f"there are {len(self.listeners)} listeners already", retry_after="10")
        return Reply(200, b"", b"text/event-stream", ((b"x-accel-buffering", b"no"),), parts)

    def hang_up(self) -> None:
        """End the connections of those who listen."""
        self.listeners.hang_up()

    def _say_wanted(self) -> None:
        now = time.monotonic()
        if len(self.listeners) and now - self._asked > 0.5:
            self._asked = now
            self.listeners.publish("wanted", {"open": len(self.engine.book.open_tickets())})

    def _tell_events(self, events: list[Event]) -> None:
        for event in events[-10:]:
            if event not in self._known_events and event.at >= self.started - 1.0:
                self._known_events.add(event)
                self.listeners.publish(event.kind, event._asdict())
                self.monitor.happened(event)
        self._known_events &= set(events)

    async def _tick(self) -> None:
        """Every second: numbers into the history, alarms, and the state to those who listen."""
        count = 0
        while True:
            await asyncio.sleep(1.0)
            count += 1
            with contextlib.suppress(UnavailableError):
                sums, lasts = self.monitor.second()
                now, learning = time.time(), self.engine.learning

                def write(now: float = now, sums: Any = sums, lasts: Any = lasts, learning: Any = learning) -> None:
                    learning.history.add(now, **sums)
                    learning.history.put(now, **lasts)

                if any(sums.values()) or count % 10 == 0:
                    await self.engine.in_learner(write)
                for alarm in self.monitor.check(await self.engine.look() if len(self.listeners) else self.engine.seen):
                    self.listeners.publish("alarm", alarm)
                if len(self.listeners):
                    self.listeners.publish("state", await state.service_view(self))
                    if count % 10 == 0:
                        series = state.history_view(learning, "fine")
                        self.listeners.publish("history", {name: values[-2:] for name, values in series.items()})

    async def healthy(self, _request: Request) -> Reply:
        """``GET /healthz``: the process lives."""
        return reply({"status": "ok"})

    async def ready(self, _request: Request) -> Reply:
        """``GET /readyz``: it answers, and learns."""
        trouble = self.engine.trouble or self.engine.learning.trouble
        if trouble is not None:
            return reply({"status": "answers, but does not learn", "why": trouble}, 503)
        return reply({"status": "ok", "replayed": self.engine.replayed, "recovery": self.engine.recovery_seconds})

    async def metrics(self, _request: Request) -> Reply:
        """``GET /metrics``: for Prometheus."""
        seen = await self.engine.look()
        return Reply(200, prometheus(self.monitor, seen), b"text/plain; version=0.0.4; charset=utf-8")

    async def openapi(self, _request: Request) -> Reply:
        """``GET /openapi.json``."""
        return reply(document())

    # -- the River API ------------------------------------------------------------------------------------------------

    async def river_learn(self, request: Request) -> Reply:
        """``POST /api/learn/``: a record with its label ("ground_truth"), or a label by identifier."""
        given: River = read_json(request.body, River)
        if given.features is not None:
            body = encode({"record": given.features, "label": given.ground_truth})
            return await self.learn(request._replace(body=body))
        if given.identifier is None:
            raise ValueError("body must hold features, or the identifier of an earlier record")
        return await self._take_labels(request, [given.ground_truth], None, [given.identifier], None)

    async def river_metrics(self, _request: Request) -> Reply:
        """``GET /api/metrics/``: over all labels."""
        seen = await self.engine.look()
        return reply({name: value for name, value in seen["overall"].items() if name != "labels"})
