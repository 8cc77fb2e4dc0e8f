"""Send a service requests that are broken in every way, and look whether it stays as it should.

    python -m soak.serve_fuzz --requests 200000

No answer may be a 5xx other than 503, hang, or hold a traceback; the model must have learned just the rows whose
labels were acknowledged; and at the end a good request must be answered as at the beginning.
"""

import argparse
import contextlib
import http.client
import io
import json
import random
import socket
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
from running import running

from thalweg import Schema

PATHS = ("/v1/predict", "/v1/labels", "/v1/learn", "/v1/explain", "/v1/model", "/v1/wanted", "/v1/state", "/metrics",
         "/openapi.json", "/healthz", "/readyz", "/v1/model/promote", "/api/learn/", "/api/predict/")  # fmt: skip
TRICKS = ("/../etc/passwd", "/v1/model/file/../../x", "/%2e%2e/%2e%2e/etc/passwd", "//", "/v1//predict", "/v1/predict/",
          "/\\..\\", "/v1/predict%00", "/" + "a" * 4_000, "/v1/wanted?n=1e9", "/v1/wanted?n=%FF", "/v1/state?ring=%00",
          "/v1/wanted?order=%27", "/v1/predict?id=" + "x" * 500)  # fmt: skip
KINDS = (
    "application/json",
    "application/vnd.apache.arrow.stream",
    "text/csv",
    "text/plain",
    "",
    "application/json; x=\xff",
)


def value(rng, deep=0):
    """Any JSON value, of any type and size."""
    kind = rng.randrange(12 if deep < 4 else 8)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice([0, -1, 2**31, 2**53, 2**63, 2**64, -(2**70), 10**30])
    if kind <= 4:
        return rng.choice([rng.random(), -rng.random() * 1e10, 1e308, 5e-324, 0.0, -0.0])
    if kind <= 7:
        return rng.choice(["", "x", "ü" * 5, "\0", "a" * 300, "1.5", "null", "\ud7ff", "💧"])
    if kind <= 9:
        return [value(rng, deep + 1) for _ in range(rng.randrange(6))]
    return {rng.choice(["x0", "x1", "x2", "", "record", "é"]): value(rng, deep + 1) for _ in range(rng.randrange(5))}


def json_body(rng):
    names = ("record", "records", "columns", "features", "id", "ids", "label", "labels", "ticket", "tickets", "expert",
             "version", "name", "why", "identifier", "ground_truth")  # fmt: skip
    thing = {name: value(rng) for name in rng.sample(names, rng.randrange(5))}
    if rng.random() < 0.3:
        thing["records"] = [
            [rng.random() for _ in range(rng.choice([3, 3, 3, 2, 4, 0]))] for _ in range(rng.randrange(5))
        ]
    if rng.random() < 0.2:
        thing["record"] = {f"x{k}": rng.choice([rng.random(), "a", None]) for k in range(rng.choice([3, 3, 2, 5]))}
    if rng.random() < 0.3:
        thing["labels"] = [rng.choice([0, 1, 1, 0, 2, "a", True, 0.5]) for _ in range(rng.randrange(5))]
    if rng.random() < 0.2:
        thing["tickets"] = [rng.choice([0, 1, 5, -1, 10**9, 2**62, 2**64]) for _ in range(rng.randrange(3))]
    data = json.dumps(thing).encode()
    if rng.random() < 0.25:
        data = broken(rng, data)
    if rng.random() < 0.01:
        data = rng.choice(
            [b"[" * 20_000, b'{"record":' * 3_000, b'{"records":[' + b"[1]," * 9_000, b'"' + b"\\u00" * 900]
        )
    return data


def broken(rng, data):
    """Bytes with some changed, lost or doubled."""
    data = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data) + 1)
        way = rng.randrange(4)
        if way == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif way == 1:
            del data[at : at + rng.randrange(9)]
        elif way == 2:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(9)))
        else:
            data = data[:at]
    return bytes(data)


def arrow_body(rng):
    columns = {f"x{k}": [rng.random() for _ in range(3)] for k in range(rng.choice([3, 3, 2, 4]))}
    if rng.random() < 0.3:
        columns["x1"] = rng.choice(
            [["a", "b", None], [None] * 3, [[1], [2], [3]], [b"x", b"", None], [True, None, False]]
        )
    table, sink = pa.table(columns), io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return broken(rng, sink.getvalue()) if rng.random() < 0.7 else sink.getvalue()


def request(rng):
    """A request: method, path, body, headers."""
    path = rng.choice(PATHS) if rng.random() < 0.9 else rng.choice(TRICKS)
    looks = path in ("/v1/model", "/v1/wanted", "/v1/state", "/metrics", "/openapi.json", "/healthz", "/readyz")
    post = (rng.random() < 0.9) != looks
    kind = rng.choice(KINDS) if rng.random() < 0.4 else KINDS[0]
    body = None
    if post:
        body = arrow_body(rng) if "arrow" in kind else json_body(rng)
        if kind == "text/csv":
            body = rng.choice(
                [b"x0,x1,x2\n1,2,3\n", b"x0,x1\n1", b"", b"\n\n", b'"x0', b"x0,x1,x2\n1,a,3\n", bytes(range(256))]
            )
    headers = {"content-type": kind} if kind else {}
    if rng.random() < 0.1:
        headers["authorization"] = rng.choice(["Bearer x", "Basic eDp5", "Bearer", "Bearer " + "y" * 500])
    if rng.random() < 0.1:
        headers["idempotency-key"] = rng.choice(["", "a", "k" * 300, "b c", "é"])
    if rng.random() < 0.02:
        headers["origin"] = rng.choice(["http://evil", "null", ""])
    return (
        rng.choice(["POST"] * 20 + ["PUT", "DELETE", "OPTIONS"]) if post else rng.choice(["GET", "HEAD"]),
        path,
        body,
        headers,
    )


def raw(port, rng):
    """What no client sends: half of a request, or none at all."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
        sock.sendall(rng.choice([
            b"\0" * 50, b"GET", b"POST /v1/predict HTTP/1.1\r\ncontent-length: 99999\r\n\r\nabc",
            b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
            b"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        ]))  # fmt: skip


def fuzz(client, process, requests, seed):
    """Send so many; give how often each status came."""
    rng = random.Random(seed)
    port = int(client.address.rpartition(":")[2])
    client.learn([[0.1 * k, 1.0, 2.0] for k in range(50)], [k % 2 for k in range(50)])
    learned, good = 50, client.predict([[0.3, 1.0, 2.0]])["probabilities"]
    found, connection = {}, None
    for k in range(requests):
        if rng.random() < 0.005:
            raw(port, rng)
            continue
        method, path, body, headers = request(rng)
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
        except (http.client.HTTPException, ConnectionError, UnicodeError, ValueError):
            connection.close()
            connection = None
            assert process.poll() is None, f"the service died of request {k} with seed {seed}"
            continue
        found[answer.status] = found.get(answer.status, 0) + 1
        assert answer.status < 500 or answer.status == 503, (k, seed, method, path, body, data[:500])
        assert b"Traceback" not in data, (k, seed, data[:500])
        if answer.status == 200 and b'"learned"' in data and method == "POST" and path != "/v1/model/promote":
            learned += json.loads(data).get("learned", 0) if b'"scored"' in data else 0
    assert client.model()["learned"] == learned, "rows were learned that nobody acknowledged"
    if learned == 50:
        assert client.predict([[0.3, 1.0, 2.0]])["probabilities"] == good
    return found


def main(words=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        schema = Path(folder) / "schema.json"
        schema.write_bytes(Schema.numeric(3, classes=(0, 1)).to_json())
        options = (
            "naive-bayes",
            "--folder",
            Path(folder) / "s",
            "--sync",
            "never",
            "--schema",
            schema,
            "--every",
            "each",
        )
        with running(*options) as (client, process):
            began = time.perf_counter()
            found = fuzz(client, process, given.requests, given.seed)
    print(f"{given.requests} requests in {time.perf_counter() - began:.0f} s: {dict(sorted(found.items()))}")


if __name__ == "__main__":
    main()
