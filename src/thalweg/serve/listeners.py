"""Those who listen to what happens: server-sent events, as many as each of them keeps up with."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, final

from thalweg.serve.records import encode

_MOST, _QUEUE = 200, 100


@final
class Listeners:
    """Who listens. What is published goes to all; who does not keep up misses the oldest."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[bytes]] = set()
        self._hung_up = False

    def __len__(self) -> int:
        return len(self._queues)

    def listen(self, hello: Any) -> AsyncGenerator[bytes, None] | None:
        """Give the events from now on, as they are sent; None: there are too many who listen."""
        if len(self._queues) >= _MOST:
            return None
        queue: asyncio.Queue[bytes] = asyncio.Queue(_QUEUE)
        self._queues.add(queue)

        async def parts() -> AsyncGenerator[bytes, None]:
            try:
                yield _event("hello", hello)
                while not self._hung_up:
                    try:
                        async with asyncio.timeout(15.0):
                            yield await queue.get()
                    except TimeoutError:
                        yield b": still here\n\n"
            finally:
                self._queues.discard(queue)

        return parts()

    def hang_up(self) -> None:
        """End the connections of those who listen."""
        self._hung_up = True
        self.publish("bye", {})

    def publish(self, name: str, thing: Any) -> None:
        """Tell all who listen."""
        data = _event(name, thing)
        for queue in self._queues:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(data)


def _event(name: str, thing: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), encode(thing))
