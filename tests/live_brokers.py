"""Real servers for the tests, and one way to write messages to each: those that cannot be had are skipped."""

import functools
import importlib
import importlib.util
import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

_NUMBERS = itertools.count()


@functools.cache
def scripts() -> Any:
    """Load scripts/brokers.py."""
    path = Path(__file__).parents[1] / "scripts" / "brokers.py"
    spec = importlib.util.spec_from_file_location("scripts_brokers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["scripts_brokers"] = module
    spec.loader.exec_module(module)
    return module


class RedisTopic:
    """A stream of Redis to write to."""

    def __init__(self, server: Any, name: str) -> None:
        import redis

        self.client = redis.Redis(port=server.port)
        self.name, self.address = name, f"{server.address}/{name}"

    def send(self, values: list[bytes], keys: list[bytes] | None = None, times: Any = None, partition: int = 0) -> None:
        pipe = self.client.pipeline()
        for i, value in enumerate(values):
            pipe.xadd(self.name, {"value": value} | ({} if keys is None else {"key": keys[i]}))
        pipe.execute()

    def answers(self) -> list[tuple[str, bytes]]:
        return [(v[b"id"].decode(), v[b"value"]) for _, v in self.client.xrange(self.name)]

    def truncate(self, left: int) -> None:
        self.client.xtrim(self.name, maxlen=left, approximate=False)


class KafkaTopic:
    """A topic of Kafka to write to."""

    def __init__(self, server: Any, name: str, partitions: int = 1) -> None:
        from confluent_kafka import Producer
        from confluent_kafka.admin import AdminClient, NewTopic

        self.where = f"127.0.0.1:{server.port}"
        self.admin = AdminClient({"bootstrap.servers": self.where})
        made = self.admin.create_topics([NewTopic(name, num_partitions=partitions, replication_factor=1)])
        made[name].result(30)
        self.producer = Producer({"bootstrap.servers": self.where, "linger.ms": 5})
        self.name, self.address = name, f"{server.address}/{name}"

    def send(self, values: list[bytes], keys: list[bytes] | None = None, times: Any = None, partition: int = 0) -> None:
        for i, value in enumerate(values):
            more = {} if times is None else {"timestamp": int(times[i])}
            while True:
                try:
                    self.producer.produce(
                        self.name, value, key=None if keys is None else keys[i], partition=partition, **more
                    )
                    break
                except BufferError:
                    self.producer.poll(0.1)
        assert self.producer.flush(30) == 0

    def answers(self) -> list[tuple[str, bytes]]:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.where, "group.id": "look", "enable.partition.eof": True,
                             "isolation.level": "read_committed", "auto.offset.reset": "earliest"})  # fmt: skip
        consumer.assign([TopicPartition(self.name, 0, 0)])
        found = []
        while True:
            for message in consumer.consume(1000, 5.0):
                if message.error() is not None:
                    consumer.close()
                    return found
                found.append((dict(message.headers())["id"].decode(), message.value()))

    def truncate(self, left: int) -> None:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.where, "group.id": "look"})
        _, high = consumer.get_watermark_offsets(TopicPartition(self.name, 0), timeout=10)
        consumer.close()
        done = self.admin.delete_records([TopicPartition(self.name, 0, high - left)])
        for future in done.values():
            future.result(30)


class NATSTopic:
    """A subject of NATS to write to."""

    def __init__(self, server: Any, name: str) -> None:
        from thalweg.streams.brokers.address import parsed
        from thalweg.streams.brokers.nats import Client

        self.name, self.address = name, f"{server.address}/{name}"
        self.client = Client(parsed(self.address))
        self.client.run(self.client.js.add_stream(name=name.upper(), subjects=[name]))

    def send(self, values: list[bytes], keys: list[bytes] | None = None, times: Any = None, partition: int = 0) -> None:
        async def all_of_them() -> None:
            for i, value in enumerate(values):
                headers = None if keys is None else {"key": keys[i].decode()}
                await self.client.js.publish_async(self.name, value, headers=headers)
            await self.client.js.publish_async_completed()

        self.client.run(all_of_them())

    def answers(self) -> list[tuple[str, bytes]]:
        return [(m.headers["id"], m.data) for m in self.client.after(self.name, 0)]

    def truncate(self, left: int) -> None:
        self.client.run(self.client.js.purge_stream(self.name.upper(), keep=left))


TOPICS = {"redis": RedisTopic, "kafka": KafkaTopic, "nats": NATSTopic}
LIBRARIES = {"redis": "redis", "kafka": "confluent_kafka", "nats": "nats", "postgresql": "adbc_driver_postgresql"}


_RUNNING: dict[str, Any] = {}


def server(kind: str) -> Any:
    """Start a server once; give the reason where it cannot be had."""
    if kind not in _RUNNING:
        try:
            _RUNNING[kind] = scripts().SERVERS[kind]()
        except scripts().MissingError as why:
            _RUNNING[kind] = str(why)
    return _RUNNING[kind]


def need(kind: str) -> Any:
    """Give a running server, or skip the test."""
    pytest.importorskip(LIBRARIES[kind])
    found = server(kind)
    if isinstance(found, str):
        pytest.skip(found)
    return found


def topic(kind: str, name: str = "topic", **more: Any) -> Any:
    """Make a topic with a name of its own."""
    return TOPICS[kind](need(kind), f"{name}{next(_NUMBERS)}", **more)


def stop_all() -> None:
    """Stop what was started."""
    for running in _RUNNING.values():
        if not isinstance(running, str):
            running.close()
    _RUNNING.clear()
