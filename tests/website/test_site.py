"""The documentation: a page for each learner, nothing undescribed, and a site that builds without a warning."""

import importlib
import inspect
import re
import shutil
import subprocess
from dataclasses import is_dataclass
from pathlib import Path

import pytest

import contents
import learner_pages
import reference_pages
import thalweg
from thalweg.registry import LEARNERS

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "docs" / "learners"


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_a_hand_written_part(name: str) -> None:
    path = WRITTEN / f"{name}.md"
    assert path.exists(), f"{name} needs a page docs/learners/{name}.md with the headings {learner_pages.HEADINGS}"
    title, parts = learner_pages.split(path.read_text("utf-8"))
    assert title
    assert tuple(parts) == learner_pages.HEADINGS
    assert all(parts.values())


def test_every_hand_written_part_belongs_to_a_learner_in_one_family() -> None:
    assert {path.stem for path in WRITTEN.glob("*.md")} - {"index"} == set(LEARNERS)
    listed = [name for _, names in contents.FAMILIES.values() for name in names]
    assert sorted(listed) == sorted(LEARNERS)


@pytest.mark.parametrize("name", reference_pages.PUBLIC)
def test_every_parameter_of_a_public_name_is_described(name: str) -> None:
    """Each has an entry in the Parameters section: what is not described there is described nowhere."""
    thing = getattr(thalweg, name)
    record = is_dataclass(thing) or any(hasattr(thing, kind) for kind in ("_make", "__struct_fields__"))
    if name == "Classifier" or record:
        return  # abstract; or a record, whose fields are described below their names
    named = [p.name for p in inspect.signature(thing).parameters.values() if p.name not in ("self", "cls")]
    assert undescribed(thing.__doc__ or "", named) == [], f"{name}: the docstring must say what they mean"


def undescribed(doc: str, names: list[str]) -> list[str]:
    """The names without a line ``name : type`` and an indented sentence below it."""
    doc = inspect.cleandoc(doc)
    return [n for n in names if not re.search(rf"^(\w+, )*\*{{0,2}}{n}(, \w+)*( : .*)?\n    \S", doc, re.MULTILINE)]


def test_a_parameter_without_a_word_is_found() -> None:
    doc = """Do it.

    Parameters
    ----------
    told : int
        How often.
    untold : int
    """
    assert undescribed(doc, ["told", "untold"]) == ["untold"]


def test_every_public_name_is_in_the_reference() -> None:
    groups = reference_pages.groups()
    assert sorted(name for names in groups.values() for name in names) == sorted(reference_pages.PUBLIC)
    reference = [{reference_pages.title(group): f"reference/{group}.md"} for group in groups]
    sections = {
        title: inside for entry in contents.navigation(ROOT / "docs", reference, ()) for title, inside in entry.items()
    }
    linked = {path for entry in sections["Reference"] if isinstance(entry, dict) for path in entry.values()}
    for group, names in groups.items():
        assert f"reference/{group}.md" in linked
        text = reference_pages.page(group)
        missing = [name for name in names if f"::: {reference_pages.home(name)}\n" not in text]
        assert missing == [], group
        assert group in reference_pages.TITLES, f"{group} needs a title in TITLES"


def test_a_class_is_described_with_what_its_family_gives_it() -> None:
    """Methods of a base class without an entry of its own; those of ``Classifier`` are described once."""
    found = reference_pages.inherited(thalweg.AdaptiveRandomForest)
    assert {"explain_one", "importances", "members", "replacements"} <= set(found)
    assert not {"partial_fit", "predict", "get_params", "size"} & set(found)
    assert "get_params" in reference_pages.inherited(thalweg.Classifier)
    assert "inherited_members" not in reference_pages.entry(thalweg.prequential)


def test_the_stated_default_of_a_choice_is_shown() -> None:
    pytest.importorskip("griffe")
    described = importlib.import_module("runtime_docstrings").described
    doc = 'Do it.\n\nParameters\n----------\nleaf : {"majority", "adaptive"}, default "adaptive"\n    How.'
    assert 'leaf : one of "majority", "adaptive", default "adaptive"' in described(doc)


def test_the_site_has_all_pages(site: Path) -> None:
    for name in LEARNERS:
        page = (site / "learners" / f"{name}.html").read_text("utf-8")
        for heading in ("Idea", "When to use it", "Try it", "The class", "Cost", "Known differences"):
            assert f'id="{heading.lower().replace(" ", "-")}"' in page, f"{name}: {heading}"
    for group, names in reference_pages.groups().items():
        page = (site / "reference" / f"{group}.html").read_text("utf-8")
        assert all(f'id="{reference_pages.home(name)}"' in page for name in names)


def test_the_site_asks_nothing_of_the_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)[^>]+src=[\"']?((?:https?:)?//[^\"' >]+)", text)
        loaded += re.findall(r"<link(?![^>]+rel=[\"']?canonical)[^>]+href=[\"']?((?:https?:)?//[^\"' >]+)", text)
        assert loaded == [], page.name
    for sheet in site.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", sheet.read_text("utf-8")) == []


def test_no_python_is_shown_as_a_quotation(site: Path) -> None:
    """An example that was not fenced would be three nested quotations."""
    for page in (site / "reference").glob("*.html"):
        assert "<blockquote>" not in page.read_text("utf-8"), page.name


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
def test_a_browser_shows_it_without_complaint(site: Path, tmp_path: Path) -> None:
    """Opened from a folder, with no network; the search finds something there, too."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--virtual-time-budget=5000"]
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--dump-dom"]
    for page, expected in (
        ("index.html?q=adaptive+forest", "md-search-result__item"),
        ("learners/arf.html", "weighted_vote"),
    ):
        command = ["chromium", *flags, *offline, f"file://{site}/{page}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert "CONSOLE" not in done.stderr, done.stderr
        assert expected in done.stdout
