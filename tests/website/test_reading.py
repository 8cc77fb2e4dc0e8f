"""Pages as readers meet them: code that fits, what is copied, what the search finds, nothing that scrolls sideways."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import notebooks
from browser import CHROMIUM
from devtools import Tab, open_browser
from outputs import ROOT, plain
from test_docs import PAGES

WIDEST = 88
"""So many columns of code fit beside the navigation."""
COMMAND = 180
"""A command is one line, so that it can be copied, and so is its answer; longer ones scroll, and show that they do."""
MARKDOWN = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
HABITS = (
    r"\bas it comes\b", r"\bread on\b", r"\bgood to know\b", r"\bto have this again\b", r"\bdo not tell it from\b",
    r"\bis to be had\b", r"\bbroke off\b", r"\bno hold-out\b", r"\bwhoever erred\b",
)  # fmt: skip
"""Phrases that are not English, or say nothing, and were once on these pages."""


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_on_a_page_fits(page: Path) -> None:
    lines = [(kind, line) for kind, code in FENCE.findall(page.read_text("utf-8")) for line in code.splitlines()]
    assert [line for kind, line in lines if len(line) > (COMMAND if kind == "console" else WIDEST)] == []


@pytest.mark.parametrize("path", notebooks.paths(), ids=lambda path: path.stem)
def test_code_in_a_notebook_fits(path: Path) -> None:
    cells = [cell for cell in notebooks.read(path)["cells"] if cell["cell_type"] == "code"]
    assert [line for cell in cells for line in notebooks.source(cell).splitlines() if len(line) > WIDEST] == []


def test_pages_are_free_of_phrases_that_are_no_english() -> None:
    for page in MARKDOWN:
        text = " ".join(page.read_text("utf-8").split())
        assert [habit for habit in HABITS if re.search(habit, text, re.IGNORECASE)] == [], page.name


def test_every_example_shows_what_it_gives() -> None:
    from outputs import examples

    silent = {"docs/own-learner.md": 1, "docs/data.md": 1}  # a class; what is downloaded
    found = {page: [1 for _, printed, drawn in examples(ROOT / page) if not printed + drawn] for page in PAGES}
    assert {page: len(none) for page, none in found.items() if len(none) > silent.get(page, 0)} == {}


def test_the_pictures_of_examples_are_all_in_use() -> None:
    made = {path.name for path in (ROOT / "docs/images/made").glob("*")}
    shown = {name for page in MARKDOWN for name in re.findall(r"images/made/([\w.-]+)", page.read_text("utf-8"))}
    assert made == shown


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    with open_browser() as tabs:
        yield tabs()


NEW = ("index.html", "start.html", "which-learner.html", "gallery.html", "serving.html", "measurements/serving.html",
       "measurements/tensors.html", "performance.html", "results.html", "data-sets.html", "reference/evaluate.html",
       "learners/index.html", *(f"tutorials/{path.stem}.html" for path in notebooks.paths()))  # fmt: skip


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_page_scrolls_sideways(site: Path, tab: Tab, dark: bool) -> None:
    for width in (390, 1280):
        tab.size(width, dark=dark)
        for page in NEW:
            tab.open(f"file://{site}/{page}")
            assert tab.run("document.documentElement.scrollWidth") <= width, (page, width)
            assert tab.run("[...document.images].every(i => i.complete && i.naturalWidth > 0)"), page


def test_what_is_copied_is_what_is_typed(site: Path, tab: Tab) -> None:
    """The button copies commands without the prompt and without what they print."""
    tab.size(1280)
    tab.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    copied = {}
    for page in ("start.html", "rare-classes.html", "gallery.html"):
        tab.open(f"file://{site}/{page}")
        tab.wait("document.querySelectorAll('.md-clipboard, [data-clipboard-target]').length > 0")
        tab.run("""window.copied = null;
            document.addEventListener("copy", (e) => { window.copied = document.activeElement.value }, true)""")
        tab.run("document.querySelector('.highlight [data-clipboard-target]').click()")
        copied[page] = tab.wait("window.copied")
    assert copied["start.html"].splitlines() == [
        "python3 -m venv .venv", ". .venv/bin/activate", "pip install '../thalweg[plots,frames]'",
    ]  # fmt: skip
    assert copied["rare-classes.html"].splitlines() == [
        "thalweg run hoeffding-tree churn.csv --target churned \\",
        "    --drop customer_id --drop signup --drop note",
    ]
    assert copied["gallery.html"].startswith("import thalweg\n\nstream = ")


@pytest.mark.parametrize(
    ("words", "pages"),
    {
        "random_state": ["which-learner.html", "coming-from.html"],
        "confusion matrix": ["reading-results.html", "gallery.html", "which-learner.html"],
        "feature importance": ["reading-results.html", "which-learner.html"],
        "imbalance": ["rare-classes.html"],
    }.items(),
    ids=lambda words: words if isinstance(words, str) else "",
)
def test_the_search_leads_to_the_right_page(site: Path, tab: Tab, words: str, pages: list[str]) -> None:
    tab.size(1280)
    tab.open("about:blank")
    tab.open(f"file://{site}/index.html?q={words.replace(' ', '+')}")
    tab.wait("document.querySelectorAll('.md-search-result__item').length > 0")
    links = "[...document.querySelectorAll('.md-search-result__item')].map(i => i.querySelector('a').href)"
    found = json.loads(tab.run(f"JSON.stringify({links})"))
    first = [Path(address.split("#")[0].split("?")[0]).name for address in found[:3]]
    assert set(first) & set(pages), first


def test_a_slow_machine_is_no_other_result() -> None:
    fast, slow = "4,000 rows in 433 ms (92,386 per second); 90.1 %", "4,000 rows in 1.2 s (3,300 per second); 90.1 %"
    assert plain(fast) == plain(slow)
    assert plain(fast) != plain(slow.replace("90.1", "90.2"))
