"""A Chromium that is driven: real clicks, the clipboard, screens of any width, light and dark.

It speaks the DevTools protocol over two pipes, so nothing but Chromium is needed.
"""

import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from browser import CHROMIUM

_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--allow-file-access-from-files",
)  # fmt: skip

_AT_3_AND_4 = """import fcntl, os, sys
one, other = (fcntl.fcntl(int(text), fcntl.F_DUPFD, 10) for text in sys.argv[1:3])
os.dup2(one, 3), os.dup2(other, 4)
os.execv(sys.argv[3], sys.argv[3:])"""  # Chromium reads from 3 and writes to 4


class Tab:
    """One page in a browser of its own. Use it in a ``with`` block."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        there, out = os.pipe()
        back, here = os.pipe()
        command = [CHROMIUM, *_QUIET, f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _AT_3_AND_4, str(there), str(here), *command],
            pass_fds=(there, here), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(there)
        os.close(here)
        self._out, self._back, self._n, self._session = os.fdopen(out, "wb"), os.fdopen(back, "rb"), 0, ""
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command; give its result. What the console says meanwhile is kept in ``complaints``."""
        self._n += 1
        message = {"id": self._n, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            answer = json.loads(self._line())
            if answer.get("id") == self._n:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result
            if answer.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                self.complaints.append(json.dumps(answer["params"]))

    def _line(self) -> bytes:
        found = bytearray()
        while (byte := self._back.read(1)) != b"\0":
            assert byte, "the browser has ended"
            found += byte
        return bytes(found)

    def screen(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Make the screen so wide, in light or dark colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Load a page and wait until it is complete."""
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """Evaluate an expression on the page; give its value."""
        told = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def until(self, script: str, seconds: float = 20.0) -> Any:
        """Wait until an expression is true; give its value."""
        end = time.monotonic() + seconds
        while not (value := self.run(script)):
            assert time.monotonic() < end, f"not in {seconds} s: {script}"
            time.sleep(0.05)
        return value

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Write what the screen shows, or the whole page, as PNG."""
        got = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(got["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._out.close()
        self._back.close()
