"""The page of a comparison: whole, self-contained, light, and fine in a real browser."""

import html.parser
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from browser import CHROMIUM, browse, measure
from thalweg.comparison.cell import Cell
from thalweg.comparison.comparison_page import write_page
from thalweg.comparison.outcome import Comparison

STREAMS = ["sea", "sine", "mixed & more", "stagger"]
LEARNERS = {"no-change": "no-change", "NB <fast>": "naive-bayes", "most": "majority"}


@pytest.fixture(scope="module")
def found() -> Comparison:
    cells = [Cell(spec, stream, seed, 1500) for seed in (1, 2) for stream in STREAMS for spec in LEARNERS.values()]
    runs = {c: Cell(c.learner, c.stream.split()[0], c.seed, c.limit).run() for c in cells}
    bad = next(c for c in cells if (c.learner, c.stream) == ("majority", "stagger"))
    failures = {bad: "MemoryError: none <left>"}
    del runs[bad]
    return Comparison(LEARNERS, STREAMS, cells, runs, failures, command="thalweg compare no-change 'NB <fast>'")


@pytest.fixture(scope="module")
def page(found: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_page(found, path)
    return path


class Reader(html.parser.HTMLParser):
    """Collects the tags of a page, and complains about those that are not closed."""

    VOID = ("meta", "wbr", "path", "use", "rect")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text("utf-8"))
    assert reader.open == []
    return reader


def test_it_says_everything(page: Path) -> None:
    text = page.read_text("utf-8")
    for words in (
        "Ranks and tests", "critical difference", "Friedman", "Iman–Davenport", "Nemenyi", "Shaffer p", "Wilcoxon p",
        "Average ranks and bootstrap intervals", "95 % of mean", "Accuracy and costs", "rows per CPU second",
        "Over time, stream by stream", "Costs", "mixed &amp; more", "NB &lt;fast&gt;", "How it was made",
        "thalweg compare", "MemoryError: none &lt;left&gt;", "1 run failed", "NumPy", "Numba", "Machine",
        "<dt>Seeds</dt><dd>1, 2</dd>",
        "mixed &amp; more: Accuracy over the last 1,000 rows.", "To reproduce, run:",
    ):  # fmt: skip
        assert words in text, words
    assert "NB <fast>" not in text


def test_it_is_small_and_needs_nothing_else(page: Path) -> None:
    text = page.read_text("utf-8")
    assert len(text) < 3_000_000
    assert "http" not in text.replace("http-equiv", "")  # no address at all, not even a name space
    assert "default-src 'none'" in text
    assert "<script" not in text
    for tag, attributes in read(page).tags:
        assert tag not in ("img", "link", "iframe", "object", "script")
        assert not any(name in ("src", "srcset", "data") or name.startswith("on") for name in attributes)
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")


def test_pictures_have_words_and_take_the_colours_of_the_page(page: Path) -> None:
    pictures = [attributes for tag, attributes in read(page).tags if tag == "svg"]
    assert len(pictures) == 2 * (3 + len(STREAMS))  # wide and narrow
    for attributes in pictures:
        assert attributes["role"] == "img"
        assert len(attributes["aria-label"] or "") > 40
    body = page.read_text("utf-8").split("</style>")[1]
    assert "var(--line-0)" in body
    assert not re.search(r"#[0-9a-f]{6}\b", body)


def test_links_lead_somewhere(page: Path) -> None:
    tags = read(page).tags
    anchors = {attributes["id"] for tag, attributes in tags if "id" in attributes and tag.startswith("h")}
    links = {(attributes["href"] or "")[1:] for tag, attributes in tags if tag == "a"}
    assert links
    assert links <= anchors


def test_it_is_the_same_each_time(found: Comparison, page: Path, tmp_path: Path) -> None:
    write_page(found, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()


def test_one_learner_on_one_stream(tmp_path: Path) -> None:
    cell = Cell("no-change", "sea", 1, 1000)
    one = Comparison({"last": "no-change"}, ["sea"], [cell], {cell: cell.run()}, {})
    assert one.ranking() is None
    write_page(one, tmp_path / "one.html")
    text = (tmp_path / "one.html").read_text("utf-8")
    assert "Ranks and tests</h2>" not in text
    assert "Ranks and tests need at least two learners and two streams." in text


def test_nothing_but_failures(tmp_path: Path) -> None:
    cells = [Cell(learner, stream, 1) for stream in ("sea", "sine") for learner in ("arf", "srp")]
    broken = Comparison({"arf": "arf", "srp": "srp"}, ["sea", "sine"], cells, {}, dict.fromkeys(cells, "broken"))
    assert np.isnan(broken.scores()).all()
    write_page(broken, tmp_path / "broken.html")
    assert "4 runs failed" in (tmp_path / "broken.html").read_text("utf-8")
    assert str(broken.table()).count("broken") == 4


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_shows_it_without_a_word_of_complaint(page: Path, tmp_path: Path, dark: bool) -> None:
    shown, complaints = browse(page, tmp_path, f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    assert "How it was made" in shown
    assert complaints == ""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_request_to_the_network_would_be_refused_and_heard_of(page: Path, tmp_path: Path) -> None:
    spoilt = tmp_path / "spoilt.html"
    spoilt.write_text(
        page.read_text("utf-8").replace("</body>", '<img src="https://example.org/a.png"></body>'), "utf-8"
    )
    assert "Content Security Policy" in browse(spoilt, tmp_path / "profile")[1]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
@pytest.mark.parametrize("width", [420, 1100])
def test_it_fits_the_screen(page: Path, tmp_path: Path, width: int) -> None:
    found = measure(page, tmp_path, width)
    assert found["page"] <= width
    assert found["words"] == ["left"]
    assert found["numbers"] == ["right"]


def test_a_control_is_shown(found: Comparison, tmp_path: Path) -> None:
    write_page(replace(found, control="NB <fast>"), tmp_path / "control.html")
    text = (tmp_path / "control.html").read_text("utf-8")
    for words in ("Against NB &lt;fast&gt;", "Bonferroni–Dunn p", '<td class="word" data-head="statistic">χ²</td>'):
        assert words in text, words
    assert "Difference to NB &lt;fast&gt;" in text


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_stream_with_a_long_path_fits_a_phone(found: Comparison, tmp_path: Path) -> None:
    far = "/home/somebody/" + "a_folder_with_quite_a_long_name/" * 4 + "measurements_of_last_year.csv"
    cells = [replace(c, stream=far) if c.stream == "sine" else c for c in found.cells]
    runs = {replace(c, stream=far) if c.stream == "sine" else c: r for c, r in found.results.items()}
    streams = [far if name == "sine" else name for name in STREAMS]
    write_page(
        Comparison(LEARNERS, streams, cells, runs, found.failures, command=f"thalweg {far}"), tmp_path / "p.html"
    )
    assert measure(tmp_path / "p.html", tmp_path, 390)["page"] == 390
