"""The report of a reproduction, as one page of HTML and as Markdown: the same words and tables in both."""

import html
from collections.abc import Iterable, Iterator

from thalweg.evaluate import document as part
from thalweg.evaluate import plots
from thalweg.evaluate.ranking import Ranking
from thalweg.evaluate.report import PHONE
from thalweg.evaluate.table import Table
from thalweg.papers.beside import Beside
from thalweg.papers.claims import Verdict
from thalweg.papers.reproduction import Reproduction

Block = str | Table | Ranking | tuple[str, str]
"""A paragraph, a table, a diagram of ranks (HTML alone), or ("heading" | "code", text)."""


def blocks(found: Reproduction) -> Iterator[Block]:
    """Give the parts of the report, in order."""
    scale = found.plan.scales[found.scale]
    yield f"{found.plan.reference}"
    yield (
        f"Made by the command below at scale {found.scale}. {scale.says} Every record is predicted before its label is "
        "used; published numbers are as printed, and ranks are over the streams that both have."
    )
    if found.plan.claims:
        yield "heading", "What the paper says, and what we find"
        yield claims_table(found.verdicts)
    for both in found.tables:
        yield "heading", both.plan.title
        yield from _table_blocks(both)
    if found.unavailable:
        yield "heading", "Not available here"
        yield Table(("stream", "why"), list(found.unavailable.items()))
    if found.failures:
        yield "heading", "Runs that failed"
        yield Table(("run", "why"), list(found.failures.items()))
    yield "heading", "How it was made"
    yield "code", found.command
    about = found.about()
    facts = {"commit": about["commit"] or "not known", "date": about["date"], **about["made_with"]}
    if about["runs_kept_from_before"]:
        facts["runs"] = (
            f"{about['runs']}; kept from before, perhaps of an earlier commit: {about['runs_kept_from_before']}"
        )
    facts["CPU time"] = f"{about['cpu_seconds'] / 60:.1f} minutes"
    yield Table(("what", "which"), [(name, str(value)) for name, value in facts.items() if value])


def _table_blocks(both: Beside) -> Iterator[Block]:
    if both.plan.where:
        yield f"Published: {both.plan.where}."
    if not both.rows:
        yield "None of its streams is available here."
        return
    yield both.table()
    yield both.summary()
    ranking = both.ranking()
    if ranking is not None and not both.plan.relative_to:
        yield ranking.verdict()
        yield ranking


def claims_table(verdicts: Iterable[Verdict]) -> Table:
    """Tabulate claims and what became of them."""
    rows = [(v.claim.says, v.claim.where, v.word, v.why) for v in verdicts]
    return Table(("the paper says", "where", "here", "means over the streams run"), rows)


def html_page(found: Reproduction) -> str:
    """Write the report as a page that needs nothing else."""
    body = []
    for block in blocks(found):
        if isinstance(block, Table):
            body.append(part.table(block))
        elif isinstance(block, Ranking):
            wide, narrow = plots.rank_diagram(block), plots.rank_diagram(block, width=PHONE)
            bars = "; bars join what Nemenyi's test does not tell apart" if block.differ else ""
            body.append(part.figure(wide, narrow, f"Our mean ranks, 1 is the best{bars}."))
        elif isinstance(block, tuple):
            kind, text = block
            body.append(part.heading(text) if kind == "heading" else f"<pre>{html.escape(text)}</pre>")
        else:
            body.append(part.paragraph(block))
    return part.document(f"{found.plan.title}: published and ours", body)


def markdown_page(found: Reproduction) -> str:
    """Write the report as Markdown."""
    body = [f"# {found.plan.title}: published and ours"]
    for block in blocks(found):
        if isinstance(block, Table):
            body.append(markdown_table(block))
        elif isinstance(block, tuple):
            kind, text = block
            body.append(f"## {text}" if kind == "heading" else f"```console\n$ {text}\n```")
        elif isinstance(block, str):
            body.append(block)
    return "\n\n".join(body) + "\n"


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

    words = any(len(cell) > 40 for row in table.rows for cell in row)
    rule = ["---", *["---" if words else "---:"] * (len(table.head) - 1)]
    rows = [line(f"**{c[2:]}**" if c.startswith("* ") else c for c in row) for row in table.rows]
    title = [f"**{table.title}**", ""] if table.title else []
    notes = ["", *table.notes] if table.notes else []
    return "\n".join([*title, line(table.head), line(rule), *rows, *notes])
