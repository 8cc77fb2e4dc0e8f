"""A comparison as one self-contained HTML page: pictures, tests, tables, and how to reproduce it."""

import html
import math
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

from thalweg.comparison.outcome import NO_RANKING, Comparison, speed, typical_speed, unit
from thalweg.comparison.ranking import Ranking, p_text
from thalweg.comparison.significance import Interval
from thalweg.evaluate.result import Result
from thalweg.registry import METRICS, metric_of
from thalweg.show import document as part
from thalweg.show import plots
from thalweg.show.comparison_plots import Cost
from thalweg.show.run_page import PHONE, call, caption, made_with
from thalweg.show.tables import Table, bytes_text, metric_text

MOST_CURVES = 40
"""So many streams are drawn; more would make the page heavy."""
UNSHOWN = ("balanced_accuracy", "precision_macro", *(name for name, metric in METRICS.own.items() if metric.overall))
"""Metrics that would make the table of a stream too wide; they are in the files."""


def write_page(found: Comparison, path: str | Path) -> None:
    """Write the page.

    >>> import tempfile
    >>> from thalweg import compare
    >>> found = compare(["no-change", "majority"], on=["sea", "sine"], limit=2000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(found, Path(folder) / "report.html")
    """
    title = f"{_count(len(found.learners), 'learner')} on {_count(len(found.streams), 'stream')}"
    body = [*_opening(found), *_ranks(found), *_costs(found), *_streams(found), *_making(found)]
    Path(path).write_text(part.document(title, body), encoding="utf-8")


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _opening(found: Comparison) -> Iterator[part.Part]:
    """What came out, in a few sentences and one table."""
    ranking = found.ranking()
    yield part.paragraph(_summary(found, ranking), "lead")
    links = [("ranks", "Ranks and tests")] * (ranking is not None) + [("costs", "Accuracy and costs")]
    yield part.links([*links, ("streams", "Over time"), ("making", "How it was made")])
    if found.failures:
        told = "".join(
            f"<li>{html.escape(f'{c.learner} on {c.stream}, seed {c.seed}: {why}')}</li>"
            for c, why in found.failures.items()
        )
        n = len(found.failures)
        words = "1 run failed, and counts" if n == 1 else f"{n} runs failed, and count"
        yield part.Part(f'<div class="failed"><p>{words} as the worst of the stream:</p><ul>{told}</ul></div>')
    table = found.table()
    name = metric_of(found.metric).title
    title = f"{name[0].upper()}{name[1:]} of each learner on each stream{unit(found.metric)}"
    spread = "; mean ± standard deviation over the seeds" if len({c.seed for c in found.cells}) > 1 else ""
    shown = Table(table.head, table.rows, title=title, notes=[f"Bold: the best of its stream{spread}."])
    yield part.table(shown, sums=0 if ranking is None else 2)


def _summary(found: Comparison, ranking: Ranking | None) -> str:
    seeds = sorted({c.seed for c in found.cells})
    runs = _count(len(found.results), "run") + (f" with {len(seeds)} seeds" if len(seeds) > 1 else "")
    every = "Every record is predicted before its label is used."
    if ranking is None:
        return f"{runs}. {every} {NO_RANKING}"
    best = ranking.order[0]
    first = f"{ranking.learners[best]} has the best mean rank, {ranking.ranks[best]:.2f} of {len(ranking.learners)}"
    group = next((g for g in ranking.groups() if best in g), (best,))
    others = [ranking.learners[i] for i in group if i != best]
    if not ranking.differ:
        first += "; the tests find no significant difference between the learners"
    elif ranking.control is not None:
        first += f". Compared with {ranking.words_about_control()}"
    elif others:
        first += f"; not significantly different from {_listed(others)}"
    else:
        first += ", significantly better than all others"
    return f"{first}. {runs}. {every}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _ranks(found: Comparison) -> Iterator[part.Part]:
    """Ranks, the diagram, the tests and the intervals."""
    ranking = found.ranking()
    if ranking is None:
        return
    yield part.heading("Ranks and tests", anchor="ranks")
    yield part.paragraph(ranking.verdict())
    yield part.figure(
        plots.rank_diagram(ranking), plots.rank_diagram(ranking, width=PHONE),
        f"Mean ranks, 1 is the best. {_reading(ranking)}",
    )  # fmt: skip
    scale = 100.0 if metric_of(found.metric).percent else 1.0
    rows = [
        (ranking.learners[i], Interval(*(scale * v for v in ranking.interval(i, ranking.reference))))
        for i in ranking.order
        if i != ranking.reference and math.isfinite(ranking.interval(i, ranking.reference).mean)
    ]
    if rows:
        what = f"{'Points of ' if scale == 100.0 else ''}{metric_of(found.metric).title}"
        yield part.figure(
            plots.intervals(rows, title=what), plots.intervals(rows, title=what, width=PHONE),
            f"Difference to {ranking.learners[ranking.reference]}: means over the streams with 95 % intervals, "
            "by resampling the streams 10,000 times.",
        )  # fmt: skip
    table = ranking.table()
    yield part.table(Table(table.head, table.rows, title="Average ranks and bootstrap intervals"))
    yield part.table(_tests(ranking))
    if ranking.control is not None:
        yield part.table(ranking.control_table())
    yield part.table(ranking.pairs_table())


def _reading(ranking: Ranking) -> str:
    """Say how to read the diagram."""
    if not ranking.differ:
        return "The tests find no significant difference."
    if ranking.control is None:
        return "Bars join learners that are not significantly different (Nemenyi's test)."
    return f"Hollow dots, within the bar: not significantly different from {ranking.control} (Bonferroni–Dunn)."


def _tests(ranking: Ranking) -> Table:
    """Tabulate whether the learners differ at all."""
    f, k, n = ranking.friedman, len(ranking.learners), ranking.streams
    rows = [
        ("Friedman", "χ²", f"{f.chi2:.4f}", f"{k - 1}", p_text(f.p)),
        ("Iman–Davenport", "F", f"{f.f:.4f}".replace("inf", "∞"), f"{k - 1}, {(k - 1) * (n - 1)}", p_text(f.f_p)),
    ]
    differences = [("Nemenyi", ranking.critical_difference)]
    differences += [] if ranking.control is None else [("Bonferroni–Dunn", ranking.control_difference)]
    rows += [(name, f"ranks apart, at {ranking.alpha:g}", f"{cd:.4f}", "", "") for name, cd in differences]
    head = ("test", "statistic", "value", "degrees of freedom", "p")
    return Table(head, rows, title="Do the learners differ at all?", words=2)


def _costs(found: Comparison) -> Iterator[part.Part]:
    yield part.heading("Accuracy and costs", anchor="costs")
    points = [c for c in (_cost(found, learner) for learner in found.learners) if c is not None]
    if points:
        yield part.figure(
            plots.costs(points), plots.costs(points, size=(PHONE, 5.4 + 0.12 * len(points))),
            "The higher and the further to the right, the better; a line joins learners that no other beats in both.",
        )  # fmt: skip
    yield part.table(found.costs())


def _cost(found: Comparison, learner: str) -> Cost | None:
    runs = [r for stream in found.streams for r in found.of(learner, stream)]
    typical = typical_speed(runs)
    if math.isnan(typical) or any(found.failed(learner, stream) for stream in found.streams):
        return None
    means = (fmean(r.accuracy for r in found.of(learner, stream)) for stream in found.streams)
    return Cost(learner, fmean(means), typical, fmean(r.state_bytes for r in runs))


def _streams(found: Comparison) -> Iterator[part.Part]:
    """A picture and a table for each stream."""
    yield part.heading("Over time, stream by stream", anchor="streams")
    seed = found.cells[0].seed
    yield part.paragraph(f"Curves show seed {seed}; tables the means over all seeds.")
    names = list(found.learners)
    if len(found.streams) > 6:
        yield part.links((f"stream-{i}", stream) for i, stream in enumerate(found.streams))
    for i, stream in enumerate(found.streams):
        runs = {name: found.of(name, stream) for name in names}
        firsts = [of[0] for of in runs.values() if of]
        yield part.heading(stream, level=3, anchor=f"stream-{i}")
        if not firsts:
            yield part.paragraph("No run on this stream has a result.")
            continue
        if i < MOST_CURVES:
            metric = "accuracy" if metric_of(found.metric).overall else found.metric  # which has a curve
            sizes = (8.0, max(2.9, 0.28 * len(firsts) + 0.9)), (PHONE, 2.7)
            wide, narrow = (
                plots.curves(firsts, metric=metric, size=size, strips=False, among=names, title="") for size in sizes
            )
            yield part.figure(wide, narrow, f"{stream}: {caption(firsts, metric)}")
        elif i == MOST_CURVES:
            yield part.paragraph(f"Only the first {MOST_CURVES} streams are drawn.", "note")
        yield part.table(_stream_table(runs, stream))


def _stream_table(runs: dict[str, list[Result]], stream: str) -> Table:
    rows = []
    found = [r.final for of in runs.values() for r in of]
    shown = [m for m in METRICS if m not in UNSHOWN and all(m in final for final in found)]
    for name, of in runs.items():
        if not of:
            rows.append((name, "failed", *[""] * (len(shown) + 1)))
            continue
        means = [fmean(r.final[m] for r in of) for m in shown]
        speeds, state = fmean(map(speed, of)), round(fmean(r.state_bytes for r in of))
        texts = [metric_text(m, v) for m, v in zip(shown, means, strict=True)]
        rows.append((name, *texts, f"{speeds:,.0f}" if speeds == speeds else "–", bytes_text(state)))
    counts = sorted({r.rows for of in runs.values() for r in of})
    title = f"{stream}, {', '.join(f'{n:,}' for n in counts)} rows"
    return Table(("learner", *(metric_of(m).title for m in shown), "rows per CPU s", "state"), rows, title=title)


def _making(found: Comparison) -> Iterator[part.Part]:
    yield part.heading("How it was made", anchor="making")
    yield part.command(found.command)
    seeds = sorted({c.seed for c in found.cells})
    yield part.facts([("Seeds", ", ".join(map(str, seeds))), *made_with(found.made_with()).items()])
    yield part.paragraph(
        "A run that no seed can change was made once. Each run has a process "
        "with one thread; times are CPU times without compilation, reading and scoring. AUC is that of the last window."
    )
    yield part.heading("Learners", level=3)
    firsts = ((name, next((r for s in found.streams for r in found.of(name, s)), None)) for name in found.learners)
    yield part.facts(((name, "no result" if r is None else call(r)) for name, r in firsts), code=True)
