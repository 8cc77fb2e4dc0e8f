"""Every example in a docstring and in README.md runs."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

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


PAGES = ("README.md", "docs/guide.md", "docs/trees.md", "docs/forests.md", "docs/deep.md", "docs/neighbours.md",
         "docs/balls.md", "docs/compare.md", "docs/serving.md")  # fmt: skip


def examples() -> list[tuple[str, int, str]]:
    found = []
    for page in PAGES:
        blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
        found += [(page, i + 1, block) for i, block in enumerate(blocks)]
    return found


@pytest.mark.parametrize(("page", "number", "code"), examples())
def test_examples_in_pages(page: str, number: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(code, f"{page}, example {number}", "exec"), {})


def test_the_pages_have_examples() -> None:
    assert {page for page, _, _ in examples()} == set(PAGES)
    assert len(examples()) == 24


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"
