"""Tutorials are notebooks: run from the first cell to the last, kept with what they give, shown as pages."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import outputs
from thalweg.show.figure import Picture

FOLDER = "docs/tutorials"
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
ABOUT = {**KERNEL, "language_info": {"name": "python"}}
SVG = "image/svg+xml"


def paths() -> list[Path]:
    """Give all notebooks."""
    return sorted((outputs.ROOT / FOLDER).glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    """Read a notebook."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def play(notebook: dict[str, Any], name: str) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Run the cells in order, in the current folder; give each cell of code with what it gives, in Jupyter's form."""
    known: dict[str, Any] = {"__name__": "__main__"}
    for n, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            printed, value = outputs.run(source(cell), f"{name}, cell {n + 1}", known)
            stream = [{"output_type": "stream", "name": "stdout", "text": lines(printed)}] if printed else []
            yield cell, stream + ([] if value is None else [_result(value)])


def rewrite(path: Path) -> None:
    """Run a notebook and keep what it gives, without anything else; what was measured alone stays as it is."""
    notebook = read(path)
    with outputs.emptied():
        for cell, now in play(notebook, path.name):
            if not same(cell.get("outputs", []), now):
                cell["outputs"] = now
    cells = [_kept(cell, f"cell-{n + 1}") for n, cell in enumerate(notebook["cells"])]
    kept = {"cells": cells, "metadata": ABOUT, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")


def same(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
    """Do two lists of outputs say the same, measured numbers left aside?"""
    return said(one) == said(other)


def said(given: list[dict[str, Any]]) -> list[str]:
    """Give what outputs say, without measured numbers; of a picture, the words that stand for it."""
    return [outputs.plain("".join(each.get("text", each.get("data", {}).get("text/plain", "")))) for each in given]


def source(cell: dict[str, Any]) -> str:
    """Give the text of a cell."""
    return "".join(cell["source"])


def lines(text: str) -> list[str]:
    """Divide a text as notebooks do."""
    return text.splitlines(keepends=True)


def _result(value: Any) -> dict[str, Any]:
    data = {"text/plain": lines(repr(value))}
    if isinstance(value, Picture):
        data[SVG] = lines(outputs.adaptive(value))
    elif hasattr(value, "_repr_html_"):
        data["text/html"] = lines(value._repr_html_())
    return {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}


def _kept(cell: dict[str, Any], name: str) -> dict[str, Any]:
    kept = {"cell_type": cell["cell_type"], "id": name, "metadata": {}, "source": lines(source(cell))}
    if cell["cell_type"] == "code":
        kept |= {"execution_count": None, "outputs": cell.get("outputs", [])}
    return kept


def page(path: Path) -> tuple[str, dict[str, str]]:
    """Give a notebook as a page of the site, and the pictures on it by the names of their files."""
    notebook, parts, pictures = read(path), [], {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            parts.append(source(cell))
            continue
        parts.append(f"```python\n{source(cell).rstrip()}\n```")
        for given in cell["outputs"]:
            data = given.get("data", {})
            if SVG in data:
                svg = "".join(data[SVG])
                name = f"{path.stem}-{len(pictures) + 1}.svg"
                pictures[name] = svg
                parts.append(f"![{_words(svg)}]({name})")
            elif "text/html" in data:
                inside = " ".join("".join(data["text/html"]).split())
                parts.append(f'<div class="given">{inside}</div>')
            else:
                text = "".join(given.get("text", data.get("text/plain", ""))).rstrip()
                parts.append(f'```text title="Output"\n{text}\n```')
    title, rest = parts[0].split("\n", 1) if "\n" in parts[0] else (parts[0], "")
    link = f"[Download this notebook]({path.name}){{ .download }}"
    return "\n\n".join([title, link, rest.strip(), *parts[1:]]) + "\n", pictures


def _words(svg: str) -> str:
    found = re.search(r"<title>(.*?)</title>", svg, re.DOTALL)
    return "" if found is None else html.unescape(found[1]).replace("[", "(").replace("]", ")")
