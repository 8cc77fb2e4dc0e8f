"""A picture, its colours, and the words that stand for it."""

import html
import io
import os
import re
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

    def saved(self, path: str | os.PathLike[str] | None) -> "Picture":
        """Write it where there is a path; give it back."""
        if path is not None:
            self.save(path)
        return self

    def svg(self) -> str:
        """Give the picture as SVG, to be put in a page."""
        text = self._bytes("svg").decode()
        start = text.index("<svg")
        start, stop = start + len("<svg"), text.index(">", start) + 1
        label = f"<title>{html.escape(self.alt)}</title>"
        return f'{text[:start]} role="img"{text[start:stop]}\n {label}{text[stop:]}'

    def inline(self) -> str:
        """Give the picture as SVG for a page: text is text, and the colours are those of the page, light or dark.

        Needs a picture in light colours, and ``page_colours`` in the style of the page.
        """
        text = self._bytes("svg", letters=False).decode()
        text = text[text.index("<svg") :]
        text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
        for much in _NEEDLESS:
            text = re.sub(much, "", text)
        text = text.replace("xlink:href", "href")
        text = re.sub(r"(\.\d\d)\d+", r"\1", text)  # a hundredth of a point is fine enough
        box = re.search(r'viewBox="[^"]+"', text)
        assert box is not None
        for colour, name in zip(_colours(LIGHT), _COLOUR_NAMES, strict=True):
            text = text.replace(colour, f"var({name})")
        label = f'<svg {box[0]} role="img" aria-label="{html.escape(self.alt)}">'
        return re.sub(r"\n\s*", "\n", label + text[text.index(">") + 1 :]).strip()

    def _bytes(self, kind: str, letters: bool = True) -> bytes:
        import matplotlib

        about = {
            "png": {"Description": self.alt, "Software": "thalweg"},
            "svg": {"Description": self.alt, "Date": None},
            "pdf": {"Subject": self.alt, "CreationDate": None},
        }
        file = io.BytesIO()
        settings = {"svg.hashsalt": "thalweg", "svg.fonttype": "path" if letters else "none"}
        with matplotlib.rc_context(settings):  # the same picture is the same file
            self.figure.savefig(file, format=kind, dpi=160, metadata=about[kind], facecolor=self.figure.get_facecolor())
        return file.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"Picture({self.alt!r})"


_NEEDLESS = (
    r' id="[a-z.]+\w*_\d+"',  # of groups: the same in every picture, and nobody asks for them
    r" font-family: [^;]*;",  # the page has one
    r' transform="rotate\(-0 [^"]*"',
)
_COLOUR_NAMES = ("--paper", "--ink", "--faint", "--grid", *(f"--line-{i}" for i in range(len(LIGHT.lines))))


def _colours(theme: Theme) -> tuple[str, ...]:
    return (theme.paper, theme.ink, theme.faint, theme.grid, *theme.lines)


def page_colours() -> str:
    """Give the style that ``Picture.inline`` needs: the colours of a page, light, dark on a dark screen.

    >>> page_colours()[:24]
    ':root { --paper: #ffffff'
    """
    light, dark = (
        "; ".join(f"{name}: {colour}" for name, colour in zip(_COLOUR_NAMES, _colours(theme), strict=True))
        for theme in (LIGHT, DARK)
    )
    return f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def check_path(path: str | os.PathLike[str] | None) -> str:
    """Refuse a path that no picture can be written to; give its ending, none where there is no path."""
    if path is None:
        return ""
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


def name_below(figure: Any, ends: Sequence[tuple[float, str, str]], theme: Theme) -> None:
    """Name lines, each given by its last value, name and colour, in two columns below a narrow picture."""
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], linestyle="", marker="o", markersize=6.5, color=colour) for _, _, colour in ends]
    key(figure, marks, [name for _, name, _ in ends], theme, below=True)


def key(figure: Any, marks: Sequence[Any], names: Sequence[str], theme: Theme, *, below: bool) -> None:
    """Say which mark is whose: beside the panels of a figure, or below them."""
    figure.legend(
        marks, names, loc="outside lower left" if below else "outside right upper", ncols=2 if below else 1,
        frameon=False, labelcolor=theme.ink, fontsize=9.5, handletextpad=0.3, columnspacing=1.2, labelspacing=0.7,
    )  # fmt: skip
