"""The service as an application: mounted in another one, its alarms and its webhook, versions under load, the soaks."""

import asyncio
import http.server
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from running import running

from soak import serve_fuzz
from thalweg import SEA, Schema
from thalweg.serve import app
from thalweg.serve.alarms import Alarms, Webhook, sign
from thalweg.serve.contest import Contest
from thalweg.serve.history import History

TESTS = Path(__file__).resolve().parents[1]


def test_it_can_be_mounted_in_another_application(tmp_path):
    httpx, starlette = pytest.importorskip("httpx"), pytest.importorskip("starlette.applications")
    from starlette.routing import Mount

    async def through():
        service = app("naive-bayes", tmp_path, sync="never", every="each")
        outer = starlette.Starlette(routes=[Mount("/model", app=service)])
        transport = httpx.ASGITransport(app=outer)
        async with httpx.AsyncClient(transport=transport, base_url="http://inside") as client:
            assert (await client.post("/model/v1/learn", json={"records": [[1.0]], "labels": ["a"]})).status_code == 200
            answer = (await client.post("/model/v1/predict", json={"record": [1.0]})).json()
            assert answer["label"] == "a"
            assert (await client.get("/model/nowhere")).status_code == 404
        await service.stop()

    asyncio.run(through())


def test_alarms_go_on_and_off():
    alarms = Alarms(min_accuracy=0.8, no_labels=60.0, refused=10)
    facts = {"accuracy": 0.9, "labels": 500, "last_label": 1_000.0, "records": 10, "refused": 0, "trouble": None}
    assert alarms.check(facts, now=1_010.0) == []
    news = alarms.check({**facts, "accuracy": 0.7, "trouble": "no space"}, now=1_020.0)
    assert {(each["name"], each["on"]) for each in news} == {("accuracy", True), ("disk", True)}
    assert alarms.check({**facts, "accuracy": 0.7, "trouble": "no space"}, now=1_021.0) == []
    news = alarms.check({**facts, "refused": 10}, now=1_100.0)
    assert {(each["name"], each["on"]) for each in news} == {
        ("accuracy", False), ("disk", False), ("no_labels", True), ("schema", True),
    }  # fmt: skip
    assert [each["name"] for each in alarms.on.values()] == ["no_labels", "schema"]


def test_a_webhook_is_tried_again_and_signed():
    got, failures = [], [3]

    class Taker(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            failures[0] -= 1
            if failures[0] >= 0:
                self.send_response(500)
            else:
                got.append((body, self.headers["x-thalweg-signature"]))
                self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Taker)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    async def through():
        hook = Webhook(f"http://127.0.0.1:{server.server_port}/", "secret", patience=0.01)
        hook.put({"name": "drift", "on": True})
        task = asyncio.create_task(hook.run())
        for _ in range(500):
            await asyncio.sleep(0.01)
            if hook.sent:
                break
        task.cancel()
        return hook.sent

    try:
        assert asyncio.run(through()) == 1
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    body, signature = got[0]
    assert json.loads(body) == {"name": "drift", "on": True}
    assert signature == "sha256=" + sign(body, "secret")


def test_a_contest_is_rarely_won_by_an_equal():
    rng, won = np.random.default_rng(1), 0
    for _ in range(200):
        contest = Contest(labels=1_000, alpha=0.05)
        for _ in range(10):
            contest.see(rng.random(100) < 0.8, rng.random(100) < 0.8)
            if contest.won:
                won += 1
                break
    assert won <= 20  # at most 5 % in expectation, however often it is looked at
    contest = Contest(labels=1_000, alpha=0.001)
    contest.see(rng.random(900) < 0.9, rng.random(900) < 0.8)
    assert contest.won


def test_a_history_is_bounded_and_falls_in_resolution():
    history = History()
    for second in range(0, 200_000, 7):
        history.add(1e9 + second, records=1)
    size = sum(table.nbytes for table in history.state().values())
    for ring, steps, width in (("fine", 360, 10), ("middle", 360, 60), ("coarse", 144, 600)):
        series = history.series(ring, ["records"], now=1e9 + 200_000)
        assert len(series["at"]) in (steps - 1, steps)
        assert series["at"][-1] - series["at"][0] == pytest.approx((len(series["at"]) - 1) * width)
        assert sum(series["records"]) == pytest.approx(len(series["at"]) * width / 7, rel=0.05)
    assert size < 1_000_000
    again = History()
    again.restore(history.state())
    assert again.series("fine", ["records"], now=1e9 + 200_000) == history.series(
        "fine", ["records"], now=1e9 + 200_000
    )


def test_no_answer_is_of_two_versions(tmp_path):
    """Thousands of versions under load: each answer is that of the version it names, and none is refused."""
    chunk = SEA(seed=3).read(4_000)

    async def through():
        service = app("hoeffding-tree", tmp_path, schema=Schema.numeric(3), sync="never", every=1)
        engine = service.engine
        kept = {}
        engine.thread.on_version = lambda version: kept.setdefault(version.number, version)
        kept[engine.version.number] = engine.version
        await engine.start()
        answers, stop = [], False

        async def ask():
            while not stop:
                given = await engine.records(chunk.X[:50])
                answers.append(given)
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(ask()) for _ in range(3)]
        for at in range(2_200):
            await engine.learn(chunk.X[at : at + 1], [int(chunk.y[at])])
        await engine.in_learner(lambda: None)
        stop = True
        await asyncio.gather(*tasks)
        swaps = engine.thread.swaps
        await engine.stop()
        return swaps, kept, answers

    swaps, kept, answers = asyncio.run(through())
    assert swaps >= 2_000
    assert len({given.version for given in answers}) > 50
    for given in answers[:: max(1, len(answers) // 300)]:
        version = kept[given.version]
        assert given.proba == version.model.predict_proba(chunk.X[:50]).tobytes()
        assert given.classes == version.classes


def test_the_history_and_the_numbers_survive_a_restart(tmp_path):
    chunk = SEA(seed=3).read(500)
    words = ["naive-bayes", "--folder", tmp_path, "--every", "each", "--sync", "never"]
    with running(*words) as (client, _):
        tickets = client.predict(chunk.X.tolist())["tickets"]
        client.label(chunk.y.tolist(), tickets=tickets)
        time.sleep(1.2)
        before = client.state()
    with running(*words) as (client, _):
        after = client.state()
    assert before["overall"]["labels"] == after["overall"]["labels"] == 500
    assert before["metrics"]["accuracy"] == after["metrics"]["accuracy"]
    assert sum(after["history"]["labels"]) == 500
    assert sum(after["history"]["known"]) == 500
    assert after["labels"]["answered"] == 500


def test_an_alarm_appears(tmp_path):
    chunk = SEA(seed=3).read(300)
    words = ["naive-bayes", "--folder", tmp_path, "--sync", "never", "--min-accuracy", "0.99", "--every", "each"]
    with running(*words) as (client, _):
        client.learn(chunk.X.tolist(), chunk.y.tolist())
        for _ in range(50):
            time.sleep(0.1)
            alarms = client.state()["alarms"]
            if alarms:
                break
    assert [alarm["name"] for alarm in alarms] == ["accuracy"]


def test_a_few_kills():
    """In a process of its own, since it forks."""
    command = [sys.executable, "-m", "soak.serve_kills", "--kills", "4", "--only", "hoeffding-tree", "sdf(size=3)@0.5"]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-800:]
    assert done.stdout.count("each once") == 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # connections cut on purpose
def test_some_broken_requests():
    serve_fuzz.main(["--requests", "1500", "--seed", "11"])
