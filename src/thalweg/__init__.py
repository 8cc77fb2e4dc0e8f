"""Classify data streams that change while they are being learned.

The public words of the library. Importing it loads NumPy and nothing heavy: each name is
fetched from its file when it is first used.

>>> import thalweg
>>> tree = thalweg.HoeffdingTree()
>>> result = thalweg.prequential(thalweg.SEA(seed=1), tree, limit=5_000)
>>> result.rows
5000
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "AVU": "active.avu",
    "ActiveLearner": "active.learner",
    "FixedUncertainty": "active.uncertainty",
    "Random": "active.chance",
    "SelectiveSampling": "active.chance",
    "Split": "active.chance",
    "Strategy": "active.strategy",
    "VariableRandomisedUncertainty": "active.uncertainty",
    "VariableUncertainty": "active.uncertainty",
    "Vote": "learners.baselines.vote",
    "OnlineDeepLearning": "learners.networks.odl",
    "CompressedKNN": "learners.compressed.neighbours",
    "HashedKNN": "learners.compressed.neighbours",
    "PCAKNN": "learners.compressed.neighbours",
    "CompressedBagging": "learners.compressed.csb_knn",
    "CompressedForest": "learners.compressed.forest_behind",
    "CKDT": "learners.tensors.ckdt",
    "CKDTForest": "learners.tensors.ckdt_forest",
    "MDDT": "learners.tensors.four_others",
    "OPOR": "learners.tensors.four_others",
    "LRTCR": "learners.tensors.four_others",
    "LRTD": "learners.tensors.four_others",
    "ChordalDistance": "tensors.metric",
    "ChordalFeatures": "learners.tensors.chordal_features",
    "CPTensors": "tensors.forms",
    "SparseTensors": "tensors.forms",
    "TensorDriftDetector": "detectors.tensor_drift",
    "SubspaceForest": "learners.subspaces.subspace_forest",
    "SubspaceTree": "learners.subspaces.subspace_tree",
    "Projected": "learners.compressed.projected",
    "GaussianProjection": "projections.random_matrices",
    "BernoulliProjection": "projections.random_matrices",
    "VerySparseProjection": "projections.random_matrices",
    "FourierProjection": "projections.random_matrices",
    "HashProjection": "projections.random_matrices",
    "PCAProjection": "projections.pca",
    "Distortion": "projections.projection",
    "least_dimension": "projections.projection",
    "BaggedKNN": "learners.windows.bagged",
    "CompressedBaggedKNN": "learners.compressed.neighbours",
    "CompressedSamKNN": "learners.compressed.neighbours",
    "WindowKNN": "learners.windows.knn",
    "SamKNN": "learners.windows.sam_knn",
    "StreamingDeepForest": "learners.deep.sdf",
    "StreamingRandomPatches": "learners.forests.srp",
    "OnlineSmoothBoost": "learners.forests.smooth_boost",
    "OnlineBagging": "learners.forests.bagging",
    "LeveragingBagging": "learners.forests.leveraging",
    "AdaptiveRandomForest": "learners.forests.arf",
    "ADWIN": "detectors.adwin",
    "ARFFStream": "streams.files.arff",
    "Agrawal": "streams.generators.agrawal",
    "ArrayStream": "streams.memory",
    "ArrowStream": "streams.files.arrow",
    "BallCover": "learners.balls.ball_cover",
    "BallCoverPlus": "learners.balls.ball_cover_plus",
    "CondensedKNN": "learners.balls.condensed_knn",
    "KernelPerceptron": "learners.balls.kernel_perceptron",
    "plot_balls": "learners.balls.ball_picture",
    "plot_explanation": "learners.tensors.tensor_picture",
    "BayesNetStream": "streams.generators.bayes_net",
    "CSVStream": "streams.files.csv.csv_stream",
    "Chunk": "core.chunk",
    "Classifier": "core.classifier",
    "DDM": "detectors.ddm",
    "DelayedLabels": "streams.transforms.noise",
    "DriftStream": "streams.drift",
    "EDDM": "detectors.eddm",
    "ExtremelyFastDecisionTree": "learners.trees.efdt",
    "Feature": "core.schema",
    "FeatureDrift": "streams.transforms.features",
    "HDDMA": "detectors.hddm_a",
    "HDDMW": "detectors.hddm_w",
    "HoeffdingAdaptiveTree": "learners.trees.adaptive",
    "HoeffdingTree": "learners.trees.hoeffding",
    "HyperCube": "streams.generators.hyper_cube",
    "Hyperplane": "streams.generators.hyperplane",
    "ImageDrift": "streams.transforms.images",
    "Imbalance": "streams.transforms.priors",
    "IncrementalDrift": "streams.transforms.incremental",
    "IterableStream": "streams.iterable",
    "JSONLinesStream": "streams.files.jsonl",
    "KSWIN": "detectors.kswin",
    "LED": "streams.generators.led",
    "LabelNoise": "streams.transforms.noise",
    "LibSVMStream": "streams.files.libsvm",
    "MajorityClass": "learners.baselines.majority",
    "McDiarmidTree": "learners.trees.mcdiarmid",
    "MissingValues": "streams.transforms.noise",
    "Mixed": "streams.generators.mixed",
    "NPZStream": "streams.files.npz",
    "NaiveBayes": "learners.baselines.naive_bayes",
    "NoChange": "learners.baselines.no_change",
    "PageHinkley": "detectors.page_hinkley",
    "ParquetStream": "streams.files.arrow",
    "PriorDrift": "streams.transforms.priors",
    "RandomRBF": "streams.generators.rbf",
    "RandomTree": "streams.generators.random_tree",
    "RecurringDrift": "streams.transforms.recurring",
    "SEA": "streams.generators.sea",
    "STAGGER": "streams.generators.stagger",
    "Schema": "core.schema",
    "SimTensor": "streams.generators.sim_tensor",
    "Sine": "streams.generators.sine",
    "Text": "streams.generators.text",
    "Waveform": "streams.generators.waveform",
    "check_classifier": "checks",
    "check_detector": "checks",
    "check_stream": "checks",
    "Comparison": "comparison.outcome",
    "Ranking": "comparison.ranking",
    "compare": "comparison.grid",
    "describe_stream": "show.stream_summary",
    "load": "keeping.snapshot",
    "load_dataset": "streams.datasets.loading",
    "open_file": "streams.files.opening",
    "paper_stream": "streams.paper_streams",
    "prequential": "evaluate.prequential",
    "save": "keeping.snapshot",
    "BitmapIndex": "index.bitmap",
    "ChunkEnsemble": "learners.chunks.chunk_ensemble",
    "CompiledTrees": "index.linear",
    "ETree": "index.e_tree",
    "FrozenDeepForest": "learners.deep.frozen_deep",
    "FrozenEnsemble": "learners.chunks.chunk_ensemble",
    "FrozenForest": "frozen.frozen_forest",
    "Predictor": "serve.predictor",
    "Trainer": "serve.trainer",
    "LinearRules": "index.linear",
    "LinearTrees": "index.linear",
    "Rules": "index.rules",
    "freeze": "frozen.frozen_forest",
    "make_index": "index.choose",
    "rules_of": "index.sources",
    "write_stream": "streams.files.writing",
}

__all__ = [
    "ADWIN",
    "AVU",
    "CKDT",
    "DDM",
    "EDDM",
    "HDDMA",
    "HDDMW",
    "KSWIN",
    "LED",
    "LRTCR",
    "LRTD",
    "MDDT",
    "OPOR",
    "PCAKNN",
    "SEA",
    "STAGGER",
    "ARFFStream",
    "ActiveLearner",
    "AdaptiveRandomForest",
    "Agrawal",
    "ArrayStream",
    "ArrowStream",
    "BaggedKNN",
    "BallCover",
    "BallCoverPlus",
    "BayesNetStream",
    "BernoulliProjection",
    "BitmapIndex",
    "CKDTForest",
    "CPTensors",
    "CSVStream",
    "ChordalDistance",
    "ChordalFeatures",
    "Chunk",
    "ChunkEnsemble",
    "Classifier",
    "Comparison",
    "CompiledTrees",
    "CompressedBaggedKNN",
    "CompressedBagging",
    "CompressedForest",
    "CompressedKNN",
    "CompressedSamKNN",
    "CondensedKNN",
    "DelayedLabels",
    "Distortion",
    "DriftStream",
    "ETree",
    "ExtremelyFastDecisionTree",
    "Feature",
    "FeatureDrift",
    "FixedUncertainty",
    "FourierProjection",
    "FrozenDeepForest",
    "FrozenEnsemble",
    "FrozenForest",
    "GaussianProjection",
    "HashProjection",
    "HashedKNN",
    "HoeffdingAdaptiveTree",
    "HoeffdingTree",
    "HyperCube",
    "Hyperplane",
    "ImageDrift",
    "Imbalance",
    "IncrementalDrift",
    "IterableStream",
    "JSONLinesStream",
    "KernelPerceptron",
    "LabelNoise",
    "LeveragingBagging",
    "LibSVMStream",
    "LinearRules",
    "LinearTrees",
    "MajorityClass",
    "McDiarmidTree",
    "MissingValues",
    "Mixed",
    "NPZStream",
    "NaiveBayes",
    "NoChange",
    "OnlineBagging",
    "OnlineDeepLearning",
    "OnlineSmoothBoost",
    "PCAProjection",
    "PageHinkley",
    "ParquetStream",
    "Predictor",
    "PriorDrift",
    "Projected",
    "Random",
    "RandomRBF",
    "RandomTree",
    "Ranking",
    "RecurringDrift",
    "Rules",
    "SamKNN",
    "Schema",
    "SelectiveSampling",
    "SimTensor",
    "Sine",
    "SparseTensors",
    "Split",
    "Strategy",
    "StreamingDeepForest",
    "StreamingRandomPatches",
    "SubspaceForest",
    "SubspaceTree",
    "TensorDriftDetector",
    "Text",
    "Trainer",
    "VariableRandomisedUncertainty",
    "VariableUncertainty",
    "VerySparseProjection",
    "Vote",
    "Waveform",
    "WindowKNN",
    "__version__",
    "check_classifier",
    "check_detector",
    "check_stream",
    "compare",
    "describe_stream",
    "freeze",
    "least_dimension",
    "load",
    "load_dataset",
    "make_index",
    "open_file",
    "paper_stream",
    "plot_balls",
    "plot_explanation",
    "prequential",
    "rules_of",
    "save",
    "write_stream",
]

if TYPE_CHECKING:
    from thalweg.active.avu import AVU
    from thalweg.active.chance import Random, SelectiveSampling, Split
    from thalweg.active.learner import ActiveLearner
    from thalweg.active.strategy import Strategy
    from thalweg.active.uncertainty import FixedUncertainty, VariableRandomisedUncertainty, VariableUncertainty
    from thalweg.checks import check_classifier, check_detector, check_stream
    from thalweg.comparison.grid import compare
    from thalweg.comparison.outcome import Comparison
    from thalweg.comparison.ranking import Ranking
    from thalweg.core.chunk import Chunk
    from thalweg.core.classifier import Classifier
    from thalweg.core.schema import Feature, Schema
    from thalweg.detectors.adwin import ADWIN
    from thalweg.detectors.ddm import DDM
    from thalweg.detectors.eddm import EDDM
    from thalweg.detectors.hddm_a import HDDMA
    from thalweg.detectors.hddm_w import HDDMW
    from thalweg.detectors.kswin import KSWIN
    from thalweg.detectors.page_hinkley import PageHinkley
    from thalweg.detectors.tensor_drift import TensorDriftDetector
    from thalweg.evaluate.prequential import prequential
    from thalweg.frozen.frozen_forest import FrozenForest, freeze
    from thalweg.index.bitmap import BitmapIndex
    from thalweg.index.choose import make_index
    from thalweg.index.e_tree import ETree
    from thalweg.index.linear import CompiledTrees, LinearRules, LinearTrees
    from thalweg.index.rules import Rules
    from thalweg.index.sources import rules_of
    from thalweg.keeping.snapshot import load, save
    from thalweg.learners.balls.ball_cover import BallCover
    from thalweg.learners.balls.ball_cover_plus import BallCoverPlus
    from thalweg.learners.balls.ball_picture import plot_balls
    from thalweg.learners.balls.condensed_knn import CondensedKNN
    from thalweg.learners.balls.kernel_perceptron import KernelPerceptron
    from thalweg.learners.baselines.majority import MajorityClass
    from thalweg.learners.baselines.naive_bayes import NaiveBayes
    from thalweg.learners.baselines.no_change import NoChange
    from thalweg.learners.baselines.vote import Vote
    from thalweg.learners.chunks.chunk_ensemble import ChunkEnsemble, FrozenEnsemble
    from thalweg.learners.compressed.csb_knn import CompressedBagging
    from thalweg.learners.compressed.forest_behind import CompressedForest
    from thalweg.learners.compressed.neighbours import (
        PCAKNN,
        CompressedBaggedKNN,
        CompressedKNN,
        CompressedSamKNN,
        HashedKNN,
    )
    from thalweg.learners.compressed.projected import Projected
    from thalweg.learners.deep.frozen_deep import FrozenDeepForest
    from thalweg.learners.deep.sdf import StreamingDeepForest
    from thalweg.learners.forests.arf import AdaptiveRandomForest
    from thalweg.learners.forests.bagging import OnlineBagging
    from thalweg.learners.forests.leveraging import LeveragingBagging
    from thalweg.learners.forests.smooth_boost import OnlineSmoothBoost
    from thalweg.learners.forests.srp import StreamingRandomPatches
    from thalweg.learners.networks.odl import OnlineDeepLearning
    from thalweg.learners.subspaces.subspace_forest import SubspaceForest
    from thalweg.learners.subspaces.subspace_tree import SubspaceTree
    from thalweg.learners.tensors.chordal_features import ChordalFeatures
    from thalweg.learners.tensors.ckdt import CKDT
    from thalweg.learners.tensors.ckdt_forest import CKDTForest
    from thalweg.learners.tensors.four_others import LRTCR, LRTD, MDDT, OPOR
    from thalweg.learners.tensors.tensor_picture import plot_explanation
    from thalweg.learners.trees.adaptive import HoeffdingAdaptiveTree
    from thalweg.learners.trees.efdt import ExtremelyFastDecisionTree
    from thalweg.learners.trees.hoeffding import HoeffdingTree
    from thalweg.learners.trees.mcdiarmid import McDiarmidTree
    from thalweg.learners.windows.bagged import BaggedKNN
    from thalweg.learners.windows.knn import WindowKNN
    from thalweg.learners.windows.sam_knn import SamKNN
    from thalweg.projections.pca import PCAProjection
    from thalweg.projections.projection import Distortion, least_dimension
    from thalweg.projections.random_matrices import (
        BernoulliProjection,
        FourierProjection,
        GaussianProjection,
        HashProjection,
        VerySparseProjection,
    )
    from thalweg.serve.predictor import Predictor
    from thalweg.serve.trainer import Trainer
    from thalweg.show.stream_summary import describe_stream
    from thalweg.streams.datasets.loading import load_dataset
    from thalweg.streams.drift import DriftStream
    from thalweg.streams.files.arff import ARFFStream
    from thalweg.streams.files.arrow import ArrowStream, ParquetStream
    from thalweg.streams.files.csv.csv_stream import CSVStream
    from thalweg.streams.files.jsonl import JSONLinesStream
    from thalweg.streams.files.libsvm import LibSVMStream
    from thalweg.streams.files.npz import NPZStream
    from thalweg.streams.files.opening import open_file
    from thalweg.streams.files.writing import write_stream
    from thalweg.streams.generators.agrawal import Agrawal
    from thalweg.streams.generators.bayes_net import BayesNetStream
    from thalweg.streams.generators.hyper_cube import HyperCube
    from thalweg.streams.generators.hyperplane import Hyperplane
    from thalweg.streams.generators.led import LED
    from thalweg.streams.generators.mixed import Mixed
    from thalweg.streams.generators.random_tree import RandomTree
    from thalweg.streams.generators.rbf import RandomRBF
    from thalweg.streams.generators.sea import SEA
    from thalweg.streams.generators.sim_tensor import SimTensor
    from thalweg.streams.generators.sine import Sine
    from thalweg.streams.generators.stagger import STAGGER
    from thalweg.streams.generators.text import Text
    from thalweg.streams.generators.waveform import Waveform
    from thalweg.streams.iterable import IterableStream
    from thalweg.streams.memory import ArrayStream
    from thalweg.streams.paper_streams import paper_stream
    from thalweg.streams.transforms.features import FeatureDrift
    from thalweg.streams.transforms.images import ImageDrift
    from thalweg.streams.transforms.incremental import IncrementalDrift
    from thalweg.streams.transforms.noise import DelayedLabels, LabelNoise, MissingValues
    from thalweg.streams.transforms.priors import Imbalance, PriorDrift
    from thalweg.streams.transforms.recurring import RecurringDrift
    from thalweg.tensors.forms import CPTensors, SparseTensors
    from thalweg.tensors.metric import ChordalDistance


_PACKAGES = ("active", "checks", "compat", "detectors", "evaluate", "registry", "streams")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"thalweg.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'thalweg' has no attribute {name!r}")
    value = getattr(import_module(f"thalweg.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
