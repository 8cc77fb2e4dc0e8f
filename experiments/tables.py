"""Writes the tables of docs/results.md, and each paper's report.md, from the committed results of the experiments.

``python experiments/tables.py`` replaces what stands between ``<!-- PAPER TABLE -->`` and ``<!-- end -->``: the summary
of that table, or, for ``claims`` and ``runs``, what became of the paper's claims, and how the runs were made.
"""

import json
import re
from pathlib import Path
from types import SimpleNamespace

from thalweg.papers.beside import Beside, read_lines
from thalweg.papers.claims import judge
from thalweg.papers.paper_page import markdown_page
from thalweg.papers.plan import NAMES, read_plan
from thalweg.show.document import markdown_table
from thalweg.show.tables import Table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "results.md"
_BLOCK = re.compile(r"(<!-- (\w+) ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def results(paper: str) -> dict[str, Beside]:
    """Read the committed results of a paper, by table."""
    return read_lines(ROOT / "experiments" / paper / "results" / "results.csv", read_plan(paper).tables)


def table(paper: str, name: str) -> Table:
    """Make one table of the page."""
    if name == "runs":
        return runs()
    found = results(paper)
    if name == "claims":
        verdicts = [judge(claim, found[claim.table]) for claim in read_plan(paper).claims]
        rows = [(v.claim.says, v.word, v.why) for v in verdicts]
        return Table(("the paper says", "here", "means over the streams run"), rows, words=3)
    return found[name].summary()


def runs() -> Table:
    """Tabulate how the results were made."""
    rows = []
    for path in (ROOT / "experiments" / paper / "results" / "about.json" for paper in NAMES):
        if not path.exists():
            continue
        about = json.loads(path.read_text("utf-8"))
        made = about["made_with"]
        with_what = f"Python {made['python']}, NumPy {made['numpy']}"
        rows.append(
            (about["command"], about["date"], about["commit"][:10], with_what, f"{about['cpu_seconds'] / 60:.1f} min")
        )
    return Table(("command", "date", "commit", "with", "CPU time"), rows, words=4)


def filled(page: str) -> str:
    """Put the tables into a page."""
    return _BLOCK.sub(lambda m: f"{m[1]}\n{markdown_table(table(m[2], m[3]))}\n\n{m[4]}", page)


def report(paper: str) -> str:
    """Write the report of a paper from its committed files, in today's words and form."""
    folder, plan, found = ROOT / "experiments" / paper / "results", read_plan(paper), results(paper)
    about = {
        "runs": len((folder / "runs.csv").read_text("utf-8").splitlines()) - 1,
        "runs_kept_from_before": 0,
        **json.loads((folder / "about.json").read_text("utf-8")),
    }
    kept = SimpleNamespace(
        plan=plan, scale=about["scale"], command=about["command"], tables=tuple(found.values()),
        unavailable=about["not_available"], failures=about["failures"],
        verdicts=[judge(claim, found[claim.table]) for claim in plan.claims], about=lambda: about,
    )  # fmt: skip
    return markdown_page(kept)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")
    for name in NAMES:
        (ROOT / "experiments" / name / "results" / "report.md").write_text(report(name), "utf-8")
