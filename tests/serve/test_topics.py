"""A service that is fed by topics: answers and learns each record once, also when it is killed at random."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import live_brokers
from thalweg.serve import app
from thalweg.serve.writer import UnavailableError

KINDS = ("redis", "kafka", "nats")


@pytest.fixture(scope="module", autouse=True)
def _servers() -> Iterator[None]:
    yield
    live_brokers.stop_all()


def records(n: int, *, first: int = 0) -> list[bytes]:
    rng = np.random.default_rng(first)
    return [json.dumps({"id": first + i, "x": round(float(rng.normal()), 6), "c": "abc"[i % 3]}).encode()
            for i in range(n)]  # fmt: skip


def labels(of: list[bytes]) -> list[bytes]:
    return [json.dumps({"id": r["id"], "label": "up" if r["x"] > 0 else "down"}).encode()
            for r in map(json.loads, of)]  # fmt: skip


async def until(done: Any, seconds: float = 60.0) -> None:
    stop = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < stop, "it did not come"
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_records_are_answered_and_labels_learned(kind: str, tmp_path: Path) -> None:
    source, told, answers = (live_brokers.topic(kind, name) for name in ("from", "labels", "to"))
    sent = records(60)
    sent.insert(7, b"no json")
    sent.insert(9, b'{"x": 1.0}')
    source.send(sent)

    async def story() -> Any:
        service = app("naive-bayes", tmp_path / "s", source=source.address, labels=told.address, to=answers.address,
                      key="id", every="each")  # fmt: skip
        await service.start()
        await until(lambda: service.engine.book.records == 60)
        good = [r for r in sent if b"id" in r]
        told.send([*labels(good), b'{"label": "up"}', *labels(good[:3])])
        await until(lambda: service.engine.learning.learned == 60)
        source.send(records(5, first=100))
        await until(lambda: service.engine.book.records == 65)
        await service.stop()
        return service.engine

    engine = asyncio.run(story())
    assert engine.book.positions["records"].bad == 2
    assert engine.book.positions["labels"].bad == 1
    said = [json.loads(value) for _, value in answers.answers()]
    assert [a["key"] for a in said] == [*range(60), *range(100, 105)]
    assert [a["id"] for a in said] == list(range(65))
    assert {a["label"] for a in said[60:]} <= {"up", "down"}
    assert all(abs(sum(a["proba"].values()) - 1.0) < 1e-9 for a in said[60:])


def test_what_was_taken_before_the_disk_failed_is_not_taken_again(tmp_path: Path, monkeypatch: Any) -> None:
    source = live_brokers.topic("redis", "from")
    source.send([*records(5), b"no json", *records(5, first=5)])  # one by one, as one of them is bad

    async def story() -> list[Any]:
        service = app("naive-bayes", tmp_path / "s", source=source.address, key="id")
        submit, calls = service.engine.writer.submit, []

        async def fails_once(entry: Any) -> Any:
            calls.append(entry)
            if len(calls) == 5:
                raise UnavailableError("no space is left")
            return await submit(entry)

        monkeypatch.setattr(service.engine.writer, "submit", fails_once)
        await service.start()
        await until(lambda: service.engine.book.records >= 10)
        await asyncio.sleep(0.5)
        names = list(service.engine.book._id_of.values())
        await service.stop()
        return names

    assert asyncio.run(story()) == list(range(10))


def test_records_that_bring_their_label_are_learned(tmp_path: Path) -> None:
    source = live_brokers.topic("redis", "from")
    source.send([json.dumps({"x": i % 7, "y": "yes" if i % 7 > 3 else "no"}).encode() for i in range(50)])

    async def story() -> int:
        service = app("naive-bayes", tmp_path / "s", source=source.address, target="y")
        await service.start()
        await until(lambda: service.engine.learning.learned == 50)
        await service.stop()
        return service.engine.book.records

    assert asyncio.run(story()) == 0


def test_options_that_make_no_sense_get_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--to needs --from"):
        app("naive-bayes", tmp_path / "a", to=str(tmp_path / "answers.jsonl"))
    with pytest.raises(ValueError, match="--from must be a topic of kafka"):
        app("naive-bayes", tmp_path / "b", source=f"sqlite:///{tmp_path}/x.db?query=select 1&order=a")
    with pytest.raises(ValueError, match="--from cannot have --target and --budget"):
        app("naive-bayes", tmp_path / "c", source="redis://localhost/x", target="y", budget=0.5, every="each")
    app("naive-bayes", tmp_path / "a").engine.close()  # nothing was left locked


def _serve(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    words = ["-m", "thalweg", "serve", "hoeffding-tree(grace_period=20)", "--folder", str(folder), "--port", "0",
             "--every", "each", *more]  # fmt: skip
    return subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def _position(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    found = re.search(r"http://[\d.:]+", line)
    assert found, line
    return found[0]


def kill_at_random(kind: str, folder: Path, kills: int, n: int, seed: int = 1) -> int:
    """Feed a service from topics, and kill it; compare answers and model with those of one in peace. Give the hits."""
    rng = np.random.default_rng(seed)
    sent = records(n)
    late = labels(sent)
    ends = []
    hits = 0
    for name, deaths in (("calm", 0), ("killed", kills)):
        source, told, answers = (live_brokers.topic(kind, each) for each in ("from", "labels", "to"))
        source.send(sent)
        options = ("--from", source.address, "--labels", told.address, "--to", answers.address, "--key", "id")
        for _ in range(deaths):
            process = _serve(folder / name, *options)
            _position(process)
            time.sleep(float(rng.random()) * 0.4)
            process.kill()
            hits += process.wait() == -signal.SIGKILL
            assert process.stdout is not None
            process.stdout.close()
        process = _serve(folder / name, *options)
        _position(process)
        stop = time.monotonic() + 120
        while len(answers.answers()) < n and time.monotonic() < stop:
            time.sleep(0.1)
        told.send(late)  # all records are in: the order of the journal does not depend on when they came
        while time.monotonic() < stop and process.poll() is None:
            time.sleep(0.5)
            if _learned(folder / name, process) >= n:
                break
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stdout is not None
        process.stdout.close()
        service = app("hoeffding-tree(grace_period=20)", folder / name, every="each")
        model = {k: v.tobytes() for k, v in service.engine.learning.learner.state().items()}
        learned = service.engine.learning.learned
        service.engine.close()
        ends.append((learned, model, [(i, json.loads(v)) for i, v in answers.answers()]))
    calm, killed = ends
    assert calm[0] == killed[0] == n
    assert [i for i, _ in killed[2]] == [str(i) for i in range(n)]
    assert [(i, a["key"], a["label"]) for i, a in calm[2]] == [(i, a["key"], a["label"]) for i, a in killed[2]]
    assert calm[1] == killed[1]
    return hits


def _learned(folder: Path, process: subprocess.Popen[bytes]) -> int:
    """Give how many entries the journal has, about: it stops growing when all labels are in."""
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and "journal" in str(f.parent))
    time.sleep(0.5)
    again = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and "journal" in str(f.parent))
    return 1 << 40 if size == again else 0


@pytest.mark.skipif(os.name != "posix", reason="processes are killed by a signal")
def test_killed_at_random_it_answers_and_learns_each_record_once(tmp_path: Path) -> None:
    assert kill_at_random("redis", tmp_path, kills=3, n=3_000) == 3
