"""How fast the service answers, beside a bare prototype and beside river behind FastAPI, in the same run.

    python benchmarks/service.py --rounds 3 --seconds 5          # needs wrk; river and fastapi for the third column

Each server is one process on one core, the load (wrk) on another. "bare" is Starlette, uvicorn and msgspec around a
frozen forest, with no tickets, journal, metrics or security. Absolute numbers depend on the machine and on what else
runs on it: compare the columns, and the processor time per request, which is less disturbed.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

FEATURES, TRAINED, BATCH = 9, 20_000, 1_000
RNG = np.random.default_rng(1)
X = RNG.random((TRAINED, FEATURES)) * 10.0
Y = (X[:, 0] + X[:, 1] > 10.0).astype(int)

SCRIPT = """
wrk.method = "POST"
wrk.headers["content-type"] = "%s"
local file = io.open("%s", "rb")
local bodies = {}
for line in (file:read("*a")):gmatch("[^\\n]+") do bodies[#bodies + 1] = line end
local k = 0
request = function() k = k %% #bodies + 1; return wrk.format(nil, "%s", nil, bodies[k]) end
"""
BINARY = """
wrk.method = "POST"
wrk.headers["content-type"] = "application/vnd.apache.arrow.stream"
local file = io.open("%s", "rb")
local body = file:read("*a")
request = function() return wrk.format(nil, "%s", nil, body) end
"""


def forest():
    """The model that all of ours answer with."""
    from thalweg import AdaptiveRandomForest

    return AdaptiveRandomForest(size=10).partial_fit(X, Y)


def bare(port):
    """The prototype: nothing but answers."""
    import msgspec
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    model = forest().compile()
    one, many = msgspec.json.Decoder(dict[str, list[float]]), msgspec.json.Decoder(dict[str, list[list[float]]])
    encode = msgspec.json.Encoder().encode

    async def predict(request):
        proba = model.predict_proba(np.array([one.decode(await request.body())["record"]]))
        return Response(encode({"label": int(proba.argmax()), "probabilities": proba[0].tolist()}))

    async def batch(request):
        proba = model.predict_proba(np.array(many.decode(await request.body())["records"]))
        return Response(encode({"labels": proba.argmax(axis=1).tolist(), "probabilities": proba.tolist()}))

    app = Starlette(routes=[Route("/v1/predict", predict, methods=["POST"]), Route("/many", batch, methods=["POST"])])
    uvicorn.run(app, port=port, log_level="error")


def river(port):
    """River behind FastAPI, as tutorials write it: a record by name, ``predict_proba_one``."""
    import uvicorn
    from fastapi import FastAPI
    from river.forest import ARFClassifier

    model = ARFClassifier(n_models=10, seed=1)
    for row, label in zip(X[:5_000].tolist(), Y[:5_000].tolist(), strict=True):
        model.learn_one(dict(enumerate(row)), label)
    app = FastAPI()

    @app.post("/v1/predict")
    async def predict(body: dict):
        return {"probabilities": model.predict_proba_one(dict(enumerate(body["record"])))}

    @app.post("/many")
    async def batch(body: dict):
        return {"probabilities": [model.predict_proba_one(dict(enumerate(row))) for row in body["records"]]}

    uvicorn.run(app, port=port, log_level="error")


def ours(port, sync):
    """The service, with everything on."""
    from thalweg.cli.serve import serve
    from thalweg.keeping.snapshot import save

    folder = Path(tempfile.mkdtemp())
    save(forest(), folder / "model.safetensors")
    serve(str(folder / "model.safetensors"), folder=folder / "service", port=port, sync=sync)


SERVERS = {
    "bare": bare, "never": lambda port: ours(port, "never"), "interval": lambda port: ours(port, "interval"),
    "always": lambda port: ours(port, "always"), "river": river,
}  # fmt: skip


def start(name, port):
    command = [sys.executable, __file__, "--serve", name, "--port", str(port)]
    process = subprocess.Popen(["taskset", "-c", "0", *command], stdout=subprocess.DEVNULL)
    until = time.monotonic() + 180.0
    while time.monotonic() < until:
        time.sleep(0.2)
        if process.poll() is not None:
            return None
        try:
            body = json.dumps({"record": X[0].tolist()}).encode()
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/v1/predict", body, {"content-type": "application/json"}
            )
            urllib.request.urlopen(request, timeout=5)
            return process
        except OSError:
            pass
    process.kill()
    return None


def used(process):
    """Seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(process, port, script, connections, seconds):
    """Requests per second, p50 and p99 in ms, and µs of the server's processor per request."""
    before = used(process)
    command = ["taskset", "-c", "1", WRK, "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", script,
               f"http://127.0.0.1:{port}/"]  # fmt: skip
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in text:
        raise SystemExit(text)
    words = text.split()
    total = int(next(line.split()[0] for line in text.splitlines() if "requests in" in line))
    rate = float(words[words.index("Requests/sec:") + 1])
    return (
        rate,
        _ms(words[words.index("50%") + 1]),
        _ms(words[words.index("99%") + 1]),
        1e6 * (used(process) - before) / max(1, total),
    )


def _ms(text):
    for unit, scale in (("us", 1e-3), ("ms", 1.0), ("s", 1e3)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * scale
    raise ValueError(text)


def bodies(folder):
    """The scripts of the three loads."""
    one, many, arrow = folder / "one.txt", folder / "many.txt", folder / "many.arrow"
    rows = np.round(X[:300], 4).tolist()
    one.write_text("\n".join(json.dumps({"record": row}) for row in rows))
    many.write_text(json.dumps({"records": np.round(X[:BATCH], 4).tolist()}))
    import pyarrow as pa

    table = pa.table({f"x{f}": X[:BATCH, f] for f in range(FEATURES)})
    with pa.OSFile(str(arrow), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    scripts = {}
    for name, text in (
        ("one", SCRIPT % ("application/json", one, "/v1/predict")),
        ("many", SCRIPT % ("application/json", many, "/v1/predict")),
        ("plain many", SCRIPT % ("application/json", many, "/many")),
        ("arrow", BINARY % (arrow, "/v1/predict")),
    ):  # fmt: skip
        path = folder / f"{name.replace(' ', '_')}.lua"
        path.write_text(text)
        scripts[name] = str(path)
    return scripts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(SERVERS))
    given = parser.parse_args()
    scripts = bodies(Path(tempfile.mkdtemp()))
    found = {}
    for round_ in range(given.rounds):
        for k, name in enumerate(given.only):
            port = 18_700 + 10 * round_ + k
            process = start(name, port)
            if process is None:
                print(f"{name}: cannot be started", flush=True)
                continue
            try:
                kinds = {"one": ("one", 32), "many": ("plain many" if name in ("bare", "river") else "many", 4)}
                if name not in ("bare", "river"):
                    kinds["arrow"] = ("arrow", 4)
                for kind, (script, connections) in kinds.items():
                    if name == "river" and kind == "many":
                        connections = 1
                    found.setdefault((kind, name), []).append(
                        load(process, port, scripts[script], connections, given.seconds)
                    )
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
    titles = ("records/s", "p50 ms", "p99 ms", "CPU µs/request", "of bare", "by CPU")
    print(
        f"{'load':6} {'server':9} {titles[0]:>10} {titles[1]:>8} {titles[2]:>8} {titles[3]:>15} {titles[4]:>8}",
        titles[5],
    )
    for (kind, name), runs in found.items():
        rate, p50, p99, cpu = (statistics.median(column) for column in zip(*runs, strict=True))
        like = found.get((kind if kind != "arrow" else "many", "bare"))
        of = "" if not like else f"{rate / statistics.median(r[0] for r in like):8.2f}"
        by = "" if not like else f"{statistics.median(r[3] for r in like) / cpu:7.2f}"
        size = 1 if kind == "one" else BATCH
        print(f"{kind:6} {name:9} {rate * size:10.0f} {p50:8.2f} {p99:8.2f} {cpu:15.0f} {of:>8} {by:>7}")


WRK = os.environ.get("WRK") or shutil.which("wrk") or ""

if __name__ == "__main__":
    if "--serve" in sys.argv:
        SERVERS[sys.argv[sys.argv.index("--serve") + 1]](int(sys.argv[sys.argv.index("--port") + 1]))
    elif not WRK:
        raise SystemExit("wrk is needed: apt install wrk, or say WRK=path")
    else:
        main()
