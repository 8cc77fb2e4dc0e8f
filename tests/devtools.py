"""A real browser that a test drives by the DevTools protocol: pages, keys, screenshots, and what went wrong."""

import base64
import contextlib
import json
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from browser import CHROMIUM

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--hide-scrollbars",
    "--disable-extensions", "--mute-audio", "--disable-dev-shm-usage", "--remote-debugging-port=0",
)  # fmt: skip


class Tab:
    """A page in a browser. errors: what its console complained about. hosts: whom it asked for something."""

    def __init__(self, socket, session):
        self._socket, self._session, self._count = socket, session, 0
        self.errors, self.hosts, self.urls = [], set(), []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        """Call a method of the protocol, and give its result."""
        self._count += 1
        self._socket.send(
            json.dumps({"id": self._count, "sessionId": self._session, "method": method, "params": params})
        )
        while True:
            said = json.loads(self._socket.recv(timeout=240))
            if said.get("id") == self._count and said.get("sessionId") == self._session:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']}")
                return said["result"]
            self._note(said)

    def _note(self, said):
        method, params = said.get("method"), said.get("params", {})
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

    def open(self, url):
        """Load a page."""
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, expression):
        """Evaluate JavaScript, and give what it gives."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def wait(self, expression, seconds=120.0):
        """Wait until JavaScript gives something that is true; give it."""
        until = time.monotonic() + seconds
        while True:
            found = self.run(expression)
            if found:
                return found
            assert time.monotonic() < until, f"{expression} did not become true; errors: {self.errors}"
            time.sleep(0.1)

    def text(self, selector):
        """The text of an element."""
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def press(self, key):
        """Press a key."""
        code = ord(key.upper()) if len(key) == 1 else {"Tab": 9, "Enter": 13, "Escape": 27}[key]
        more = {"text": key} if len(key) == 1 else ({"text": "\r"} if key == "Enter" else {})
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def size(self, width, height=900, *, dark=False, scale=1):
        """Let the screen have a width, and a scheme of colours."""
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path, *, full=True):
        """Take a screenshot."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        Path(path).write_bytes(base64.b64decode(found["data"]))


@contextlib.contextmanager
def open_browser():
    """A browser with a profile of its own; gives a function that opens tabs, each with a storage of its own."""
    from websockets.sync.client import connect

    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        sockets = contextlib.ExitStack()
        try:
            where, until = Path(profile) / "DevToolsActivePort", time.monotonic() + 240.0
            while not where.exists() or len(where.read_text().split()) < 2:
                assert process.poll() is None, "the browser did not start"
                assert time.monotonic() < until, "the browser takes too long to start"
                time.sleep(0.1)
            port, path = where.read_text().split()

            def tab():
                socket = sockets.enter_context(
                    connect(f"ws://127.0.0.1:{port}{path}", max_size=None, open_timeout=240, ping_interval=None)
                )

                def say(method, **params):
                    socket.send(json.dumps({"id": 1, "method": method, "params": params}))
                    while True:
                        said = json.loads(socket.recv(timeout=240))
                        if said.get("id") == 1:
                            return said["result"]

                context = say("Target.createBrowserContext")["browserContextId"]
                target = say("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
                return Tab(socket, say("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

            yield tab
        finally:
            sockets.close()
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
