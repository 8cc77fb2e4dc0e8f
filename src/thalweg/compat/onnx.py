"""Frozen forests for ONNX runtimes: double thresholds, so every row comes to the same leaf as here."""

from typing import Any

from thalweg.frozen.frozen_forest import FrozenForest, freeze

OPSET, ML_OPSET = 18, 5


def to_onnx(model: Any, *, name: str = "thalweg") -> Any:
    """Write a tree or forest whose leaves answer by class weights (``leaf="majority"``) as an ONNX model.

    The graph takes ``X`` (double, rows × features; nominal values as their codes, NaN where missing) and gives
    ``probabilities`` (double, rows × classes) and ``code`` (the place of the label among the ``classes`` in the model's
    metadata). It is one ``TreeEnsemble`` of ai.onnx.ml 5 with double thresholds: every row reaches the same leaves as
    here. A runtime may add up the votes of the trees in another order, which changes the last digits of a probability.

    Parameters
    ----------
    model : object
        A tree or forest of this library, or what its ``compile`` gave.
    name : str
        Of the graph.

    Returns
    -------
    onnx.ModelProto
        For ``onnx.save``, or ``onnxruntime.InferenceSession(made.SerializeToString())``.

    Examples
    --------
    >>> from thalweg import SEA, AdaptiveRandomForest
    >>> chunk = SEA(seed=1).read(5_000)
    >>> forest = AdaptiveRandomForest(size=5, leaf="majority").partial_fit(chunk.X, chunk.y)
    >>> made = to_onnx(forest)  # doctest: +SKIP
    """
    try:
        from onnx import TensorProto, helper
    except ImportError:
        raise ImportError("thalweg.compat.onnx needs onnx: pip install 'thalweg[onnx]'") from None
    frozen = model if isinstance(model, FrozenForest) else freeze(model)
    schema = frozen.schema
    if schema is None or not len(frozen):
        raise ValueError("model must have learned rows to be exported, it has not")
    classes = len(frozen.classes_)
    whole = helper.make_tensor
    nodes = [
        helper.make_node(
            "TreeEnsemble", ["X"], ["votes"], domain="ai.onnx.ml", **_ensemble(frozen, helper, TensorProto)
        ),
        helper.make_node("ReduceSum", ["votes", "axis"], ["total"], keepdims=1),
        helper.make_node("Greater", ["total", "zero"], ["said"]),
        helper.make_node("Div", ["votes", "total"], ["shares"]),
        helper.make_node("Where", ["said", "shares", "alike"], ["probabilities"]),
        helper.make_node("ArgMax", ["probabilities"], ["code"], axis=1, keepdims=0),
    ]
    double, rows = TensorProto.DOUBLE, "rows"
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("X", double, [rows, schema.n_features])],
        [
            helper.make_tensor_value_info("probabilities", double, [rows, classes]),
            helper.make_tensor_value_info("code", TensorProto.INT64, [rows]),
        ],
        [
            whole("axis", TensorProto.INT64, [1], [1]),
            whole("zero", double, [1], [0.0]),
            whole("alike", double, [1], [1.0 / classes]),
        ],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="thalweg")
    helper.set_model_props(made, {"classes": repr(frozen.classes_.tolist()), "schema": schema.to_json().decode()})
    return made


def _ensemble(frozen: FrozenForest, helper: Any, types: Any) -> dict[str, Any]:
    """Write the trees as TreeEnsemble takes them: a leaf votes for one class, so each tree is there for every class."""
    arrays = frozen.to_arrays()
    table = _Table(arrays)
    for c in range(arrays["votes"].shape[1]):
        for root in arrays["root"].tolist():
            table.add(root, c)
    n, m = len(table.nodes), len(table.leaves)
    feature, split, missing, yes, yes_leaf, no, no_leaf = zip(*table.nodes, strict=True)
    return {
        "n_targets": arrays["votes"].shape[1],
        "aggregate_function": 1,  # the sum
        "post_transform": 0,  # none
        "tree_roots": table.roots,
        "nodes_featureids": feature,
        "nodes_splits": helper.make_tensor("splits", types.DOUBLE, [n], split),
        "nodes_modes": helper.make_tensor("modes", types.UINT8, [n], [0] * n),  # x ≤ split
        "nodes_missing_value_tracks_true": missing,
        "nodes_truenodeids": yes,
        "nodes_trueleafs": yes_leaf,
        "nodes_falsenodeids": no,
        "nodes_falseleafs": no_leaf,
        "leaf_targetids": [c for c, _ in table.leaves],
        "leaf_weights": helper.make_tensor("weights", types.DOUBLE, [m], [vote for _, vote in table.leaves]),
    }


class _Table:
    """Nodes and leaves in two lists, as TreeEnsemble has them."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        names = ("feature", "threshold", "left", "missing_right", "leaf")
        self._feature, self._threshold, self._left, self._right, self._leaf = (arrays[n].tolist() for n in names)
        self._votes = arrays["votes"]
        self.nodes: list[tuple[int, float, int, int, int, int, int]] = []
        self.leaves: list[tuple[int, float]] = []
        self.roots: list[int] = []

    def add(self, root: int, c: int) -> None:
        """Add a tree as far as it votes for class c. Nodes that two others share are written twice."""
        self.roots.append(len(self.nodes))
        if self._leaf[root] >= 0:  # there must be a node: both its sides are the leaf
            leaf = self._add_leaf(root, c)
            self.nodes.append((0, 0.0, 1, leaf, 1, leaf, 1))
            return
        self.nodes.append((0, 0.0, 0, 0, 0, 0, 0))
        waiting = [(root, len(self.nodes) - 1)]
        while waiting:
            i, at = waiting.pop()
            sides: list[int] = []
            for child in (self._left[i], self._left[i] + 1):
                if self._leaf[child] >= 0:
                    sides += [self._add_leaf(child, c), 1]
                else:
                    sides += [len(self.nodes), 0]
                    waiting.append((child, len(self.nodes)))
                    self.nodes.append((0, 0.0, 0, 0, 0, 0, 0))
            yes, yes_leaf, no, no_leaf = sides
            missing = 0 if self._right[i] else 1
            self.nodes[at] = (self._feature[i], self._threshold[i], missing, yes, yes_leaf, no, no_leaf)

    def _add_leaf(self, i: int, c: int) -> int:
        self.leaves.append((c, float(self._votes[self._leaf[i], c])))
        return len(self.leaves) - 1
