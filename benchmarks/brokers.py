"""Throughput of live streams: a Hoeffding tree on ten features from a topic of Kafka, beside a file, and beside river.

    python benchmarks/brokers.py --rows 300000

CPU time of our process (all its threads, the client's included), the whole run: reading, decoding, learning, scoring.
Everything is repeated in turns, and the least is given. river reads the same topic with the same client, one record
after another, as its users do: decode, predict, score, learn. The broker is a real one (scripts/brokers.py).
"""

import argparse
import io
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import live_brokers
from thalweg import HoeffdingTree, MessageStream, ParquetStream, RandomRBF, prequential

FEATURES, BATCH = 10, 512


def table_of(n):
    """Make rows of ten numbers."""
    chunk = RandomRBF(classes=2, features=FEATURES, centroids=50, seed=1).take(n)
    columns = {f"x{i}": chunk.X[:, i] for i in range(FEATURES)}
    return pa.table({**columns, "class": np.asarray(chunk.y, dtype=np.int64)})


def batches(table):
    """Write a table as messages of one Arrow batch each."""
    for start in range(0, len(table), BATCH):
        out = io.BytesIO()
        part = table.slice(start, BATCH).combine_chunks()
        with pa.ipc.new_stream(out, part.schema) as writer:
            writer.write_table(part)
        yield out.getvalue()


def timed(make):
    """Learn a stream; give the CPU seconds, opening it included."""
    before = time.process_time()
    result = prequential(make(), HoeffdingTree(), every=10_000, metrics=["accuracy"])
    return time.process_time() - before, result


def with_river(address, n):
    """Let river's tree learn the first records of the JSON topic."""
    from confluent_kafka import Consumer, TopicPartition
    from river import metrics, tree

    where, _, topic = address.removeprefix("kafka://").partition("/")
    consumer = Consumer({"bootstrap.servers": where, "group.id": "river", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    model, score, seen = tree.HoeffdingTreeClassifier(), metrics.Accuracy(), 0
    before = time.process_time()
    while seen < n:
        for message in consumer.consume(1000, 1.0):
            x = json.loads(message.value())
            y = x.pop("class")
            score.update(y, model.predict_one(x))
            model.learn_one(x, y)
            seen += 1
    seconds = time.process_time() - before
    consumer.close()
    return seconds / seen, score.get()


def main():
    """Measure, and print."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--rows", type=int, default=300_000)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--river", type=int, default=200_000, help="rows for river, at most")
    given = options.parse_args()
    table = table_of(given.rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pq.write_table(table, path)
        arrow, lines = live_brokers.topic("kafka", "arrow"), live_brokers.topic("kafka", "json")
        arrow.send(list(batches(table)))
        lines.send([json.dumps(row).encode() for row in table.to_pylist()])
        ways = {
            "Parquet": lambda: ParquetStream(path),
            "Arrow batches of 512": lambda: MessageStream(arrow.address, format="arrow"),
            "JSON, one row a message": lambda: MessageStream(lines.address),
        }
        prequential(ParquetStream(path), HoeffdingTree(), limit=20_000, every=10_000, metrics=["accuracy"])
        spent = {name: [] for name in ways}
        for _ in range(given.repeats):
            for name, make in ways.items():
                seconds, result = timed(make)
                spent[name].append(seconds)
        rate = {name: given.rows / min(all_) for name, all_ in spent.items()}
        for name, all_ in spent.items():
            print(f"{name}: {rate[name]:,.0f} rows/s (CPU seconds {', '.join(f'{s:.2f}' for s in sorted(all_))}; "
                  f"{rate[name] / rate['Parquet']:.0%} of Parquet)", flush=True)  # fmt: skip
        each, accuracy = with_river(lines.address, min(given.river, given.rows))
        print(f"river, the same topic: {1 / each:,.0f} rows/s; ours is {rate['JSON, one row a message'] * each:.1f} × "
              f"(accuracy {accuracy:.3f}, ours {result.accuracy:.3f} on all rows)")  # fmt: skip
    live_brokers.stop_all()


if __name__ == "__main__":
    main()
