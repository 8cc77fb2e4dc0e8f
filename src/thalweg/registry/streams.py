"""Streams by name: generators, the streams of the papers, data sets, and formats of files."""

from collections.abc import Mapping
from importlib import import_module

from thalweg.registry.entry import Entry, Format, Table

_GENERATORS = ".streams.generators"

STREAMS = Table("stream", Entry, {
    "sea": Entry(f"{_GENERATORS}.sea:SEA", "three numbers, two of them matter; 10 % noise"),
    "agrawal": Entry(f"{_GENERATORS}.agrawal:Agrawal", "loan applications, ten rules, nominal and numeric"),
    "random-tree": Entry(f"{_GENERATORS}.random_tree:RandomTree", "labels from a random tree"),
    "rbf": Entry(f"{_GENERATORS}.rbf:RandomRBF", "clusters that rest"),
    "rbf-drift": Entry(
        f"{_GENERATORS}.rbf:RandomRBF", "moving clusters, five classes",
        {"classes": 5, "features": 10, "centroids": 50, "speed": 0.001},
    ),
    "hyperplane": Entry(
        f"{_GENERATORS}.hyperplane:Hyperplane", "a plane that turns, 5 % noise", {"drifting": 10, "magnitude": 0.001}
    ),
    "led": Entry(f"{_GENERATORS}.led:LED", "digits of a broken display, 10 % noise"),
    "led-drift": Entry(f"{_GENERATORS}.led:LED", "the same with seven segments swapped", {"drifting": 7}),
    "waveform": Entry(f"{_GENERATORS}.waveform:Waveform", "mixed triangles with noise, three classes"),
    "sine": Entry(f"{_GENERATORS}.sine:Sine", "above or below a curve"),
    "mixed": Entry(f"{_GENERATORS}.mixed:Mixed", "two of three conditions"),
    "stagger": Entry(f"{_GENERATORS}.stagger:STAGGER", "size, colour, shape, three rules"),
    "text": Entry(f"{_GENERATORS}.text:Text", "short messages, happy or sad"),
    "hyper-cube": Entry(f"{_GENERATORS}.hyper_cube:HyperCube", "a cube of abnormal records that moves"),
    "sim-tensor": Entry(f"{_GENERATORS}.sim_tensor:SimTensor", "tensors of any order, four kinds of drift"),
    "image-drift": Entry(
        ".streams.transforms.images:ImageDrift", "images that are turned, blurred, recoloured or renamed"
    ),
})  # fmt: skip

PAPERS = Table("stream of a paper", Entry, {
    name: Entry(".streams.paper_streams:paper_stream", line, {"name": name})
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


def _catalogue() -> Mapping[str, Entry]:
    known = import_module("thalweg.streams.datasets.catalogue").DATASETS
    home = ".streams.datasets.loading:load_dataset"
    return {name: Entry(home, dataset.line, {"name": name}) for name, dataset in known.items()}


DATASETS = Table("data set", Entry, _catalogue)
"""The data sets; the catalogue (``streams.datasets.catalogue``) says what each is, and is read when it is needed."""

_FILES = ".streams.files"

FORMATS = Table("format", Format, {
    "csv": Format(f"{_FILES}.csv.csv_stream:CSVStream", endings=(".csv", ".tsv", ".tab"), text=True, target=None),
    "arff": Format(f"{_FILES}.arff:ARFFStream", endings=(".arff",), text=True, target=None),
    "jsonl": Format(f"{_FILES}.jsonl:JSONLinesStream", endings=(".jsonl", ".ndjson"), text=True, target=None),
    "libsvm": Format(f"{_FILES}.libsvm:LibSVMStream", endings=(".libsvm", ".svm"), text=True, target=""),
    "parquet": Format(f"{_FILES}.arrow:ParquetStream", endings=(".parquet", ".pq"), target=None),
    "arrow": Format(f"{_FILES}.arrow:ArrowStream", endings=(".arrow", ".feather", ".ipc"), target=None),
    "npz": Format(f"{_FILES}.npz:NPZStream", endings=(".npz",), target="y"),
})  # fmt: skip


def format_of(ending: str) -> Format | None:
    """Find the format of files whose names end like this.

    >>> format_of(".ndjson").name
    'JSONLinesStream'
    """
    return next((f for f in FORMATS.values() if ending in f.endings), None)
