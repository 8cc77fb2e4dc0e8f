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
    "Vote": "baselines.vote",
    "OnlineDeepLearning": "networks.odl",
    "CompressedKNN": "neighbours.compressed",
    "HashedKNN": "neighbours.compressed",
    "PCAKNN": "neighbours.compressed",
    "CompressedBagging": "neighbours.compressed_bagging",
    "CompressedForest": "forests.compressed",
    "CKDT": "tensors.ckdt",
    "CKDTForest": "tensors.forest",
    "MDDT": "tensors.baselines",
    "OPOR": "tensors.baselines",
    "LRTCR": "tensors.baselines",
    "LRTD": "tensors.baselines",
    "ChordalDistance": "tensors.metric",
    "ChordalFeatures": "tensors.features",
    "CPTensors": "tensors.forms",
    "SparseTensors": "tensors.forms",
    "TensorDriftDetector": "tensors.drift",
    "SubspaceForest": "tensors.subspace_forest",
    "SubspaceTree": "tensors.subspace_tree",
    "Projected": "projections.projected",
    "GaussianProjection": "projections.random_matrices",
    "BernoulliProjection": "projections.random_matrices",
    "VerySparseProjection": "projections.random_matrices",
    "FourierProjection": "projections.random_matrices",
    "HashProjection": "projections.random_matrices",
    "PCAProjection": "projections.pca",
    "Distortion": "projections.projection",
    "least_dimension": "projections.projection",
    "BaggedKNN": "neighbours.bagged",
    "CompressedBaggedKNN": "neighbours.compressed",
    "CompressedSamKNN": "neighbours.compressed",
    "WindowKNN": "neighbours.knn",
    "SamKNN": "neighbours.sam_knn",
    "StreamingDeepForest": "deep.sdf",
    "StreamingRandomPatches": "forests.srp",
    "OnlineSmoothBoost": "forests.smooth_boost",
    "OnlineBagging": "forests.bagging",
    "LeveragingBagging": "forests.leveraging",
    "AdaptiveRandomForest": "forests.arf",
    "ADWIN": "detectors.adwin",
    "ARFFStream": "streams.arff",
    "Agrawal": "streams.generators.agrawal",
    "ArrayStream": "streams.memory",
    "ArrowStream": "streams.arrow_files",
    "BallCover": "neighbours.ball_cover",
    "BallCoverPlus": "neighbours.ball_cover_plus",
    "CondensedKNN": "neighbours.condensed_knn",
    "KernelPerceptron": "neighbours.kernel_perceptron",
    "plot_balls": "neighbours.ball_pictures",
    "plot_explanation": "tensors.pictures",
    "BayesNetStream": "streams.generators.bayes_net",
    "CSVStream": "streams.csv",
    "Chunk": "core.chunk",
    "Classifier": "core.classifier",
    "DDM": "detectors.ddm",
    "DelayedLabels": "streams.transforms.noise",
    "DriftStream": "streams.drift",
    "EDDM": "detectors.eddm",
    "ExtremelyFastDecisionTree": "trees.efdt",
    "Feature": "core.schema",
    "FeatureDrift": "streams.transforms.features",
    "HDDMA": "detectors.hddm_a",
    "HDDMW": "detectors.hddm_w",
    "HoeffdingAdaptiveTree": "trees.adaptive",
    "HoeffdingTree": "trees.hoeffding",
    "HyperCube": "streams.generators.hyper_cube",
    "Hyperplane": "streams.generators.hyperplane",
    "ImageDrift": "streams.transforms.images",
    "Imbalance": "streams.transforms.priors",
    "IncrementalDrift": "streams.transforms.incremental",
    "IterableStream": "streams.iterable",
    "JSONLinesStream": "streams.lines",
    "KSWIN": "detectors.kswin",
    "LED": "streams.generators.led",
    "LabelNoise": "streams.transforms.noise",
    "LibSVMStream": "streams.libsvm",
    "MajorityClass": "baselines.majority",
    "McDiarmidTree": "trees.mcdiarmid",
    "MissingValues": "streams.transforms.noise",
    "Mixed": "streams.generators.mixed",
    "NPZStream": "streams.npz",
    "NaiveBayes": "baselines.naive_bayes",
    "NoChange": "baselines.no_change",
    "PageHinkley": "detectors.page_hinkley",
    "ParquetStream": "streams.arrow_files",
    "PriorDrift": "streams.transforms.priors",
    "RandomRBF": "streams.generators.rbf",
    "RandomTree": "streams.generators.random_tree",
    "RecurringDrift": "streams.transforms.recurring",
    "SEA": "streams.generators.sea",
    "STAGGER": "streams.generators.stagger",
    "Schema": "core.schema",
    "SimTensor": "tensors.sim_tensor",
    "Sine": "streams.generators.sine",
    "Text": "streams.generators.text",
    "Waveform": "streams.generators.waveform",
    "check_classifier": "checks",
    "check_detector": "checks",
    "check_stream": "checks",
    "Comparison": "comparison.outcome",
    "Ranking": "evaluate.ranking",
    "compare": "comparison.grid",
    "describe_stream": "evaluate.stream_summary",
    "load": "snapshot",
    "load_dataset": "streams.datasets",
    "open_file": "streams.files",
    "paper_stream": "streams.papers",
    "prequential": "evaluate.prequential",
    "save": "snapshot",
    "BitmapIndex": "index.bitmap",
    "ChunkEnsemble": "index.chunk_ensemble",
    "CompiledTrees": "index.linear",
    "ETree": "index.e_tree",
    "FrozenDeepForest": "deep.frozen",
    "FrozenEnsemble": "index.chunk_ensemble",
    "FrozenForest": "index.frozen",
    "Predictor": "serve.predictor",
    "Trainer": "serve.trainer",
    "LinearRules": "index.linear",
    "LinearTrees": "index.linear",
    "Rules": "index.rules",
    "freeze": "index.frozen",
    "make_index": "index.choose",
    "rules_of": "index.sources",
    "write_stream": "streams.write",
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
    from thalweg.baselines.majority import MajorityClass
    from thalweg.baselines.naive_bayes import NaiveBayes
    from thalweg.baselines.no_change import NoChange
    from thalweg.baselines.vote import Vote
    from thalweg.checks import check_classifier, check_detector, check_stream
    from thalweg.comparison.grid import compare
    from thalweg.comparison.outcome import Comparison
    from thalweg.core.chunk import Chunk
    from thalweg.core.classifier import Classifier
    from thalweg.core.schema import Feature, Schema
    from thalweg.deep.frozen import FrozenDeepForest
    from thalweg.deep.sdf import StreamingDeepForest
    from thalweg.detectors.adwin import ADWIN
    from thalweg.detectors.ddm import DDM
    from thalweg.detectors.eddm import EDDM
    from thalweg.detectors.hddm_a import HDDMA
    from thalweg.detectors.hddm_w import HDDMW
    from thalweg.detectors.kswin import KSWIN
    from thalweg.detectors.page_hinkley import PageHinkley
    from thalweg.evaluate.prequential import prequential
    from thalweg.evaluate.ranking import Ranking
    from thalweg.evaluate.stream_summary import describe_stream
    from thalweg.forests.arf import AdaptiveRandomForest
    from thalweg.forests.bagging import OnlineBagging
    from thalweg.forests.compressed import CompressedForest
    from thalweg.forests.leveraging import LeveragingBagging
    from thalweg.forests.smooth_boost import OnlineSmoothBoost
    from thalweg.forests.srp import StreamingRandomPatches
    from thalweg.index.bitmap import BitmapIndex
    from thalweg.index.choose import make_index
    from thalweg.index.chunk_ensemble import ChunkEnsemble, FrozenEnsemble
    from thalweg.index.e_tree import ETree
    from thalweg.index.frozen import FrozenForest, freeze
    from thalweg.index.linear import CompiledTrees, LinearRules, LinearTrees
    from thalweg.index.rules import Rules
    from thalweg.index.sources import rules_of
    from thalweg.neighbours.bagged import BaggedKNN
    from thalweg.neighbours.ball_cover import BallCover
    from thalweg.neighbours.ball_cover_plus import BallCoverPlus
    from thalweg.neighbours.ball_pictures import plot_balls
    from thalweg.neighbours.compressed import PCAKNN, CompressedBaggedKNN, CompressedKNN, CompressedSamKNN, HashedKNN
    from thalweg.neighbours.compressed_bagging import CompressedBagging
    from thalweg.neighbours.condensed_knn import CondensedKNN
    from thalweg.neighbours.kernel_perceptron import KernelPerceptron
    from thalweg.neighbours.knn import WindowKNN
    from thalweg.neighbours.sam_knn import SamKNN
    from thalweg.networks.odl import OnlineDeepLearning
    from thalweg.projections.pca import PCAProjection
    from thalweg.projections.projected import Projected
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
    from thalweg.snapshot import load, save
    from thalweg.streams.arff import ARFFStream
    from thalweg.streams.arrow_files import ArrowStream, ParquetStream
    from thalweg.streams.csv import CSVStream
    from thalweg.streams.datasets import load_dataset
    from thalweg.streams.drift import DriftStream
    from thalweg.streams.files import open_file
    from thalweg.streams.generators.agrawal import Agrawal
    from thalweg.streams.generators.bayes_net import BayesNetStream
    from thalweg.streams.generators.hyper_cube import HyperCube
    from thalweg.streams.generators.hyperplane import Hyperplane
    from thalweg.streams.generators.led import LED
    from thalweg.streams.generators.mixed import Mixed
    from thalweg.streams.generators.random_tree import RandomTree
    from thalweg.streams.generators.rbf import RandomRBF
    from thalweg.streams.generators.sea import SEA
    from thalweg.streams.generators.sine import Sine
    from thalweg.streams.generators.stagger import STAGGER
    from thalweg.streams.generators.text import Text
    from thalweg.streams.generators.waveform import Waveform
    from thalweg.streams.iterable import IterableStream
    from thalweg.streams.libsvm import LibSVMStream
    from thalweg.streams.lines import JSONLinesStream
    from thalweg.streams.memory import ArrayStream
    from thalweg.streams.npz import NPZStream
    from thalweg.streams.papers import paper_stream
    from thalweg.streams.transforms.features import FeatureDrift
    from thalweg.streams.transforms.images import ImageDrift
    from thalweg.streams.transforms.incremental import IncrementalDrift
    from thalweg.streams.transforms.noise import DelayedLabels, LabelNoise, MissingValues
    from thalweg.streams.transforms.priors import Imbalance, PriorDrift
    from thalweg.streams.transforms.recurring import RecurringDrift
    from thalweg.streams.write import write_stream
    from thalweg.tensors.baselines import LRTCR, LRTD, MDDT, OPOR
    from thalweg.tensors.ckdt import CKDT
    from thalweg.tensors.drift import TensorDriftDetector
    from thalweg.tensors.features import ChordalFeatures
    from thalweg.tensors.forest import CKDTForest
    from thalweg.tensors.forms import CPTensors, SparseTensors
    from thalweg.tensors.metric import ChordalDistance
    from thalweg.tensors.pictures import plot_explanation
    from thalweg.tensors.sim_tensor import SimTensor
    from thalweg.tensors.subspace_forest import SubspaceForest
    from thalweg.tensors.subspace_tree import SubspaceTree
    from thalweg.trees.adaptive import HoeffdingAdaptiveTree
    from thalweg.trees.efdt import ExtremelyFastDecisionTree
    from thalweg.trees.hoeffding import HoeffdingTree
    from thalweg.trees.mcdiarmid import McDiarmidTree


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
