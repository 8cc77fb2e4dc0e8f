"""How learners and explanations look in a notebook: a name, and a table that opens, in light and in dark."""

import html
from collections.abc import Iterable, Sequence

_STYLE = (
    "<style>.thalweg{font:13px/1.5 system-ui,sans-serif;color:inherit;max-width:44em}"
    ".thalweg summary{cursor:pointer;font-weight:600}"
    ".thalweg table{border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums}"
    ".thalweg th,.thalweg td{text-align:left;padding:.15em 1.2em .15em 0;background:none;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent)}"
    ".thalweg th{font-weight:400;opacity:.65}.thalweg td.number{text-align:right}"
    ".thalweg tr.changed td{font-weight:600}</style>"
)


def card(title: str, head: Sequence[str], rows: Iterable[tuple[Sequence[str], bool]], *, open: bool = True) -> str:
    """Write a title and a table as HTML; a row that is marked stands out. It takes colours from the page it is on.

    >>> "&lt;b&gt;" in card("<b>", ["name"], [])
    True
    """
    body = "".join(
        f"<tr{' class=changed' if marked else ''}>{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)}</tr>"
        for cells, marked in rows
    )
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    table = f"<table><tr>{heads}</tr>{body}</table>" if body else ""
    state = " open" if open else ""
    return f'{_STYLE}<details class="thalweg"{state}><summary>{html.escape(title)}</summary>{table}</details>'
