"""A process that answers: from a version mapped into memory, which all such processes of a machine share.

It answers ``POST /v1/predict`` itself and tells the process that learns, which writes the records down and gives their
tickets; every other request it hands on.
"""

import asyncio
import json
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, final
from urllib.parse import urlencode

import msgspec
import numpy as np

from thalweg.core.answering import Answering
from thalweg.core.schema import Schema
from thalweg.serve.arrow import to_arrow
from thalweg.serve.asgi import Kernel, Receive, Reply, Request, Send, error, while_there
from thalweg.serve.entries import Records
from thalweg.serve.jobs import Given
from thalweg.serve.predictor import Predictor
from thalweg.serve.records import ARROW, Reader, to_json
from thalweg.serve.requests import idempotency_key
from thalweg.serve.security import Gate, read_tokens
from thalweg.serve.wire import Wire
from thalweg.serve.writer import UnavailableError


@final
class Worker:
    """An ASGI application that answers predictions, and hands on everything else.

    hub: the socket of the process that learns. versions: the folder of its versions. settings: those of the reader, the
    gate and the kernel.
    """

    def __init__(self, hub: str, versions: str, settings: dict[str, Any]) -> None:
        self._hub = hub
        self.predictor = Predictor(versions, poll=0.02, wait=60.0, mapped=True)
        self.reader = Reader(
            target=settings["target"], missing=settings["missing"], extra=settings["extra"],
            max_rows=settings["max_rows"], max_features=settings["max_features"], max_bytes=settings["max_body"],
        )  # fmt: skip
        tokens = None if settings["token_file"] is None else read_tokens(settings["token_file"])
        gate = Gate(tokens, settings["rate"])
        self.kernel = Kernel(gate, max_body=settings["max_body"], timeout=settings["timeout"], on_done=self._done)
        self.kernel.local = tokens is None
        self.kernel.add("POST", "/v1/predict", self.predict, "predict", body=True)
        self.schema: Schema | None = None
        self._wire: Wire | None = None
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Any] | asyncio.Queue[Any]] = {}
        self._took = 0.0
        self._classes: tuple[Answering | None, list[Any], int] = (None, [], 0)
        self.on_gone: Callable[[], None] | None = None

    def _done(self, _path: str, _status: int, seconds: float) -> None:
        self._took = seconds

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            if scope["path"] == "/v1/predict" and scope["method"] == "POST":
                await self.kernel(scope, receive, send)
            else:
                await self._hand_on(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._wire = Wire(*await asyncio.open_unix_connection(self._hub))
                self._listening = asyncio.create_task(self._listen())
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                self._listening.cancel()
                self.predictor.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _listen(self) -> None:
        assert self._wire is not None
        while (message := await self._wire.receive()) is not None:
            number, kind, *rest = message
            if kind == "schema":
                self.schema = Schema.from_json(rest[0])
                continue
            waits = self._waiting.get(number)
            if isinstance(waits, asyncio.Queue):
                waits.put_nowait((kind, *rest))
            elif waits is not None and not waits.done():
                waits.set_result(rest[0])
        self._wire = None
        for waits in self._waiting.values():
            if isinstance(waits, asyncio.Queue):
                waits.put_nowait(("gone",))
            elif not waits.done():
                waits.set_exception(UnavailableError("the process that learns is gone"))
        if self.on_gone is not None:
            self.on_gone()

    def _next(self, waits: Any) -> int:
        self._number += 1
        self._waiting[self._number] = waits
        return self._number

    # -- predictions --------------------------------------------------------------------------------------------------

    async def predict(self, request: Request) -> Reply:
        """``POST /v1/predict``."""
        schema = self.schema
        read = None if schema is None else self.reader.read(request.body, request.kind, schema, request.query.get("id"))
        if read is None or (read.schema is not schema and read.schema != schema):
            return await self._ask(request)  # the schema grows: the process that learns must write that down first
        if not len(read.X):
            raise ValueError("records must not be empty")
        held = self.predictor._now()
        if self._classes[0] is not held.model:
            known = held.model.schema
            self._classes = held.model, held.model.classes_.tolist(), 0 if known is None else known.n_features
        _, classes, features = self._classes
        X = read.X
        asked = np.ascontiguousarray(X[:, :features]) if 0 < features < X.shape[1] else X
        proba, version = held.model.predict_proba(asked), held.note.version
        given = await self._record(Records(
            time.time(), len(X), X.tobytes(), proba.tobytes(), classes, version, read.ids, idempotency_key(request)
        ))  # fmt: skip
        if request.kind == ARROW and b"json" not in request.headers.get(b"accept", b""):
            return Reply(200, to_arrow(given), ARROW.encode(), ((b"x-version", b"%d" % given.version),))
        return Reply(200, to_json(given, read.single))

    async def _record(self, entry: Records) -> Given:
        if self._wire is None:
            return Given(-1, entry.rows, bytes(entry.rows), entry.proba, entry.classes, entry.version)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        number = self._next(future)
        try:
            self._wire.send([number, "records", entry, self._took])
            given: Given = msgspec.convert(await future, Given)
            return given
        except UnavailableError:
            return Given(-1, entry.rows, bytes(entry.rows), entry.proba, entry.classes, entry.version)
        finally:
            del self._waiting[number]

    # -- everything else ----------------------------------------------------------------------------------------------

    async def _ask(self, request: Request) -> Reply:
        """Let the process that learns answer a request whose body has come."""
        parts: list[bytes] = []
        status, headers = 503, []
        async for kind, *rest in self._exchange(
            "POST", request.path, urlencode(request.query).encode(), list(request.headers.items()), request.body
        ):
            if kind == "start":
                status, headers = rest
            else:
                parts.append(rest[0])
        kind = next((value for name, value in headers if name == b"content-type"), b"application/json")
        return Reply(status, b"".join(parts), kind)

    async def _hand_on(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        try:
            body = await self.kernel._body(headers, receive) if scope["method"] not in ("GET", "HEAD") else b""
        except (ValueError, TimeoutError) as reason:
            status = 408 if isinstance(reason, TimeoutError) else 413
            await self.kernel._send(scope, error(status, str(reason) or "the body must come in time"), send, receive)
            return
        query = scope["query_string"]
        parts = self._exchange(scope["method"], scope["path"], query, list(headers.items()), body)
        async for kind, *rest in while_there(parts, receive):
            if kind == "start":
                await send({"type": "http.response.start", "status": rest[0], "headers": [tuple(h) for h in rest[1]]})
            else:
                await send({"type": "http.response.body", "body": rest[0], "more_body": rest[1]})

    async def _exchange(self, *request: Any) -> AsyncGenerator[Any, None]:
        """Hand a request on; give the parts of the reply."""
        queue: asyncio.Queue[Any] = asyncio.Queue()
        number = self._next(queue)
        begun = done = False
        try:
            if self._wire is not None:
                self._wire.send([number, "http", *request])
            else:
                queue.put_nowait(("gone",))
            while True:
                message = await queue.get()
                if message[0] == "gone":
                    if not begun:
                        answer = error(503, "the process that learns is gone")
                        yield ("start", 503, [(b"content-type", answer.kind)])
                        yield ("body", answer.body, False)
                    return
                begun = True
                yield message
                if message[0] == "body" and not message[2]:
                    done = True
                    return
        finally:
            if not done and self._wire is not None:
                self._wire.send([number, "cancel"])
            del self._waiting[number]


def main() -> None:
    """Serve on a socket that was handed over. Arguments: its number, the hub, the folder of versions, settings."""
    import uvicorn

    number, hub, versions, settings = sys.argv[1:]
    sock = socket.socket(fileno=int(number))
    worker = Worker(hub, versions, json.loads(settings))
    config = uvicorn.Config(
        worker, log_config=None, access_log=False, lifespan="on", server_header=False, date_header=False,
        limit_concurrency=1_000, timeout_keep_alive=30, timeout_graceful_shutdown=5, ws="none",
        ssl_certfile=json.loads(settings)["certificate"], ssl_keyfile=json.loads(settings)["private_key"],
    )  # fmt: skip
    server = uvicorn.Server(config)
    worker.on_gone = lambda: setattr(server, "should_exit", True)
    server.run(sockets=[sock])


if __name__ == "__main__":
    main()
