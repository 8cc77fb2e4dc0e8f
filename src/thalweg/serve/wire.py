"""Messages between the process that learns and those that answer: MessagePack, each behind its length.

| from    | message                                              | meaning                                             |
| worker  | [number, "records", Records, seconds]                | these were answered; what the request before took   |
| worker  | [number, "http", method, path, query, headers, body] | a request that only the learning process can answer |
| worker  | [number, "cancel"]                                   | whoever made that request is gone                   |
| learner | [number, "given", Given]                             | the reply to records                                |
| learner | [number, "start", status, headers]                   | the reply to a request begins                       |
| learner | [number, "body", bytes, more]                        | the reply goes on; more: and will do so             |
| learner | [0, "schema", bytes]                                 | the schema from here on                             |
"""

import asyncio
import struct
from typing import Any, final

import msgspec

_LENGTH = struct.Struct("<I")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode
MOST = 1 << 28


@final
class Wire:
    """One side of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def send(self, message: list[Any]) -> None:
        """Send a message; it goes out when the other side takes it."""
        data = _encode(message)
        self._writer.write(_LENGTH.pack(len(data)) + data)

    async def drained(self) -> None:
        """Wait while too much has not gone out."""
        await self._writer.drain()

    async def receive(self) -> list[Any] | None:
        """The next message; None: the other side is gone."""
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            if length > MOST:
                return None
            message: list[Any] = _decode(await self._reader.readexactly(length))
            return message
        except (asyncio.IncompleteReadError, ConnectionError, msgspec.DecodeError):
            return None

    def close(self) -> None:
        """End the connection."""
        self._writer.close()
