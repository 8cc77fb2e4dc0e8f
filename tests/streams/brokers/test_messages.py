"""Formats, addresses and the order of partitions, without a server; files of answers."""

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import live_brokers
import thalweg
from streams_rows import bits_of
from thalweg import MessageStream, prequential
from thalweg.cli.shared import typed
from thalweg.streams.brokers.address import parsed, uri, without_password
from thalweg.streams.brokers.reader import Merged, Message, _Listed
from thalweg.streams.brokers.sinks import FileSink, Out, Sink, open_sink

ROWS: list[dict[str, Any]] = [
    {"a": round(float(i * 0.37 % 1), 6), "colour": "rgb"[i % 3], "class": i % 2} for i in range(50)
]
EXPECTED = [[r["a"], float("rgb".index(r["colour"]))] for r in ROWS]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("redis://localhost", "address must name a stream, as in redis://localhost:6379/stream"),
        ("kafka://localhost:99999/x", "address must be like kafka://localhost:9092/topic"),
        ("kafka://localhost/a b", "must be named by letters, digits, dots, underscores and dashes"),
        ("kafka://h/x?format=json&format=csv", "must be given once, format is there twice"),
        ("sqlite://file.db/x?query=q&order=o", "must have three slashes before the file"),
        ("mqtt://localhost/x", "address must begin with one of kafka://"),
        ("kafka://localhost/x?format=xml", "format must be one of 'json'"),
        ("kafka://localhost/x?format=csv", "columns must name the values of each message"),
        ("kafka://localhost/x?format=avro", "schema_file must name the file with the schema"),
        ("kafka://localhost/x?colour=red", "must have options among partitions"),
        ("redis://127.0.0.1:1/x", "redis://127.0.0.1:1/x cannot be reached"),
    ],
)
def test_what_is_wrong_with_an_address_is_said_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises((ValueError, ConnectionError)) as error:
        MessageStream(text)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_password_is_nowhere_to_be_seen() -> None:
    address = parsed("redis://me:secret@localhost/clicks")
    assert address.password == "secret"
    assert "secret" not in repr(address) + address.shown
    with pytest.raises(ConnectionError) as error:
        MessageStream("redis://me:secret@127.0.0.1:1/clicks")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("redis://me:se@cret@localhost/clicks", "redis://me@localhost/clicks"),
        ("redis://me:se/cret@localhost/clicks", "redis://me@localhost/clicks"),
        ("redis://me:1/cret@localhost/clicks", "redis://me@localhost/clicks"),
        ("redis://me:se@a/cret@localhost/clicks?db=1", "redis://me@localhost/clicks?db=1"),
        ("redis://me:se/a?cret@localhost/clicks?db=1", "redis://me@localhost/clicks?db=1"),
        ("redis://me:1?cret@localhost/clicks", "redis://me@localhost/clicks"),
        ("redis://me:se#cret@localhost:1/clicks", "redis://me@localhost:1/clicks"),
        ("redis://:secret@localhost/clicks", "redis://@localhost/clicks"),
        ("mqtt://me:secret@localhost/clicks", "mqtt://me@localhost/clicks"),
        ("kafka://me:secret@h/x?sasl.username=a@b&header=5", "kafka://me@h/x?sasl.username=a@b&header=5"),
        ("kafka://h:9/x?sasl.username=a@b&sasl%2Epassword=cret", "kafka://h:9/x?sasl.username=a@b"),
        ("kafka://h/x?ssl.key.password=cret&ssl.key.pem=cret", "kafka://h/x"),
        ("kafka://h/x?sasl.oauthbearer.client.SECRET=cret&format=csv", "kafka://h/x?format=csv"),
        ("sqlite:///home/me@x/a.db?query=q&order=o", "sqlite:///home/me@x/a.db?query=q&order=o"),
        ("redis://[::1]:6379/clicks", "redis://[::1]:6379/clicks"),
    ],
)
def test_no_part_of_a_password_is_shown(text: str, plain: str, monkeypatch: Any) -> None:
    assert without_password(text) == plain
    monkeypatch.setattr("sys.argv", ["thalweg", "run", "arf", text, f"--to={text}"])
    if "mqtt" not in text:
        assert typed().count("cret") == 0
    try:
        said = repr(parsed(text))
    except ValueError as error:
        said = str(error)
    assert "cret" not in said
    assert "'se" not in said


def test_a_place_that_is_refused_is_named_without_its_password(run: Any) -> None:
    with pytest.raises(ValueError, match="answers must go to") as error:
        open_sink("mqtt://me:secret@h/x")
    assert "secret" not in str(error.value)
    code, _, err = run("replay", "SEA_a", "--to", "mqtt://me:secret@h/x")
    assert code == 2
    assert "secret" not in err


def test_a_password_reaches_the_client_as_it_is() -> None:
    address = parsed("postgresql://me:a%2Fb%40c%3Fd@h/x%2Fy?query=q")
    assert address.password == "a/b@c?d"
    assert uri(address) == "postgresql://me:a%2Fb%40c%3Fd@h:5432/x%2Fy"
    assert parsed("kafka://h/x?sasl.password=secret").options == {"sasl.password": "secret"}


def _over_redis(messages: list[bytes], **options: Any) -> MessageStream:
    topic = live_brokers.topic("redis")
    topic.send(messages)
    return MessageStream(topic.address, **options)


def _check(stream: MessageStream) -> None:
    chunk = stream.take(30)
    other = type(stream)(**stream.get_params())
    other.restore(stream.state())
    for given, expected in ((chunk, EXPECTED[:30]), (other.take(30), EXPECTED[30:])):
        assert given.X.tolist() == expected
    assert chunk.y.tolist() == [r["class"] for r in ROWS[:30]]


def test_every_format_gives_the_same_records(tmp_path: Path) -> None:
    live_brokers.need("redis")
    columns = ("a", "colour", "class")
    _check(_over_redis([json.dumps(r).encode() for r in ROWS]))
    _check(_over_redis([json.dumps(list(r.values())).encode() for r in ROWS], format="json-array", columns=columns))
    _check(_over_redis([",".join(map(str, r.values())).encode() for r in ROWS], format="csv", columns=columns))
    topic = live_brokers.topic("redis")
    for row in ROWS:
        topic.client.xadd(topic.name, row)
    _check(MessageStream(f"{topic.address}?format=fields"))


def test_avro(tmp_path: Path) -> None:
    fastavro = pytest.importorskip("fastavro")
    import io

    fields = [{"name": "a", "type": "double"}, {"name": "colour", "type": "string"}, {"name": "class", "type": "int"}]
    path = tmp_path / "row.avsc"
    path.write_text(json.dumps({"type": "record", "name": "Row", "fields": fields}))
    messages = []
    for row in ROWS:
        out = io.BytesIO()
        out.write(b"\0\0\0\0\7")
        fastavro.schemaless_writer(out, json.loads(path.read_text()), row)
        messages.append(out.getvalue())
    _check(_over_redis(messages, format="avro", schema_file=path, header=5))


def test_protobuf(tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="row.proto", package="p", syntax="proto3")
    row = file.message_type.add(name="Row")
    for number, (name, kind) in enumerate((("a", 1), ("colour", 9), ("class", 5)), 1):
        row.field.add(name=name, number=number, type=kind, label=1)
    path = tmp_path / "row.desc"
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Row"))
    _check(_over_redis([made(**r).SerializeToString() for r in ROWS], format="protobuf", schema_file=path))


def test_the_fast_way_reads_what_the_slow_one_does() -> None:
    """Any mixture of odd values: decoded at once, or record by record, the rows are the same."""
    live_brokers.need("redis")
    odd = [{"a": 1, "colour": "r"}, {"a": True, "colour": None}, {"a": None}, {"a": 2**60, "colour": "new"},
           {"colour": 3, "a": 1e300}, {"a": -0.0, "colour": "g"}]  # fmt: skip
    messages = [json.dumps(r).encode() for r in ROWS] + [json.dumps(r | {"class": 1}).encode() for r in odd]
    fast, slow = _over_redis(messages).take(100), _over_redis(messages)
    slow._decoder._at_once = lambda _: None  # type: ignore[attr-defined]
    twin = slow.take(100)
    assert np.array_equal(fast.X, twin.X, equal_nan=True)
    assert fast.y.tolist() == twin.y.tolist()
    assert len(fast) == len(messages)


def test_partitions_are_merged_by_time_then_partition() -> None:
    random = np.random.default_rng(3)
    parts = [[Message(int(t), p, k, 0, None, (p, k)) for k, t in enumerate(np.sort(random.integers(0, 99, 40)))]
             for p in range(3)]  # fmt: skip
    expected = sorted((m for part in parts for m in part), key=lambda m: (m.time, m.partition, m.a, m.b))
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(np.repeat(range(3), 40))
        heads = [iter(part) for part in parts]
        reader = _Listed([next(heads[p]) for p in order])
        merged = Merged(reader, reader.ends())
        found: list[Message] = []
        while (some := merged.read(7, 0.0)) is not None:
            found += some
        assert found == expected


def test_two_partitions_of_kafka_with_interleaved_times() -> None:
    topic = live_brokers.topic("kafka", partitions=2)
    times = 1_700_000_000_000 + np.arange(1000) * 7
    values = [json.dumps({"x": i, "class": i % 2}).encode() for i in range(1000)]
    for p in (1, 0):
        topic.send(values[p::2], times=times[p::2], partition=p)
    stream = MessageStream(topic.address)
    assert stream.take(1000).X[:, 0].tolist() == list(range(1000))
    assert stream.read(1) is None
    for n in (1, 333, 998):
        stream.restart()
        stream.take(n)
        other = MessageStream(topic.address)
        other.restore(stream.state())
        assert other.take(2000).X[:, 0].tolist() == list(range(n, 1000))
    one = MessageStream(f"{topic.address}?partitions=1")
    assert one.take(2000).X[:, 0].tolist() == list(range(1, 1000, 2))


def test_answers_to_a_file_are_there_once_after_a_crash(tmp_path: Path) -> None:
    path, out = tmp_path / "run.ckpt", tmp_path / "answers.jsonl"
    for limit in (1000, 2500, 4000):
        model = thalweg.NaiveBayes()
        prequential(thalweg.SEA(seed=1), model, limit=limit, checkpoint=path, resume=path.exists(), to=out)
        if limit == 1000:
            kept = path.read_bytes()
        elif limit == 2500:
            path.write_bytes(kept)
            out.write_bytes(out.read_bytes()[:-30])  # the last line was not written whole
    answers = [json.loads(line) for line in out.read_text().splitlines()]
    assert [a["version"] for a in answers] == list(range(4000))
    twin = thalweg.NaiveBayes()
    prequential(thalweg.SEA(seed=1), twin, limit=4000)
    assert bits_of(model) == bits_of(twin)
    with pytest.raises(ValueError, match="answers must go to"):
        open_sink("sqlite:///x.db")


def _told(first: int, last: int) -> list[Out]:
    return [Out(str(i), None, json.dumps({"id": str(i)}).encode()) for i in range(first, last)]


def test_answers_are_there_once_when_a_run_stops_before_it_has_caught_up(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    sink = FileSink(path)
    sink.begin()
    sink.write(_told(0, 2))
    kept = sink.state()
    sink.write(_told(2, 10))
    sink.close()  # and killed: the state is that after two answers
    for first, last in ((2, 6), (6, 12)):
        sink = FileSink(path)
        sink.restore(kept)
        sink.write(_told(first, last))
        kept = sink.state()
        sink.close()
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == [str(i) for i in range(12)]
    assert sink.there == set()
    sink = FileSink(path)
    sink.restore({"at": kept["at"]})  # as earlier versions wrote it
    sink.close()


def test_answers_of_a_broken_send_are_not_taken_for_written(tmp_path: Path, monkeypatch: Any) -> None:
    path, out = tmp_path / "run.ckpt", tmp_path / "answers.jsonl"
    send, calls = FileSink._send, 0

    def interrupted(sink: FileSink, messages: list[Out]) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise KeyboardInterrupt
        send(sink, messages)

    monkeypatch.setattr(FileSink, "_send", interrupted)
    monkeypatch.setattr("thalweg.streams.brokers.sinks._LONGEST", 1e9)
    with pytest.raises(KeyboardInterrupt):
        prequential(thalweg.SEA(seed=1), thalweg.NaiveBayes(), limit=1000, checkpoint=path, to=out)
    prequential(thalweg.SEA(seed=1), thalweg.NaiveBayes(), limit=2000, checkpoint=path, resume=True, to=out)
    answers = [json.loads(line) for line in out.read_text().splitlines()]
    assert [a["version"] for a in answers] == list(range(2000))
    sink, calls = FileSink(out), 0
    sink.begin()
    sink.write(_told(0, 3))
    with pytest.raises(KeyboardInterrupt):
        sink.flush()
    with pytest.raises(ValueError, match="must be restored: writing to it broke off"):
        sink.state()
    sink.close()


def test_a_second_run_is_answered_by_nats_as_well() -> None:
    out = live_brokers.topic("nats", "answers")
    kept: Any = None
    for first, last in ((0, 5), (0, 5), (3, 8)):  # two runs; the second is killed and goes on behind three answers
        sink = open_sink(out.address)
        if first:
            sink.restore(kept)
            assert sink.there == {"3", "4"}
        else:
            sink.begin()
        sink.write(_told(first, 3))
        kept = sink.state() if not first else kept
        sink.write(_told(max(3, first), last))
        sink.close()
    assert [id_ for id_, _ in out.answers()] == [*"01234", *"01234", *"567"]


def test_answers_that_were_deleted_from_redis_stop_nobody() -> None:
    out = live_brokers.topic("redis", "answers")
    sink = open_sink(out.address)
    sink.begin()
    sink.write(_told(0, 3))
    kept = sink.state()
    out.client.xdel(out.name, out.client.xrevrange(out.name, count=1)[0][0])
    _soon(sink, _told(3, 5))
    out.truncate(0)
    _soon(sink, _told(5, 6))
    added = out.client.xadd(out.name, {"value": b"of another"})
    out.client.xdel(out.name, added)
    _soon(sink, _told(6, 7))
    sink.close()
    assert [id_ for id_, _ in out.answers()] == ["5", "6"]
    out.truncate(0)
    for state in (kept, None):
        sink = open_sink(out.address)
        sink.begin() if state is None else sink.restore(state)
        assert sink.there == set()
        _soon(sink, _told(7, 9))
        sink.close()
    assert [id_ for id_, _ in out.answers()] == [*"78", *"78"]


def _soon(sink: Sink, messages: list[Out]) -> None:
    """Write, within some seconds."""
    sink.write(messages)
    writing = threading.Thread(target=sink.flush, daemon=True)
    writing.start()
    writing.join(10.0)
    assert not writing.is_alive()


@pytest.mark.parametrize("option", ["", "?on_gap=continue"])
def test_a_run_goes_on_behind_a_gap_when_it_is_told_to(option: str, tmp_path: Path) -> None:
    topic, path = live_brokers.topic("redis"), tmp_path / "run.ckpt"
    topic.send([json.dumps(r).encode() for r in ROWS])
    prequential(MessageStream(topic.address), thalweg.NaiveBayes(), limit=10, checkpoint=path)
    topic.truncate(20)
    with pytest.raises(ValueError, match="has dropped"):
        prequential(MessageStream(topic.address), thalweg.NaiveBayes(), checkpoint=path, resume=True)
    more = {} if option else {"on_gap": "continue"}
    stream = MessageStream(topic.address + option, **more)
    assert prequential(stream, thalweg.NaiveBayes(), checkpoint=path, resume=True).rows == 30
    assert stream.lost == 20


def test_a_position_that_was_made_up_is_refused() -> None:
    stream = _over_redis([json.dumps(r).encode() for r in ROWS])
    stream.take(10)
    state = stream.state()
    for change in ({"inside": [7, 1]}, {"inside": [-2, 0]}, {"passed": -1}, {"at": {"0": [2**70, 0]}}, {"at": 3}):
        text = json.dumps(json.loads(state["position"].tobytes()) | change).encode()
        with pytest.raises(ValueError, match="state must be a position in"):
            stream.restore(state | {"position": np.frombuffer(text, dtype=np.uint8)})
    stream.restore(state)
    assert len(stream.take(100)) == 40


@pytest.mark.parametrize("place", [{"size": None}, {"size": [1]}, {"size": {}}, {}, {"size": 1e400}])
def test_a_place_of_answers_that_was_made_up_is_refused(place: Any, tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "answers.jsonl")
    sink.begin()
    text = json.dumps(place).replace("Infinity", "1e300").encode()
    with pytest.raises(ValueError, match="state must be what a sink|must have the"):
        sink.restore({"at": np.frombuffer(text, dtype=np.uint8)})
    sink.close()


def test_a_place_in_redis_that_was_made_up_is_refused() -> None:
    sink = open_sink(live_brokers.topic("redis", "answers").address)
    for place in ({"last": 3}, {"last": ["a", 1]}, {"last": None}):
        with pytest.raises(ValueError, match="state must be what a sink"):
            sink.restore({"at": np.frombuffer(json.dumps(place).encode(), dtype=np.uint8)})
    sink.close()


def test_servers_end_with_the_script_that_started_them() -> None:
    live_brokers.need("redis")
    script = Path(live_brokers.scripts().__file__)
    with subprocess.Popen([sys.executable, script, "redis"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        time.sleep(0.5)
        process.terminate()
        assert process.wait(30) == 0
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_the_command_line(tmp_path: Path, run: Any) -> None:
    topic, out = live_brokers.topic("redis"), live_brokers.topic("redis", "answers")
    topic.send([json.dumps(r).encode() for r in ROWS])
    words = ("run", "naive-bayes", topic.address, "--to", out.address, "--resume", tmp_path / "run.ckpt", "--quiet")
    assert run(*words)[0] == 0
    topic.send([json.dumps(r).encode() for r in ROWS])
    assert run(*words)[0] == 0
    assert len(out.answers()) == 100
    code, _, err = run("run", "naive-bayes", topic.address, "--target", "nothing")
    assert (code, err.count("\n")) == (2, 1)
    assert "target must be one of the fields" in err
