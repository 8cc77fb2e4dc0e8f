"""AGRAWAL, row by row.

| table  | shape | dtype  | meaning                                    |
| random | 1 / 3 | uint64 | random state, see draw_jit                 |
| wanted | 1     | int64  | the class that comes next, where balanced  |
"""

import math

from thalweg.jit.compile import compiled, inlined
from thalweg.streams.draw_jit import Floats, Ints, Seeds, integer, uniform


@inlined
def _within(v: float, low: float) -> bool:
    """Does v lie in the band of 50,000 (salary) that starts at low?"""
    return low <= v <= low + 50000.0


@inlined
def _lent(v: float, low: float) -> bool:
    """Does v lie in the band of 200,000 (loan) that starts at low?"""
    return low <= v <= low + 200000.0


@inlined
def _by_age(age: float, v: float) -> bool:
    """Is v in the band of this age: 50–100, 75–125, 25–75 thousand?"""
    return _within(v, 50000.0 if age < 40.0 else 75000.0 if age < 60.0 else 25000.0)


@inlined
def _by_level(age: float, level: float) -> bool:
    """Is the education level one of this age's?"""
    return level <= 1.0 if age < 40.0 else 1.0 <= level <= 3.0 if age < 60.0 else level >= 2.0


@inlined
def _at_age(age: float, young: float, middle: float, old: float) -> float:
    """Choose by age."""
    return young if age < 40.0 else middle if age < 60.0 else old


@inlined
def _banded_salary(age: float, level: float, salary: float) -> bool:
    """Is the salary in the band of this age and education (function 4)?"""
    if _by_level(age, level):
        return _within(salary, _at_age(age, 25000.0, 50000.0, 50000.0))
    return _within(salary, _at_age(age, 50000.0, 75000.0, 25000.0))


@inlined
def _banded_loan(age: float, salary: float, loan: float) -> bool:
    """Is the loan in the band of this age and salary (function 5)?"""
    if _by_age(age, salary):
        return _lent(loan, _at_age(age, 100000.0, 200000.0, 300000.0))
    return _lent(loan, _at_age(age, 200000.0, 300000.0, 100000.0))


@inlined
def _equity(hvalue: float, hyears: float) -> float:
    """What a house owned for twenty years or more is worth."""
    return hvalue * (hyears - 20.0) / 10.0 if hyears >= 20.0 else 0.0


@inlined
def _group_a(function: int, x: Floats) -> bool:
    """Does an applicant belong to group A (class 0)? The ten functions of Agrawal, Imielinski, Swami 1993."""
    salary: float = x[0]
    income: float = salary + x[1]
    age: float = x[2]
    level: float = x[3]
    loan: float = x[8]
    if function == 1:
        return age < 40.0 or age >= 60.0
    if function == 2:
        return _by_age(age, salary)
    if function == 3:
        return _by_level(age, level)
    if function == 4:
        return _banded_salary(age, level, salary)
    if function == 5:
        return _banded_loan(age, salary, loan)
    if function == 6:
        return _by_age(age, income)
    if function == 7:
        return 2.0 * income / 3.0 - loan / 5.0 - 20000.0 > 0.0
    if function == 8:
        return 2.0 * income / 3.0 - 5000.0 * level - 20000.0 > 0.0
    if function == 9:
        return 2.0 * income / 3.0 - 5000.0 * level - loan / 5.0 - 10000.0 > 0.0
    return 2.0 * income / 3.0 - 5000.0 * level + _equity(x[6], x[7]) / 5.0 - 10000.0 > 0.0


@inlined
def _draw(s: Seeds, java: bool, x: Floats) -> None:
    """Draw an applicant: salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan."""
    x[0] = 20000.0 + 130000.0 * uniform(s, java)
    x[1] = 0.0
    if x[0] < 75000.0:
        x[1] = 10000.0 + 65000.0 * uniform(s, java)
    x[2] = 20.0 + integer(s, java, 61)
    x[3] = float(integer(s, java, 5))
    x[4] = float(integer(s, java, 20))
    x[5] = float(integer(s, java, 9))
    x[6] = (9.0 - x[5]) * 100000.0 * (0.5 + uniform(s, java))
    x[7] = 1.0 + integer(s, java, 30)
    x[8] = uniform(s, java) * 500000.0


@inlined
def _shaken(s: Seeds, java: bool, v: float, width: float, share: float, low: float, high: float) -> float:
    """Move v by up to this share of the width, and keep it inside its bounds."""
    v += width * (2.0 * (uniform(s, java) - 0.5)) * share
    return min(max(v, low), high)


@inlined
def _perturb(s: Seeds, java: bool, share: float, dearest: float, x: Floats) -> None:
    """Perturb the numeric values, after the label has been given."""
    x[0] = _shaken(s, java, x[0], 130000.0, share, 20000.0, 150000.0)
    if x[1] > 0.0:
        x[1] = _shaken(s, java, x[1], 65000.0, share, 10000.0, 75000.0)
    x[2] = math.floor(_shaken(s, java, x[2], 60.0, share, 20.0, 80.0) + 0.5)
    x[6] = _shaken(s, java, x[6], (9.0 - x[5]) * 100000.0, share, 0.0, dearest)
    x[7] = math.floor(_shaken(s, java, x[7], 29.0, share, 1.0, 30.0) + 0.5)
    x[8] = _shaken(s, java, x[8], 500000.0, share, 0.0, 500000.0)


@compiled
def fill(
    random: Seeds,
    wanted: Ints,
    function: int,
    perturbation: float,
    dearest: float,
    balance: bool,
    java: bool,
    X: Floats,
    y: Ints,
) -> None:
    """Write the next rows and their labels; ``dearest``: the highest value a perturbed house may have."""
    for r in range(len(y)):
        x = X[r]
        found = False
        label = 0
        while not found:
            _draw(random, java, x)
            label = 0 if _group_a(function, x) else 1
            found = not balance or label == wanted[0]
        wanted[0] = 1 - wanted[0]
        if perturbation > 0.0:
            _perturb(random, java, perturbation, dearest, x)
        y[r] = label
