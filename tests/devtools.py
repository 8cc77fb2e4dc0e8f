"""A Chromium that a test drives: pages, real clicks and keys, screens of any width, pictures, and what went wrong.

It speaks the DevTools protocol over two pipes, so nothing but Chromium is needed. It finds no host but this machine.
"""

import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from browser import CHROMIUM

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--hide-scrollbars",
    "--disable-extensions", "--mute-audio", "--disable-dev-shm-usage", "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost", "--allow-file-access-from-files",
)  # fmt: skip
_AT_3_AND_4 = """import fcntl, os, sys
one, other = (fcntl.fcntl(int(text), fcntl.F_DUPFD, 10) for text in sys.argv[1:3])
os.dup2(one, 3), os.dup2(other, 4)
os.execv(sys.argv[3], sys.argv[3:])"""  # Chromium reads from 3 and writes to 4
_PATIENCE = 240.0


class _Pipes:
    """What is said to a browser, and what it says."""

    def __init__(self, out: int, back: int) -> None:
        self._out, self._back = out, back
        self._got, self._count = bytearray(), 0
        self.tabs: dict[str, Tab] = {}

    def call(self, method: str, params: dict[str, Any], session: str = "") -> dict[str, Any]:
        """Call a method of the protocol, and give its result; events go to their tabs meanwhile."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params} | ({"sessionId": session} if session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            said = self._next()
            if said.get("id") == self._count:
                assert "error" not in said, f"{method}: {said['error']}"
                result: dict[str, Any] = said["result"]
                return result
            if said.get("sessionId") in self.tabs:
                self.tabs[said["sessionId"]].note(said["method"], said.get("params", {}))

    def _next(self) -> dict[str, Any]:
        while (end := self._got.find(b"\0")) < 0:
            assert select.select([self._back], [], [], _PATIENCE)[0], "the browser does not answer"
            more = os.read(self._back, 1 << 20)
            assert more, "the browser has ended"
            self._got += more
        said: dict[str, Any] = json.loads(self._got[:end])
        del self._got[: end + 1]
        return said


class Tab:
    """A page in a browser. errors: what its console complained about. hosts: whom it asked for something."""

    def __init__(self, pipes: _Pipes, session: str) -> None:
        self._pipes, self._session = pipes, session
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.urls: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol, and give its result."""
        return self._pipes.call(method, params, self._session)

    def note(self, method: str, params: dict[str, Any]) -> None:
        """Keep what an event tells."""
        if method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            self.urls.append(url)
            if not url.startswith(("data:", "blob:")):
                self.hosts.add(urlsplit(url).netloc)
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def open(self, url: str) -> None:
        """Load a page, and wait until it is complete."""
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, expression: str) -> Any:
        """Evaluate JavaScript as if a person had asked for it, and give what it gives."""
        told = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in told, f"{expression}: {told['exceptionDetails']}"
        return told["result"].get("value")

    def wait(self, expression: str, seconds: float = 120.0) -> Any:
        """Wait until JavaScript gives something that is true; give it."""
        until = time.monotonic() + seconds
        while not (found := self.run(expression)):
            assert time.monotonic() < until, f"{expression} did not become true; errors: {self.errors}"
            time.sleep(0.05)
        return found

    def text(self, selector: str) -> Any:
        """Give the text of an element."""
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def press(self, key: str) -> None:
        """Press a key."""
        code = ord(key.upper()) if len(key) == 1 else {"Tab": 9, "Enter": 13, "Escape": 27}[key]
        more = {"text": key} if len(key) == 1 else ({"text": "\r"} if key == "Enter" else {})
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def size(self, width: int, height: int = 900, *, dark: bool = False, scale: float = 1) -> None:
        """Let the screen have a width, and a scheme of colours."""
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: str | os.PathLike[str], *, full: bool = True) -> None:
        """Write the whole page, or what the screen shows of it, as PNG."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        Path(path).write_bytes(base64.b64decode(found["data"]))


@contextmanager
def open_browser() -> Iterator[Callable[[], Tab]]:
    """A browser with a profile of its own; gives a function that opens tabs, each with a storage of its own."""
    assert CHROMIUM is not None
    there, out = os.pipe()
    back, here = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [sys.executable, "-c", _AT_3_AND_4, str(there), str(here), CHROMIUM, *_FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(there, here), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(there)
        os.close(here)
        pipes = _Pipes(out, back)

        def tab() -> Tab:
            context = pipes.call("Target.createBrowserContext", {})["browserContextId"]
            page = {"url": "about:blank", "browserContextId": context}
            target = pipes.call("Target.createTarget", page)["targetId"]
            session = pipes.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
            opened = pipes.tabs[session] = Tab(pipes, session)
            return opened

        try:
            yield tab
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(out)
            os.close(back)
