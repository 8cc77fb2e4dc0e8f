"""Redis Streams: entries are read by their ids, and answers are added under ids that no one else can have taken."""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, final

from thalweg.streams.brokers.address import Address, library
from thalweg.streams.brokers.reader import BEFORE, LOG, GapError, Message, Place, Reader
from thalweg.streams.brokers.sinks import Out, Sink

T = TypeVar("T")
_PAUSE = 0.5  # seconds between two attempts to connect again


class _Connected:
    """A connection that is made again when it breaks."""

    def __init__(self, address: Address) -> None:
        self.redis = library("redis", "redis")
        options = address.take(("db", "field"))
        self.where, self.stream = address.shown, address.name
        self.field = options.get("field", "value").encode()
        database = options.get("db", "0")
        if not database.isdecimal():
            raise ValueError(f"db must be the number of a database of Redis, got {database!r}")
        self._client = self.redis.Redis(
            host=address.host, port=address.port, db=int(database), username=address.user or None,
            password=address.password or None, ssl=address.scheme == "rediss", socket_timeout=10.0,
            socket_connect_timeout=5.0, retry=None,
        )  # fmt: skip
        self._down = False

    def first(self, call: Callable[[Any], T]) -> T:
        """Do something that must work now, or say why it does not."""
        try:
            return call(self._client)
        except (self.redis.ConnectionError, self.redis.TimeoutError) as error:
            raise ConnectionError(f"{self.where} cannot be reached: {error}") from None
        except self.redis.ResponseError as error:
            raise ValueError(f"{self.where} must be a stream of Redis: {error}") from None

    def info(self) -> dict[str, Any]:
        """Ask the stream for its first and last entries; empty where there is none yet."""
        return self.first(lambda c: c.xinfo_stream(self.stream) if c.exists(self.stream) else {})

    def patiently(self, call: Callable[[Any], T], otherwise: T) -> T:
        """Do something, or give ``otherwise`` while the server is not there."""
        try:
            done = call(self._client)
        except (self.redis.ConnectionError, self.redis.TimeoutError) as error:
            if not self._down:
                LOG.warning("the connection to %s is lost, trying again: %s", self.where, error)
            self._down = True
            time.sleep(_PAUSE)
            return otherwise
        if self._down:
            LOG.warning("the connection to %s is back", self.where)
            self._down = False
        return done

    def close(self) -> None:
        """Let the connection go."""
        self._client.close()


def place_of(text: bytes) -> Place:
    """Read an id of an entry.

    >>> place_of(b"1700000000000-3")
    (1700000000000, 3)
    """
    time, _, number = text.partition(b"-")
    return int(time), int(number)


@final
class RedisReader(Reader):
    """Reads the entries of one stream."""

    def __init__(self, address: Address, *, fields: bool = False) -> None:
        self._connected = _Connected(address)
        self._fields, self._after, self._caught, self._passed = fields, BEFORE, False, 0
        self._connected.info()

    def ends(self) -> dict[int, Place]:
        """Give the id of the last entry."""
        info = self._connected.info()
        return {0: place_of(info["last-entry"][0]) if info.get("last-entry") else BEFORE}

    def before(self) -> int:
        """Count the entries that were gone when nothing had been read."""
        info = self._connected.info()
        return _gone(info) if info else 0

    def seek(self, after: Mapping[int, Place], *, passed: int = 0, skip_gap: bool = False) -> int:
        """Go on behind an id."""
        self._after, self._caught, self._passed = after.get(0, BEFORE), False, passed
        if self._after == BEFORE:
            return 0
        info = self._connected.info()
        last = place_of(info["last-generated-id"]) if info else BEFORE
        if last < self._after:
            raise ValueError(
                f"{self._connected.where} must be the stream that was read before: its last id is {_written(last)}, "
                f"the position is {_written(self._after)}"
            )
        lost = self._lost(info)
        if lost and not skip_gap:
            raise self._gap(lost, info)
        self._passed += lost
        return lost

    def _lost(self, info: dict[str, Any]) -> int:
        """Count the entries behind the position that are gone: of those before it ``_passed`` are."""
        if not info or self._after == BEFORE:
            return 0
        first = info["first-entry"]
        return max(0, _gone(info) - self._passed) if not first or place_of(first[0]) > self._after else 0

    def _gap(self, lost: int, info: dict[str, Any]) -> GapError:
        first = info["first-entry"]
        left = f"its first is {_written(place_of(first[0]))}" if first else "none is left"
        return GapError(
            f"{self._connected.where} has dropped {lost:,} entries behind {_written(self._after)}: {left}", lost
        )

    def fetch(self, most: int, wait: float) -> list[Message]:
        """Give the next entries."""
        connected, after = self._connected, self._after
        behind = "0-0" if after == BEFORE else _written(after)

        def ask(client: Any) -> Any:
            both = client.pipeline(transaction=True)
            both.xrange(connected.stream, "-" if after == BEFORE else f"({behind}", "+", count=most)
            both.xinfo_stream(connected.stream)
            found, info = both.execute(raise_on_error=False)
            if isinstance(found, Exception):
                raise found
            info = {} if isinstance(info, Exception) else info
            if not found and wait > 0.0 and not self._lost(info):
                client.xread({connected.stream: behind}, count=1, block=max(1, int(1000 * wait)))
            return found, info

        nothing: tuple[Any, dict[str, Any]] = (None, {})
        found, info = connected.patiently(ask, nothing)
        self._caught = found is not None and not found
        if lost := self._lost(info):
            raise self._gap(lost, info)
        if not found:
            return []
        out: list[Message] = []
        field = None if self._fields else connected.field
        for text, values in found:
            a, b = place_of(text)
            value = values if field is None else values.get(field, b"")
            out.append(Message(a, 0, a, b, values.get(b"key"), value))
        self._after = (out[-1].a, out[-1].b)
        self._passed += len(out)
        return out

    def caught_up(self, partition: int) -> bool:
        """Was there nothing when it was asked last?"""
        return self._caught

    def close(self) -> None:
        """Let the connection go."""
        self._connected.close()

    def name_of(self, message: Message) -> str:
        """Say where a message is."""
        return f"{message.a}-{message.b}"


def _gone(info: Mapping[str, Any]) -> int:
    """Count the entries that a stream once had and has no more."""
    return int(info.get("entries-added", info["length"])) - int(info["length"])


def _written(place: Place) -> str:
    return f"{place[0]}-{place[1]}"


_SCRIPT = """
local at = '0-0'
if redis.call('EXISTS', KEYS[1]) == 1 then
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then at = info[i + 1] end
  end
end
if at ~= ARGV[1] then return at end
for i = 3, #ARGV, 4 do
  if ARGV[i + 2] == '' then redis.call('XADD', KEYS[1], ARGV[i], 'id', ARGV[i + 1], ARGV[2], ARGV[i + 3])
  else redis.call('XADD', KEYS[1], ARGV[i], 'id', ARGV[i + 1], 'key', ARGV[i + 2], ARGV[2], ARGV[i + 3]) end
end
return ''
"""
_UNKNOWN = b"?"  # the connection broke before the script had answered
_PART = 500  # entries that one script adds: nobody else is served meanwhile


@final
class RedisSink(Sink):
    """Adds entries in steps of a script, which the server runs whole, and only while the last id is the one we know.

    That is the last id that the stream has given, whether the entry is still there or has been trimmed away.

    What a process that was killed had under way is therefore either there before we read back, or refused; and what we
    have under way when a connection breaks is looked for before it is sent again. Each answer is there once.
    """

    def __init__(self, address: Address) -> None:
        super().__init__()
        self._connected = _Connected(address)
        self.where = self._connected.where
        self._last: Place = (0, 0)
        self._script = self._connected._client.register_script(_SCRIPT)

    def begin(self) -> None:
        """Begin behind the last entry."""
        info = self._connected.info()
        self._last = place_of(info["last-generated-id"]) if info else (0, 0)

    def _send(self, messages: list[Out]) -> None:
        for start in range(0, len(messages), _PART):
            part = messages[start : start + _PART]
            while part and (last := self._added(part)) != b"":
                there = set(self._behind(self._last))
                part = [m for m in part if m.id not in there]
                if not there and last != _UNKNOWN:  # what was added is gone again
                    self._last = place_of(last)

    def _added(self, messages: list[Out]) -> bytes:
        """Add entries, unless somebody else has added some: then give the last id."""
        time, number = self._last
        values: list[Any] = [_written(self._last), self._connected.field]
        for i, m in enumerate(messages, 1):
            values += [f"{time}-{number + i}", m.id, m.key or b"", m.value]
        reply: bytes = self._connected.patiently(
            lambda c: self._script(keys=[self._connected.stream], args=values, client=c), _UNKNOWN
        )
        if reply == b"":
            self._last = (time, number + len(messages))
        return reply

    def _behind(self, place: Place) -> list[str]:
        """Give the ids of the entries behind a place, and remember the last of them."""
        ids: list[str] = []
        while True:
            found = self._page(place)
            if found is None:
                continue
            if not found:
                self._last = place
                return ids
            ids += [values.get(b"id", b"").decode("utf-8", "replace") for _, values in found]
            place = place_of(found[-1][0])

    def _page(self, place: Place) -> Any:
        start, stream = f"({_written(place)}", self._connected.stream
        return self._connected.patiently(lambda c: c.xrange(stream, start, "+", count=_PART), None)

    def _place(self) -> dict[str, Any]:
        return {"last": list(self._last)}

    def _go_on(self, place: dict[str, Any]) -> list[str]:
        time, number = place["last"]
        self.begin()
        if self._last < (time, number):
            raise ValueError(f"{self.where} must have the entry {time}-{number} that was written before, it is gone")
        last = self._last
        ids = self._behind((int(time), int(number)))
        self._last = max(self._last, last)  # the last entries may be gone
        return ids

    def close(self) -> None:
        """Write what waits, and let the connection go."""
        super().close()
        self._connected.close()
