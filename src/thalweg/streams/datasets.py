"""Real data sets by name, from the folder that the environment variable THALWEG_DATA names."""

import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from thalweg.core.params import shown
from thalweg.streams.files import CSVStream, ParquetStream, open_file
from thalweg.streams.memory import ArrayStream

VARIABLE = "THALWEG_DATA"

_MOST_CELLS = 10_000_000  # a sparse matrix with more cells is not made dense


@dataclass(frozen=True, slots=True)
class Dataset:
    """What is known about a data set before it is read.

    >>> DATASETS["electricity"].rows
    45312
    """

    name: str
    file: str
    rows: int
    features: int
    """Without the target and the columns that are left out."""
    classes: int
    order: str
    """What the order of the records means."""
    source: str
    """Where it comes from."""
    target: str = "class"
    drop: tuple[str, ...] = ()
    """Columns that are no features of the task."""
    sparse: bool = False

    @property
    def line(self) -> str:
        """What it is, in a line."""
        return f"{self.rows:,} rows, {self.features:,} features, {self.classes} classes, order: {self.order}"


DATASETS: dict[str, Dataset] = {
    d.name: d
    for d in (
        Dataset("adult", "adult.parquet", 48_842, 14, 2, "as in UCI", "UCI Adult (OpenML 1590)"),
        Dataset(
            "airlines",
            "airlines_5pct_shuffled.parquet",
            26_969,
            7,
            2,
            "shuffled: not for claims about drift",
            "5 % of OpenML 1169 (airlines)",
        ),
        Dataset(
            "airlines2007",
            "airlines2007_jan.parquet",
            50_482,
            12,
            2,
            "time (1 to 3 January 2007)",
            "US Bureau of Transportation Statistics, on-time performance",
            drop=("ActualElapsedTime",),
        ),
        Dataset("bike", "bike.parquet", 17_379, 4, 2, "time", "dos Reis et al., KDD 2016 (UCI Bike Sharing)"),
        Dataset(
            "cifar10", "cifar10_first10k.npz", 10_000, 3_072, 10, "first training batch", "CIFAR-10, Krizhevsky 2009"
        ),
        Dataset("cnae9", "cnae9.parquet", 1_080, 856, 9, "as in UCI", "UCI CNAE-9 (OpenML 1468)"),
        Dataset("covtype", "covtype.parquet", 581_012, 54, 7, "as in UCI", "UCI Covertype (OpenML 1596)"),
        Dataset("electricity", "electricity.parquet", 45_312, 8, 2, "time", "OpenML 151 (elecNormNew, Harries 1999)"),
        Dataset("enron", "enron_york.npz", 1_702, 1_000, 2, "as distributed", "Enron corpus, 1,000 words", sparse=True),
        Dataset(
            "gas",
            "gas_sensor_drift_no7no10.parquet",
            6_697,
            128,
            6,
            "time (batches 1 to 6, 8, 9)",
            "UCI Gas Sensor Array Drift",
            drop=("batch", "concentration"),
        ),
        Dataset(
            "imdb",
            "imdb_drama.npz",
            120_919,
            1_001,
            2,
            "as distributed",
            "IMDB.drama of MEKA (OpenML 273)",
            sparse=True,
        ),
        Dataset("kddcup99", "kddcup99_10pct.parquet", 494_021, 41, 23, "time", "UCI KDD Cup 1999, the 10 % file"),
        Dataset("keystroke", "keystroke.parquet", 1_600, 10, 4, "time", "dos Reis et al., KDD 2016 (Souza 2015)"),
        Dataset(
            "luxembourg", "luxembourg.parquet", 1_901, 31, 2, "as distributed", "European Social Survey, Žliobaitė 2011"
        ),
        Dataset(
            "magic",
            "magic.parquet",
            19_020,
            10,
            2,
            "sorted by class: shuffle it",
            "UCI MAGIC Gamma Telescope (OpenML 1120)",
        ),
        Dataset("mnist", "mnist.npz", 70_000, 784, 10, "60,000 for training, 10,000 for tests", "MNIST (OpenML 554)"),
        Dataset(
            "newsgroups20",
            "newsgroups20_bydate.npz",
            18_846,
            10_000,
            20,
            "by date in two parts",
            "20 Newsgroups, Lang 1995",
            sparse=True,
        ),
        Dataset(
            "ozone",
            "ozone_8hr.parquet",
            2_534,
            72,
            2,
            "time (days, 1998 to 2004)",
            "UCI Ozone Level Detection (OpenML 1487)",
        ),
        Dataset("poker", "poker_100k.parquet", 99_998, 10, 8, "random", "UCI Poker Hand, part of the testing file"),
        Dataset(
            "spam", "spam_corpus.npz", 9_324, 39_916, 2, "time", "SpamAssassin corpus, Katakis et al. 2010", sparse=True
        ),
        Dataset(
            "spambase", "spambase.parquet", 4_601, 57, 2, "sorted by class: shuffle it", "UCI Spambase (OpenML 44)"
        ),
        Dataset("usenet", "usenet5931.npz", 5_931, 658, 2, "time", "Usenet, Katakis et al. 2010", sparse=True),
        Dataset("wine-red", "wine_red.parquet", 1_599, 11, 6, "as in UCI", "UCI Wine Quality, red"),
        Dataset("wine-white", "wine_white.parquet", 4_898, 11, 7, "as in UCI", "UCI Wine Quality, white"),
    )
}


def load_dataset(name: str, limit: int | None = None, **options: Any) -> CSVStream | ParquetStream | ArrayStream:
    """Open a data set by name; options are those of the stream that reads it, such as ``drop``.

    >>> load_dataset("electrcity")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: name must be one of the data sets adult, ..., got 'electrcity' (did you mean 'electricity'?)
    """
    dataset = _known(name)
    path = _find(dataset)
    if path.suffix == ".npz":
        return _from_npz(dataset, path, limit, options)
    stream = open_file(path, **{"target": dataset.target, "drop": dataset.drop, "limit": limit} | options)
    stream.name = dataset.name
    return stream


load = load_dataset


def _known(name: str) -> Dataset:
    if not isinstance(name, str):
        raise TypeError(f"name must be the name of a data set, got {shown(name)}")
    if name not in DATASETS:
        near = get_close_matches(name, DATASETS, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"name must be one of the data sets {', '.join(DATASETS)}, got {shown(name)}{hint}")
    return DATASETS[name]


def _find(dataset: Dataset) -> Path:
    folder = os.environ.get(VARIABLE)
    if folder and (path := Path(folder) / dataset.file).is_file():
        return path
    now = f"which is {folder!r}" if folder else "which is not set"
    raise FileNotFoundError(
        f"data set {dataset.name!r} must lie as {dataset.file} in the folder that {VARIABLE} names ({now}); "
        f"it comes from: {dataset.source}"
    )


def _from_npz(dataset: Dataset, path: Path, limit: int | None, options: dict[str, Any]) -> ArrayStream:
    if dataset.sparse and dataset.rows * dataset.features > _MOST_CELLS:
        raise ValueError(
            f"data set {dataset.name!r} is sparse ({dataset.features:,} features): it comes with the sparse learners"
        )
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            y = arrays["y"].astype(np.int64)
            X = None if dataset.sparse else arrays["X"]
        if X is None:
            from scipy.sparse import load_npz

            X = load_npz(path).toarray()
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        raise ValueError(f"{path.name} must be an NPZ file with X and y: it is none, or damaged, or cut off") from None
    stream = ArrayStream(X.reshape(len(X), -1), y, limit=limit, **options)
    stream.name = dataset.name
    return stream
