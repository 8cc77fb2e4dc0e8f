"""Records from real brokers: the same bits as from a file, resumed anywhere, answered once, whatever is in the way.

The tests of one broker are one story, so that its server starts once.
"""

import io
import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import live_brokers
import thalweg
from streams_rows import bits_of as bits
from streams_rows import rows
from thalweg import MessageStream, ParquetStream, prequential

ROWS = 3000
BROKERS = ("redis", "kafka", "nats")


def as_json(table: pa.Table) -> list[bytes]:
    return [json.dumps({k: v for k, v in row.items() if v is not None}).encode() for row in table.to_pylist()]


def as_arrow(table: pa.Table, each: int) -> list[bytes]:
    out = []
    for start in range(0, len(table), each):
        sink = io.BytesIO()
        part = table.slice(start, each).combine_chunks()
        with pa.ipc.new_stream(sink, part.schema) as writer:
            writer.write_table(part)
        out.append(sink.getvalue())
    return out


def learned(stream: Any, **more: Any) -> tuple[dict[str, bytes], Any]:
    model = thalweg.HoeffdingTree(grace_period=50)
    result = prequential(stream, model, every=500, **more)
    return bits(model), result


@pytest.fixture
def twin(tmp_path: Path) -> tuple[pa.Table, dict[str, bytes]]:
    """The rows, and the model that has learned them from a Parquet file."""
    table = rows(ROWS)
    pq.write_table(table, tmp_path / "rows.parquet")
    return table, learned(ParquetStream(tmp_path / "rows.parquet", drop=["id"]))[0]


@pytest.mark.parametrize("broker", BROKERS)
def test_a_broker(broker: str, twin: Any, tmp_path: Path, caplog: Any) -> None:
    table, expected = twin
    topic = live_brokers.topic(broker)
    topic.send(as_json(table))
    _same_bits_and_any_resume(topic, expected)
    _arrow_batches_and_positions_inside(live_brokers.topic(broker), table, expected)
    _answers_once(topic, live_brokers.topic(broker, "answers"), expected, tmp_path)
    _poison(live_brokers.topic(broker), table, tmp_path)
    _followed(live_brokers.topic(broker), table, expected)
    _truncated(live_brokers.topic(broker), table, caplog)
    _restarted(broker, live_brokers.topic(broker), table, expected, caplog)


def _same_bits_and_any_resume(topic: Any, expected: Any) -> None:
    assert learned(MessageStream(topic.address, key="id"))[0] == expected
    for chunk in (1, 700, 2999):
        stream = MessageStream(topic.address, key="id")
        first = stream.take(chunk)
        state = stream.state()
        other = MessageStream(topic.address, key="id")
        other.restore(state)
        for _ in range(2):
            one, two = stream.take(1100), other.take(1100)
            assert np.array_equal(one.X, two.X, equal_nan=True)
            assert one.y.tolist() == two.y.tolist()
        assert stream.schema == other.schema
        ids, keys = other.origins()
        assert keys == [f"r{i}" for i in range(chunk + 1100, ROWS)][:1100]
        assert len(set(ids)) == len(ids) == len(keys)
        stream.restart()
        again = stream.take(chunk)
        assert np.array_equal(again.X, first.X, equal_nan=True)


def _arrow_batches_and_positions_inside(topic: Any, table: pa.Table, expected: Any) -> None:
    topic.send(as_arrow(table, 256))
    assert learned(MessageStream(topic.address, key="id", format="arrow"))[0] == expected
    stream = MessageStream(f"{topic.address}?format=arrow&key=id")
    for n in (1, 255, 256, 300, 511):
        stream.restart()
        stream.take(n)
        other = MessageStream(topic.address, format="arrow", key="id")
        other.restore(stream.state())
        one, two = stream.take(700), other.take(700)
        assert stream.origins() == other.origins()
        assert one.y.tolist() == two.y.tolist()
        assert np.array_equal(one.X, two.X, equal_nan=True)


def _answers_once(topic: Any, out: Any, expected: Any, tmp_path: Path) -> None:
    path = tmp_path / f"{out.name}.ckpt"
    for limit in (700, 1500, None):
        model = thalweg.HoeffdingTree(grace_period=50)
        prequential(
            MessageStream(topic.address, key="id"), model, every=500, checkpoint=path, resume=path.exists(),
            to=out.address, limit=limit,
        )  # fmt: skip
        if limit == 700:
            kept = path.read_bytes()
        elif limit == 1500:  # as if it had been killed after it had answered, and before it wrote a checkpoint
            path.write_bytes(kept)
    assert bits(model) == expected
    answers = [json.loads(value) for _, value in out.answers()]
    assert [a["key"] for a in answers] == [f"r{i}" for i in range(ROWS)]
    assert [a["version"] for a in answers] == list(range(ROWS))
    assert [a["id"] for a in answers] == [id_ for id_, _ in out.answers()]
    assert len({a["id"] for a in answers}) == ROWS
    whole = prequential(MessageStream(topic.address, key="id"), thalweg.HoeffdingTree(grace_period=50), keep=True)
    assert [a["label"] for a in answers] == whole.predictions.prediction.tolist()
    assert [max(a["proba"].values(), default=0.0) for a in answers] == whole.predictions.probability.tolist()


def _poison(topic: Any, table: pa.Table, tmp_path: Path) -> None:
    values = as_json(table.slice(0, 1500))
    poison = [
        b"", b"{", b"[1]", b'{"a": 1.0}', b'\xff\xfe{"a"', b'{"new": 1, "class": "no"}', b'{"a": "x", "class": "no"}',
    ]  # fmt: skip
    for i, bad in enumerate(poison):
        values.insert(200 * (i + 1), bad)
    values.append(b"last")
    topic.send(values)
    good = MessageStream(topic.address, key="id", on_bad_row="skip")
    assert len(good.take(2000)) == 1500
    assert good.skipped == len(poison) + 1
    file = tmp_path / f"{topic.name}.jsonl"
    stream = MessageStream(topic.address, key="id", on_bad_row="quarantine", quarantine=file)
    stream.take(500)
    other = MessageStream(topic.address, key="id", on_bad_row="quarantine", quarantine=file)
    other.restore(stream.state())
    assert len(other.take(2000)) == 1000
    told = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert len(told) == len(poison) + 1
    assert all(topic.address in line["reason"] for line in told)
    stream = MessageStream(topic.address, key="id")
    assert len(stream.take(199)) == 199
    with pytest.raises(ValueError, match="must be JSON"):
        stream.take(1000)
    assert len(MessageStream(topic.address, key="id").take(1)) == 1


def _followed(topic: Any, table: pa.Table, expected: Any) -> None:
    values = as_json(table)
    topic.send(values[:1000])
    stream = MessageStream(topic.address, key="id", follow=True)
    writer = threading.Timer(0.3, lambda: topic.send(values[1000:]))
    writer.start()
    assert learned(stream, limit=ROWS)[0] == expected
    assert len(stream.read(10)) == 0
    writer.join()


def _truncated(topic: Any, table: pa.Table, caplog: Any) -> None:
    topic.send(as_json(table))
    stream = MessageStream(topic.address, key="id")
    stream.take(500)
    state = stream.state()
    topic.truncate(1000)
    other = MessageStream(topic.address, key="id")
    with pytest.raises(ValueError, match=r"has dropped 1,500 .*--on-gap continue"):
        other.restore(state)
    onward = MessageStream(topic.address, key="id", on_gap="continue")
    with caplog.at_level(logging.WARNING):
        onward.restore(state)
    assert onward.lost == 1500
    assert "1,500 messages before they were read" in caplog.text
    onward.take(1)
    assert onward.origins()[1] == ["r2000"]
    assert len(onward.take(5000)) == 999
    caplog.clear()


def _restarted(broker: str, topic: Any, table: pa.Table, expected: Any, caplog: Any) -> None:
    values = as_json(table)
    topic.send(values[:1500])
    if broker == "redis":
        time.sleep(1.2)  # the log of Redis is written to the disk every second
    stream = MessageStream(topic.address, key="id", follow=True)
    model = thalweg.HoeffdingTree(grace_period=50)
    result: list[Any] = []

    def run() -> None:
        result.append(prequential(stream, model, every=500, limit=ROWS))

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(1.0)
    server = live_brokers.server(broker)
    with caplog.at_level(logging.WARNING):
        server.stop()
        time.sleep(1.0)
        server.start()
        topic.send(values[1500:])
        thread.join(60)
    assert not thread.is_alive()
    assert bits(model) == expected
    assert "is lost, trying again" in caplog.text
    assert "is back" in caplog.text
