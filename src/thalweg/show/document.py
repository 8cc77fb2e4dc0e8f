"""The parts of a report, each as HTML and as Markdown.

The HTML page is self-contained: no network, no scripts, light and dark, on a phone and on paper.
"""

import html
import re
from collections.abc import Iterable
from typing import NamedTuple

from thalweg.show.figure import Picture, page_colours
from thalweg.show.tables import Table

_STYLE = """
:root { color-scheme: light dark; --font: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif }
* { box-sizing: border-box }
html { background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100% }
body { font: 1rem/1.55 var(--font); max-width: 62rem; margin: 0 auto; padding: 2rem 1.25rem 3rem }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .75rem; letter-spacing: -.01em; text-wrap: balance }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 3rem 0 .75rem; padding-top: .9rem;
     border-top: 1px solid var(--grid) }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem; overflow-wrap: anywhere }
p { margin: .5rem 0 1rem; max-width: 46rem }
a { color: inherit; text-decoration-color: var(--faint); text-underline-offset: .15em }
.lead { font-size: 1.1rem }
.faint, figcaption, .note, footer { color: var(--faint); font-size: .875rem }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; padding: 0; margin: 0 0 1.25rem }
figure { margin: 1rem 0 1.25rem; break-inside: avoid }
figure svg { display: block; width: 100%; height: auto; stroke-linejoin: round }
figure text { font-family: var(--font) }
figcaption { margin-top: .4rem }
.narrow { display: none }
@media screen and (max-width: 40rem) { .wide { display: none } .narrow { display: block } }
.scroll { overflow-x: auto; margin: .75rem 0 .5rem; background:
          linear-gradient(var(--paper) 0 0) 100% 0 / 1.5rem 100% no-repeat local,
          linear-gradient(to left, var(--grid), transparent) 100% 0 / .6rem 100% no-repeat scroll }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; min-width: 60% }
caption { text-align: left; font-weight: 600; padding: 0 0 .4rem }
th, td { padding: .38rem .55rem; border-bottom: 1px solid var(--grid); white-space: nowrap; text-align: right;
         vertical-align: baseline }
thead th { color: var(--faint); font-weight: 600; vertical-align: bottom; border-bottom-color: var(--faint);
           white-space: normal; line-height: 1.3 }
tbody th { font-weight: 400; position: sticky; left: 0; background: var(--paper) }
th:first-child { text-align: left; padding-left: 0 }
td strong { font-weight: 700 }
td small { display: block; font-size: .8125rem; font-weight: 400; color: var(--faint) }
.word { text-align: left; white-space: normal; min-width: 5.5rem }
table.words { width: 100% } .words tbody th { white-space: normal }
tr.sum > * { border-bottom: 0; color: var(--faint) }
tr.sum:first-of-type > * , tr:not(.sum) + tr.sum > * { border-top: 1px solid var(--faint) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.25rem; margin: .5rem 0 }
dt { font-weight: 600; overflow-wrap: anywhere } dd { margin: 0; overflow-wrap: anywhere }
code, pre { font: .875em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace }
code { overflow-wrap: anywhere }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .75rem 0 1rem; padding: .75rem .9rem;
      border: 1px solid var(--grid); border-radius: .4rem }
details { margin: .5rem 0 1rem } summary { cursor: pointer; color: var(--faint) }
h1, h2, p, li, caption, figcaption { overflow-wrap: anywhere }
.failed { border-left: .25rem solid var(--line-1); padding: .1rem 0 .1rem .9rem }
footer { margin-top: 3rem; padding-top: .9rem; border-top: 1px solid var(--grid) }
@media (max-width: 40rem) {
  body { padding: 1.25rem 1rem 2rem } h1 { font-size: 1.4rem } h2 { margin-top: 2.25rem }
  th, td { padding: .35rem .5rem } tbody th { max-width: 9.5rem; white-space: normal; overflow-wrap: break-word }
  dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .6rem }
  table.words, .words caption, .words tbody, .words tr, .words th, .words td { display: block }
  .words thead { display: none } .words tr { border-bottom: 1px solid var(--grid); padding: .5rem 0 }
  .words tbody > tr > th { max-width: none; font-weight: 600 } .words tbody > tr > * { border: 0; padding: .1rem 0 }
  .words td::before { content: attr(data-head) ": "; color: var(--faint) }
}
@media print {
  html { font-size: 9.5pt } body { max-width: none; padding: 0 } nav { display: none } h2, h3 { break-after: avoid }
  .scroll { overflow: visible } table { font-size: 7.5pt; min-width: 0 } th, td { padding: .15rem .35rem }
  tr { break-inside: avoid } tbody th { position: static }
}
"""

_NOTHING_ELSE = "default-src 'none'; style-src 'unsafe-inline'"  # the browser itself then refuses any request


class Part(NamedTuple):
    """A part of a report."""

    html: str
    markdown: str = ""
    """Empty where Markdown cannot have it."""


def document(title: str, body: Iterable[Part]) -> str:
    """Put the parts of a page together.

    >>> document("A & B", [paragraph("Fine.")]).count("A &amp; B")
    2
    """
    parts = "\n".join(part.html for part in body)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_NOTHING_ELSE}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>
{page_colours()}{_STYLE.strip()}
</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
{parts}
</body>
</html>
"""


def markdown(title: str, body: Iterable[Part]) -> str:
    r"""Put the parts of a report together as Markdown.

    >>> markdown("A & B", [heading("First"), paragraph("Fine.")])
    '# A & B\n\n## First\n\nFine.\n'
    """
    return "\n\n".join([f"# {title}", *(part.markdown for part in body if part.markdown)]) + "\n"


def heading(text: str, *, level: int = 2, anchor: str = "") -> Part:
    """Give a heading, with a name to link to.

    >>> heading("Ranks", anchor="ranks").html
    '<h2 id="ranks">Ranks</h2>'
    """
    name = f' id="{html.escape(anchor)}"' if anchor else ""
    return Part(f"<h{level}{name}>{html.escape(text)}</h{level}>", f"{'#' * level} {text}")


def paragraph(text: str, kind: str = "") -> Part:
    """Give a paragraph of plain text.

    >>> paragraph("1 < 2", "note").html
    '<p class="note">1 &lt; 2</p>'
    """
    return Part(f"<p{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{html.escape(text)}</p>", text)


def figure(wide: Picture, narrow: Picture, caption: str) -> Part:
    """Give a picture, with another one for narrow screens."""
    both = f'<div class="wide">{wide.inline()}</div><div class="narrow">{narrow.inline()}</div>'
    return Part(f"<figure>{both}<figcaption>{html.escape(caption)}</figcaption></figure>")


def table(rows: Table, *, sums: int = 0) -> Part:
    """Give a table that scrolls by itself where it is too wide; one of words alone wraps, and is a list on a phone.

    Cells that begin with ``* `` are bold, backquotes make code; what a number has in brackets stands small below it.
    sums: so many rows at the end are sums of the others.

    >>> made = table(Table(("learner", "score"), [("tree", "* 0.9 (0.8)")]))
    >>> "<td><strong>0.9</strong><small>0.8</small></td>" in made.html
    True
    """
    columns = [(name, i < rows.words) for i, name in enumerate(rows.head)]
    head = "".join(
        f'<th scope="col"{_word(is_word)}>{html.escape(name).replace("(", "<wbr>(")}</th>' for name, is_word in columns
    )
    body = []
    for n, (first, *cells) in enumerate(rows.rows):
        sort = ' class="sum"' if n >= len(rows.rows) - sums else ""
        inner = "".join(_cell(text, *column) for text, column in zip(cells, columns[1:], strict=True))
        body.append(f'<tr{sort}><th scope="row">{html.escape(first)}</th>{inner}</tr>')
    caption = f"<caption>{html.escape(rows.title)}</caption>" if rows.title else ""
    notes = "".join(paragraph(note, "note").html for note in rows.notes)
    sort = ' class="words"' if rows.words >= len(columns) else ""
    inside = f"<table{sort}>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    label = html.escape(rows.title or rows.head[0])
    whole = f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">{inside}</div>{notes}'
    return Part(whole, markdown_table(rows))


def _word(is_word: bool) -> str:
    return ' class="word"' if is_word else ""


def _cell(text: str, head: str, is_word: bool) -> str:
    if is_word:
        words = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
        return f'<td class="word" data-head="{html.escape(head)}">{words}</td>'
    text = re.sub(r"(?<![\w.])-(?=\d)", "−", html.escape(text))
    number, bracket, beside = text.removeprefix("* ").partition(" (")
    small = f"<small>{beside.removesuffix(')')}</small>" if bracket else ""
    return f"<td><strong>{number}</strong>{small}</td>" if text.startswith("* ") else f"<td>{number}{small}</td>"


def markdown_table(table: Table) -> str:
    """Write a table as Markdown, with title and notes.

    >>> print(markdown_table(Table(("learner", "score"), [("tree", "* 0.9")], notes=["One seed."])))
    | learner | score |
    | --- | ---: |
    | tree | **0.9** |
    <BLANKLINE>
    One seed.
    """

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    rule = ["---" if i < table.words else "---:" for i in range(len(table.head))]
    rows = [line(f"**{c[2:]}**" if c.startswith("* ") else c for c in row) for row in table.rows]
    title = [f"**{table.title}**", ""] if table.title else []
    notes = ["", *table.notes] if table.notes else []
    return "\n".join([*title, line(table.head), line(rule), *rows, *notes])


def details(words: str, inside: Part) -> Part:
    """Give a part that is folded until somebody asks for it.

    >>> details("More", paragraph("All.")).html
    '<details><summary>More</summary><p>All.</p></details>'
    """
    return Part(f"<details><summary>{html.escape(words)}</summary>{inside.html}</details>", inside.markdown)


def command(text: str) -> Part:
    """Give what to type to have a page again.

    >>> command("thalweg demo").html
    '<p>To reproduce, run:</p><pre>thalweg demo</pre>'
    """
    before = paragraph("To reproduce, run:").html
    return Part(f"{before}<pre>{html.escape(text)}</pre>", f"```console\n$ {text}\n```")


def links(to: Iterable[tuple[str, str]]) -> Part:
    """Give a line of links to the parts of a page, by their anchors.

    >>> links([("ranks", "Ranks")]).html
    '<nav><ul><li><a href="#ranks">Ranks</a></li></ul></nav>'
    """
    each = (f'<li><a href="#{html.escape(anchor)}">{html.escape(words)}</a></li>' for anchor, words in to)
    return Part(f"<nav><ul>{''.join(each)}</ul></nav>")


def facts(pairs: Iterable[tuple[str, str]], *, code: bool = False) -> Part:
    """Give a list of names and what they stand for.

    >>> facts([("python", "3.11")]).html
    '<dl><dt>python</dt><dd>3.11</dd></dl>'
    """
    pairs = list(pairs)
    left, right = ("<code>", "</code>") if code else ("", "")
    each = (f"<dt>{html.escape(name)}</dt><dd>{left}{html.escape(text)}{right}</dd>" for name, text in pairs)
    return Part(f"<dl>{''.join(each)}</dl>", markdown_table(Table(("what", "which"), pairs, words=2)))
