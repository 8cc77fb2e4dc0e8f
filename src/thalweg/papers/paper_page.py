"""The report of a reproduction, as one page of HTML and as Markdown: the same words and tables in both."""

from collections.abc import Iterable, Iterator

from thalweg.comparison.ranking import Ranking
from thalweg.papers.beside import Beside
from thalweg.papers.claims import Verdict
from thalweg.papers.reproduction import Reproduction
from thalweg.show import document as part
from thalweg.show import plots
from thalweg.show.run_page import PHONE, made_with
from thalweg.show.tables import Table

Block = str | Table | Ranking | dict[str, str] | tuple[str, str]
"""A paragraph, a table, a diagram of ranks (HTML alone), facts, or ("heading" | "command", text)."""
MARKS = {True: "✓", False: "✗", None: "–"}


def blocks(found: Reproduction) -> Iterator[Block]:
    """Give the parts of the report, in order."""
    scale = found.plan.scales[found.scale]
    yield f"{found.plan.reference}"
    yield (
        f"Made at scale {found.scale}. {scale.says} Every record is predicted before its label is "
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
        yield Table(("stream", "why"), list(found.unavailable.items()), words=2)
    if found.failures:
        yield "heading", "Runs that failed"
        yield Table(("run", "why"), list(found.failures.items()), words=2)
    yield "heading", "How it was made"
    yield "command", found.command
    yield {name: text for name, text in _making(found).items() if text}


def _making(found: Reproduction) -> dict[str, str]:
    """Say with what and from what it was made."""
    about, size = found.about(), found.plan.scales[found.scale]
    kept = about["runs_kept_from_before"]
    return {
        "Runs": f"{about['runs']:,}" + (f"; kept from before, perhaps of an earlier commit: {kept:,}" if kept else ""),
        "Seeds": ", ".join(map(str, range(1, size.seeds + 1))),
        "Commit": about["commit"] or "not known",
        "Date": about["date"],
        **made_with(about["made_with"]),
        "CPU time": f"{about['cpu_seconds'] / 60:.1f} minutes",
    }


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
    rows = [(v.claim.says, v.claim.where, f"{MARKS[v.holds]}\N{NO-BREAK SPACE}{v.word}", v.why) for v in verdicts]
    return Table(("the paper says", "where", "here", "means over the streams run"), rows, words=4)


def html_page(found: Reproduction) -> str:
    """Write the report as a page that needs nothing else."""
    body: list[str] = []
    parts: list[tuple[str, str]] = []
    for block in blocks(found):
        if isinstance(block, Table):
            body.append(part.table(block))
        elif isinstance(block, dict):
            body.append(part.facts(block.items()))
        elif isinstance(block, Ranking):
            wide, narrow = plots.rank_diagram(block), plots.rank_diagram(block, width=PHONE)
            bars = "; bars join what Nemenyi's test does not tell apart" if block.differ else ""
            body.append(part.figure(wide, narrow, f"Our mean ranks, 1 is the best{bars}."))
        elif isinstance(block, tuple):
            kind, text = block
            if kind == "heading":
                parts.append((f"part-{len(parts) + 1}", text))
            body.append(part.heading(text, anchor=parts[-1][0]) if kind == "heading" else part.command(text))
        else:
            body.append(part.paragraph(block))
    return part.document(f"{found.plan.title}: published and ours", [*body[:2], part.links(parts), *body[2:]])


def markdown_page(found: Reproduction) -> str:
    """Write the report as Markdown."""
    body = [f"# {found.plan.title}: published and ours"]
    for block in blocks(found):
        if isinstance(block, Table):
            body.append(markdown_table(block))
        elif isinstance(block, dict):
            body.append(markdown_table(Table(("what", "which"), list(block.items()), words=2)))
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

    rule = ["---" if i < table.words else "---:" for i in range(len(table.head))]
    rows = [line(f"**{c[2:]}**" if c.startswith("* ") else c for c in row) for row in table.rows]
    title = [f"**{table.title}**", ""] if table.title else []
    notes = ["", *table.notes] if table.notes else []
    return "\n".join([*title, line(table.head), line(rule), *rows, *notes])
