"""Apache Kafka: partitions are assigned by hand and read from our own positions; answers go out in transactions."""

import secrets
import time
from collections.abc import Mapping
from typing import Any, final

from thalweg.core.params import shown
from thalweg.streams.brokers.address import Address, library
from thalweg.streams.brokers.reader import BEFORE, LOG, GapError, Message, Place, Reader
from thalweg.streams.brokers.sinks import Out, Sink

_WAIT = 15.0  # seconds for an answer to a question about a topic


class _Cluster:
    """What reader and sink know of a cluster: how to reach it, and whether it is there."""

    def __init__(self, address: Address, options: tuple[str, ...]) -> None:
        self.kafka = library("confluent_kafka", "kafka")
        given = address.take(options, foreign="librdkafka")
        self.where, self.topic = address.shown, address.name
        self.settings: dict[str, Any] = {
            "bootstrap.servers": f"{address.host}:{address.port}", "error_cb": self._hear, "log_level": 0,
            "reconnect.backoff.max.ms": 1000,
        }  # fmt: skip
        if address.user:
            self.settings |= {"sasl.username": address.user, "sasl.password": address.password}
        self.settings |= {name: value for name, value in given.items() if "." in name}
        self.options = {name: value for name, value in given.items() if "." not in name}
        self.down = False

    def _hear(self, error: Any) -> None:
        if error.code() == self.kafka.KafkaError._ALL_BROKERS_DOWN and not self.down:
            self.down = True
            LOG.warning("the connection to %s is lost, trying again: %s", self.where, error.str())

    def back(self) -> None:
        """Say that the connection is there again, where it was lost."""
        if self.down:
            self.down = False
            LOG.warning("the connection to %s is back", self.where)

    def consumer(self) -> Any:
        """Make a consumer that is told where to read, and commits nothing."""
        return self._made("Consumer", {
            "group.id": "thalweg", "enable.auto.commit": False, "enable.partition.eof": True,
            "auto.offset.reset": "error", "isolation.level": "read_committed", "queued.max.messages.kbytes": 16384,
            "fetch.wait.max.ms": 100,
        })  # fmt: skip

    def _made(self, kind: str, own: dict[str, Any]) -> Any:
        try:
            return getattr(self.kafka, kind)(own | self.settings)
        except self.kafka.KafkaException as error:
            raise ValueError(f"{self.where} must have settings that librdkafka takes: {_said(error)}") from None

    def partitions(self, client: Any) -> list[int]:
        """Give the partitions of the topic."""
        try:
            found = client.list_topics(self.topic, timeout=_WAIT).topics[self.topic]
        except self.kafka.KafkaException as error:
            raise ConnectionError(f"{self.where} cannot be reached: {_said(error)}") from None
        if found.error is not None or not found.partitions:
            raise ValueError(f"{self.where} must be a topic that exists, it does not")
        return sorted(found.partitions)

    def ends(self, client: Any, partition: int) -> tuple[int, int]:
        """Give the first offset that is there, and the one behind the last."""
        try:
            low, high = client.get_watermark_offsets(
                self.kafka.TopicPartition(self.topic, partition), timeout=_WAIT, cached=False
            )
        except self.kafka.KafkaException as error:
            raise ConnectionError(f"{self.where} cannot be reached: {_said(error)}") from None
        return int(low), int(high)


@final
class KafkaReader(Reader):
    """Reads the partitions of one topic, or those that the address names: ``?partitions=0,2``."""

    def __init__(self, address: Address, *, fields: bool = False) -> None:
        if fields:
            raise ValueError("format must not be 'fields' for Kafka, whose messages have none")
        self._cluster = _Cluster(address, ("partitions",))
        self._consumer = self._cluster.consumer()
        known = self._cluster.partitions(self._consumer)
        self.partitions = tuple(known)
        named = self._cluster.options.get("partitions")
        if named is not None:
            parts = named.split(",")
            if not all(p.isdecimal() and int(p) in known for p in parts) or len(set(parts)) < len(parts):
                raise ValueError(f"partitions must be some of {known} of {self._cluster.where}, got {shown(named)}")
            self.partitions = tuple(sorted(map(int, parts)))
        self._caught: set[int] = set()
        self._next: dict[int, int] = {}

    def ends(self) -> dict[int, Place]:
        """Give the offset of the last message of each partition."""
        found = {p: self._cluster.ends(self._consumer, p) for p in self.partitions}
        return {p: (high - 1, 0) if high > low else BEFORE for p, (low, high) in found.items()}

    def seek(self, after: Mapping[int, Place], *, passed: int = 0, skip_gap: bool = False) -> int:
        """Go on behind these offsets."""
        lost = 0
        begin: dict[int, int] = {}
        where = self._cluster.where
        for p in self.partitions:
            low, high = self._cluster.ends(self._consumer, p)
            begin[p] = low if p not in after else after[p][0] + 1
            if begin[p] > high:
                raise ValueError(
                    f"{where} must be the topic that was read before: partition {p} ends at {high}, "
                    f"the position is {begin[p]}"
                )
            if begin[p] < low:
                missing = low - begin[p]
                if not skip_gap:
                    raise GapError(
                        f"{where} has dropped {missing:,} messages of partition {p}: "
                        f"the next is {begin[p]}, the first that is there {low}", missing,
                    )  # fmt: skip
                lost += missing
                begin[p] = low
        self._next, self._caught = begin, set()
        place = self._cluster.kafka.TopicPartition
        self._consumer.assign([place(self._cluster.topic, p, offset) for p, offset in begin.items()])
        return lost

    def fetch(self, most: int, wait: float) -> list[Message]:
        """Give the next messages of all partitions, each in its order."""
        errors, cluster = self._cluster.kafka.KafkaError, self._cluster
        out: list[Message] = []
        deadline = time.monotonic() + wait
        while not out:
            found = self._consumer.consume(most, min(max(0.01, wait), 0.05))
            for m in found:
                error = m.error()
                if error is None:
                    out.append(Message(m.timestamp()[1], m.partition(), m.offset(), 0, m.key(), m.value() or b""))
                elif error.code() == errors._PARTITION_EOF:
                    self._caught.add(m.partition())
                elif error.code() in (errors._AUTO_OFFSET_RESET, errors.OFFSET_OUT_OF_RANGE):
                    self._out_of_range(m.partition())
                elif error.code() == errors._ALL_BROKERS_DOWN or error.retriable():
                    pass  # the library tries again
                elif error.fatal() or error.code() in (errors.UNKNOWN_TOPIC_OR_PART, errors._UNKNOWN_TOPIC):
                    raise ConnectionError(f"{cluster.where} cannot be read: {error.str()}")
            if time.monotonic() >= deadline:
                break
        if out:
            cluster.back()
            for m in out if len(self.partitions) > 1 else out[-1:]:
                self._caught.discard(m.partition)
                self._next[m.partition] = m.a + 1
        return out

    def _out_of_range(self, partition: int) -> None:
        low, _ = self._cluster.ends(self._consumer, partition)
        at = self._next[partition]
        raise GapError(
            f"{self._cluster.where} has dropped {low - at:,} messages of partition {partition}: "
            f"the next is {at}, the first that is there {low}", low - at,
        )  # fmt: skip

    def caught_up(self, partition: int) -> bool:
        """Has the broker said that this was the end, and nothing come since?"""
        return partition in self._caught

    def hold(self, partitions: set[int]) -> None:
        """Pause these partitions, and no others."""
        place, topic = self._cluster.kafka.TopicPartition, self._cluster.topic
        self._consumer.resume([place(topic, p) for p in self.partitions if p not in partitions])
        self._consumer.pause([place(topic, p) for p in partitions])

    def close(self) -> None:
        """Let the connection go."""
        self._consumer.close()


@final
class KafkaSink(Sink):
    """Writes in transactions under a name that the snapshot keeps.

    Whoever begins with that name again fences off a process that was killed: its open transaction is undone, and
    nothing it had under way arrives later. Only then is read back what it had committed since the snapshot. So
    each answer is there once for readers that read committed messages alone (``isolation.level=read_committed``).
    """

    def __init__(self, address: Address) -> None:
        super().__init__()
        self._cluster = _Cluster(address, ())
        self.where = self._cluster.where
        self._producer: Any = None
        self._name = f"thalweg-{secrets.token_hex(8)}"
        self._behind: dict[int, int] = {}

    def begin(self) -> None:
        """Begin behind what is there."""
        self._make_topic()
        self._fence()
        consumer = self._cluster.consumer()
        self._behind = {p: self._cluster.ends(consumer, p)[1] for p in self._cluster.partitions(consumer)}
        consumer.close()

    def _make_topic(self) -> None:
        """Ask for the topic, so that a broker that makes topics by itself does."""
        admin = library("confluent_kafka.admin", "kafka")
        client = admin.AdminClient(self._cluster.settings)
        try:
            known = client.list_topics(timeout=_WAIT).topics
            if self._cluster.topic not in known:
                made = client.create_topics([admin.NewTopic(self._cluster.topic)])
                made[self._cluster.topic].result(_WAIT)
        except self._cluster.kafka.KafkaException as error:
            raise ConnectionError(f"{self.where} cannot be reached, or the topic not made: {_said(error)}") from None

    def _fence(self) -> None:
        own = {"transactional.id": self._name, "linger.ms": 5, "transaction.timeout.ms": 60_000}
        self._producer = self._cluster._made("Producer", own)
        try:
            self._producer.init_transactions(_WAIT * 2)
        except self._cluster.kafka.KafkaException as error:
            raise ConnectionError(f"{self.where} cannot be written to: {_said(error)}") from None

    def _send(self, messages: list[Out]) -> None:
        while True:
            try:
                self._once(messages)
                return
            except self._cluster.kafka.KafkaException as error:
                why = error.args[0]
                if why.fatal() or not (why.retriable() or why.txn_requires_abort()):
                    raise ConnectionError(f"{self.where} cannot be written to: {why.str()}") from None
                LOG.warning("writing to %s failed, trying again: %s", self.where, why.str())
                time.sleep(0.5)
                if why.txn_requires_abort():
                    self._producer.abort_transaction(_WAIT)
                else:  # whether it was committed is not known: begin anew, and look
                    there = set(self._restarted())
                    messages = [m for m in messages if m.id not in there]

    def _once(self, messages: list[Out]) -> None:
        if not messages:
            return
        failed: list[Any] = []
        last: dict[int, int] = {}

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                failed.append(error)
            else:
                last[message.partition()] = max(last.get(message.partition(), 0), message.offset())

        producer, topic = self._producer, self._cluster.topic
        producer.begin_transaction()
        for m in messages:
            more = {} if m.time is None else {"timestamp": m.time}
            while True:
                try:
                    producer.produce(topic, m.value, key=m.key, headers={"id": m.id}, on_delivery=delivered, **more)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.commit_transaction(_WAIT * 2)
        for p, offset in last.items():
            self._behind[p] = offset + 1
        self._cluster.back()

    def _restarted(self) -> list[str]:
        self._fence()
        return self._read_back(self._behind)

    def _read_back(self, behind: Mapping[int, int]) -> list[str]:
        """Give the ids of what was committed behind these offsets, and remember the ends."""
        cluster = self._cluster
        consumer = cluster.consumer()
        begin = {p: behind.get(p, 0) for p in cluster.partitions(consumer)}
        for p in begin:
            low, high = cluster.ends(consumer, p)
            if begin[p] > high:
                raise ValueError(f"{self.where} must have the {begin[p]:,} messages that it had, it ends at {high:,}")
            begin[p] = max(begin[p], low)
        consumer.assign([cluster.kafka.TopicPartition(cluster.topic, p, o) for p, o in begin.items()])
        ids: list[str] = []
        open_ = set(begin)
        while open_:
            for m in consumer.consume(1000, 1.0):
                if m.error() is None:
                    ids += [value.decode("utf-8", "replace") for name, value in m.headers() or [] if name == "id"]
                    begin[m.partition()] = m.offset() + 1
                elif m.error().code() == cluster.kafka.KafkaError._PARTITION_EOF:
                    open_.discard(m.partition())
        consumer.close()
        self._behind = begin
        return ids

    def _place(self) -> dict[str, Any]:
        return {"name": self._name, "behind": {str(p): o for p, o in self._behind.items()}}

    def _go_on(self, place: dict[str, Any]) -> list[str]:
        self._name = str(place["name"])
        self._fence()
        return self._read_back({int(p): int(o) for p, o in place["behind"].items()})


def _said(error: Any) -> str:
    why = error.args[0] if error.args else error
    return str(why.str() if hasattr(why, "str") else why)
