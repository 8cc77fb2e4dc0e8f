"""Promises of a learner: sparse rows, where it takes them (``sparse``), and a sentence where it does not."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg.checks.parts import Make, Promises, by_rows, data, expect, loop_equals_chunks, refuses, same, same_state
from thalweg.core.classifier import Classifier

CHECKS = promise = Promises()

_FEATURES = 12


def rows(n: int = 250, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make dense rows that hold little; some hold nothing."""
    X, y = data(n, features=_FEATURES, seed=seed)
    rng = np.random.default_rng(seed)
    X[(rng.random(X.shape) < 0.7) | (rng.random((n, 1)) < 0.05)] = 0.0
    return X, y


def for_sparse(check: Callable[[Make, Any], None]) -> Callable[[Make], None]:
    """Run a check on learners that take sparse rows, with a function that makes rows sparse."""

    def only(make: Make) -> None:
        if make().sparse:
            from scipy.sparse import csr_array

            check(make, csr_array)

    only.__name__, only.__doc__, only.__module__ = check.__name__, check.__doc__, check.__module__
    return only


@promise
@for_sparse
def sparse_rows_equal_dense_ones(make: Make, csr: Any) -> None:
    """Sparse rows of any format get the probabilities that dense rows get, to 1e-9; dense and sparse may alternate."""
    X, y = rows(seed=41)
    expected = make().test_then_train(X, y)
    for form in ("csr", "csc", "coo", "lil"):
        got = make().test_then_train(csr(X).asformat(form), y)
        expect(np.allclose(got, expected, 0.0, 1e-9), f"sparse rows ({form}) must get what dense rows get")
    for first, second in ((csr(X[:90]), X[90:]), (X[:90], csr(X[90:]))):
        learner = make()
        got = np.zeros_like(expected)
        got[:90, : len(np.unique(y[:90]))] = learner.test_then_train(first, y[:90])
        got[90:] = learner.test_then_train(second, y[90:])
        expect(np.allclose(got, expected, 0.0, 1e-9), "sparse chunks after dense ones, or before, must change nothing")
        one = learner.predict_proba(X[:5])
        expect(np.allclose(learner.predict_proba(csr(X[:5])), one, 0.0, 1e-9), "predictions must be the same")
        many = [[*learner.predict_proba_one(csr(X[i : i + 1])).values()] for i in range(5)]
        expect(np.allclose(many, one, 0.0, 1e-9), "a sparse record must get what a sparse row gets")


@promise
@for_sparse
def sparse_chunks_do_not_matter(make: Make, csr: Any) -> None:
    """Sparse rows in chunks of any size lead to the same bits as one by one."""
    X, y = rows(seed=42)
    loop_equals_chunks(make, csr(X), y)


@promise
@for_sparse
def sparse_inputs_stay_untouched(make: Make, csr: Any) -> None:
    """A sparse matrix is not changed, not even the order of its entries; what is done to it later changes nothing."""
    X, y = rows(seed=43)
    untidy = csr(X)
    for a, b in zip(untidy.indptr[:-1], untidy.indptr[1:], strict=True):
        for part in (untidy.indices, untidy.data):
            part[a:b] = part[a:b][::-1].copy()
    untidy.data[::5] = 0.0
    X = untidy.toarray()
    before = [a.copy() for a in (untidy.data, untidy.indices, untidy.indptr)]
    learner = make()
    got = learner.test_then_train(untidy, y)
    learner.predict_proba(untidy)
    expect(np.allclose(got, make().test_then_train(X, y), 0.0, 1e-9), "zeros and disorder must change nothing")
    kept = (untidy.data, untidy.indices, untidy.indptr)
    expect(all(np.array_equal(a, b) for a, b in zip(before, kept, strict=True)), "a sparse matrix must stay as it is")
    state = learner.state()
    untidy.data[:], untidy.indices[:] = -1.0, 0
    same_state(state, learner.state(), "what is done to a sparse matrix later must not reach the learner")


@promise
@for_sparse
def bad_sparse_rows_change_nothing(make: Make, csr: Any) -> None:
    """Sparse rows that cannot be used are refused with a sentence; the learner stays as it was."""
    X, y = rows(seed=44)
    for learner in (make().partial_fit(csr(X), y), make().partial_fit(X, y)):
        few = X[:6].copy()
        few[:, 0] = few[:, 1] = 1.0
        bad: dict[str, Any] = {
            "a feature too few": csr(few[:, 1:]), "a feature too many": csr(np.c_[few, few[:, :1]]),
            "complex numbers": csr(few * 1j),
        }  # fmt: skip
        for what, at, v in (("infinity", "data", np.inf), ("NaN", "data", np.nan), ("an index beyond", "indices", 99)):
            bad[what] = csr(few)
            getattr(bad[what], at)[-1] = v
        bad["a feature twice"] = csr(few)
        bad["a feature twice"].indices[1] = 0
        for what, broken in bad.items():
            refuses(learner, f"sparse rows with {what}", learner.partial_fit, broken, y[:6])
            refuses(learner, f"sparse rows with {what} in test_then_train", learner.test_then_train, broken, y[:6])
            refuses(learner, f"sparse rows with {what} when predicting", learner.predict_proba, broken)
        refuses(learner, "two sparse rows in learn_one", learner.learn_one, csr(few[:2]), 0)


@promise
@for_sparse
def what_it_learned_from_sparse_rows_is_kept(make: Make, csr: Any) -> None:
    """From its state a learner of sparse rows goes on bit by bit, and so does a copy; late labels are learned."""
    X, y = rows(300, seed=45)
    learner = make().partial_fit(csr(X[:200]), y[:200])
    others: list[Classifier] = [make(), learner.copy()]
    others[0].restore(learner.state())
    expected = learner.test_then_train(csr(X[200:]), y[200:])
    for other in others:
        same(expected, other.test_then_train(csr(X[200:]), y[200:]), "it must go on as if nothing had happened")
        same_state(learner.state(), other.state(), "it must come to the same state")
    late, slow = make(), make()
    events = np.r_[np.arange(150), ~np.arange(150), np.arange(150, 300)]
    got = late.play(csr(X), y, events)
    slow.partial_fit(csr(X[:150]), y[:150])
    same(got[150:, : len(slow.classes_)], slow.predict_proba(csr(X[150:])), "play must learn sparse rows in order")
    by_rows(slow, csr(X[150:160]), y[150:160])


@promise
def sparse_rows_are_refused_by_others(make: Make) -> None:
    """A learner that takes no sparse rows says so, and changes nothing."""
    learner = make()
    if learner.sparse:
        return
    try:
        from scipy.sparse import csr_array
    except ImportError:
        return
    X, y = rows(50, seed=46)
    learner.partial_fit(X, y)
    sparse = csr_array(X)
    refuses(learner, "sparse rows when learning", learner.partial_fit, sparse, y)
    refuses(learner, "sparse rows in test_then_train", learner.test_then_train, sparse, y)
    refuses(learner, "sparse rows when predicting", learner.predict_proba, sparse)
    refuses(learner, "a sparse record", learner.learn_one, sparse[:1], 0)
