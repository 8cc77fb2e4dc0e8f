"""The only place where a name becomes a class."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any

from thalweg.core.names import parse
from thalweg.core.params import shown


@dataclass(frozen=True)
class Entry:
    """What a name stands for."""

    home: str
    """``module:class``, below thalweg."""
    line: str
    """What it is, in a line."""
    preset: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that this name sets."""

    @property
    def cls(self) -> type:
        """The class; its file is loaded now."""
        module, name = self.home.split(":")
        return getattr(import_module(f"thalweg.{module}"), name)  # type: ignore[no-any-return]

    def make(self, **params: Any) -> Any:
        """Make one with these parameters."""
        return self.cls(**{**self.preset, **params})


def _table(**entries: Entry) -> Mapping[str, Entry]:
    return MappingProxyType({name.replace("_", "-"): entry for name, entry in entries.items()})


LEARNERS = _table(
    sdf=Entry("learners.deep.sdf:StreamingDeepForest", "layers of forests, each sees what the one before says"),
    arf=Entry("learners.forests.arf:AdaptiveRandomForest", "random forest whose failing trees are replaced"),
    srp=Entry(
        "learners.forests.srp:StreamingRandomPatches", "trees on random features and rows, replaced when they fail"
    ),
    leveraging_bagging=Entry(
        "learners.forests.leveraging:LeveragingBagging", "bagging with heavy weights, the worst replaced"
    ),
    online_bagging=Entry("learners.forests.bagging:OnlineBagging", "trees on random samples of the rows"),
    adwin_bagging=Entry(
        "learners.forests.bagging:OnlineBagging", "the same, the worst replaced at a drift", {"drift": "adwin"}
    ),
    smooth_boost=Entry(
        "learners.forests.smooth_boost:OnlineSmoothBoost", "each tree learns what those before get wrong"
    ),
    hoeffding_tree=Entry("learners.trees.hoeffding:HoeffdingTree", "decision tree that grows from a stream"),
    hoeffding_adaptive_tree=Entry(
        "learners.trees.adaptive:HoeffdingAdaptiveTree", "Hoeffding tree that replaces branches whose errors rise"
    ),
    efdt=Entry("learners.trees.efdt:ExtremelyFastDecisionTree", "tree that splits early and reviews its splits"),
    mcdiarmid_tree=Entry(
        "learners.trees.mcdiarmid:McDiarmidTree", "tree on binned numbers, splits by Gini gain and its error"
    ),
    knn=Entry("learners.windows.knn:WindowKNN", "nearest neighbours among the last rows"),
    ball_cover=Entry("learners.balls.ball_cover:BallCover", "balls that shrink where they err, nothing to tune"),
    ball_cover_plus=Entry(
        "learners.balls.ball_cover_plus:BallCoverPlus", "the same balls asked in three ways, bounded"
    ),
    condensed_knn=Entry(
        "learners.balls.condensed_knn:CondensedKNN", "nearest neighbours among rows that were mistakes"
    ),
    kernel_perceptron=Entry(
        "learners.balls.kernel_perceptron:KernelPerceptron", "Gaussians on rows that were mistakes"
    ),
    sam_knn=Entry("learners.windows.sam_knn:SamKNN", "nearest neighbours in a short and a long memory"),
    cs_knn=Entry("learners.compressed.neighbours:CompressedKNN", "nearest neighbours behind a random projection"),
    cs_sam_knn=Entry(
        "learners.compressed.neighbours:CompressedSamKNN", "a short and a long memory behind a random projection"
    ),
    hashed_knn=Entry("learners.compressed.neighbours:HashedKNN", "nearest neighbours behind the hashing trick"),
    pca_knn=Entry("learners.compressed.neighbours:PCAKNN", "nearest neighbours behind moving principal components"),
    csb_knn=Entry("learners.compressed.csb_knn:CompressedBagging", "bagged neighbours, a projection for each"),
    cs_knn_lb=Entry("learners.compressed.neighbours:CompressedBaggedKNN", "bagged neighbours behind one projection"),
    cs_arf=Entry(
        "learners.compressed.forest_behind:CompressedForest", "adaptive random forest behind a random projection"
    ),
    cs_hoeffding_lb=Entry(
        "learners.compressed.forest_behind:CompressedForest",
        "leveraging bagging behind a random projection",
        {"forest": "leveraging-bagging", "size": 10},
    ),
    ckdt=Entry("learners.tensors.ckdt:CKDT", "tensors: a tree on chordal distances to landmark tensors"),
    ckdt_forest=Entry(
        "learners.tensors.ckdt_forest:CKDTForest", "tensors: such trees, each on its own landmarks and modes"
    ),
    mddt=Entry("learners.tensors.four_others:MDDT", "tensors: the same tree on their values"),
    lrtcr=Entry("learners.tensors.four_others:LRTCR", "tensors: the same tree on a robust low-rank core"),
    opor=Entry(
        "learners.tensors.four_others:OPOR", "tensors: the same tree on principal components that follow the stream"
    ),
    lrtd=Entry(
        "learners.tensors.four_others:LRTD", "tensors: the same tree on a low-rank core that follows the stream"
    ),
    chunk_ensemble=Entry(
        "learners.chunks.chunk_ensemble:ChunkEnsemble", "a tree for each chunk of rows, asked through an index"
    ),
    le_tree=Entry(
        "learners.chunks.chunk_ensemble:ChunkEnsemble",
        "the last 30 trees, each from 10,000 rows, in an E-tree",
        {"size": 30, "chunk": 10_000, "index": "e-tree", "votes": "hard", "indexed": "target"},
    ),
    ge_tree=Entry(
        "learners.chunks.chunk_ensemble:ChunkEnsemble",
        "all trees, each from 10,000 rows, in an E-tree",
        {"size": None, "chunk": 10_000, "index": "e-tree", "votes": "hard", "indexed": "target"},
    ),
    l_ensemble=Entry(
        "learners.chunks.chunk_ensemble:ChunkEnsemble",
        "the last 30 trees, each from 10,000 rows, rule by rule",
        {"size": 30, "chunk": 10_000, "index": "linear-rules", "votes": "hard", "indexed": "target"},
    ),
    g_ensemble=Entry(
        "learners.chunks.chunk_ensemble:ChunkEnsemble",
        "all trees, each from 10,000 rows, rule by rule",
        {"size": None, "chunk": 10_000, "index": "linear-rules", "votes": "hard", "indexed": "target"},
    ),
    odl=Entry("learners.networks.odl:OnlineDeepLearning", "deep network that finds its own depth"),
    subspace_tree=Entry(
        "learners.subspaces.subspace_tree:SubspaceTree", "tree on distances to class subspaces, for images"
    ),
    subspace_forest=Entry("learners.subspaces.subspace_forest:SubspaceForest", "the same with ten trees"),
    naive_bayes=Entry("learners.baselines.naive_bayes:NaiveBayes", "independent features, Gaussians and counts"),
    majority=Entry("learners.baselines.majority:MajorityClass", "always the most frequent class so far"),
    no_change=Entry("learners.baselines.no_change:NoChange", "always the previous label"),
)

STREAMS = _table(
    sea=Entry("streams.generators.sea:SEA", "three numbers, two of them matter; 10 % noise"),
    agrawal=Entry("streams.generators.agrawal:Agrawal", "loan applications, ten rules, nominal and numeric"),
    random_tree=Entry("streams.generators.random_tree:RandomTree", "labels from a random tree"),
    rbf=Entry("streams.generators.rbf:RandomRBF", "clusters that rest"),
    rbf_drift=Entry(
        "streams.generators.rbf:RandomRBF", "moving clusters, five classes",
        {"classes": 5, "features": 10, "centroids": 50, "speed": 0.001},
    ),
    hyperplane=Entry(
        "streams.generators.hyperplane:Hyperplane", "a plane that turns, 5 % noise",
        {"drifting": 10, "magnitude": 0.001},
    ),
    led=Entry("streams.generators.led:LED", "digits of a broken display, 10 % noise"),
    led_drift=Entry("streams.generators.led:LED", "the same with seven segments swapped", {"drifting": 7}),
    waveform=Entry("streams.generators.waveform:Waveform", "mixed triangles with noise, three classes"),
    sine=Entry("streams.generators.sine:Sine", "above or below a curve"),
    mixed=Entry("streams.generators.mixed:Mixed", "two of three conditions"),
    stagger=Entry("streams.generators.stagger:STAGGER", "size, colour, shape, three rules"),
    text=Entry("streams.generators.text:Text", "short messages, happy or sad"),
    hyper_cube=Entry("streams.generators.hyper_cube:HyperCube", "a cube of abnormal records that moves"),
    sim_tensor=Entry("streams.generators.sim_tensor:SimTensor", "tensors of any order, four kinds of drift"),
    image_drift=Entry("streams.transforms.images:ImageDrift", "images that are turned, blurred, recoloured or renamed"),
)  # fmt: skip

PAPERS = MappingProxyType({
    name: Entry("streams.paper_streams:paper_stream", line, {"name": name})
    for name, line in {
        "AGR_a": "AGRAWAL, three abrupt drifts", "AGR_g": "AGRAWAL, three gradual drifts",
        "SEA_a": "SEA, three abrupt drifts", "SEA_g": "SEA, three gradual drifts",
        "LED_a": "LED, three abrupt drifts", "LED_g": "LED, three gradual drifts",
        "RTG": "random tree, no drift", "RBF_m": "clusters that move slowly", "RBF_f": "clusters that move fast",
        "HYPER": "a plane that turns", "Tweets-500": "messages of 500 words", "Tweets-1000": "messages of 1,000 words",
        "Tweets-1500": "messages of 1,500 words", "RBF-200x10": "clusters, 200 features, ten classes",
        "Syn-5": "a cube that moves, five features", "Syn-10": "a cube that moves, ten features",
    }.items()
})  # fmt: skip
"""The streams of the papers, as their authors made them (1,000,000 rows, Tweets and RBF-200x10 100,000)."""

DETECTORS = _table(
    adwin=Entry("detectors.adwin:ADWIN", "adaptive window, cut where the mean has changed"),
    ddm=Entry("detectors.ddm:DDM", "error rate above the lowest it has been"),
    eddm=Entry("detectors.eddm:EDDM", "errors closer together than they have been"),
    hddm_a=Entry("detectors.hddm_a:HDDMA", "rise of the mean, Hoeffding's bound"),
    hddm_w=Entry("detectors.hddm_w:HDDMW", "rise of a weighted mean, McDiarmid's bound"),
    page_hinkley=Entry("detectors.page_hinkley:PageHinkley", "sum of the deviations from the mean"),
    kswin=Entry("detectors.kswin:KSWIN", "window, newest and older values by the test of Kolmogorov and Smirnov"),
)

STRATEGIES = _table(
    random=Entry("active.chance:Random", "labels by chance"),
    fixed=Entry("active.uncertainty:FixedUncertainty", "labels where the certainty is below a threshold"),
    vu=Entry("active.uncertainty:VariableUncertainty", "the same, the threshold moves: about half of the rows"),
    vru=Entry("active.uncertainty:VariableRandomisedUncertainty", "the same, the threshold trembles"),
    selective=Entry("active.chance:SelectiveSampling", "by chance, more likely where the certainty is low"),
    split=Entry("active.chance:Split", "some by chance, the others by a moving threshold"),
    avu=Entry("active.avu:AVU", "moving threshold, and the rest of the budget by chance"),
)

METRICS: dict[str, str] = {
    "accuracy": "share of the rows predicted right",
    "kappa": "accuracy above what the class shares alone would give (Cohen)",
    "kappa_m": "accuracy above that of always predicting the majority class so far",
    "kappa_t": "accuracy above that of predicting the previous label",
    "f1_macro": "F1 of each class, averaged over the classes that occur or are predicted",
    "g_mean": "geometric mean of the recalls of the classes that occur",
    "balanced_accuracy": "mean of the recalls of the classes that occur",
    "log_loss": "mean of -ln(probability given to the true class); lower is better",
    "auc": "chance that a row of one class is scored above a row of another, over the window, averaged over pairs",
}
"""The metrics and what each says; all but ``log_loss``: higher is better."""

_OTHER_CLASSES = (
    "learners.baselines.vote:Vote", "active.learner:ActiveLearner", "learners.compressed.projected:Projected",
    "learners.windows.bagged:BaggedKNN", "learners.chunks.chunk_ensemble:FrozenEnsemble",
    "frozen.frozen_forest:FrozenForest", "learners.deep.frozen_deep:FrozenDeepForest",
    "index.linear:LinearRules", "index.linear:LinearTrees",
    "index.linear:CompiledTrees", "index.bitmap:BitmapIndex", "index.e_tree:ETree",
    "streams.drift:DriftStream", "streams.files.csv.csv_stream:CSVStream",
    "streams.generators.bayes_net:BayesNetStream",
    "streams.files.arrow:ParquetStream",
    "streams.files.arrow:ArrowStream",
    "streams.files.arff:ARFFStream",
    "streams.files.jsonl:JSONLinesStream",
    "streams.files.libsvm:LibSVMStream",
    "streams.files.npz:NPZStream",
    "streams.transforms.recurring:RecurringDrift", "streams.transforms.incremental:IncrementalDrift",
    "streams.transforms.features:FeatureDrift", "streams.transforms.priors:PriorDrift",
    "streams.transforms.priors:Imbalance", "streams.transforms.noise:LabelNoise",
    "streams.transforms.noise:MissingValues", "streams.transforms.noise:DelayedLabels",
)  # fmt: skip


def find(kind: str, name: str, table: Mapping[str, Entry]) -> Entry:
    """Look a name up; a wrong one gets a sentence with the names that exist."""
    if name in table:
        return table[name]
    close = difflib.get_close_matches(str(name), table, n=1)
    hint = f"did you mean {close[0]!r}? `thalweg list` shows all" if close else f"there are {', '.join(table)}"
    raise ValueError(f"{kind} must be a known name, got {shown(name)}: {hint}")


def make(kind: str, text: str, table: Mapping[str, Entry], **params: Any) -> Any:
    """Make what ``name(parameter=value)`` says, with further parameters."""
    name, given = parse(text)
    entry = find(kind, name, table)
    chosen = {**given, **params}
    known = parameters(entry.cls)
    for key in chosen:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            has = f"It has {', '.join(known)}" if known else "It has none"
            raise ValueError(f"{name} has no parameter {shown(key)}: {hint}{has}")
    return entry.make(**chosen)


def parameters(cls: type) -> dict[str, Any]:
    """The parameters of a class with their defaults."""
    import inspect

    parameters = inspect.signature(cls).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


def find_class(name: str) -> type:
    """Find a class of the library by its own name, for a snapshot."""
    homes = [e.home for table in (LEARNERS, STREAMS, DETECTORS, STRATEGIES) for e in table.values()]
    for home in [*homes, *_OTHER_CLASSES]:
        if home.endswith(f":{name}"):
            return Entry(home, "").cls
    raise ValueError(f"{shown(name)} is no class of this library: pass your own with load(path, cls=…)")
