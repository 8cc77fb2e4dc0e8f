"""The learners that CKDT is compared with: the same tree and detector on other features of the tensors."""

from typing import final

from thalweg.learners.tensors.lrtcr import LRTCRMap
from thalweg.learners.tensors.lrtd import LRTDMap
from thalweg.learners.tensors.maps import FlatMap
from thalweg.learners.tensors.opor import OPORMap
from thalweg.learners.tensors.tensor_tree import TensorTree


@final
class MDDT(TensorTree):
    """A tree on the values of a tensor, written as a row (at most 256 of them, drawn once). See TensorTree.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.normal(y[:, None, None], size=(600, 8, 8))
    >>> proba = MDDT().test_then_train(X, y)
    >>> bool((proba.argmax(axis=1) == y)[300:].mean() > 0.8)
    True
    """

    __slots__ = ()

    def _new_map(self) -> FlatMap:
        return FlatMap(seed=self.seed)


@final
class OPOR(TensorTree):
    """A tree on the leading principal components, which are followed online. See TensorTree.

    J. Nie, W. Kotłowski, M. K. Warmuth, "Online PCA with optimal regret", JMLR 17, 2016.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.normal(y[:, None, None], size=(600, 8, 8))
    >>> proba = OPOR().test_then_train(X, y)
    >>> bool((proba.argmax(axis=1) == y)[300:].mean() > 0.8)
    True
    """

    __slots__ = ()

    def _new_map(self) -> OPORMap:
        return OPORMap()


@final
class LRTCR(TensorTree):
    """A tree on the core of a robust low-rank model that is followed online. See TensorTree.

    P. Li et al., "Online robust low-rank tensor modeling for streaming data analysis", 2019.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.normal(y[:, None, None], size=(600, 8, 8))
    >>> proba = LRTCR().test_then_train(X, y)
    >>> bool((proba.argmax(axis=1) == y)[300:].mean() > 0.8)
    True
    """

    __slots__ = ()

    def _new_map(self) -> LRTCRMap:
        return LRTCRMap()


@final
class LRTD(TensorTree):
    """A tree on the core of a truncated Tucker model whose factors follow the stream. See TensorTree.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.normal(y[:, None, None], size=(600, 8, 8))
    >>> proba = LRTD().test_then_train(X, y)
    >>> bool((proba.argmax(axis=1) == y)[300:].mean() > 0.8)
    True
    """

    __slots__ = ()

    def _new_map(self) -> LRTDMap:
        return LRTDMap()
