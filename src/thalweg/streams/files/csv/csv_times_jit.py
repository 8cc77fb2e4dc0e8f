"""Dates and times of day, as seconds since 1970."""

import numpy as np

from thalweg.jit.compile import called
from thalweg.streams.files.csv.csv_cells_jit import peek1


@called
def _two(i: int) -> int:
    a, b = peek1(i) - 48, peek1(i + 1) - 48
    return 10 * a + b if 0 <= a <= 9 and 0 <= b <= 9 else -1


@called
def stamp(i: int, end: int) -> tuple[float, bool]:
    """Read 2020-01-31, with 12:30, 12:30:59 or 12:30:59.25 after a space or T, and Z or +01:00: seconds since 1970."""
    if end - i < 10 or peek1(i + 4) != 45 or peek1(i + 7) != 45:
        return 0.0, False
    c, y, month, day = _two(i), _two(i + 2), _two(i + 5), _two(i + 8)
    if c < 0 or y < 0 or 100 * c + y < 1 or month < 1 or month > 12 or day < 1:
        return 0.0, False
    year = 100 * c + y
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    longest = 31 if month in (1, 3, 5, 7, 8, 10, 12) else 30 if month != 2 else 29 if leap else 28
    if day > longest:
        return 0.0, False
    y = year - 1 if month <= 2 else year
    era = y // 400
    of_era = y - era * 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
    seconds = days * 86400
    part, scale = np.int64(0), np.int64(1)
    i += 10
    if i < end:
        if (peek1(i) != 32 and peek1(i) != 84) or end - i < 6 or peek1(i + 3) != 58:
            return 0.0, False
        hour, minute = _two(i + 1), _two(i + 4)
        second = 0
        i += 6
        if end - i >= 3 and peek1(i) == 58:
            second = _two(i + 1)
            i += 3
            if i < end and peek1(i) == 46:
                i += 1
                k = i
                while i < end and 48 <= peek1(i) <= 57:
                    if i - k < 9:
                        part = 10 * part + peek1(i) - 48
                        scale *= 10
                    i += 1
                if i == k:
                    return 0.0, False
        if hour < 0 or hour > 23 or minute < 0 or minute > 59 or second < 0 or second > 59:
            return 0.0, False
        seconds += 3600 * hour + 60 * minute + second
        if i < end and peek1(i) == 90:
            i += 1
        elif i < end and (peek1(i) == 43 or peek1(i) == 45):
            east = peek1(i) == 43
            if end - i < 3:
                return 0.0, False
            hour, minute = _two(i + 1), 0
            i += 3
            if i < end and peek1(i) == 58:
                i += 1
            if end - i >= 2:
                minute = _two(i)
                i += 2
            if hour < 0 or hour > 23 or minute < 0 or minute > 59:
                return 0.0, False
            seconds -= (3600 * hour + 60 * minute) * (1 if east else -1)
        if i < end:
            return 0.0, False
    return np.float64(seconds * scale + part) / np.float64(scale), True
