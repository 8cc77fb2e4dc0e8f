"""A picture, its colours, and the words that stand for it."""

import html
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from thalweg.core import params

SUFFIXES = (".png", ".svg", ".pdf")


class Theme(NamedTuple):
    """Colours of a picture. The lines are told apart with any kind of colour vision (Okabe & Ito 2008)."""

    paper: str
    ink: str
    faint: str
    grid: str
    lines: tuple[str, ...]


LIGHT = Theme(
    "#ffffff", "#1f2328", "#656d76", "#e4e7eb",
    ("#0072b2", "#d55e00", "#009e73", "#b35a91", "#e69f00", "#56b4e9", "#4d4d4d"),
)  # fmt: skip
DARK = Theme(
    "#14171b", "#e6e8eb", "#9aa2ab", "#2a2f36",
    ("#56b4e9", "#e69f00", "#2fbf96", "#e08bb8", "#f0e442", "#ff8552", "#c5cbd3"),
)  # fmt: skip


@final
class Picture:
    """A figure and its text alternative; shows itself in a notebook."""

    def __init__(self, figure: Any, alt: str) -> None:
        self.figure = figure
        """The Matplotlib figure."""
        self.alt = alt
        """What the picture shows, in words."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a .png, .svg or .pdf file, with the text alternative inside."""
        suffix = check_path(path)
        Path(path).write_bytes(self.svg().encode() if suffix == ".svg" else self._bytes(suffix[1:]))

    def svg(self) -> str:
        """Give the picture as SVG, to be put in a page."""
        text = self._bytes("svg").decode()
        start = text.index("<svg")
        start, stop = start + len("<svg"), text.index(">", start) + 1
        label = f"<title>{html.escape(self.alt)}</title>"
        return f'{text[:start]} role="img"{text[start:stop]}\n {label}{text[stop:]}'

    def _bytes(self, kind: str) -> bytes:
        import matplotlib

        about = {
            "png": {"Description": self.alt, "Software": "thalweg"},
            "svg": {"Description": self.alt, "Date": None},
            "pdf": {"Subject": self.alt, "CreationDate": None},
        }
        file = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "thalweg"}):  # the same picture is the same file
            self.figure.savefig(file, format=kind, dpi=160, metadata=about[kind], facecolor=self.figure.get_facecolor())
        return file.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"Picture({self.alt!r})"


def check_path(path: str | os.PathLike[str]) -> str:
    """Refuse a path that no picture can be written to; give its ending."""
    params.path("path", path)
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"path must end in one of {', '.join(SUFFIXES)}, got {os.fspath(path)!r}")
    return suffix


def figure_class() -> Any:
    """Give Matplotlib's figure, or say how to get it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("pictures need Matplotlib: pip install 'thalweg[plots]'") from None
    return Figure


def spread(places: Sequence[float], gap: float, low: float) -> list[float]:
    """Move places, highest first, as little down as keeps them a gap apart, and none of them below the floor.

    >>> spread([0.5, 0.5, 0.25], 0.25, 0.0)
    [0.5, 0.25, 0.0]
    """
    moved = list(places)
    for i in range(1, len(moved)):
        moved[i] = min(moved[i], moved[i - 1] - gap)
    for i in range(len(moved) - 1, -1, -1):
        moved[i] = max(moved[i], low if i == len(moved) - 1 else moved[i + 1] + gap)
    return moved
