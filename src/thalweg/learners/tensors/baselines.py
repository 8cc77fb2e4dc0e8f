"""The learners that CKDT is compared with: the same tree and detector on other features of the tensors."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

from thalweg.core.classifier import Classifier
from thalweg.core.protocols import State
from thalweg.learners.tensors.buffer import TensorBuffer
from thalweg.learners.tensors.lrtcr import LRTCRMap
from thalweg.learners.tensors.lrtd import LRTDMap
from thalweg.learners.tensors.maps import FlatMap, TensorMap
from thalweg.learners.tensors.opor import OPORMap
from thalweg.learners.tensors.records import Records
from thalweg.learners.tensors.tensor_tree import TensorTreeLearner


@final
@dataclass(frozen=True, slots=True)
class Fitted:
    """Maps that are fitted to all the tensors that a tree is built from; there is nothing to note."""

    new: Callable[[], TensorMap]

    def fit(self, features: TensorMap, kept: TensorBuffer, builds: int) -> State:
        """Fit a new map to the tensors that were kept."""
        features.fit(kept.tensors)
        return {}

    def refuse(self, notes: State, records: Records, classes: int) -> None:
        """Refuse any notes."""
        if notes:
            raise ValueError(f"its notes hold {', '.join(notes)}")


@final
class MDDT(TensorTreeLearner, Classifier):
    """A tree on the values of a tensor, written as a row (at most 256 of them, drawn once). See CKDT.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.normal(y[:, None, None], size=(600, 8, 8))
    >>> proba = MDDT().test_then_train(X, y)
    >>> bool((proba.argmax(axis=1) == y)[300:].mean() > 0.8)
    True
    """

    def _maps(self) -> Fitted:
        return Fitted(partial(FlatMap, seed=self.seed))


@final
class OPOR(TensorTreeLearner, Classifier):
    """A tree on the leading principal components, which are followed online. See CKDT.

    J. Nie, W. Kotłowski, M. K. Warmuth, "Online PCA with optimal regret", JMLR 17, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.normal(y[:, None, None], size=(600, 8, 8))
    >>> proba = OPOR().test_then_train(X, y)
    >>> bool((proba.argmax(axis=1) == y)[300:].mean() > 0.8)
    True
    """

    def _maps(self) -> Fitted:
        return Fitted(OPORMap)


@final
class LRTCR(TensorTreeLearner, Classifier):
    """A tree on the core of a robust low-rank model that is followed online. See CKDT.

    P. Li et al., "Online robust low-rank tensor modeling for streaming data analysis", 2019.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.normal(y[:, None, None], size=(600, 8, 8))
    >>> proba = LRTCR().test_then_train(X, y)
    >>> bool((proba.argmax(axis=1) == y)[300:].mean() > 0.8)
    True
    """

    def _maps(self) -> Fitted:
        return Fitted(LRTCRMap)


@final
class LRTD(TensorTreeLearner, Classifier):
    """A tree on the core of a truncated Tucker model whose factors follow the stream. See CKDT.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.normal(y[:, None, None], size=(600, 8, 8))
    >>> proba = LRTD().test_then_train(X, y)
    >>> bool((proba.argmax(axis=1) == y)[300:].mean() > 0.8)
    True
    """

    def _maps(self) -> Fitted:
        return Fitted(LRTDMap)
