"""Learners by name, by family, what to try first of a family first."""

from dataclasses import replace

from thalweg.registry.entry import Entry, Table

_FAMILIES = {
    "Deep learners": {
        "sdf": Entry(".learners.deep.sdf:StreamingDeepForest", "layers of forests, each sees what the one before says"),
        "odl": Entry(".learners.networks.odl:OnlineDeepLearning", "deep network that finds its own depth"),
    },
    "Forests": {
        "arf": Entry(".learners.forests.arf:AdaptiveRandomForest", "random forest whose failing trees are replaced"),
        "srp": Entry(
            ".learners.forests.srp:StreamingRandomPatches", "trees on random features and rows, replaced when they fail"
        ),
        "leveraging-bagging": Entry(
            ".learners.forests.leveraging:LeveragingBagging", "bagging with heavy weights, the worst replaced"
        ),
        "online-bagging": Entry(".learners.forests.bagging:OnlineBagging", "trees on random samples of the rows"),
        "adwin-bagging": Entry(
            ".learners.forests.bagging:OnlineBagging", "the same, the worst replaced at a drift", {"drift": "adwin"}
        ),
        "smooth-boost": Entry(
            ".learners.forests.smooth_boost:OnlineSmoothBoost", "each tree learns what those before get wrong"
        ),
    },
    "Trees": {
        "hoeffding-tree": Entry(".learners.trees.hoeffding:HoeffdingTree", "decision tree that grows from a stream"),
        "hoeffding-adaptive-tree": Entry(
            ".learners.trees.adaptive:HoeffdingAdaptiveTree", "Hoeffding tree that replaces branches whose errors rise"
        ),
        "efdt": Entry(
            ".learners.trees.efdt:ExtremelyFastDecisionTree", "tree that splits early and reviews its splits"
        ),
        "mcdiarmid-tree": Entry(
            ".learners.trees.mcdiarmid:McDiarmidTree", "tree on binned numbers, splits by Gini gain and its error"
        ),
    },
    "Neighbours": {
        "knn": Entry(".learners.windows.knn:WindowKNN", "nearest neighbours among the last rows"),
        "sam-knn": Entry(".learners.windows.sam_knn:SamKNN", "nearest neighbours in a short and a long memory"),
    },
    "Balls": {
        "ball-cover-plus": Entry(".learners.balls.ball_cover_plus:BallCoverPlus", "balls asked in three ways, bounded"),
        "ball-cover": Entry(
            ".learners.balls.ball_cover:BallCover", "balls that shrink where they err, nothing to tune"
        ),
        "condensed-knn": Entry(
            ".learners.balls.condensed_knn:CondensedKNN", "nearest neighbours among rows that were mistakes"
        ),
        "kernel-perceptron": Entry(
            ".learners.balls.kernel_perceptron:KernelPerceptron", "Gaussians on rows that were mistakes"
        ),
    },
    "Compressed": {
        "csb-knn": Entry(".learners.compressed.csb_knn:CompressedBagging", "bagged neighbours, a projection for each"),
        "cs-knn": Entry(
            ".learners.compressed.neighbours:CompressedKNN", "nearest neighbours behind a random projection"
        ),
        "cs-sam-knn": Entry(
            ".learners.compressed.neighbours:CompressedSamKNN", "a short and a long memory behind a random projection"
        ),
        "cs-knn-lb": Entry(
            ".learners.compressed.neighbours:CompressedBaggedKNN", "bagged neighbours behind one projection"
        ),
        "hashed-knn": Entry(".learners.compressed.neighbours:HashedKNN", "nearest neighbours behind the hashing trick"),
        "pca-knn": Entry(
            ".learners.compressed.neighbours:PCAKNN", "nearest neighbours behind moving principal components"
        ),
        "cs-arf": Entry(
            ".learners.compressed.forest_behind:CompressedForest", "adaptive random forest behind a random projection"
        ),
        "cs-hoeffding-lb": Entry(
            ".learners.compressed.forest_behind:CompressedForest", "leveraging bagging behind a random projection",
            {"forest": "leveraging-bagging", "size": 10},
        ),
    },
    "Tensors": {
        "ckdt": Entry(".learners.tensors.ckdt:CKDT", "tensors: a tree on chordal distances to landmark tensors"),
        "ckdt-forest": Entry(
            ".learners.tensors.ckdt_forest:CKDTForest", "tensors: such trees, each on its own landmarks and modes"
        ),
        "mddt": Entry(".learners.tensors.baselines:MDDT", "tensors: the same tree on their values"),
        "opor": Entry(
            ".learners.tensors.baselines:OPOR",
            "tensors: the same tree on principal components that follow the stream",
        ),
        "lrtcr": Entry(".learners.tensors.baselines:LRTCR", "tensors: the same tree on a robust low-rank core"),
        "lrtd": Entry(
            ".learners.tensors.baselines:LRTD", "tensors: the same tree on a low-rank core that follows the stream"
        ),
    },
    "Images": {
        "subspace-tree": Entry(
            ".learners.subspaces.subspace_tree:SubspaceTree", "tree on distances to class subspaces, for images"
        ),
        "subspace-forest": Entry(".learners.subspaces.subspace_forest:SubspaceForest", "the same with ten trees"),
    },
    "Chunks": {
        "chunk-ensemble": Entry(
            ".learners.chunks.chunk_ensemble:ChunkEnsemble", "a tree for each chunk of rows, asked through an index"
        ),
        "le-tree": Entry(
            ".learners.chunks.chunk_ensemble:ChunkEnsemble", "the last 30 trees, each from 10,000 rows, in an E-tree",
            {"size": 30, "chunk": 10_000, "index": "e-tree", "votes": "hard", "indexed": "target"},
        ),
        "ge-tree": Entry(
            ".learners.chunks.chunk_ensemble:ChunkEnsemble", "all trees, each from 10,000 rows, in an E-tree",
            {"size": None, "chunk": 10_000, "index": "e-tree", "votes": "hard", "indexed": "target"},
        ),
        "l-ensemble": Entry(
            ".learners.chunks.chunk_ensemble:ChunkEnsemble", "the last 30 trees, each from 10,000 rows, rule by rule",
            {"size": 30, "chunk": 10_000, "index": "linear-rules", "votes": "hard", "indexed": "target"},
        ),
        "g-ensemble": Entry(
            ".learners.chunks.chunk_ensemble:ChunkEnsemble", "all trees, each from 10,000 rows, rule by rule",
            {"size": None, "chunk": 10_000, "index": "linear-rules", "votes": "hard", "indexed": "target"},
        ),
    },
    "Baselines": {
        "naive-bayes": Entry(
            ".learners.baselines.naive_bayes:NaiveBayes", "independent features, Gaussians and counts"
        ),
        "logistic-regression": Entry(
            ".learners.networks.logistic:LogisticRegression", "a weight for each column and class, dense or sparse"
        ),
        "majority": Entry(".learners.baselines.majority:MajorityClass", "always the most frequent class so far"),
        "no-change": Entry(".learners.baselines.no_change:NoChange", "always the previous label"),
    },
}  # fmt: skip

LEARNERS = Table(
    "learner",
    Entry,
    {name: replace(entry, family=family) for family, names in _FAMILIES.items() for name, entry in names.items()},
)
