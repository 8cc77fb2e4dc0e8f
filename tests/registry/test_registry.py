"""One table of names: the public names follow from it, every public class with state loads, users add their own."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import thalweg
from thalweg import registry
from thalweg.registry import stub

PLUGIN = '''
"""A package of somebody else."""
import numpy as np
from thalweg import Classifier
from thalweg.registry import Metric

class Guess(Classifier):
    """Predicts the class that was named first."""
    def __init__(self, *, boost=1.0):
        super().__init__()
        self.boost = boost
    def _start(self, schema): self._n = np.zeros(1)
    def _play(self, X, y, w, events, out, known):
        for e in events:
            if e >= 0: out[e, 0] = 1.0
            else: self._n += 1
    def _tables(self): return {"n": self._n}
    def _adopt(self, tables, schema, classes): self._n = tables["n"]

def error(counts):
    return 1.0 - counts.right / counts.weight

def undefined(counts):
    return 1.0 / 0.0

def brier(window):
    truth = np.eye(window.scores.shape[1])[window.y]
    return float(((window.scores - truth) ** 2).sum(axis=1).mean())

def hello(name: str = "world") -> None:
    """Say hello."""
    print(f"hello {name}")

wrong = Metric("my_plugin:error", "share of the rows predicted wrong", title="wrong", lower_is_better=True)
'''


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "my_plugin.py").write_text(PLUGIN, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("my_plugin", None)
    for table in registry.TABLES.values():
        table._added.clear()
        table._found = None


def test_what_type_checkers_know_is_up_to_date() -> None:
    assert stub.PATH.read_text("utf-8") == stub.stub(), "run `make names`"


def test_every_public_name_has_one_home() -> None:
    for name, home in registry.public().items():
        assert getattr(thalweg, name) is registry.Entry(home).cls
        assert home.partition(":")[2] == name
    assert set(dir(thalweg)) == {*registry.public(), "__version__"}


def saved() -> list[str]:
    verbs = ("state", "restore", "get_params")
    things = {name: getattr(thalweg, name) for name in registry.public()}
    return [
        name
        for name, thing in things.items()
        if isinstance(thing, type) and not inspect.isabstract(thing) and all(hasattr(thing, v) for v in verbs)
    ]


@pytest.mark.parametrize("name", saved())
def test_every_public_class_with_state_is_found_by_a_snapshot(name: str) -> None:
    assert registry.find_class(name) is getattr(thalweg, name)


def test_parts_of_tensor_learners_load(tmp_path: Path) -> None:
    X = np.random.default_rng(1).random((60, 4, 3))
    detector = thalweg.TensorDriftDetector()
    detector.update_many(X)
    features = thalweg.ChordalFeatures().fit(X[:5])
    for part in (detector, features):
        thalweg.save(part, tmp_path / "part")
        back = thalweg.load(tmp_path / "part")
        assert type(back) is type(part)
        for name, table in part.state().items():
            assert np.array_equal(back.state()[name], table, equal_nan=table.dtype.kind == "f"), name


@pytest.mark.parametrize("name", ["compare", "Trainer", "Chunk", "load", "run"])
def test_a_snapshot_can_name_nothing_else(name: str) -> None:
    with pytest.raises(ValueError, match="is not a class of this library"):
        registry.find_class(name)


# -- names of users ---------------------------------------------------------------------------------------------------


def test_a_registered_learner_works_everywhere(plugin: Path, run) -> None:
    thalweg.register("learner", "guess", "my_plugin:Guess", "the first class")
    code, _, err = run("run", "guess(boost=2.0)", "sea", "--limit", 1000, "--save", plugin / "model")
    assert (code, err) == (0, "")
    assert type(thalweg.load(plugin / "model")).__name__ == "Guess"
    assert "the first class" in run("list")[1]
    found = thalweg.compare(["guess", "majority"], on=["sea", "sine"], limit=1000)
    assert found.failures == {}
    result = thalweg.prequential(thalweg.SEA(seed=1), registry.LEARNERS["guess"].make(), limit=1000)
    assert result.rows == 1000


def test_a_registered_metric_is_in_every_table(plugin: Path, run) -> None:
    import my_plugin  # type: ignore[import-not-found]

    thalweg.register("metric", "error", my_plugin.error, "share wrong", title="Error", lower_is_better=True)
    thalweg.register("metric", "half_brier", my_plugin.brier, title="Brier", windowed=True)
    thalweg.register("metric", "undefined", my_plugin.undefined)
    result = thalweg.prequential(thalweg.SEA(seed=1), thalweg.NaiveBayes(), limit=3000)
    assert result.final["error"] == 1.0 - result.accuracy
    assert result.final["half_brier"] == result.recent["half_brier"] > 0.0
    assert np.isnan(result.final["undefined"])
    assert result.curve["window_error"].shape == (3,)
    assert "Error" in str(result.table())
    assert "half_brier" not in result.curve
    found = thalweg.compare(["naive-bayes", "no-change"], on=["sea", "sine"], limit=1000, metric="error")
    assert found.ranking().ranks[0] < found.ranking().ranks[1]  # the lower error
    assert "Error;" in str(found.table())
    pytest.importorskip("matplotlib")
    assert result.plot(metric="error").alt.startswith("Error over the last")
    found.to_html(plugin / "report.html")
    assert "Brier" in (plugin / "report.html").read_text("utf-8")


def test_what_only_this_process_has_is_refused_by_compare() -> None:
    @thalweg.register("metric", "inside")
    def inside(counts: object) -> float:
        return 0.0

    try:
        with pytest.raises(ValueError, match="metric 'inside' must be defined in a module that other processes"):
            thalweg.compare(["majority"], on=["sea"], limit=100, metric="inside")
    finally:
        registry.METRICS.discard("inside")


def test_an_installed_package_brings_names(plugin: Path, run) -> None:
    info = plugin / "my_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugin\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(
        "[thalweg.learners]\nguess = my_plugin:Guess\nbroken = my_plugin:Nothing\n"
        "[thalweg.metrics]\nwrong = my_plugin:wrong\n[thalweg.commands]\nhello = my_plugin:hello\n",
        "utf-8",
    )
    code, out, _ = run("list")
    assert code == 0
    assert "Predicts the class that was named first." in out
    assert "cannot be loaded" in out
    assert run("hello", "--name", "you")[1] == "hello you\n"
    code, out, err = run("run", "guess", "sea", "--limit", 1000)
    assert (code, err) == (0, "")
    assert "wrong" in out


def test_importing_looks_for_no_packages() -> None:
    code = "import sys, thalweg; print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_registered_format_opens(plugin: Path) -> None:
    thalweg.register("format", "semicolons", lambda path, target="class": thalweg.CSVStream(
        path, target=target, delimiter=";"), endings=(".scsv",), text=True)  # fmt: skip
    (plugin / "rows.scsv").write_text("x;class\n1;a\n2;b\n", "utf-8")
    assert thalweg.open_file(plugin / "rows.scsv").read(5).y.tolist() == ["a", "b"]
    assert registry.typed.is_file("rows.scsv")


@pytest.mark.parametrize(
    ("words", "more", "sentence"),
    [
        (("tree", "x", int), {}, "kind must be one of 'learner', 'stream',"),
        (("learner", "arf", int), {}, "name must not be one of the library's own, got the learner 'arf'"),
        (("learner", "a b", int), {}, "name must consist of letters"),
        (("learner", "x", "no place"), {}, "thing must be a class, a function or a text like module:Class"),
        (("learner", "x", int), {"colour": 1}, "a learner has family, preset, got colour"),
    ],
)
def test_what_cannot_be_registered(words, more, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        thalweg.register(*words, **more)


def test_a_number_is_nothing_to_register() -> None:
    with pytest.raises(TypeError, match="thing must be a class, a function or a text like module:Class, got 3"):
        thalweg.register("learner", "x", 3)


def _depth(kind: type) -> int:
    """How many classes of the library lie one above the other, this one counted."""
    above = [_depth(base) for base in kind.__bases__ if base.__module__.startswith("thalweg.")]
    return 1 + max(above, default=0)


def test_no_registered_or_public_class_is_more_than_four_deep() -> None:
    tables = ("learner", "stream", "detector", "strategy", "projection", "transformer", "index")
    listed = [entry.cls for name in tables for entry in registry.TABLES[name].own.values()]
    kinds = {
        kind for kind in (*listed, *(getattr(thalweg, name) for name in registry.public())) if inspect.isclass(kind)
    }
    assert len(kinds) > 120
    assert sorted(f"{kind.__name__}: {_depth(kind)}" for kind in kinds if _depth(kind) > 4) == []
