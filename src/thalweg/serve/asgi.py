"""The HTTP side of the service, as little as there can be: a table of routes, bodies with limits, replies.

It is an ASGI application without a framework in between: a single prediction is answered in some 100 µs, and a router
and a stack of middleware would be a large part of that. It can be mounted in Starlette or FastAPI.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, NamedTuple, TypeVar, final
from urllib.parse import parse_qsl

import msgspec

from thalweg.core.params import shown
from thalweg.serve.arrow import TooLargeError
from thalweg.serve.records import UnsupportedError
from thalweg.serve.security import HEADERS, ROLES, Caller, Gate
from thalweg.serve.writer import UnavailableError

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
T = TypeVar("T")
log = logging.getLogger("thalweg.serve")
JSON = b"application/json"
KINDS = (JSON, b"application/vnd.apache.arrow.stream", b"text/csv")
"""Bodies that are read; a form, which a page of another origin could send, is none of them."""
_encode = msgspec.json.Encoder().encode


class Request(NamedTuple):
    """What came."""

    path: str
    query: dict[str, str]
    headers: dict[bytes, bytes]
    body: bytes
    caller: Caller

    @property
    def kind(self) -> str:
        """The content type, without parameters."""
        return self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")


class Reply(NamedTuple):
    """What goes back."""

    status: int
    body: bytes
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()
    stream: AsyncGenerator[bytes, None] | None = None


Handler = Callable[[Request], Awaitable[Reply]]


class Route(NamedTuple):
    """Who answers, and who may ask."""

    handler: Handler
    rank: int
    """The place in ``ROLES`` from which on a caller may; -1: anybody."""
    body: bool = False


def reply(thing: Any, status: int = 200) -> Reply:
    """A reply in JSON."""
    return Reply(status, _encode(thing))


def error(status: int, text: str, **headers: str) -> Reply:
    """A refusal: one sentence."""
    given = tuple((name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())
    return Reply(status, _encode({"error": text}), headers=given)


@final
class Kernel:
    """Takes requests apart, asks the gate, calls the handler, and sends the reply.

    routes: by method and path. A path of a route never becomes the name of a file.
    """

    def __init__(
        self, gate: Gate, *, max_body: int, timeout: float, on_done: Callable[[str, int, float], None] | None = None
    ) -> None:
        self.gate, self.max_body, self.timeout, self._on_done = gate, max_body, timeout, on_done
        self.local = False
        """Is only who names a loopback address let in? Then no page can come in by a name of its own."""
        self.routes: dict[tuple[str, str], Route] = {}
        self.paths: set[str] = set()

    def add(self, method: str, path: str, handler: Handler, role: str | None, *, body: bool = False) -> None:
        """Add a route. role: who may at least; None: anybody."""
        self.routes[method, path] = Route(handler, -1 if role is None else ROLES.index(role), body)
        self.paths.add(path)

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        path = scope["path"]
        root = scope.get("root_path", "")
        if root and path.startswith(root):
            path = path[len(root) :] or "/"
        answer = await self._answer(scope, path, receive)
        await self._send(scope, answer, send, receive)
        if self._on_done is not None:
            self._on_done(path if path in self.paths else "other", answer.status, time.perf_counter() - began)

    async def _answer(self, scope: dict[str, Any], path: str, receive: Receive) -> Reply:
        method = scope["method"]
        route = self.routes.get((method, path)) or (self.routes.get(("GET", path)) if method == "HEAD" else None)
        if route is None:
            if path in self.paths:
                allowed = ", ".join(sorted(m for m, p in self.routes if p == path))
                return error(405, f"method must be {allowed} for this path", allow=allowed)
            return error(404, "there is nothing at this path")
        headers = dict(scope["headers"])
        if b"origin" in headers and _elsewhere(headers):
            return error(403, "a page of another origin must not use the service")
        if self.local and _name(headers.get(b"host", b"")) not in _LOCAL:
            return error(403, "host must be a loopback name, since the service has no tokens")
        caller = self.gate.caller(headers)
        if caller.rank < route.rank:
            if caller.rank < 0:
                return error(401, "a token must be given, as in Authorization: Bearer …", www_authenticate="Bearer")
            return error(403, f"the token must have the role {ROLES[route.rank]} or more for this")
        wait = self.gate.spend(caller) if route.rank >= 0 else 0.0
        if wait:
            return error(429, "there were too many requests with this token", retry_after=str(int(wait) + 1))
        try:
            body = await self._body(headers, receive) if route.body else b""
            if route.body and headers.get(b"content-type", b"").partition(b";")[0].strip().lower() not in KINDS:
                kind = headers.get(b"content-type", b"").decode("latin-1")
                raise UnsupportedError(
                    f"content-type must be {', '.join(k.decode() for k in KINDS)}, got {shown(kind)}"
                )
            query = dict(parse_qsl(scope["query_string"].decode("latin-1"))) if scope["query_string"] else {}
            return await route.handler(Request(path, query, headers, body, caller))
        except TooLargeError as reason:
            return error(413, str(reason))
        except UnsupportedError as reason:
            return error(415, str(reason))
        except TimeoutError:
            return error(408, f"the body must come within {self.timeout:g} seconds")
        except UnavailableError as reason:
            return error(503, str(reason), retry_after="1")
        except (ValueError, TypeError) as reason:
            return error(400, str(reason))
        except _GoneError:
            return error(400, "the body must come whole")
        except Exception:
            log.exception("a request failed")
            return error(500, "the request could not be answered; the log of the service says why")

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        length = headers.get(b"content-length")
        if length is not None and length.isdigit() and int(length) > self.max_body:
            raise TooLargeError(f"the body must have at most {self.max_body:,} bytes, got {int(length):,}")
        async with asyncio.timeout(self.timeout):
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            body: bytes = message.get("body", b"")
            if not message.get("more_body", False) and len(body) <= self.max_body:
                return body
            parts, size = [body], len(body)
            while message.get("more_body", False) and size <= self.max_body:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _GoneError
                parts.append(message.get("body", b""))
                size += len(parts[-1])
        if size > self.max_body:
            raise TooLargeError(f"the body must have at most {self.max_body:,} bytes, got more")
        return b"".join(parts)

    async def _send(self, scope: dict[str, Any], answer: Reply, send: Send, receive: Receive) -> None:
        headers = [(b"content-type", answer.kind), *HEADERS, *answer.headers]
        if answer.stream is None:
            headers.append((b"content-length", b"%d" % len(answer.body)))
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            body = b"" if scope["method"] == "HEAD" else answer.body
            await send({"type": "http.response.body", "body": body})
            return
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        async for part in while_there(answer.stream, receive):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


async def while_there(parts: AsyncGenerator[T, None], receive: Receive) -> AsyncGenerator[T, None]:
    """Give the parts of a reply until there are no more, or whoever asked is gone."""

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    left = asyncio.ensure_future(gone())
    try:
        while True:
            part = asyncio.ensure_future(anext(parts))
            await asyncio.wait((part, left), return_when=asyncio.FIRST_COMPLETED)
            if not part.done():
                part.cancel()
                await asyncio.wait((part,))
                return
            try:
                got = part.result()
            except StopAsyncIteration:
                return
            yield got
    finally:
        left.cancel()
        await parts.aclose()


_LOCAL = frozenset({b"localhost", b"127.0.0.1", b"[::1]"})


def _name(host: bytes) -> bytes:
    """The host without its port."""
    return host[: host.index(b"]") + 1] if host[:1] == b"[" and b"]" in host else host.partition(b":")[0]


def _elsewhere(headers: dict[bytes, bytes]) -> bool:
    """Was the request made by a page of another origin?"""
    return headers[b"origin"].partition(b"://")[2].lower() != headers.get(b"host", b"").lower()


class _GoneError(Exception):
    """The client went away."""
