"""What mkdocs calls while it builds: the navigation, the pages that are made, and links that leave docs/."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import command_page
import contents
import learner_pages
import reference_pages
from thalweg.registry import LEARNERS

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "README.md": "index.md"}
"""Pages in the root of the repository, and what they are called on the site."""


def on_config(config: Any) -> Any:
    """Make the navigation."""
    reference = [{reference_pages.title(g): f"reference/{g}.md"} for g in reference_pages.groups()]
    reference.insert(0, {"Command line": "reference/command-line.md"})
    config.nav = contents.navigation(Path(config.docs_dir), reference)
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages that are made from code."""
    made = {f"reference/{group}.md": reference_pages.page(group) for group in reference_pages.groups()}
    made["reference/command-line.md"] = command_page.page()
    made |= {page: (ROOT / path).read_text("utf-8") for path, page in OUTSIDE.items() if page != "index.md"}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Complete the pages that are written in part; lead links out of docs/ to where the site has the page, if so."""
    docs, path = Path(config.docs_dir), page.file.src_uri
    if path == "learners/index.md":
        markdown = learner_pages.index(markdown, docs)
    elif path == "reference/index.md":
        markdown = reference_pages.index(markdown)
    elif path.startswith("learners/") and Path(path).stem in LEARNERS:
        markdown = learner_pages.page(Path(path).stem, markdown, docs)
    here = ROOT if path in OUTSIDE.values() and path != "index.md" else (docs / path).parent
    return re.sub(r"\[([^\]]+)\]\(([^)\s#:]+)(#[^)]*)?\)", lambda m: _rewritten(m, here, docs, path), markdown)


def _rewritten(match: re.Match[str], here: Path, docs: Path, page: str) -> str:
    """A link as the site needs it."""
    target = (here / match[2]).resolve()
    depth = "../" * page.count("/")
    if target.is_relative_to(docs):
        if here == ROOT:
            inside = target.relative_to(docs).as_posix()
            return f"[{match[1]}]({inside}{match[3] or ''})" if target.is_file() else f"{match[1]}"
        return match[0] if not target.is_dir() else match[1]
    if target.parent == ROOT and target.name in OUTSIDE:
        return f"[{match[1]}]({depth}{OUTSIDE[target.name]})"
    return match[1]
