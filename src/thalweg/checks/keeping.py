"""Promises of a learner: its state, saving, threads and parameters."""

import copy
import pickle
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.checks.parts import (
    Make,
    Promises,
    by_chunks,
    data,
    expect,
    global_random,
    pad,
    refuses,
    registered,
    same,
    same_state,
    same_uncompiled,
    trained,
    unchanged,
)
from thalweg.core.classifier import Classifier
from thalweg.keeping import snapshot

CHECKS = promise = Promises()


# -- state ------------------------------------------------------------------------------------------------------------


@promise
def same_seed_same_bits(make: Make) -> None:
    """Two learners made alike stay alike to the last bit, and draw nothing from a global generator."""
    X, y = data(seed=27)
    before = global_random()
    one, two = make(), make()
    same(one.test_then_train(X, y), two.test_then_train(X, y), "two learners made alike must predict alike")
    same_state(one.state(), two.state(), "two learners made alike must have the same state")
    after = global_random()
    expect(before == after, "a learner must not touch NumPy's global random state")


@promise
def state_is_arrays(make: Make) -> None:
    """The state is named arrays of fixed width; it is a copy, and state_bytes tells the size of the tables.

    Tables in use may have room to grow that the state has not.
    """
    learner = trained(make)
    state = learner.state()
    for name, table in state.items():
        ok = type(name) is str and type(table) is np.ndarray and not table.dtype.hasobject
        expect(ok, f"state must hold named arrays of fixed width, {name!r} is {table!r:.60}")
        expect(table.flags.c_contiguous, f"tables must be C-contiguous, {name!r} is not")
    with unchanged(learner, "writing to what state() gave must not reach the learner"):
        for table in state.values():
            table[...] = np.zeros((), dtype=table.dtype)
    size, most = learner.state_bytes, 2 * sum(t.nbytes for t in state.values())
    expect(isinstance(size, int) and 0 < size <= most, f"state_bytes must lie in (0, {most}], got {size}")


@promise
def restore_continues(make: Make) -> None:
    """What state() gave, put into a fresh learner, continues with the same bits, at any moment."""
    X, y = data(seed=28)
    whole = make()
    expected = whole.test_then_train(X, y)
    for cut in (0, 1, 230):
        first, second = make(), make()
        first.partial_fit(X[:cut], y[:cut])
        second.restore(first.state())
        got = second.test_then_train(X[cut:], y[cut:])
        same(expected[cut:], pad(list(got), expected.shape[1]), f"restoring after {cut} rows must change nothing")
        same_state(whole.state(), second.state(), f"restoring after {cut} rows must lead to the same state")
    fresh = make()
    fresh.restore(make().state())
    expect(fresh.predict_one(X[0]) is None, "the state of a learner that has seen nothing must restore")


@promise
def foreign_state_is_refused(make: Make) -> None:
    """A state that lacks a part is refused with a sentence; the learner stays as it was."""
    learner = trained(make)
    state = learner.state()
    refuses(learner, "an empty state", learner.restore, {})
    for name in ("labels", "schema"):
        part = {k: v for k, v in state.items() if k != name}
        refuses(learner, f"a state that lacks {name!r}", learner.restore, part)


@promise
def copies_are_independent(make: Make) -> None:
    """A copy, by copy(), deepcopy or pickle, knows the same and goes its own way."""
    X, y = data(seed=29)
    for how in (_copy, copy.deepcopy, _pickle):
        learner = make().partial_fit(X[:200], y[:200])
        if how is _pickle and not registered(type(learner)):  # your own class may be local to a function
            continue
        twin = how(learner)
        expect(type(twin) is type(learner), "a copy must be of the same class")
        expect(repr(twin.get_params()) == repr(learner.get_params()), "a copy must have the same parameters")
        same_state(learner.state(), twin.state(), "a copy must know the same")
        with unchanged(learner, "what a copy learns must not reach the original"):
            expected = twin.test_then_train(X[200:], y[200:])
        with unchanged(twin, "what the original learns must not reach its copy"):
            same(expected, learner.test_then_train(X[200:], y[200:]), "original and copy must learn alike")


def _copy(learner: Classifier) -> Classifier:
    return learner.copy()


def _pickle(learner: Classifier) -> Any:
    return pickle.loads(pickle.dumps(learner))


@promise
def save_and_load_continue(make: Make) -> None:
    """A learner that was saved and loaded continues with the same bits, and the file stays as it is."""
    X, y = data(seed=30)
    learner = make()
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in (("fresh", slice(0, 0)), ("trained", slice(0, 230))):
            path = Path(folder) / name
            learner.partial_fit(X[rows], y[rows])
            snapshot.save(learner, path)
            before = path.read_bytes()
            twin = snapshot.load(path, cls=type(learner))
            expect(
                repr(twin.get_params()) == repr(learner.get_params()), "a loaded learner must have the same parameters"
            )
            same_state(learner.state(), twin.state(), "a loaded learner must know the same")
            expected = learner.copy().test_then_train(X[230:], y[230:])
            same(expected, twin.test_then_train(X[230:], y[230:]), "a loaded learner must continue alike")
            expect(path.read_bytes() == before, "going on must not change the file")
            del twin


@promise
def reset_forgets(make: Make) -> None:
    """Reset forgets everything but the parameters, and fit starts from there."""
    X, y = data(300, seed=31)
    learner = make().partial_fit(X, y + 50)
    params = learner.get_params()
    learner.reset()
    same_state(make().state(), learner.state(), "reset must forget everything")
    expect(learner.get_params() == params, "reset must keep the parameters")
    same_state(make().partial_fit(X, y).state(), learner.partial_fit(X, y).state(), "reset must start anew")
    once, twice = make().fit(X, y), make().fit(X[:50], y[:50] + 70).fit(X, y)
    same_state(once.state(), twice.state(), "fit must forget what was before")


@promise
def state_is_bounded(make: Make) -> None:
    """Where ``bounded`` is True a ten times longer stream needs no more memory; limit_bytes is never exceeded."""
    learner = make()
    if not learner.bounded:
        return
    X, y = data(500, seed=32)
    limit = None
    if "limit_bytes" in learner.get_params():
        limit = int(1.25 * make().partial_fit(X[:50], y[:50]).state_bytes)  # so that it binds
        learner.set_params(limit_bytes=limit)
    learner.partial_fit(X, y)
    first = learner.state_bytes
    for seed in range(9):
        learner.partial_fit(*data(500, seed=100 + seed))
        if limit is not None:
            size = learner.state_bytes
            expect(size <= limit, f"the state must stay within limit_bytes = {limit}, got {size}")
    last = learner.state_bytes
    if limit is None:
        expect(last <= 1.5 * first, f"the state must stay bounded: {first} bytes, {last} on a ten times longer stream")


# -- threads and compilation ------------------------------------------------------------------------------------------


@promise
def threads_do_not_meet(make: Make) -> None:
    """Learners in two threads, each driving its own, do what they do one after the other."""
    streams = [data(300, seed=33), data(300, seed=34)]
    expected = [by_chunks(make(), X, y, 10) for X, y in streams]
    got: list[Any] = [None, None]
    start = threading.Barrier(2)

    def drive(i: int) -> None:
        learner = make()
        start.wait()
        got[i] = by_chunks(learner, *streams[i], 10)

    threads = [threading.Thread(target=drive, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a, b in zip(expected, got, strict=True):
        expect(b is not None, "a learner must not fail in a thread")
        same(a, b, "a learner in a thread must do what it does alone")


@promise
def threads_may_predict_together(make: Make) -> None:
    """Several threads that predict with one learner at the same time get what one alone gets."""
    learner = trained(make)
    X = data(400, seed=37)[0]
    expected = learner.predict_proba(X)
    with unchanged(learner, "predicting in several threads must change nothing"), ThreadPoolExecutor(4) as threads:
        for got in threads.map(lambda _: learner.predict_proba(X), range(16)):
            same(expected, got, "a thread must get what one alone gets")


@promise
def jobs_do_not_matter(make: Make) -> None:
    """The number of workers, n_jobs, changes nothing but the time."""
    if "n_jobs" not in make().get_params():
        return
    X, y = data(seed=35)
    one, two = make().set_params(n_jobs=1), make().set_params(n_jobs=2)
    same(one.test_then_train(X, y), two.test_then_train(X, y), "n_jobs = 2 must give what n_jobs = 1 gives")
    same_state(one.state(), two.state(), "n_jobs = 2 must lead to the state of n_jobs = 1")


@promise
def same_without_compilation(make: Make) -> None:
    """The same code, run by Python instead of compiled, gives the same bits (classes of the library only)."""
    same_uncompiled(make())


# -- parameters -------------------------------------------------------------------------------------------------------


@promise
def parameters_are_kept(make: Make) -> None:
    """A constructor keeps its arguments as they are, so that scikit-learn's clone, and repr, work."""
    learner = make()
    params = learner.get_params(deep=False)
    twin = type(learner)(**params)
    for name, value in params.items():
        expect(getattr(learner, name, None) is value, f"parameter {name!r} must be an attribute of that name")
        expect(twin.get_params()[name] is value, f"the constructor must keep {name!r} as it is")
    expect(learner.get_params(deep=False).keys() == params.keys(), "get_params(deep=False) must have the same names")
    name = type(learner).__name__
    expect(repr(learner).startswith(f"{name}("), f"repr must begin with {name}(, got {learner!r}")
    expect(repr(trained(make)) == repr(learner), "repr must show parameters, not what was learned")


@promise
def parameters_can_be_set(make: Make) -> None:
    """set_params changes parameters and starts anew; a wrong name or value changes nothing."""
    learner = trained(make)
    params = learner.get_params(deep=False)
    refuses(learner, "an unknown parameter in set_params", learner.set_params, no_such_parameter=1)
    refuses(learner, "an unknown parameter at construction", type(learner), no_such_parameter=1)
    expect(learner.set_params() is learner, "set_params must give the learner itself")
    with unchanged(learner, "set_params of nothing must change nothing"):
        learner.set_params()
    for name in params:
        refuses(learner, f"a wrong value of {name!r}", learner.set_params, **{name: object()})
        expect(
            learner.get_params(deep=False) == params,
            f"a refused value of {name!r} must leave the parameters as they are",
        )
    if params:
        learner.set_params(**params)
        expect(learner.get_params(deep=False) == params, "set_params with the present values must keep them")
        same_state(make().state(), learner.state(), "set_params must start anew")
