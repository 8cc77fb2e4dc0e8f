"""The table of contents: what stands where on the site. A page that is missing in docs/ is left out."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from thalweg.registry import LEARNERS

START = {
    "Five minutes": "start.md",
    "Guide": "guide.md",
    "Which learner?": "which-learner.md",
    "Reading a result": "reading-results.md",
    "Coming from river, MOA, scikit-learn": "coming-from.md",
    "Glossary": "glossary.md",
}
TUTORIALS = {
    "Churn: finding a rare class": "tutorials/churn.md",
    "A sensor that drifts": "tutorials/sensor.md",
    "Labels that cost money": "tutorials/labels.md",
    "Comparing learners for a paper": "tutorials/comparing.md",
    "Gallery": "gallery.md",
}
"""What is learned by doing; the first four are notebooks."""
GUIDES = {
    "Your own data": "own-data.md",
    "Rare classes": "rare-classes.md",
    "Preprocessing": "preprocessing.md",
    "Labels on a budget": "budget.md",
    "Delayed labels": "delay.md",
    "Tensors and images": "tensors.md",
    "Saving a model": "saving.md",
    "Guarantees": "guarantees.md",
    "Serving a model": "serving.md",
    "A service": "service.md",
    "The desk": "desk.md",
    "Live streams: a tutorial": "live.md",
    "Brokers and queries": "brokers.md",
    "Operating a service": "operating.md",
    "What a service guarantees": "service-guarantees.md",
    "Comparing learners": "compare.md",
    "Writing a learner": "own-learner.md",
    "Data sets": "data.md",
    "All data sets": "data-sets.md",
}
FAMILY_PAGES = {
    "Trees": "trees.md",
    "Forests": "forests.md",
    "Deep learners": "deep.md",
    "Neighbours": "neighbours.md",
    "Compressed": "neighbours.md",
    "Chunks": "serving.md",
    "Balls": "balls.md",
    "Tensors": "tensors.md",
    "Images": "subspaces.md",
    "Baselines": "",
}
"""Families of learners, in the order of the navigation, and the page about all of them."""
FAMILIES = {family: (page, tuple(LEARNERS.of(family))) for family, page in FAMILY_PAGES.items()}
"""Families with the names of their learners, what to try first first: as the registry has them."""
RESULTS = {
    "The papers' tables": "results.md",
    "Performance": "performance.md",
    "How it is measured": "benchmarks.md",
    "Measurements": "measurements",
}
WIDE = ("performance.md", "results.md", "data-sets.md")
"""Pages of wide tables, as those in measurements/: they have the room of the table of contents as well."""
PROJECT = {
    "How it is built": "architecture.md",
    "Design decisions": "decisions",
    "Contributing": "contributing.md",
    "Changes": "changelog.md",
}
PAPERS = ("sdf", "csknn", "abacoc", "ckdt", "etree")
OUTSIDE = {
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "benchmarks.md": "benchmarks/README.md",
    "experiments/index.md": "experiments/README.md",
    **{f"experiments/{paper}.md": f"experiments/{paper}/README.md" for paper in PAPERS},
    **{f"experiments/{paper}-report.md": f"experiments/{paper}/results/report.md" for paper in PAPERS},
}
"""Pages of the site that lie elsewhere in the repository."""


def family_of(learner: str) -> str:
    """The family that a learner belongs to."""
    return LEARNERS[learner].family


def navigation(docs: Path, reference: list[dict[str, str]], outside: Collection[str]) -> list[dict[str, Any]]:
    """What mkdocs calls nav. Whatever lies in docs/ and is named nowhere above comes last, under "More"."""
    shown = set()
    outside = {*outside, *(f"tutorials/{path.stem}.md" for path in (docs / "tutorials").glob("*.ipynb"))}

    def there(pages: dict[str, str]) -> Iterator[dict[str, Any]]:
        for title, page in pages.items():
            if (docs / page).is_dir():
                yield {title: [f"{page}/{path.name}" for path in sorted((docs / page).glob("*.md"))]}
            elif ((docs / page).exists() or page in outside) and page not in shown:
                shown.add(page)
                yield {title: page}

    def families() -> Iterator[dict[str, Any]]:
        for family, (page, names) in FAMILIES.items():
            about = list(there({"Overview": page})) if page and page not in GUIDES.values() else []
            yield {family: [*about, *({name: f"learners/{name}.md"} for name in names if name in LEARNERS)]}

    sections = {
        "Start": [{"Home": "index.md"}, *there(START)],
        "Tutorials": list(there(TUTORIALS)),
        "Guides": list(there(GUIDES)),
        "Learners": ["learners/index.md", *families()],
        "Results": [
            *there(RESULTS),
            {"Experiments": [page for page in OUTSIDE if page in outside and "experiments/" in page]},
        ],
        "Reference": ["reference/index.md", *reference],
    }
    project = list(there(PROJECT))
    more = [path.name for path in sorted(docs.glob("*.md")) if path.name not in {*shown, "index.md"}]
    sections["Project"] = [*project, *more]
    return [{title: pages} for title, pages in sections.items() if pages]
