"""A real browser (Debian's Chromium), for tests of pages."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

_MEASURE = """<script>
const cut = [...document.querySelectorAll("table.words")].filter(t => t.scrollWidth > t.parentElement.clientWidth + 1);
const side = (cell) => getComputedStyle(cell).textAlign;
parent.postMessage(JSON.stringify({
  page: document.documentElement.scrollWidth, screen: window.innerWidth, cut: cut.length,
  words: [...new Set([...document.querySelectorAll(".word")].map(side))],
  numbers: [...new Set([...document.querySelectorAll("td:not(.word)")].map(side))],
}), "*");
</script></body>"""
_FRAME = """<!doctype html><title></title><script>onmessage = (told) => document.title = told.data</script>
<iframe src="report.html" width="{width}" height="2000" style="border: 0"></iframe>"""  # a window has a least width


def browse(page: Path, profile: Path, *more: str) -> tuple[str, str]:
    """Load a page; give what became of it, and what the console says."""
    assert CHROMIUM is not None
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
        "--enable-logging=stderr", "--v=0", *more, "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def measure(page: Path, folder: Path, width: int) -> dict[str, Any]:
    """Say how wide a report is on a screen of a width, how many tables of words are cut, and on which side text is."""
    text = re.sub(r"<meta http-equiv[^>]+>", "", page.read_text("utf-8"))  # it would refuse the script that measures
    (folder / "measured").mkdir()
    (folder / "measured" / "report.html").write_text(text.replace("</body>", _MEASURE), "utf-8")
    frame = folder / "measured" / "frame.html"
    frame.write_text(_FRAME.format(width=width), "utf-8")
    shown, _ = browse(frame, folder / "profile", "--hide-scrollbars", "--virtual-time-budget=3000")
    found = re.search(r"<title>(\{.*?\})</title>", shown)
    assert found is not None
    measured: dict[str, Any] = json.loads(found[1])
    assert measured["screen"] == width
    return measured
