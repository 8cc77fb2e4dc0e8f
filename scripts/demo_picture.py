"""Draw the picture of README.md and of the front page: what ``thalweg demo`` draws, in colours that follow the page.

PYTHONPATH=website python scripts/demo_picture.py      # writes docs/images/demo.svg and demo-narrow.svg
"""

from collections.abc import Callable
from typing import Any

from outputs import ROOT, adaptive
from thalweg.cli.demo import run_demo
from thalweg.show.plots import curves


def watch(name: str) -> Callable[[Any], None]:
    """Say which learner runs."""
    print(name, flush=True)
    return lambda progress: None


if __name__ == "__main__":
    results = run_demo(100_000, 1, watch)
    for name, size in (("demo", (8.0, 4.2)), ("demo-narrow", (4.4, 3.8))):
        picture = curves(results, size=size, strips=False)
        (ROOT / "docs" / "images" / f"{name}.svg").write_text(adaptive(picture), "utf-8")
        print(picture.alt)
