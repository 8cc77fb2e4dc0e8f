"""Are tables those of a frozen forest? They may come from a file; the compiled code that reads them looks no more."""

import numpy as np
from numpy.typing import NDArray

from thalweg.core.declared import check
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.frozen import frozen_jit as jit
from thalweg.frozen import frozen_leaf_jit as leaf_jit
from thalweg.index.batch import refuse_tangled
from thalweg.index.rules import Ints


def refuse_unsound(tables: State, classes: int, schema: Schema | None) -> None:
    """Refuse tables that no frozen forest of so many classes and such features could have."""
    d = 0 if schema is None else schema.n_features
    sizes = check(leaf_jit.Leaves, tables, classes=classes, d=d)
    sizes = check(jit.Forest, tables, most=None, **sizes)
    trees, leaf = tables["trees"], tables["leaf"].astype(np.int64)
    roots, firsts, shards = trees[:, jit.ROOT], trees[:, jit.FIRST], trees[:, jit.SHARD]
    refuse_tangled(tables["packed"], roots)
    if sizes["coded"] not in (0, sizes["trees"]) or (np.diff(shards) < 0).any() or shards[:1].any():
        raise ValueError("its table 'trees' or 'sides' holds what no forest could")
    nodes = np.diff(np.append(roots, len(leaf)))
    ends = tables["packed"]["left"] == np.arange(len(leaf))
    first, last = (np.repeat(of, nodes)[ends] for of in (firsts, np.append(firsts[1:], sizes["leaves"])))
    if ((leaf[ends] < first) | (leaf[ends] >= last)).any():
        raise ValueError("its table 'leaf' leads to leaves of other trees")
    nominal = np.zeros(d, dtype=np.bool_)
    nominal[[] if schema is None else list(schema.nominal_codes)] = True
    least = classes if sizes["coded"] == 0 else max(2, classes)
    _refuse_lists(tables["leaves"].astype(np.int64), tables["lists"].astype(np.int64), sizes["cells"], least, nominal)


def _refuse_lists(leaves: Ints, lists: Ints, cells: int, classes: int, nominal: NDArray[np.bool_]) -> None:
    """Refuse leaves that answer by naive Bayes, and name features, classes or cells that there are not."""
    k, numbers, nominals, cell, item = leaves[leaves[:, leaf_jit.CLASSES] > 0].T
    sizes = k + numbers + 2 * nominals
    if (k == 1).any() or (item + sizes > len(lists)).any() or sizes.sum() > len(lists):
        raise ValueError("its table 'leaves' points outside 'lists'")
    each = np.repeat(np.arange(len(k)), sizes)
    place = np.arange(len(each)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    listed, beyond = lists[item[each] + place], place - k[each] - numbers[each]
    named, looked = listed[beyond < -numbers[each]], (beyond < 0) & (beyond >= -numbers[each])
    feature, room = (beyond >= 0) & (beyond % 2 == 0), (beyond >= 0) & (beyond % 2 == 1)
    if (named >= classes).any() or (listed[looked | feature] >= len(nominal)).any():
        raise ValueError("its table 'lists' names classes or features that there are not")
    if not nominal[listed[feature]].all():
        raise ValueError("its table 'lists' names a feature that is not nominal")
    rooms = np.bincount(each[room], listed[room] + 1.0, minlength=len(k))  # floats: they do not overflow
    if (cell + k * (1.0 + 3.0 * numbers + rooms) > cells).any():
        raise ValueError("its table 'leaves' points outside 'cells'")
