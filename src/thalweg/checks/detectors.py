"""Promises of a drift detector."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.checks.parts import (
    Promises,
    errors,
    expect,
    global_random,
    refuses,
    same,
    same_state,
    same_uncompiled,
    unchanged,
)
from thalweg.core.protocols import Detector
from thalweg.keeping import snapshot

CHECKS = promise = Promises()


@promise
def many_values_equal_one_by_one(make: Callable[[], Detector]) -> None:
    """update_many gives, at any chunk size, what update gives value by value."""
    values = errors()
    single = make()
    drift, warning = [], []
    for v in values.tolist():
        flag = single.update(v)
        expect(isinstance(flag, bool), f"update must give True or False, got {flag!r}")
        expect(flag == single.drift_detected, "update must give what drift_detected tells")
        drift.append(flag)
        warning.append(bool(single.warning_detected) and not flag)
    expected = (2 * np.array(drift) + np.array(warning)).astype(np.int8)
    for size in (1, 7, 10_000):
        many = make()
        parts = [many.update_many(values[i : i + size]) for i in range(0, len(values), size)]
        expect(all(p.dtype == np.int8 for p in parts), "levels must be int8")
        same(expected, np.concatenate(parts), f"update_many by {size} must equal update")
        same_state(single.state(), many.state(), f"update_many by {size} must lead to the state of update")


@promise
def a_step_is_found(make: Callable[[], Detector]) -> None:
    """A thousand zeros are stable; a thousand ones after them are a drift."""
    fresh = make()
    expect(not fresh.drift_detected and not fresh.warning_detected, "a fresh detector must not have detected anything")
    expect(not (fresh.update_many(np.zeros(1000)) == 2).any(), "a thousand zeros must not be a drift")
    expect((fresh.update_many(np.ones(1000)) == 2).any(), "ones after zeros must be a drift")


@promise
def a_fall_is_no_drift(make: Callable[[], Detector]) -> None:
    """1 is an error: zeros after a thousand ones are no drift (skip this where both directions are asked for)."""
    fresh = make()
    expect(not (fresh.update_many(np.ones(1000)) == 2).any(), "a thousand ones must not be a drift")
    expect(not (fresh.update_many(np.zeros(1000)) == 2).any(), "zeros after ones must not be a drift")


@promise
def detector_leaves_global_random_alone(make: Callable[[], Detector]) -> None:
    """NumPy's global generator is not used: where chance plays a part, it comes from a seed, and repeats."""
    before = global_random()
    first, second = make().update_many(errors(7)), make().update_many(errors(7))
    same(first, second, "a detector made anew must give the same levels")
    expect(global_random() == before, "a detector must not touch NumPy's global generator")


@promise
def estimate_is_finite(make: Callable[[], Detector]) -> None:
    """The estimate is a finite number at every moment, also before the first value."""
    fresh = make()
    for v in [None, *errors(1)[:300].tolist()]:
        if v is not None:
            fresh.update(v)
        expect(np.isfinite(fresh.estimate), f"estimate must be finite, got {fresh.estimate}")


@promise
def looking_changes_nothing(make: Callable[[], Detector]) -> None:
    """Reading what a detector knows changes nothing, nor do no values."""
    watch = make()
    watch.update_many(errors(2))
    with unchanged(watch, "looking must change nothing"):
        _ = watch.drift_detected, watch.warning_detected, watch.estimate, repr(watch)
        expect(len(watch.update_many(np.zeros(0))) == 0, "no values must give no levels")


@promise
def values_stay_untouched(make: Callable[[], Detector]) -> None:
    """Values may be read-only, of any number type, or a list, and are not changed."""
    values = errors(3)
    before = values.copy()
    expected = make().update_many(values)
    expect(np.array_equal(values, before), "values must stay as they are")
    values.flags.writeable = False
    forms: dict[str, Any] = {"read-only": values, "float32": values.astype(np.float32), "bool": values.astype(bool)}
    forms |= {"strided": np.repeat(values, 2)[::2], "listed": values.tolist()}
    for name, form in forms.items():
        same(expected, make().update_many(form), f"{name} values must give the same")


@promise
def bad_values_change_nothing(make: Callable[[], Detector]) -> None:
    """NaN, infinity and what is no number are refused with a sentence; nothing is taken."""
    watch = make()
    watch.update_many(errors(4)[:500])
    for value in (np.nan, np.inf, -np.inf, "x", None):
        refuses(watch, f"the value {value!r}", watch.update, value)
        refuses(watch, f"values with {value!r}", watch.update_many, [1.0, 0.0, value])
    refuses(watch, "values of two dimensions", watch.update_many, np.zeros((2, 2)))


@promise
def detector_continues(make: Callable[[], Detector]) -> None:
    """Restored, or saved and loaded, a detector continues with the same bits; the other goes its own way."""
    values = errors(5)
    whole = make()
    expected = whole.update_many(values)
    for cut in (0, 1, 999):
        first, second = make(), make()
        first.update_many(values[:cut])
        second.restore(first.state())
        with tempfile.TemporaryDirectory() as folder:
            snapshot.save(first, Path(folder) / "detector")
            loaded = snapshot.load(Path(folder) / "detector", cls=type(first))
            with unchanged(first, "the original must not change when the restored one goes on"):
                for twin in (second, loaded):
                    got = twin.update_many(values[cut:])
                    same(expected[cut:], got, f"restoring after {cut} values must change nothing")
                    same_state(whole.state(), twin.state(), "restoring must lead to the same state")
            del loaded, twin
    refuses(whole, "an empty state", whole.restore, {})


@promise
def same_detector_without_compilation(make: Callable[[], Detector]) -> None:
    """The same code, run by Python instead of compiled, gives the same bits (classes of the library only)."""
    same_uncompiled(make())
