"""A tree as a picture: the same kind of picture as all others, in light and in dark, with words for it."""

import pytest

from thalweg import Agrawal, HoeffdingTree
from thalweg.show.figure import DARK, LIGHT, Picture

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def tree() -> HoeffdingTree:
    stream = Agrawal(function=1, seed=1)
    chunk = stream.take(10_000)
    return HoeffdingTree().declare(stream.schema).partial_fit(chunk.X, chunk.y)


def test_its_words_are_the_tree_in_text(tree: HoeffdingTree) -> None:
    picture = tree.plot(max_depth=2)
    assert isinstance(picture, Picture)
    assert picture.alt == f"A decision tree. {tree.describe(max_depth=2)}"
    texts = [text.get_text() for text in picture.figure.axes[0].texts]
    assert texts.count("age") == sum(" ≤ " in line or " > " in line for line in tree.describe(2).splitlines()) // 2


@pytest.mark.parametrize(("dark", "theme"), [(False, LIGHT), (True, DARK)])
def test_its_colours_are_those_of_the_theme(tree: HoeffdingTree, dark: bool, theme: object) -> None:
    from matplotlib.colors import to_hex

    figure = tree.plot(dark=dark).figure
    assert to_hex(figure.get_facecolor()) == theme.paper  # type: ignore[attr-defined]
    allowed = {theme.faint, *theme.lines}  # type: ignore[attr-defined]
    assert {to_hex(line.get_color()) for line in figure.axes[0].lines} <= allowed


def test_it_can_be_written(tree: HoeffdingTree, tmp_path: object) -> None:
    tree.plot(tmp_path / "tree.svg")  # type: ignore[operator]
    assert "<title>A decision tree." in (tmp_path / "tree.svg").read_text("utf-8")  # type: ignore[operator]
    with pytest.raises(ValueError, match="path must end in one of"):
        tree.plot(tmp_path / "tree.doc")  # type: ignore[operator]
