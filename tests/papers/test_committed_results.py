"""The tables of docs/results.md are those of the committed results, which name no machine."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from thalweg.papers.plan import NAMES, read_plan

ROOT = Path(__file__).resolve().parents[2]
DONE = [name for name in NAMES if (ROOT / "experiments" / name / "results" / "about.json").exists()]
FOLDERS = [ROOT / "experiments" / name / "results" for name in DONE]


def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("experiment_tables", ROOT / "experiments" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_committed_numbers() -> None:
    page = (ROOT / "docs" / "results.md").read_text("utf-8")
    assert tables().filled(page) == page, "run: python experiments/tables.py"
    shown = set(re.findall(r"<!-- (\w+) [\w-]+ -->", page))
    assert set(DONE) <= shown


@pytest.mark.parametrize("folder", FOLDERS, ids=DONE)
def test_reports_have_the_committed_numbers(folder: Path) -> None:
    written = (folder / "report.md").read_text("utf-8")
    assert tables().report(folder.parent.name) == written, "run: python experiments/tables.py"


@pytest.mark.parametrize("folder", FOLDERS, ids=DONE)
def test_results_are_whole_and_name_no_place(folder: Path) -> None:
    about = json.loads((folder / "about.json").read_text("utf-8"))
    assert about["failures"] == {}
    assert re.fullmatch(r"[0-9a-f]{40}(, with changes)?", about["commit"]), "results must be made from a commit"
    assert about["scale"] == "small"
    for path in folder.iterdir():
        text = path.read_text("utf-8")
        assert not re.search(r"/(tmp|work|home|root|Users)/", text), path.name
        assert path.stat().st_size < 300_000, path.name


@pytest.mark.parametrize("folder", FOLDERS, ids=DONE)
def test_results_have_all_learners_of_the_plan(folder: Path) -> None:
    found = tables().results(folder.parent.name)
    for table in read_plan(folder.parent.name).tables:
        both = found[table.name]
        assert both.rows
        assert set(both.ours) == {(row, learner) for row in both.rows for learner in table.learners}
