"""What examples print and draw stands below them, and the tests compare it.

    python website/outputs.py                    # run the examples of all pages and notebooks, write what they give
    python website/outputs.py docs/trees.md      # of some pages

An example is a block of Python on a page. What it prints is the block of text after it, with the title "Output"; a
picture that its last line gives stands below that. Times, speeds and sizes in memory differ from machine to machine:
any number with such a unit is as good as another.
"""

import ast
import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from thalweg.show.figure import Picture, page_colours

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = re.compile(
    r"```python\n(.*?)```\n"
    r"(?:\n```text title=\"Output\"\n(.*?)```\n)?"
    r"(?:\n!\[([^\]]*)\]\((?:\.\./)*images/made/[^)]*\)\n)?",
    re.DOTALL,
)
MADE = Path("docs/images/made")
"""Where pictures of examples are kept."""
MEASURED = re.compile(r"\d[\d.,]*\s?(ns|µs|ms|s|min|MB|kB|bytes|B|rows/s|per second)(?!\w)")


def examples(page: Path) -> list[tuple[str, str, str]]:
    """Give the examples of a page: code, what it is said to print, and the words for what it is said to draw."""
    return EXAMPLE.findall(page.read_text("utf-8"))


def run(code: str, name: str, known: dict[str, Any]) -> tuple[str, Any]:
    """Run code in the current folder; give what it prints, and the value of its last line if that is an expression."""
    *body, last = ast.parse(code).body
    rest = last if isinstance(last, ast.Expr) else None
    out, value = io.StringIO(), None
    with contextlib.redirect_stdout(out):
        exec(compile(ast.Module([*body, *([] if rest else [last])], []), name, "exec"), known)
        if rest:
            value = eval(compile(ast.Expression(rest.value), name, "eval"), known)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines()), value


def given(code: str, name: str) -> tuple[str, Picture | None]:
    """Run an example of a page; give what it prints, and the picture that it ends with, if it does."""
    printed, value = run(code, name, {"__name__": "example"})
    return printed, value if isinstance(value, Picture) else None


def plain(text: str) -> str:
    """Leave out what differs from run to run, and how wide the columns around it are."""
    return re.sub(r"[ ─]+", " ", MEASURED.sub("#", text)).strip()


def adaptive(picture: Picture) -> str:
    """Write a picture as SVG whose colours follow those of the page that shows it, light or dark."""
    svg, style = picture.inline(), f"<style>{page_colours()}</style>"
    start = svg.index(">") + 1
    wide, high = (float(text) * 1.25 for text in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    more = f' xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}"'
    more += ' font-family="system-ui, sans-serif"'
    return f"{svg[: start - 1]}{more}>{style}<title>{_escaped(picture.alt)}</title>{svg[start:]}\n"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def words(picture: Picture | None) -> str:
    """Give the words that stand for a picture on a page."""
    return "" if picture is None else picture.alt.replace("[", "(").replace("]", ")")


def rewrite(page: Path) -> None:
    """Write below each example what it gives now; what differs in measured numbers alone stays as it is."""
    name = page.relative_to(ROOT)
    numbers, drawn = iter(range(1, 1000)), set()
    made = os.path.relpath(ROOT / MADE, page.parent)

    def again(match: re.Match[str]) -> str:
        code, before = match[1], match[2] or ""
        file = f"{page.stem}-{next(numbers)}.svg"
        after, picture = given(code, str(name))
        parts = [f"```python\n{code}```\n"]
        if after:
            shown = before if plain(before) == plain(after) else after
            parts.append(f'```text title="Output"\n{shown}```\n')
        if picture is not None:
            (ROOT / MADE / file).write_text(adaptive(picture), "utf-8")
            drawn.add(file)
            alt = match[3] if match[3] and plain(match[3]) == plain(words(picture)) else words(picture)
            parts.append(f"![{alt}]({made}/{file})\n")
        return "\n".join(parts)

    with emptied():
        text = EXAMPLE.sub(again, page.read_text("utf-8"))
    page.write_text(text, "utf-8")
    for old in (ROOT / MADE).glob(f"{page.stem}-[0-9]*.svg"):
        if old.name not in drawn:
            old.unlink()


@contextlib.contextmanager
def emptied() -> Any:
    """Work in an empty folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


if __name__ == "__main__":
    import notebooks
    import sessions
    from test_docs import PAGES

    (ROOT / MADE).mkdir(parents=True, exist_ok=True)
    for each in sys.argv[1:] or [*PAGES, *sessions.PAGES, *notebooks.paths()]:
        print(each, flush=True)
        path = (ROOT / each).resolve()
        if path.suffix == ".ipynb":
            notebooks.rewrite(path)
        else:
            sessions.rewrite(path) if each in sessions.PAGES else rewrite(path)
