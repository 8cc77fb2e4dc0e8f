"""Tables put words on the left and numbers on the right, as text, in a notebook, in a page and in Markdown."""

import re

from thalweg.show import document
from thalweg.show.document import markdown_table
from thalweg.show.tables import Table, equal_decimals

CLAIMS = Table(("says", "here", "n"), [("a is better", "holds", "7"), ("b", "does not hold", "12")], words=2)


def test_as_text() -> None:
    assert str(CLAIMS).splitlines() == [
        "says         here            n",
        "──────────────────────────────",
        "a is better  holds           7",
        "b            does not hold  12",
    ]


def test_parts_keep_their_sides() -> None:
    first, second = CLAIMS.parts(34)
    assert (first.head, first.words) == (("says", "here"), 2)
    assert (second.head, second.words) == (("says", "n"), 1)


def test_in_a_notebook_and_in_markdown() -> None:
    sides = re.findall(r'<td style="text-align:(\w+)"', CLAIMS._repr_html_())
    assert sides == ["left", "left", "right"] * 2
    assert markdown_table(CLAIMS).splitlines()[1] == "| --- | --- | ---: |"


def test_in_a_page() -> None:
    page = document.table(CLAIMS).html
    assert '<td class="word" data-head="here">does not hold</td><td>12</td>' in page
    assert 'class="words"' not in page  # it has a column of numbers
    whole = document.table(Table(("what", "why"), [("<a>", "type `thalweg <b>`")], words=2)).html
    assert '<table class="words">' in whole
    assert "type <code>thalweg &lt;b&gt;</code>" in whole
    assert '<th scope="row">&lt;a&gt;</th>' in whole


def test_numbers_in_a_page() -> None:
    page = document.table(
        Table(("learner", "score"), [("a-1", "* 1.50 (2.00, -0.50)"), ("b", "-3.00"), ("c", "–")])
    ).html
    assert "<td><strong>1.50</strong><small>2.00, −0.50</small></td>" in page
    assert "<td>−3.00</td>" in page
    assert ">a-1</th>" in page  # a hyphen in a name is no minus


def test_decimals_are_those_that_the_smallest_number_needs() -> None:
    assert equal_decimals([0.00001]) == 4
    assert equal_decimals([0.0, float("nan"), -0.31, 2000.0]) == 2
