"""A process that serves: uvicorn around the application, with signals, logs and TLS."""

import contextlib
import logging
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from thalweg.serve.security import check_address
from thalweg.serve.service import Service


def bind(host: str, port: int) -> socket.socket:
    """Take an address, port 0: any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise OSError(f"port must be free on {host}, {port} is not: {error.strerror}") from None
    return sock


def run(
    service: Service, *, host: str = "127.0.0.1", port: int = 8642, certificate: str | None = None,
    private_key: str | None = None, on_ready: Callable[[str], object] | None = None, connections: int = 1_000,
    log_requests: bool = False,
) -> None:  # fmt: skip
    """Serve until SIGINT or SIGTERM; requests in hand are finished, and a last snapshot is written.

    certificate, private_key: files, for TLS. on_ready: told the address. connections: requests at once at most.
    """
    import uvicorn

    check_address(host, service.kernel.gate.tokens)
    if (certificate is None) != (private_key is None):
        raise ValueError("certificate and private_key must be given together, got one of them")
    for name, path in (("certificate", certificate), ("private_key", private_key)):
        if path is not None and not os.path.isfile(path):
            raise FileNotFoundError(f"{name} must be a file, {path} is none")
    sock = bind(host, port)
    sys.setswitchinterval(0.001)  # the thread that learns must not keep the loop waiting
    log_to(sys.stderr)
    service.monitor.log_requests = log_requests
    service.kernel.local = service.kernel.gate.tokens is None
    config = uvicorn.Config(
        service, log_config=None, access_log=False, lifespan="on", server_header=False, date_header=False,
        limit_concurrency=connections, timeout_keep_alive=30, timeout_graceful_shutdown=10,
        ssl_certfile=certificate, ssl_keyfile=private_key, h11_max_incomplete_event_size=1 << 16, ws="none",
    )  # fmt: skip
    scheme = "http" if certificate is None else "https"
    shown = f"[{host}]" if ":" in host else host
    address = f"{scheme}://{shown}:{sock.getsockname()[1]}"

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if on_ready is not None:
                on_ready(address)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            service.hang_up()
            await super().shutdown(sockets)

    server = Server(config)
    with contextlib.closing(sock), contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[sock])


def log_to(stream: Any) -> None:
    """Write the log of the service to a stream, a line of JSON for each event."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # how a second Ctrl-C ends is nobody's business
    log = logging.getLogger("thalweg.serve")
    if not log.handlers:
        handler = logging.StreamHandler(stream)
        handler.setFormatter(logging.Formatter("%(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False
