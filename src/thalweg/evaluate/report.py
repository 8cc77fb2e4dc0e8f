"""One self-contained HTML page about one or several runs: no network, no scripts."""

import html
from collections.abc import Sequence
from pathlib import Path

from thalweg.evaluate.plots import curves
from thalweg.evaluate.result import Result
from thalweg.evaluate.table import side_by_side

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; }
figure { margin: 1.5rem 0; }
figure svg { width: 100%; height: auto; }
.dark { display: none; }
@media screen and (prefers-color-scheme: dark) { .light { display: none; } .dark { display: block; } }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; border-bottom: 1px solid #8884; white-space: nowrap; }
caption { padding-bottom: .4rem; }
dt { font-weight: 600; } dd { margin: 0 0 .5rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
footer { color: #777; font-size: .85rem; margin-top: 2rem; }
"""


def page(results: Sequence[Result], path: str | Path, *, title: str, words: str = "") -> None:
    """Write a page: the curves, a table, and what each learner was.

    >>> import tempfile
    >>> from thalweg import SEA, NoChange, prequential
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page([prequential(SEA(seed=1), NoChange(), limit=3000)], Path(folder) / "sea.html", title="SEA")
    """
    light, dark = curves(results), curves(results, dark=True)
    learners = "".join(f"<dt>{html.escape(r.learner)}</dt><dd><code>{_call(r)}</code></dd>" for r in results)
    meta = ", ".join(
        f"{'thalweg' if name == 'version' else name} {value}"
        for name, value in results[0].meta.items()
        if isinstance(value, str)
    )
    Path(path).write_text(
        f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
<p>{html.escape(words)}</p>
<figure><div class="light">{light.svg()}</div><div class="dark">{dark.svg()}</div>
<figcaption>{html.escape(light.alt)}</figcaption></figure>
<div class="scroll">{side_by_side(results)._repr_html_()}</div>
<h2>The learners</h2>
<dl>{learners}</dl>
<footer>{html.escape(meta)}</footer>
</body>
</html>
""",
        encoding="utf-8",
    )


def _call(result: Result) -> str:
    return html.escape(", ".join(f"{k}={v!r}" for k, v in result.params.items()) or "no parameters")
