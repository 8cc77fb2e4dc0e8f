"""A server on this machine that answers like OpenML, and misbehaves like the web when told to."""

import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ARFF = (
    "% made for tests\n@relation flights\n@attribute id numeric\n@attribute Airline {AA,BB}\n"
    "@attribute Length numeric\n@attribute Delay {0,1}\n@data\n"
    + "".join(f"{i},{'AB'[i % 2] * 2},{i * 7 % 100},{i % 2}\n" for i in range(20_000))
).encode()


class Server:
    """What it serves, how it misbehaves, and what it was asked."""

    def __init__(self) -> None:
        self.body = ARFF
        self.says: dict[str, Any] = {"row_id_attribute": "id", "default_target_attribute": "Delay"}
        self.cut: list[int] = []
        """How many bytes each of the next answers with a file has before it breaks off."""
        self.status: dict[str, int] = {}
        """What it answers to a path instead of 200."""
        self.moved: dict[str, str] = {}
        self.ranges = True
        self.shift = 0
        """How far from the byte that was asked for it begins."""
        self.lengths = True
        self.pause = 0.0
        """Seconds to wait before each answer."""
        self.stall = False
        """Stop sending in the middle of each file, with the line kept open."""
        self.asked: list[tuple[str, str | None]] = []
        """Paths, each with the range that was asked for."""
        self.httpd = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.httpd.daemon_threads = True
        self.base = f"http://127.0.0.1:{self.httpd.server_address[1]}"
        threading.Thread(target=self.httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self.httpd.shutdown()
        self.httpd.server_close()

    @property
    def files_asked(self) -> list[str | None]:
        """The ranges that files were asked for with."""
        return [asked for path, asked in self.asked if path.startswith("/file")]

    @property
    def md5(self) -> str:
        return hashlib.md5(self.body, usedforsecurity=False).hexdigest()

    def description(self, id: str) -> bytes:
        said = {"id": id, "name": "flights", "url": f"{self.base}/file/{id}.arff", "md5_checksum": self.md5,
                "licence": "Public", **self.says}  # fmt: skip
        return json.dumps({"data_set_description": said}).encode()

    def _handler(server) -> type[BaseHTTPRequestHandler]:  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                asked = self.headers.get("Range")
                server.asked.append((self.path, asked))
                time.sleep(server.pause)
                if self.path in server.moved:
                    self.send_response(302)
                    self.send_header("Location", server.moved[self.path])
                    self.end_headers()
                elif self.path in server.status:
                    self.send_error(server.status[self.path])
                elif self.path.startswith("/api/v1/json/data/"):
                    self.answer(server.description(self.path.rsplit("/", 1)[1]))
                elif self.path.startswith("/file"):
                    self.send_file(asked)
                else:
                    self.send_error(404)

            def send_file(self, asked: str | None) -> None:
                body = server.body
                if asked and server.ranges:
                    start = int(asked.removeprefix("bytes=").removesuffix("-"))
                    if start >= len(body):
                        self.send_error(416)
                        return
                    start += server.shift
                    self.answer(body[start:], f"bytes {start}-{len(body) - 1}/{len(body)}")
                else:
                    self.answer(body)

            def answer(self, body: bytes, part: str | None = None) -> None:
                self.send_response(206 if part else 200)
                if part:
                    self.send_header("Content-Range", part)
                if server.lengths:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                is_file = self.path.startswith("/file")
                if is_file and server.cut:
                    body = body[: server.cut.pop(0)]
                if is_file and server.stall:
                    body = body[: len(body) // 2]
                try:
                    self.wfile.write(body)
                    self.wfile.flush()
                    if is_file and server.stall:
                        time.sleep(1)
                except OSError:
                    pass  # the other side has gone

        return Handler
