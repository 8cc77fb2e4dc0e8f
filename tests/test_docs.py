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


@pytest.mark.parametrize("number", range(2))
def test_examples_in_the_readme(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 2
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks[number], f"README.md, example {number + 1}", "exec"), {})
