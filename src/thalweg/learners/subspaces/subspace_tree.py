"""A tree on the distances of tensors to the subspaces of classes."""

from typing import final

from thalweg.learners.subspaces.subspace_learner import SubspaceLearner


@final
class SubspaceTree(SubspaceLearner):
    """Learn an affine subspace for each class, and a tree on the residuals to all of them; for images above all.

    An image gives rectified, pooled responses of its patches (see ``PatchFeatures``), any other tensor its values; both
    in up to ``p`` principal directions. Each class has a mean and directions from decayed sums (see
    ``ClassSubspaces``). The residuals of a tensor to the classes are the features of a tree with naive Bayes leaves.
    Three may answer, and the one that erred least of late does: the nearest subspace, the tree, and both together.
    When a detector finds that the errors of the answers have risen, subspaces, tree, and after ``warmup`` tensors the
    filters and directions too, are learnt anew. New classes may appear at any time.

    Bounded: 8 p (p + rank + 2) bytes for each class (0.42 MB as it is), the tree, and during a warm-up the ``warmup``
    tensors. Missing values are refused.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> tree = SubspaceTree()
    >>> proba = tree.test_then_train(digits.images, digits.target)
    >>> bool((tree.classes_[proba.argmax(axis=1)] == digits.target).mean() > 0.93)
    True
    """
