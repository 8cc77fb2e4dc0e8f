"""Every example in a docstring and in README.md runs."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import notebooks
import outputs
import thalweg

ROOT = Path(__file__).resolve().parents[1]
MODULES = [m.name for m in pkgutil.walk_packages(thalweg.__path__, "thalweg.")]


@pytest.mark.parametrize("name", ["thalweg", *MODULES])
def test_examples_in_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_every_public_class_and_function_has_an_example() -> None:
    without = [
        name
        for name in thalweg.__all__
        if name != "__version__" and ">>>" not in (getattr(thalweg, name).__doc__ or "")
    ]
    assert without == ["Classifier"]  # abstract: the learners show its verbs


ELSEWHERE = {"docs/data.md": "downloads a data set", "docs/start.md": "run as a whole by website/test_start.py"}
"""Pages whose examples are not run here, and why."""
PAGES = [
    page
    for page in sorted(str(p.relative_to(ROOT)) for p in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
    if page not in ELSEWHERE and "```python" in (ROOT / page).read_text("utf-8")
]


def examples() -> list[tuple[str, int, str, str, str]]:
    return [
        (page, i + 1, code, shown, drawn)
        for page in PAGES
        for i, (code, shown, drawn) in enumerate(outputs.examples(ROOT / page))
    ]


@pytest.mark.filterwarnings("ignore::thalweg.ColumnWarning")
@pytest.mark.parametrize(("page", "number", "code", "shown", "drawn"), examples())
def test_examples_give_what_the_pages_show(
    page: str, number: int, code: str, shown: str, drawn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed, picture = outputs.given(code, f"{page}, example {number}")
    assert outputs.plain(printed) == outputs.plain(shown), "run: make outputs"
    assert outputs.plain(outputs.words(picture)) == outputs.plain(drawn), "run: make outputs"


@pytest.mark.parametrize("path", notebooks.paths(), ids=lambda path: path.stem)
def test_notebooks_give_what_they_show(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("matplotlib", "pandas", "sklearn"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    for cell, now in notebooks.play(notebooks.read(path), path.name):
        assert notebooks.said(cell["outputs"]) == notebooks.said(now), "run: make outputs"


@pytest.mark.parametrize("path", notebooks.paths(), ids=lambda path: path.stem)
def test_notebooks_are_kept_without_noise(path: Path) -> None:
    found = notebooks.read(path)
    pytest.importorskip("nbformat").validate(found)
    assert found["metadata"] == notebooks.ABOUT
    assert all(cell["metadata"] == {} and cell.get("execution_count") is None for cell in found["cells"])
    assert len(path.read_bytes()) < 400_000
    assert [cell for cell in found["cells"] if not notebooks.source(cell).strip()] == []


def test_the_pages_have_examples() -> None:
    assert {page for page, *_ in examples()} == set(PAGES)
    assert len(PAGES) >= 13
    assert len(examples()) >= 34


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"
