"""Several processes that answer: the same answers, tickets and labels, and one that dies is started again."""

import http.client
import json
import os
import signal
import subprocess
import time
from urllib.parse import urlsplit

import numpy as np
import pytest
from running import running

from thalweg import SEA, load
from thalweg.registry.typed import make_learner
from thalweg.serve.client import Client


def children(pid):
    found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(line.split()[0]) for line in found.stdout.splitlines() if "thalweg.serve.worker" in line]


def test_workers_answer_from_one_version(tmp_path):
    chunk = SEA(seed=3).read(600)
    words = ["arf(size=3)", "--folder", tmp_path / "s", "--workers", "2", "--sync", "never", "--every", "100"]
    with running(*words) as (client, process):
        clients = [Client(client.address) for _ in range(6)]
        tickets = []
        for at in range(0, 600, 50):
            answer = clients[at // 50 % 6].predict(chunk.X[at : at + 50].tolist(), ids=list(range(at, at + 50)))
            tickets += answer["tickets"]
            clients[(at // 50 + 1) % 6].label(chunk.y[at : at + 50].tolist(), tickets=answer["tickets"])
        assert tickets == list(range(600))
        for _ in range(200):
            answers = [each.predict(chunk.X[:20].tolist()) for each in clients]
            if len({answer["version"] for answer in answers}) == 1 and answers[0]["classes"]:
                break
            time.sleep(0.05)
        assert len({json.dumps(answer["probabilities"]) for answer in answers}) == 1
        with pytest.raises(Exception, match="400"):
            client.predict([["x", None, {}]])
        victim = children(process.pid)[0]
        os.kill(victim, signal.SIGKILL)
        for _ in range(600):
            time.sleep(0.1)
            if len(children(process.pid)) == 2 and victim not in children(process.pid):
                break
        with Client(client.address, tries=8) as patient:
            assert patient.predict(chunk.X[:1].tolist())["tickets"]
        parts = urlsplit(client.address)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
        connection.request("GET", "/v1/events")
        events = connection.getresponse()
        assert events.readline() == b"event: hello\n"
        events.close()
        connection.close()
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        connection.request("GET", "/v1/model/file")
        (tmp_path / "model").write_bytes(connection.getresponse().read())
        connection.close()
        for each in clients:
            each.close()
    expected = make_learner("arf(size=3)").partial_fit(chunk.X, chunk.y)
    assert np.array_equal(load(tmp_path / "model").predict_proba(chunk.X), expected.predict_proba(chunk.X))
