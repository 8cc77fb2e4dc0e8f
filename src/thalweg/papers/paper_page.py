"""The report of a reproduction, as one page of HTML and as Markdown: the same words and tables in both."""

from collections.abc import Iterable, Iterator

from thalweg.papers.beside import Beside
from thalweg.papers.claims import Verdict
from thalweg.papers.reproduction import Reproduction
from thalweg.show import document as part
from thalweg.show import plots
from thalweg.show.run_page import PHONE, made_with
from thalweg.show.tables import Table

MARKS = {True: "✓", False: "✗", None: "–"}


def html_page(found: Reproduction) -> str:
    """Write the report as a page that needs nothing else."""
    return part.document(_title(found), _parts(found))


def markdown_page(found: Reproduction) -> str:
    """Write the report as Markdown."""
    return part.markdown(_title(found), _parts(found))


def _title(found: Reproduction) -> str:
    return f"{found.plan.title}: published and ours"


def _parts(found: Reproduction) -> Iterator[part.Part]:
    scale = found.plan.scales[found.scale]
    yield part.paragraph(found.plan.reference)
    yield part.paragraph(
        f"Made at scale {found.scale}. {scale.says} Every record is predicted before its label is "
        "used; published numbers are as printed, and ranks are over the streams that both have."
    )
    sections = list(_sections(found))
    yield part.links((f"part-{n}", text) for n, (text, _) in enumerate(sections, 1))
    for n, (text, parts) in enumerate(sections, 1):
        yield part.heading(text, anchor=f"part-{n}")
        yield from parts


def _sections(found: Reproduction) -> Iterator[tuple[str, Iterable[part.Part]]]:
    """Give the headings and what stands below them."""
    if found.plan.claims:
        yield "What the paper says, and what we find", [part.table(claims_table(found.verdicts))]
    for both in found.tables:
        yield both.plan.title, _numbers(both)
    for text, what, why in (
        ("Not available here", "stream", found.unavailable),
        ("Runs that failed", "run", found.failures),
    ):
        if why:
            yield text, [part.table(Table((what, "why"), list(why.items()), words=2))]
    made = ((name, text) for name, text in _making(found).items() if text)
    yield "How it was made", [part.command(found.command), part.facts(made)]


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


def _numbers(both: Beside) -> Iterator[part.Part]:
    if both.plan.where:
        yield part.paragraph(f"Published: {both.plan.where}.")
    if not both.rows:
        yield part.paragraph("None of its streams is available here.")
        return
    yield part.table(both.table())
    yield part.table(both.summary())
    ranking = both.ranking()
    if ranking is not None and not both.plan.relative_to:
        yield part.paragraph(ranking.verdict())
        wide, narrow = plots.rank_diagram(ranking), plots.rank_diagram(ranking, width=PHONE)
        bars = "; bars join what Nemenyi's test does not tell apart" if ranking.differ else ""
        yield part.figure(wide, narrow, f"Our mean ranks, 1 is the best{bars}.")


def claims_table(verdicts: Iterable[Verdict]) -> Table:
    """Tabulate claims and what became of them."""
    rows = [(v.claim.says, v.claim.where, f"{MARKS[v.holds]}\N{NO-BREAK SPACE}{v.word}", v.why) for v in verdicts]
    return Table(("the paper says", "where", "here", "means over the streams run"), rows, words=4)
