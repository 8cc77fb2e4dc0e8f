"""Whether what a paper says about a table is so in ours."""

import math
from dataclasses import dataclass
from typing import final

from thalweg.papers.beside import Beside
from thalweg.papers.plan import Claim


@final
@dataclass(frozen=True)
class Verdict:
    """What became of a claim."""

    claim: Claim
    holds: bool | None
    """None: nothing was run that could tell."""
    why: str

    @property
    def word(self) -> str:
        """In a word."""
        return "not tested" if self.holds is None else "holds" if self.holds else "does not hold"


def judge(claim: Claim, both: Beside) -> Verdict:
    """Compare means over the rows that were run, and count the rows.

    >>> from thalweg.papers.plan import read_plan
    >>> plan = read_plan("sdf")
    >>> both = Beside(plan.tables[0], ("HYPER",), {("HYPER", "ODL"): 92.0, ("HYPER", "SDF"): 90.0}, {})
    >>> claim = Claim(says="a network is better where a plane turns", table="accuracy", better="ODL", than=("SDF",))
    >>> judge(claim, both).holds, judge(claim, both).why
    (True, 'ODL 92.00, SDF 90.00; on 1 of 1 streams')
    """
    names = (claim.better, *claim.than)
    rows = [
        row
        for row in both.rows
        if row in (claim.on or both.rows) and not any(math.isnan(both.ours.get((row, x), math.nan)) for x in names)
    ]
    if not rows:
        return Verdict(claim, None, "none of its streams was run")
    sign = -1.0 if both.plan.lower_is_better else 1.0

    def ahead(mine: float, other: float) -> bool:
        gap = sign * (mine - other)
        return abs(gap) <= claim.within if claim.same else gap >= -claim.within and (claim.within > 0 or gap > 0)

    means = {x: both.mean(both.ours, x, rows) for x in names}
    wins = sum(all(ahead(both.ours[row, claim.better], both.ours[row, x]) for x in claim.than) for row in rows)
    holds = all(ahead(means[claim.better], means[x]) for x in claim.than)
    told = ", ".join(f"{x} {both.text(mean)}" for x, mean in means.items())
    return Verdict(claim, holds, f"{told}; on {wins} of {len(rows)} streams")
