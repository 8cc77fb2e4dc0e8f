"""Learners ranked over several streams, with the tests that say which differences mean something."""

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike

from thalweg.comparison import significance
from thalweg.comparison.significance import Floats, Friedman, Interval, Pair
from thalweg.core import params
from thalweg.show.tables import Table, Tabled

Procedure = Literal["nemenyi", "shaffer", "holm"]
PROCEDURES: tuple[Procedure, ...] = ("nemenyi", "shaffer", "holm")
NO_DIFFERENCE = "The learners as a whole do not differ: none of these may be called different."


@final
class Ranking(Tabled):
    """A table of scores, a row for each stream and a column for each learner, and what can be concluded from it.

    Parameters
    ----------
    learners : Sequence[str]
        Their names.
    scores : ArrayLike
        Several seeds of one stream belong into one row, as their mean: seeds are no streams; NaN: the run is missing,
        and counts as the worst of its stream.
    higher_is_better : bool
        False where scores are losses.
    alpha : float
        How often a difference may be called one by mistake.
    control : str | None
        A learner, chosen before the scores were seen, that all others are compared with, and only with it: fewer
        questions, so smaller differences are significant.

    Examples
    --------
    >>> ranking = Ranking(["tree", "forest"], [[0.7, 0.8], [0.6, 0.9], [0.5, 0.7]])
    >>> ranking.ranks.tolist(), ranking.order
    ([2.0, 1.0], [1, 0])
    >>> ranking.pairs("shaffer")[0, 1] == ranking.pairs("holm")[0, 1]
    True
    >>> Ranking(["tree", "forest"], [[0.7, 0.8], [0.6, 0.9], [0.5, 0.7]], control="tree").against_control()
    {'forest': 0.083...}
    """

    def __init__(
        self,
        learners: Sequence[str],
        scores: ArrayLike,
        *,
        higher_is_better: bool = True,
        alpha: float = 0.05,
        control: str | None = None,
    ) -> None:
        self.learners = list(learners)
        self.scores = significance.check_scores(scores)
        if self.scores.shape[1] != len(self.learners):
            raise ValueError(
                f"scores must have a column for each of the {len(self.learners)} learners, got {self.scores.shape[1]}"
            )
        params.number("alpha", alpha, above=0.0, below=1.0)
        if control is not None and control not in self.learners:
            raise ValueError(f"control must be one of {', '.join(self.learners)}, got {params.shown(control)}")
        self.higher_is_better = higher_is_better
        self.alpha = float(alpha)
        self.control = control
        self._pairs: dict[Procedure, dict[Pair, float]] = {}

    @property
    def streams(self) -> int:
        """How many streams there are."""
        return len(self.scores)

    @cached_property
    def ranks(self) -> Floats:
        """The mean rank of each learner; 1 is the best."""
        return significance.average_ranks(self.scores, higher_is_better=self.higher_is_better)

    @cached_property
    def order(self) -> list[int]:
        """The learners from the best to the worst, by their mean rank."""
        return [int(i) for i in np.argsort(self.ranks, kind="stable")]

    @cached_property
    def friedman(self) -> Friedman:
        """Whether the learners differ at all."""
        return significance.friedman(self.scores, higher_is_better=self.higher_is_better)

    @property
    def differ(self) -> bool:
        """Does the test of Iman and Davenport say that the learners differ? If not, pairs must not be looked at."""
        return self.friedman.f_p < self.alpha

    @cached_property
    def critical_difference(self) -> float:
        """The least difference of two mean ranks that Nemenyi's test calls significant."""
        return significance.critical_difference(len(self.learners), self.streams, self.alpha)

    @cached_property
    def control_difference(self) -> float:
        """The least difference to the control's mean rank that the test of Bonferroni and Dunn calls significant."""
        return significance.control_difference(len(self.learners), self.streams, self.alpha)

    def against_control(self) -> dict[str, float]:
        """Give the p-value of each learner against the control (Bonferroni–Dunn), adjusted for their number."""
        if self.control is None:
            raise ValueError("control must name a learner to compare the others with, got None")
        place = self.learners.index(self.control)
        found = significance.bonferroni_dunn(self.ranks, self.streams, place)
        return {self.learners[i]: p for i, p in found.items()}

    def pairs(self, procedure: Procedure = "shaffer") -> dict[Pair, float]:
        """Give the p-value of each pair of learners, adjusted for their number."""
        params.choice("procedure", procedure, PROCEDURES)
        if procedure not in self._pairs:
            self._pairs[procedure] = getattr(significance, procedure)(self.ranks, self.streams)
        return self._pairs[procedure]

    @property
    def reference(self) -> int:
        """The learner that differences are given to: the control, or else the best."""
        return self.order[0] if self.control is None else self.learners.index(self.control)

    def groups(self, procedure: Procedure = "nemenyi") -> list[tuple[int, ...]]:
        """Find the runs of learners, best first, that the test does not tell apart; none where they do not differ."""
        if not self.differ:
            return []
        if procedure == "nemenyi":
            return significance.groups(self.ranks, self.critical_difference)
        same = {pair for pair, p in self.pairs(procedure).items() if p >= self.alpha}
        return significance.groups(self.ranks, same)

    def wilcoxon(self) -> dict[Pair, float]:
        """Give the p-value of each pair by the signed-rank test, not adjusted: for one pair chosen beforehand."""
        n = len(self.learners)
        return {
            (i, j): significance.wilcoxon(self.scores[:, i], self.scores[:, j]) for i, j in combinations(range(n), 2)
        }

    def interval(self, i: int, j: int | None = None) -> Interval:
        """Bootstrap the mean score of a learner over the streams, or of how far learner i is above learner j."""
        return significance.bootstrap(self.scores[:, i] if j is None else self.scores[:, i] - self.scores[:, j])

    # -- ways to look at it -------------------------------------------------------------------------------------------

    def verdict(self) -> str:
        """Say in a sentence what the tests found."""
        f = self.friedman
        said = f"Iman–Davenport F = {f.f:.2f}, p {_against(f.f_p)}; Friedman χ² = {f.chi2:.2f}, p {_against(f.p)}"
        if len(self.learners) == 2:
            said += f"; Wilcoxon p {_against(self.wilcoxon()[0, 1])}, for two learners the sharper test"
        if not self.differ:
            return f"The learners do not differ significantly over these {self.streams} streams ({said})."
        if self.control is None:
            cd = f"two mean ranks differ significantly when they are {self.critical_difference:.2f} apart (Nemenyi)"
        else:
            cd = f"compared with {self.words_about_control()}"
        return f"The learners differ over these {self.streams} streams ({said}); {cd}."

    def words_about_control(self) -> str:
        """Say which learners are better or worse than the control."""
        mine = self.ranks[self.reference]
        sorts: dict[str, list[str]] = {"better": [], "worse": [], "not significantly different": []}
        p = self.against_control()
        for i in self.order:
            name = self.learners[i]
            if name != self.control:
                sort = (
                    "not significantly different"
                    if p[name] >= self.alpha
                    else "better"
                    if self.ranks[i] < mine
                    else "worse"
                )
                sorts[sort].append(name)
        told = (
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {sort}" for sort, names in sorts.items() if names
        )
        return f"{self.control}: {'; '.join(told)} (Bonferroni–Dunn, {self.control_difference:.2f} ranks)"

    def table(self) -> Table:
        """Tabulate mean ranks, mean scores and their gaps to the best or the control, with 95 % intervals."""
        rows = []
        for i in self.order:
            own, gap = self.interval(i), self.interval(i, self.reference)
            apart = ("", "") if i == self.reference else (f"{gap.mean:+.4f}", f"{gap.low:+.3f} … {gap.high:+.3f}")
            spread = f"{own.low:.3f} … {own.high:.3f}"
            rows.append((self.learners[i], f"{self.ranks[i]:.2f}", f"{own.mean:.4f}", spread, *apart))
        head = ("learner", "rank", "mean", "95 % of mean", "gap", "95 % of gap")
        title = f"Average ranks, and the gap of the means to {self.learners[self.reference]}"
        return Table(head, rows, title=title, notes=[self.verdict()])

    def control_table(self) -> Table:
        """Tabulate all learners against the control: Bonferroni–Dunn, and Wilcoxon unadjusted."""
        p, unadjusted, mine = self.against_control(), self.wilcoxon(), self.reference
        rows = [
            (
                self.learners[i],
                f"{self.ranks[i] - self.ranks[mine]:+.2f}",
                p_text(p[self.learners[i]]),
                p_text(unadjusted[min(i, mine), max(i, mine)]),
            )
            for i in self.order
            if i != mine
        ]
        notes = [
            f"Ranks apart: plus is worse than {self.control}, minus is better, {self.control_difference:.2f} is "
            "significant. Bonferroni–Dunn is adjusted for the number of learners, Wilcoxon is not."
        ]
        if not self.differ:
            notes.insert(0, NO_DIFFERENCE)
        head = ("learner", "ranks apart", "Bonferroni–Dunn p", "Wilcoxon p")
        return Table(head, rows, title=f"Against {self.control}", notes=notes)

    def pairs_table(self) -> Table:
        """Tabulate the p-values of all pairs: Nemenyi, Shaffer, Holm, and Wilcoxon unadjusted."""
        columns: list[dict[Pair, float]] = [*(self.pairs(p) for p in PROCEDURES), self.wilcoxon()]
        order = sorted(columns[1], key=lambda pair: (columns[1][pair], -abs(self.ranks[pair[0]] - self.ranks[pair[1]])))
        rows = [
            (
                " – ".join(self.learners[i] for i in sorted(pair, key=lambda i: self.ranks[i])),
                f"{abs(self.ranks[pair[0]] - self.ranks[pair[1]]):.2f}",
                *(p_text(column[pair]) for column in columns),
            )
            for pair in order
        ]
        notes = ["Better one first. Nemenyi, Shaffer and Holm are adjusted for the number of pairs, Wilcoxon is not."]
        if not self.differ:
            notes.insert(0, NO_DIFFERENCE)
        head = ("pair", "ranks apart", "Nemenyi p", "Shaffer p", "Holm p", "Wilcoxon p")
        return Table(head, rows, title="All pairs", notes=notes)

    def plot(self, path: Any = None, **options: Any) -> Any:
        """Draw the critical-difference diagram; see ``plots.rank_diagram`` for the options."""
        from thalweg.show.plots import rank_diagram

        return rank_diagram(self, path, **options)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values, for JSON."""
        return {
            "learners": self.learners,
            "streams": self.streams,
            "ranks": self.ranks.tolist(),
            "friedman": self.friedman._asdict(),
            "alpha": self.alpha,
            "critical_difference": self.critical_difference,
            **({} if self.control is None else self._control_dict()),
            "groups": [[self.learners[i] for i in group] for group in self.groups()],
            "pairs": [
                {
                    "pair": [self.learners[i] for i in pair],
                    **{p: self.pairs(p)[pair] for p in PROCEDURES},
                    "wilcoxon": w,
                }
                for pair, w in self.wilcoxon().items()
            ],
        }

    def _control_dict(self) -> dict[str, Any]:
        against = {"control_difference": self.control_difference, "bonferroni_dunn": self.against_control()}
        return {"control": self.control, **against}


def p_text(p: float) -> str:
    """Write a p-value.

    >>> p_text(0.0423), p_text(0.00002), p_text(1.0)
    ('0.0423', '< 0.0001', '1.0000')
    """
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def _against(p: float) -> str:
    return p_text(p) if p < 1e-4 else f"= {p_text(p)}"
