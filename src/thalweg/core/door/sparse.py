"""Sparse rows: SciPy's matrices and arrays in one form."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thalweg.core.schema import Schema
from thalweg.jit.bad_values import first_bad_entry

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Rows: TypeAlias = "NDArray[np.float64] | csr_array"
"""What the door hands on: C-contiguous float64 rows; to a learner that takes them also sparse ones, in one form only:
float64 data, int64 indices and indptr, of each row the non-zero values in the order of their features."""


def is_sparse(X: Any) -> bool:
    """Is it a sparse matrix or array of SciPy?"""
    return hasattr(X, "tocsr") and not isinstance(X, type)


def sparse_rows(X: Any, schema: Schema) -> "csr_array":
    """Give a sparse X, as wide as the schema, in the form of ``Rows``; X itself is not changed.

    Values that are written down though they are 0 are left out. Refused are infinities, NaN (what is absent is 0, so
    nothing can be missing), a feature that a row has twice, and indices beyond the width.
    """
    from scipy.sparse import csr_array

    if schema.nominal_codes:
        nominal = schema.features[next(iter(schema.nominal_codes))].name
        raise ValueError(f"X must be dense where a feature is nominal, as {nominal!r} is, got a sparse matrix")
    if X.dtype.kind == "c":
        raise ValueError(f"X must hold real numbers, got Complex data not supported ({X.dtype})")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers, got a sparse matrix of {X.dtype}")
    _refuse_broken(X)
    made = X if X.format == "csr" else X.tocsr()
    if X.format == "coo" and made.nnz != X.nnz:
        raise ValueError("X must hold each feature of a row once, got a sparse matrix with duplicate indices")
    n, d = made.shape
    indptr = made.indptr.astype(np.int64, copy=False)
    size = int(indptr[-1])
    with np.errstate(over="ignore"):
        data = np.ascontiguousarray(made.data[:size], dtype=np.float64)
    indices = np.ascontiguousarray(made.indices[:size], dtype=np.int64)
    bad, unsorted, zeros = first_bad_entry(data, indices, indptr)
    if unsorted:
        order = np.lexsort((indices, np.repeat(np.arange(n), np.diff(indptr))))
        data, indices = data[order], indices[order]
        bad, _, zeros = first_bad_entry(data, indices, indptr)
    if bad >= 0:
        row = int(np.searchsorted(indptr, bad, side="right")) - 1
        feature, v = schema.features[indices[bad]].name, data[bad]
        if np.isinf(v):
            raise ValueError(f"X must be finite (no infinity), got {v} in row {row}, feature {feature!r}")
        if np.isnan(v):
            raise ValueError(
                f"X must hold no missing value (NaN) where it is sparse, got {v} in row {row}, feature {feature!r}"
            )
        raise ValueError(
            "X must hold each feature of a row once, got a sparse matrix with duplicate indices in "
            f"row {row}, feature {feature!r}"
        )
    if zeros:
        stored = data != 0.0
        before = np.concatenate([[0], np.cumsum(stored)])
        data, indices, indptr = data[stored], indices[stored], before[indptr]
    rows = csr_array((n, d))
    rows.data, rows.indices, rows.indptr = data, indices, np.ascontiguousarray(indptr)
    rows.has_sorted_indices = rows.has_canonical_format = True
    return rows


def take_rows(X: Rows, which: NDArray[np.int64]) -> Rows:
    """Give some of the rows that the door handed on, in the same form."""
    if isinstance(X, np.ndarray):
        return X.take(which, axis=0)
    from scipy.sparse import csr_array

    starts = X.indptr[which]
    ends = np.concatenate([[0], np.cumsum(X.indptr[which + 1] - starts)])
    at = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], np.diff(ends))
    rows = csr_array((len(which), X.shape[1]))
    rows.data, rows.indices, rows.indptr = X.data[at], X.indices[at], ends
    rows.has_sorted_indices = rows.has_canonical_format = True
    return rows


def _refuse_broken(X: Any) -> None:
    """Refuse compressed rows or columns that do not fit together: to read them would reach beyond their arrays."""
    if X.format not in ("csr", "csc", "bsr"):
        return
    indptr, indices = X.indptr, X.indices
    blocks = X.blocksize if X.format == "bsr" else (1, 1)
    outer, inner = (X.shape[i] // blocks[i] for i in ((1, 0) if X.format == "csc" else (0, 1)))
    whole = len(indptr) == outer + 1 and indptr[0] == 0 and not (np.diff(indptr) < 0).any()
    if not whole or indptr[-1] > min(len(indices), len(X.data)):
        raise ValueError(f"X must be a sound sparse matrix, got one whose indptr does not fit its {outer} rows")
    used = indices[: indptr[-1]]
    if used.min(initial=0) < 0 or used.max(initial=0) >= max(inner, 1):
        worst = used.min() if used.min() < 0 else used.max()
        raise ValueError(f"X must have indices from 0 and below {inner}, got a sparse matrix with the index {worst}")
