"""The table of contents: what stands where on the site. A page that is missing in docs/ is left out."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from thalweg.registry import LEARNERS

START = {
    "Five minutes": "start.md",
    "Guide": "guide.md",
    "Coming from river, MOA, scikit-learn": "coming-from.md",
    "Glossary": "glossary.md",
}
GUIDES = {
    "Your own data": "own-data.md",
    "Labels on a budget": "budget.md",
    "Delayed labels": "delay.md",
    "Tensors and images": "tensors.md",
    "Saving a model": "saving.md",
    "Serving a model": "serving.md",
    "Comparing learners": "compare.md",
    "Writing a learner": "own-learner.md",
    "Data sets": "data.md",
}
FAMILIES = {
    "Trees": ("trees.md", ("hoeffding-tree", "hoeffding-adaptive-tree", "efdt", "mcdiarmid-tree")),
    "Forests": (
        "forests.md",
        ("arf", "srp", "leveraging-bagging", "online-bagging", "adwin-bagging", "smooth-boost"),
    ),
    "Deep learners": ("deep.md", ("sdf", "odl")),
    "Neighbours": ("neighbours.md", ("knn", "sam-knn")),
    "Compressed": (
        "neighbours.md",
        ("csb-knn", "cs-knn", "cs-sam-knn", "cs-knn-lb", "hashed-knn", "pca-knn", "cs-arf", "cs-hoeffding-lb"),
    ),
    "Chunks": ("serving.md", ("chunk-ensemble", "le-tree", "ge-tree", "l-ensemble", "g-ensemble")),
    "Balls": ("balls.md", ("ball-cover-plus", "ball-cover", "condensed-knn", "kernel-perceptron")),
    "Tensors": ("tensors.md", ("ckdt", "ckdt-forest", "mddt", "opor", "lrtcr", "lrtd")),
    "Images": ("subspaces.md", ("subspace-tree", "subspace-forest")),
    "Baselines": ("", ("naive-bayes", "majority", "no-change")),
}
"""Families of learners: the page about all of them, and their names, what to try first first."""
RESULTS = {
    "The papers' tables": "results.md",
    "Performance": "performance.md",
    "How it is measured": "benchmarks.md",
}
PROJECT = {"How it was decided": "decisions", "Contributing": "contributing.md", "Changes": "changelog.md"}
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
    return next(family for family, (_, names) in FAMILIES.items() if learner in names)


def navigation(docs: Path, reference: list[dict[str, str]], outside: Collection[str]) -> list[dict[str, Any]]:
    """What mkdocs calls nav. Whatever lies in docs/ and is named nowhere above comes last, under "More"."""
    shown = set()

    def there(pages: dict[str, str]) -> Iterator[dict[str, Any]]:
        for title, page in pages.items():
            if (docs / page).is_dir():
                yield {title: [f"{page}/{path.name}" for path in sorted((docs / page).glob("*.md"))]}
            elif ((docs / page).exists() or page in outside) and page not in shown:
                shown.add(page)
                yield {title: page}

    def families() -> Iterator[dict[str, Any]]:
        for family, (page, names) in FAMILIES.items():
            about = list(there({"All of them": page})) if page and page not in GUIDES.values() else []
            yield {family: [*about, *({name: f"learners/{name}.md"} for name in names if name in LEARNERS)]}

    sections = {
        "Start": [{"thalweg": "index.md"}, *there(START)],
        "Guides": list(there(GUIDES)),
        "Learners": ["learners/index.md", *families()],
        "Results": [*there(RESULTS), {"Experiments": [page for page in outside if page.startswith("experiments/")]}],
        "Reference": ["reference/index.md", *reference],
    }
    project = list(there(PROJECT))
    more = [path.name for path in sorted(docs.glob("*.md")) if path.name not in {*shown, "index.md"}]
    sections["Project"] = [*project, *more]
    return [{title: pages} for title, pages in sections.items() if pages]
