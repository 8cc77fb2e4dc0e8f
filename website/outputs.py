"""What examples print stands below them, and the tests compare it.

    python website/outputs.py                    # run the examples of all pages, write what they print below them
    python website/outputs.py docs/trees.md      # of some pages

An example is a block of Python on a page. What it prints is the block of text after it, with the title "Output".
Times, speeds and sizes in memory differ from machine to machine: any number with such a unit is as good as another.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = re.compile(r"```python\n(.*?)```\n(?:\n```text title=\"Output\"\n(.*?)```\n)?", re.DOTALL)
MEASURED = re.compile(r"\d[\d.,]*\s?(ns|µs|ms|s|min|MB|kB|bytes|B|rows/s|per second)(?!\w)")


def examples(page: Path) -> list[tuple[str, str]]:
    """Give the examples of a page: code, and what it is said to print."""
    return EXAMPLE.findall(page.read_text("utf-8"))


def printed(code: str, name: str) -> str:
    """Run an example in the current folder; give what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, name, "exec"), {"__name__": "example"})
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def plain(text: str) -> str:
    """Leave out what differs from run to run, and how wide the columns around it are."""
    return re.sub(r"[ ─]+", " ", MEASURED.sub(r"# \1", text)).strip()


def rewrite(page: Path) -> None:
    """Write below each example what it prints now; what differs in measured numbers alone stays as it is."""
    name = page.relative_to(ROOT)

    def again(match: re.Match[str]) -> str:
        code, before = match[1], match[2] or ""
        after = printed(code, str(name))
        if not after:
            return f"```python\n{code}```\n"
        shown = before if plain(before) == plain(after) else after
        return f'```python\n{code}```\n\n```text title="Output"\n{shown}```\n'

    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            text = EXAMPLE.sub(again, page.read_text("utf-8"))
        finally:
            os.chdir(before)
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    from test_docs import PAGES

    for given in sys.argv[1:] or PAGES:
        print(given, flush=True)
        rewrite((ROOT / given).resolve())
