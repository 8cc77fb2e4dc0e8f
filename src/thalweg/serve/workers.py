"""Several processes that answer beside the one that learns: ``--workers N``."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

import msgspec

from thalweg.keeping import snapshot
from thalweg.serve.entries import Records
from thalweg.serve.jobs import Given
from thalweg.serve.learning import Version
from thalweg.serve.server import bind, log_to
from thalweg.serve.service import Service
from thalweg.serve.versions import Note, Shelf
from thalweg.serve.wire import Wire
from thalweg.serve.writer import UnavailableError


@final
class Hub:
    """What the process that learns does for others: it takes records, answers requests, publishes versions."""

    def __init__(self, service: Service, folder: str | os.PathLike[str]) -> None:
        self.service, self.shelf = service, Shelf(folder)
        self.shelf.folder.mkdir(parents=True, exist_ok=True)
        self._wires: set[Wire] = set()
        self._schema: Any = None
        service.engine.thread.on_version = self.publish
        self.publish(service.engine.version)

    def publish(self, version: Version) -> None:
        """Write a version where those that answer find it; in the thread that learns."""
        snapshot.save(version.model, self.shelf.path(version.number, "predictor"))  # type: ignore[arg-type]
        self.shelf.point(Note(version.number, version.learned, version.learned))
        self.shelf.tidy(version.number, 1)

    async def serve(self, path: str) -> asyncio.AbstractServer:
        """Listen on a socket of this machine."""
        return await asyncio.start_unix_server(self._meet, path)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(reader, writer)
        self._wires.add(wire)
        running: dict[int, asyncio.Task[None]] = {}
        if self.service.engine.book.schema is not None:
            wire.send([0, "schema", self.service.engine.book.schema.to_json()])
        try:
            while (message := await wire.receive()) is not None:
                number, kind, *rest = message
                if kind == "cancel":
                    if number in running:
                        running[number].cancel()
                    continue
                work = self._records(wire, number, *rest) if kind == "records" else self._http(wire, number, *rest)
                task = asyncio.create_task(work)
                running[number] = task
                task.add_done_callback(lambda _, number=number: running.pop(number, None))  # type: ignore[misc]
        finally:
            self._wires.discard(wire)
            for task in list(running.values()):
                task.cancel()
            wire.close()

    def tell_schema(self) -> None:
        """Tell the schema to all where it has changed."""
        schema = self.service.engine.book.schema
        if schema is not self._schema and schema is not None:
            self._schema = schema
            for wire in self._wires:
                wire.send([0, "schema", schema.to_json()])

    async def _records(self, wire: Wire, number: int, fields: list[Any], seconds: float) -> None:
        entry = msgspec.convert(fields, Records)
        monitor = self.service.monitor
        try:
            given = await self.service.engine.submit(entry)
        except UnavailableError:
            given = Given(-1, entry.rows, bytes(entry.rows), entry.proba, entry.classes, entry.version)
        monitor.answered(entry.rows)
        monitor.request("/v1/predict", 200, seconds)
        wire.send([number, "given", given])

    async def _http(
        self, wire: Wire, number: int, method: str, path: str, query: bytes, headers: list[Any], body: bytes
    ) -> None:
        scope = {
            "type": "http", "method": method, "path": path, "query_string": query,
            "headers": [(bytes(name), bytes(value)) for name, value in headers],
        }  # fmt: skip

        came = False

        async def receive() -> dict[str, Any]:
            nonlocal came
            if came:  # that whoever asked is gone is said by a cancellation
                await asyncio.Event().wait()
            came = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                wire.send([number, "start", message["status"], message["headers"]])
            else:
                wire.send([number, "body", message.get("body", b""), message.get("more_body", False)])
                await wire.drained()

        await self.service(scope, receive, send)
        self.tell_schema()


def run_with_workers(
    service: Service, n: int, *, host: str, port: int, settings: dict[str, Any], certificate: str | None = None,
    private_key: str | None = None, on_ready: Callable[[str], object] | None = None,
) -> None:  # fmt: skip
    """Serve with n processes that answer, until SIGINT or SIGTERM; one that ends is started again."""
    if service.engine.each:
        raise ValueError("every must be rows or seconds where there are several workers, got 'each'")
    sock = bind(host, port)
    sock.listen(2_048)
    sys.setswitchinterval(0.001)
    log_to(sys.stderr)
    service.kernel.local = service.kernel.gate.tokens is None
    scheme = "http" if certificate is None else "https"
    address = f"{scheme}://{f'[{host}]' if ':' in host else host}:{sock.getsockname()[1]}"
    text = json.dumps({**settings, "certificate": certificate, "private_key": private_key})

    async def main(folder: str) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        await service.start()
        hub, path = Hub(service, service.engine.snapshots.folder / "versions"), str(Path(folder) / "hub")
        server = await hub.serve(path)
        words = [sys.executable, "-m", "thalweg.serve.worker", str(sock.fileno()), path, str(hub.shelf.folder), text]
        processes = [subprocess.Popen(words, pass_fds=[sock.fileno()]) for _ in range(n)]
        until = time.monotonic() + 60.0
        while len(hub._wires) < n and time.monotonic() < until and not stop.is_set():
            await asyncio.sleep(0.02)
        if on_ready is not None:
            on_ready(address)
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await stop.wait()
            hub.tell_schema()
            for k, process in enumerate(processes):
                if process.poll() is not None and not stop.is_set():
                    processes[k] = subprocess.Popen(words, pass_fds=[sock.fileno()])
        service.hang_up()
        for process in processes:
            process.terminate()
        for process in processes:
            await asyncio.to_thread(process.wait)
        server.close()
        await service.stop()

    with contextlib.closing(sock), tempfile.TemporaryDirectory(prefix="thalweg-") as folder:
        asyncio.run(main(folder))
