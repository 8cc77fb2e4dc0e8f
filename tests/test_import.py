"""Importing the library is quick and loads nothing heavy."""

import subprocess
import sys

import thalweg

HEAVY = ("numba", "scipy", "pyarrow", "matplotlib", "sklearn", "pandas", "river", "typer", "rich", "safetensors")


def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, thalweg; print([m for m in {HEAVY!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(thalweg, "HoefdingTree")


def test_dir_lists_the_public_names() -> None:
    assert {"HoeffdingTree", "prequential", "save", "load"} <= set(dir(thalweg))
