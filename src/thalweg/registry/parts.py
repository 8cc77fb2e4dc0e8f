"""Parts that learners are made of, by name: detectors, strategies, projections, transformers, kinds of index."""

from thalweg.registry.entry import Entry, Table

DETECTORS = Table("detector", Entry, {
    "adwin": Entry(".detectors.adwin:ADWIN", "adaptive window, cut where the mean has changed"),
    "ddm": Entry(".detectors.ddm:DDM", "error rate above the lowest it has been"),
    "eddm": Entry(".detectors.eddm:EDDM", "errors closer together than they have been"),
    "hddm-a": Entry(".detectors.hddm_a:HDDMA", "rise of the mean, Hoeffding's bound"),
    "hddm-w": Entry(".detectors.hddm_w:HDDMW", "rise of a weighted mean, McDiarmid's bound"),
    "page-hinkley": Entry(".detectors.page_hinkley:PageHinkley", "sum of the deviations from the mean"),
    "kswin": Entry(
        ".detectors.kswin:KSWIN", "window, newest and older values by the test of Kolmogorov and Smirnov"
    ),
})  # fmt: skip

STRATEGIES = Table("strategy", Entry, {
    "random": Entry(".active.chance:Random", "labels by chance"),
    "fixed": Entry(".active.uncertainty:FixedUncertainty", "labels where the certainty is below a threshold"),
    "vu": Entry(".active.uncertainty:VariableUncertainty", "the same, the threshold moves: about half of the rows"),
    "vru": Entry(".active.uncertainty:VariableRandomisedUncertainty", "the same, the threshold trembles"),
    "selective": Entry(".active.chance:SelectiveSampling", "by chance, more likely where the certainty is low"),
    "split": Entry(".active.chance:Split", "some by chance, the others by a moving threshold"),
    "avu": Entry(".active.avu:AVU", "moving threshold, and the rest of the budget by chance"),
})  # fmt: skip

_MATRICES = ".projections.random_matrices"

PROJECTIONS = Table("projection", Entry, {
    "gaussian": Entry(f"{_MATRICES}:GaussianProjection"),
    "bernoulli": Entry(f"{_MATRICES}:BernoulliProjection"),
    "very-sparse": Entry(f"{_MATRICES}:VerySparseProjection"),
    "fourier": Entry(f"{_MATRICES}:FourierProjection"),
    "hash": Entry(f"{_MATRICES}:HashProjection"),
    "pca": Entry(".projections.pca:PCAProjection"),
})  # fmt: skip

TRANSFORMERS = Table("transformer", Entry, {
    "standard-scaler": Entry(".prepare.scalers:StandardScaler", "running mean 0 and deviation 1"),
    "min-max-scaler": Entry(".prepare.scalers:MinMaxScaler", "running range 0 to 1"),
    "robust-scaler": Entry(".prepare.robust_scaler:RobustScaler", "running median 0 and distance of the quartiles 1"),
    "imputer": Entry(".prepare.imputer:Imputer", "missing values: mean, last or most frequent value"),
    "one-hot": Entry(".prepare.one_hot:OneHot", "nominal columns: a column of 0 and 1 for each of the first values"),
    "target-encoder": Entry(".prepare.target_encoder:TargetEncoder", "nominal columns: shares of the classes so far"),
    "hashing": Entry(".prepare.hashing:Hashing", "nominal columns: values hashed to some columns of 0 and 1"),
    "rare-groups": Entry(".prepare.rare_groups:RareGroups", "nominal columns: values that are rare so far as one"),
    "date-parts": Entry(".prepare.date_parts:DateParts", "dates and times: hour, weekday, month, time that has passed"),
    "hashed-text": Entry(".prepare.hashed_text:HashedText", "text: words or other n-grams, hashed to some columns"),
    "select": Entry(".prepare.select:Select", "columns that say most about the label, chosen as the stream goes on"),
    "lags": Entry(".prepare.lags:Lags", "earlier values and rolling means, for each key apart"),
})  # fmt: skip

INDEXES = Table("index", Entry, {
    "linear-rules": Entry(".index.linear:LinearRules"),
    "linear-trees": Entry(".index.linear:LinearTrees"),
    "e-tree": Entry(".index.e_tree:ETree"),
    "bitmap": Entry(".index.bitmap:BitmapIndex"),
    "compiled-trees": Entry(".index.linear:CompiledTrees"),
})  # fmt: skip
