"""Which labels to ask for, row by row, on one float64 row per strategy (Luong et al. 2020; Žliobaitė et al. 2014).

``Asked.table``, one row per strategy:

| column | name        | meaning                                                                             |
| 0      | S_ROWS      | rows seen                                                                           |
| 1      | S_SEEN      | k: of them, those that count for the budget: all after the warm-up                  |
| 2      | S_SPENT     | c: labels charged to the budget                                                     |
| 3      | S_ASKED     | labels asked for, charged or not                                                    |
| 4      | S_UNCERTAIN | of them, those asked for because the learner was uncertain                          |
| 5      | S_THETA     | θ: a label is asked for where the certainty is below                                |
| 6      | S_RECENT    | û: labels charged in the last rows, older ones fading (only where there is a window) |

Each row draws the same numbers, used or not.

rules: R_BUDGET, B; R_WARMUP, labels asked for before anything is counted; R_WINDOW, w, 0 for none; R_STEP, s, by which
θ moves; R_SPREAD, the deviation of the noise on θ; R_DIVIDE, 1 where the certainty is divided by the noise, as in MOA;
R_EASE, b of selective sampling; R_SHARE, ν, rows that chance decides on; R_CHANCE, probability of asking although
certain; R_PULL, κ, by which that probability rises with the labels left; R_FREE, 1 where such labels are not charged.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import EXACT, span, table
from thalweg.jit.compile import compiled, inlined
from thalweg.jit.random import Seeds, normal, uniform

Floats = NDArray[np.float64]

S_ROWS, S_SEEN, S_SPENT, S_ASKED, S_UNCERTAIN, S_THETA, S_RECENT, S_COLUMNS = range(8)
R_BUDGET, R_WARMUP, R_WINDOW, R_STEP, R_SPREAD, R_DIVIDE, R_EASE, R_SHARE, R_CHANCE, R_PULL, R_FREE, R_CELLS = range(12)

LEAST_THETA = 1e-100


class Asked(NamedTuple):
    """The state of one strategy."""

    table: Annotated[Floats, table(1, S_COLUMNS, least=0, cells={range(S_THETA): span(0, EXACT, whole=True)})]
    """1 × S_COLUMNS: see above."""
    random: Annotated[Seeds, table(1)]
    """1: its generator."""


class Asking(NamedTuple):
    """A strategy as compiled code takes it, to decide in the midst of a learner's rows."""

    kind: int
    table: Floats
    rules: Floats
    random: Seeds


# kinds
RANDOM, FIXED, VARIABLE, RANDOMISED, SELECTIVE, SPLIT, AVU = range(7)

# why a label is asked for
NO, BY_UNCERTAINTY, BY_CHANCE, BY_SELECTION, BY_WARMUP = range(5)


@inlined
def certainty(proba: Floats, e: int, known: int) -> float:
    """Give u, the share of the most probable class; -1 where there is nothing to be certain about."""
    top = 0.0
    total = 0.0
    for c in range(known):
        v = proba[e, c]
        total += v
        if v > top:
            top = v
    return top / total if known > 1 and total > 0.0 else -1.0


@inlined
def is_open(spent: float, seen: float, recent: float, rules: Floats) -> bool:
    """Does the budget allow one more label? Never more than B · k + 1 are charged, since c / k < B before each."""
    budget = rules[R_BUDGET]
    if not spent / seen < budget:  # a quotient ≥ B is never rounded below B
        return False
    w = rules[R_WINDOW]
    return bool(w == 0.0 or budget == 1.0 or recent / w < budget)


@inlined
def move(table: Floats, i: int, s: float, asks: bool) -> None:
    """Lower θ after a label, raise it after a row without; far below any certainty it stays, and never becomes 0.

    θ ← θ (1 - s) or θ (1 + s): the variable uncertainty of Žliobaitė et al., and the threshold of AVU (Luong et al.,
    Algorithm 1).
    """
    table[i, S_THETA] = max(table[i, S_THETA] * (1.0 - s if asks else 1.0 + s), LEAST_THETA)


@inlined
def chance(rules: Floats, seen: float, spent: float) -> float:
    """Give the probability with which AVU asks about a row that the learner is certain of."""
    p: float = rules[R_CHANCE]
    if rules[R_PULL] > 0.0:
        p += rules[R_PULL] * (rules[R_BUDGET] * seen - spent)
    return p


@inlined
def choose(
    kind: int, table: Floats, i: int, rules: Floats, u: float, known: int, rho: float, rho2: float, eta: float
) -> int:
    """Say why the label of a row is wanted, if it is; the budget allows it."""
    if kind == RANDOM or (kind == SPLIT and rho2 < rules[R_SHARE]):
        return BY_CHANCE if rho < rules[R_BUDGET] else NO
    if u < 0.0:
        return BY_UNCERTAINTY
    if kind == FIXED:
        return BY_UNCERTAINTY if u < table[i, S_THETA] else NO
    if kind == SELECTIVE:  # with probability b / (b + |u - 1 / C|)
        b = rules[R_EASE]
        return BY_SELECTION if rho * (b + abs(u - 1.0 / known)) < b else NO
    if kind == RANDOMISED:
        asks = u < table[i, S_THETA] * eta or (rules[R_DIVIDE] == 1.0 and eta < 0.0)
    else:
        asks = u < table[i, S_THETA]
    move(table, i, rules[R_STEP], asks)
    if asks:
        return BY_UNCERTAINTY
    if kind == AVU:
        if rho < chance(rules, table[i, S_SEEN], table[i, S_SPENT]):
            return BY_CHANCE
    return NO


@inlined
def step(kind: int, table: Floats, i: int, rules: Floats, random: Seeds, proba: Floats, e: int, known: int) -> int:
    """Take row e of the probabilities, of ``known`` classes; say why its label is wanted, 0 where it is not."""
    rho = uniform(random, i)
    rho2 = uniform(random, i) if kind == SPLIT else 0.0
    eta = 1.0 + rules[R_SPREAD] * normal(random, i) if kind == RANDOMISED else 1.0
    table[i, S_ROWS] += 1.0
    if table[i, S_ASKED] < rules[R_WARMUP]:
        table[i, S_ASKED] += 1.0
        return BY_WARMUP
    table[i, S_SEEN] += 1.0
    why = NO
    if is_open(table[i, S_SPENT], table[i, S_SEEN], table[i, S_RECENT], rules):
        why = choose(kind, table, i, rules, certainty(proba, e, known), known, rho, rho2, eta)
    charged = 0.0 if why == NO or (why == BY_CHANCE and rules[R_FREE] == 1.0) else 1.0
    table[i, S_SPENT] += charged
    if why != NO:
        table[i, S_ASKED] += 1.0
    if why == BY_UNCERTAINTY:
        table[i, S_UNCERTAIN] += 1.0
    w = rules[R_WINDOW]
    if w > 0.0:
        table[i, S_RECENT] = table[i, S_RECENT] * ((w - 1.0) / w) + charged
    return why


@inlined
def foresee(kind: int, table: Floats, i: int, rules: Floats, random: Seeds, most: int, wanted: NDArray[np.int8]) -> int:
    """Say of the rows to come whether their labels will be wanted, up to the first whose probabilities matter.

    Gives how many there are, at most ``most``. Nothing changes: ``step`` will decide the same.
    """
    state = random[i]
    asked, seen, spent, recent = table[i, S_ASKED], table[i, S_SEEN], table[i, S_SPENT], table[i, S_RECENT]
    w, free = rules[R_WINDOW], rules[R_FREE] == 1.0
    found = 0
    while found < most and kind != RANDOMISED:
        rho = uniform(random, i)
        rho2 = uniform(random, i) if kind == SPLIT else 0.0
        if asked < rules[R_WARMUP]:
            asked += 1.0
            wanted[found] = 1
            found += 1
            continue
        seen += 1.0
        fate, charged = -1, 0.0
        if not is_open(spent, seen, recent, rules):
            fate = 0
        elif kind == RANDOM or (kind == SPLIT and rho2 < rules[R_SHARE]):
            fate = 1 if rho < rules[R_BUDGET] else 0
            charged = 0.0 if free else float(fate)
        elif kind == AVU and not free and rho < chance(rules, seen, spent):  # wanted, for one reason or another
            fate, charged = 1, 1.0
        if fate < 0:
            break
        asked += fate
        spent += charged
        if w > 0.0:
            recent = recent * ((w - 1.0) / w) + charged
        wanted[found] = fate
        found += 1
    random[i] = state
    return found


@compiled
def ask_many(
    kind: int, table: Floats, i: int, rules: Floats, random: Seeds, proba: Floats, known: int, why: NDArray[np.int8]
) -> None:
    """Take rows in order; write for each why its label is wanted."""
    for e in range(len(proba)):
        why[e] = step(kind, table, i, rules, random, proba, e, known)


@compiled
def ask_one(kind: int, table: Floats, i: int, rules: Floats, random: Seeds, proba: Floats, e: int, known: int) -> int:
    """Take one row; say why its label is wanted."""
    why: int = step(kind, table, i, rules, random, proba, e, known)
    return why


@compiled
def first_unfit(proba: Floats) -> int:
    """Find the first cell that is no probability: negative, infinite or missing; -1 if there is none."""
    n, classes = proba.shape
    for e in range(n):
        for c in range(classes):
            if not 0.0 <= proba[e, c] <= 1e100:
                return int(e * classes + c)
    return -1
