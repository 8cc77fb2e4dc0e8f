"""AGRAWAL's ten functions in plain Python, written from the table of the paper: is an applicant in group A?"""

from typing import NamedTuple


class Person(NamedTuple):
    """One applicant."""

    salary: float
    commission: float
    age: float
    elevel: float
    car: float
    zipcode: float
    hvalue: float
    hyears: float
    loan: float


def group_a(function: int, p: Person) -> bool:
    """Say whether this function puts a person in group A (class 0)."""
    third = 0 if p.age < 40 else 1 if p.age < 60 else 2
    level = int(p.elevel)
    bands = [(50_000, 100_000), (75_000, 125_000), (25_000, 75_000)]
    levels = [{0, 1}, {1, 2, 3}, {2, 3, 4}]
    total = p.salary + p.commission

    def inside(v: float, band: tuple[float, float]) -> bool:
        return band[0] <= v <= band[1]

    if function == 1:
        return third != 1
    if function == 2:
        return inside(p.salary, bands[third])
    if function == 3:
        return level in levels[third]
    if function == 4:
        usual = [(25_000, 75_000), (50_000, 100_000), (50_000, 100_000)][third]
        other = [(50_000, 100_000), (75_000, 125_000), (25_000, 75_000)][third]
        return inside(p.salary, usual if level in levels[third] else other)
    if function == 5:
        usual = [(100_000, 300_000), (200_000, 400_000), (300_000, 500_000)][third]
        other = [(200_000, 400_000), (300_000, 500_000), (100_000, 300_000)][third]
        return inside(p.loan, usual if inside(p.salary, bands[third]) else other)
    if function == 6:
        return inside(total, bands[third])
    equity = p.hvalue * (p.hyears - 20) / 10 if p.hyears >= 20 else 0
    rest = 2 * total / 3
    if function == 7:
        rest += -p.loan / 5 - 20_000
    elif function == 8:
        rest += -5000 * level - 20_000
    elif function == 9:
        rest += -5000 * level - p.loan / 5 - 10_000
    else:
        rest += -5000 * level + equity / 5 - 10_000
    return rest > 0
