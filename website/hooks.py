"""What mkdocs calls while it builds: the navigation, the pages that are made, and links that leave docs/."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import command_page
import contents
import learner_pages
import notebooks
import reference_pages
from thalweg.registry import LEARNERS

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {page: path for page, path in contents.OUTSIDE.items() if (ROOT / path).exists()}


def on_config(config: Any) -> Any:
    """Make the navigation."""
    reference = [{reference_pages.title(g): f"reference/{g}.md"} for g in reference_pages.groups()]
    reference.insert(0, {"Command line": "reference/command-line.md"})
    config.nav = contents.navigation(Path(config.docs_dir), reference, OUTSIDE)
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that are made from code, and those that lie outside docs/."""
    made = {f"reference/{group}.md": reference_pages.page(group) for group in reference_pages.groups()}
    made["reference/command-line.md"] = command_page.page()
    made |= {page: (ROOT / path).read_text("utf-8") for page, path in OUTSIDE.items()}
    for path in notebooks.paths():
        folder = Path(notebooks.FOLDER).name
        made[f"{folder}/{path.stem}.md"], pictures = notebooks.page(path)
        made |= {f"{folder}/{name}": svg for name, svg in pictures.items()}
    for address, text in made.items():
        files.append(File.generated(config, address, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Complete the pages that are written in part; lead links out of docs/ to where the site has the page, if so."""
    docs, path = Path(config.docs_dir), page.file.src_uri
    if path in contents.WIDE or path.startswith("measurements/"):
        page.meta["hide"] = ["toc"]
    if path == "learners/index.md":
        markdown = learner_pages.index(markdown, docs)
    elif path == "reference/index.md":
        markdown = reference_pages.index(markdown)
    elif path.startswith("learners/") and Path(path).stem in LEARNERS:
        markdown = learner_pages.page(Path(path).stem, markdown, docs)
    home = (ROOT / OUTSIDE[path] if path in OUTSIDE else docs / path).parent
    up = "../" * path.count("/")

    def led(match: re.Match[str]) -> str:
        """A link within docs/ stays as it is; any other leads to the page on the site, or becomes plain words."""
        words, target, anchor = match[1], (home / match[2]).resolve(), match[3] or ""
        if target.suffix == ".ipynb" and home != target.parent:  # a tutorial is a page, too
            target = target.with_suffix(".md")
            return f"[{words}]({up}{target.relative_to(docs).as_posix()}{anchor})"
        if target.is_relative_to(docs) and home.is_relative_to(docs):
            return words if target.is_dir() else match[0]
        pages = {ROOT / outside: inside for inside, outside in OUTSIDE.items()} | {ROOT / "README.md": "index.md"}
        inside = target.relative_to(docs).as_posix() if target.is_relative_to(docs) else pages.get(target)
        return f"[{words}]({up}{inside}{anchor})" if inside and not target.is_dir() else words

    return re.sub(r"\[([^\]]+)\]\(([^)\s#:]+)(#[^)]*)?\)", led, markdown)
