"""A stream is summed up in constant memory, and drawn to a file and on the terminal."""

import io
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from rich.console import Console

from thalweg import SEA, Agrawal, ArrayStream, DriftStream, FeatureDrift, MissingValues, describe_stream
from thalweg.core.chunk import Chunk
from thalweg.core.schema import Feature, Schema
from thalweg.show import stream_summary
from thalweg.show.stream_picture import percent
from tiny_stream import TinyStream


def moving(n=4000):
    """Two features: one moves from 0 to 10, one rests; a nominal one that changes in the middle; gaps at the end."""
    rng = np.random.default_rng(3)
    X = np.column_stack([np.linspace(0, 10, n), rng.normal(size=n), np.where(np.arange(n) < n // 2, 0, 2)])
    X[3 * n // 4 :, 1] = np.where(rng.random(n - 3 * n // 4) < 0.5, np.nan, X[3 * n // 4 :, 1])
    y = np.where(np.arange(n) < n // 4, "early", "late")
    schema = Schema((Feature("ramp"), Feature("noise"), Feature("city", ("Rome", "Oslo", "Bern"))), ("early", "late"))
    return X, y, schema


@pytest.fixture(scope="module")
def summary():
    X, y, schema = moving()
    return describe_stream(TinyStream(X, y, schema=schema, drifts=(2000,)), name="moving")


def test_shares_means_bands_values_and_gaps_are_those_of_the_rows(summary):
    X, y, _ = moving()
    assert summary.rows == 4000
    assert summary.classes == ["early", "late"]
    np.testing.assert_allclose(summary.shares, [0.25, 0.75])
    assert summary.edges[0] == 0
    assert summary.edges[-1] == 4000
    ramp, noise, city = summary.features
    for b, (start, stop) in enumerate(zip(summary.edges, summary.edges[1:], strict=False)):
        part = X[start:stop]
        np.testing.assert_allclose(summary.class_shares[b, 0], (y[start:stop] == "early").mean())
        np.testing.assert_allclose(ramp.mean[b], part[:, 0].mean())
        np.testing.assert_allclose([ramp.low[b], ramp.high[b]], np.quantile(part[:, 0], [0.1, 0.9]))
        np.testing.assert_allclose(noise.mean[b], np.nanmean(part[:, 1]))
        np.testing.assert_allclose(noise.missing[b], np.isnan(part[:, 1]).mean(), atol=1e-12)
        np.testing.assert_allclose(city.values["Rome"][b], (part[:, 2] == 0).mean())
    assert noise.missing_share == pytest.approx(np.isnan(X[:, 1]).mean())
    assert ramp.missing_share == 0
    assert list(city.values)[:2] == ["Rome", "Bern"]
    assert ramp.middle == pytest.approx((5.0, 1.0, 9.0), abs=0.01)


def test_change_is_the_variance_that_time_explains(summary):
    ramp, noise, city = (f.change for f in summary.features)
    assert ramp > 0.99
    assert city > 0.99
    assert 0.2 < noise < 0.8  # its gaps come all at the end
    rests = describe_stream(SEA(seed=2), rows=20_000)
    assert max(f.change for f in rests.features) < 0.01


def test_the_features_that_change_most_are_chosen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 30))
    X[:, 17] += np.linspace(0, 5, 5000)
    X[2500:, 4] = np.nan
    X[:, 25] += np.linspace(0, 1, 5000)
    y = rng.integers(0, 2, 5000)
    X[:, 9] += np.where(np.arange(5000) < 2500, 1, -1) * (2 * y - 1) * 2  # rests, but not within a class
    summary = describe_stream(ArrayStream(X, y))
    assert len(summary.features) == 8
    assert {f.name for f in summary.features[:4]} == {"x4", "x9", "x17", "x25"}
    assert summary.heading == "the 8 of 30 features that change most"
    named = describe_stream(ArrayStream(X, y), features=["x3", "x1"])
    assert [f.name for f in named.features] == ["x3", "x1"]
    assert named.heading == "2 of 30 features"


class Pieces:
    """A stream in pieces of odd sizes, and now and then nothing."""

    schema = Schema.numeric(3, (0, 1))
    drifts = ()

    def __init__(self, n):
        self._inner, self._turn = SEA(seed=5, limit=n), 0

    def state(self):
        return {}

    def restore(self, state):
        raise NotImplementedError

    def read(self, n):
        self._turn += 1
        if self._turn % 5 == 0:
            return Chunk(np.empty((0, 3)), np.empty(0, dtype=np.int64))
        return self._inner.read(min(n, 37 * self._turn % 211 + 1))


def test_neither_the_size_of_chunks_nor_an_unknown_length_matters(monkeypatch):
    monkeypatch.setattr(stream_summary, "_NAP", 0.0)
    whole, pieces = describe_stream(SEA(seed=5), rows=20_000), describe_stream(Pieces(20_000))
    assert pieces.rows == 20_000
    np.testing.assert_array_equal(whole.edges, pieces.edges)
    for a, b in zip(whole.features, pieces.features, strict=True):
        np.testing.assert_allclose(a.mean, b.mean)
        np.testing.assert_array_equal(a.low, b.low)


def test_memory_does_not_grow_with_the_stream():
    import tracemalloc

    def peak(rows):
        stream = SEA(seed=1)
        stream.read(10)
        tracemalloc.start()
        describe_stream(stream, rows=rows)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(5_000)
    assert peak(300_000) < 1.1 * peak(30_000)


def test_quantiles_of_a_sample_are_near_and_joined_stretches_count_once():
    summary = describe_stream(SEA(seed=1), rows=400_000)
    assert stream_summary.BINS <= len(summary.edges) - 1 <= 2 * stream_summary.BINS
    for f in summary.features:  # uniform on [0, 10]
        np.testing.assert_allclose(f.low, 1.0, atol=0.4)
        np.testing.assert_allclose(f.high, 9.0, atol=0.4)
        assert abs(f.low.mean() - 1.0) < 0.03


def test_drifts_come_with_widths_and_from_where_the_stream_is():
    def stream():
        return DriftStream(SEA(function=1), SEA(function=3, seed=2), position=6000, width=2000, limit=10_000)

    assert (describe_stream(stream()).drifts, describe_stream(stream()).widths) == ([6000], [2000])
    assert describe_stream(stream(), rows=5000).drifts == []
    later = stream()
    later.take(1000)
    summary = describe_stream(later)
    assert (summary.rows, summary.drifts) == (9000, [5000])


def test_many_classes_and_values_are_grouped():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 300, 6000)
    X = rng.integers(0, 100, size=(6000, 1)).astype(float)
    schema = Schema((Feature("word", tuple(f"w{i}" for i in range(100))),))
    summary = describe_stream(TinyStream(X, y, schema=schema))
    assert len(summary.classes) == 256
    assert summary.classes[-1] == "other"
    assert summary.shares.sum() == pytest.approx(1.0)
    assert len(summary.features[0].values) == 5
    assert summary.plot().figure is not None
    assert "others" in str(summary)


def test_infinite_and_wholly_missing_values():
    X = np.column_stack([np.full(200, np.nan), np.where(np.arange(200) == 7, np.inf, 1.0)])
    summary = describe_stream(TinyStream(X, np.zeros(200, dtype=int)))
    gone, odd = summary.features
    assert gone.missing_share == 1.0
    assert odd.missing_share == pytest.approx(1 / 200)
    assert np.isfinite(odd.mean).all()
    summary.plot()
    assert "missing" in str(summary)
    json.dumps(summary.to_dict(), allow_nan=False)


# -- pictures ---------------------------------------------------------------------------------------------------------


def test_the_picture_has_a_panel_for_each_and_its_words(summary, tmp_path):
    path = tmp_path / "moving.png"
    picture = summary.plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert picture.alt == (
        "moving, 4,000 rows: 2 classes (late 75 %, early 25 %); the 3 features: ramp, noise, city; "
        "known drifts at row 2,000."
    )
    assert picture.alt.encode() in path.read_bytes()
    panels = [a for a in picture.figure.get_axes() if a.get_xlim() == (0.0, 4000.0) and a.axison]
    assert len(panels) == 4
    for panel in panels:
        assert any(list(line.get_xdata()) == [2000, 2000] for line in panel.lines)
    titles = [a.get_title(loc="left") for a in panels]
    assert titles == ["moving, 4,000 rows", "ramp", "noise", "city (share of its values, %)"]
    words = {t.get_text() for a in panels for t in a.texts}
    assert {"late  75 %", "early  25 %", "drift", "Rome", "Bern"} <= words
    noise = summary.features[1]
    assert f"{percent(noise.missing_share)} missing, at most {percent(noise.missing.max())}" in words


def test_a_gradual_drift_is_shaded_and_an_abrupt_one_is_not():
    def spans(width):
        stream = DriftStream(SEA(), SEA(seed=2), position=3000, width=width, limit=6000)
        axes = describe_stream(stream).plot().figure.get_axes()[0]
        return [tuple(p.get_extents().x1 for p in [patch.get_path()]) for patch in axes.patches]

    assert len(spans(1)) == 0
    assert len(spans(1000)) == 1


def test_svg_is_well_formed_and_repeatable(summary, tmp_path):
    paths = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for path in paths:
        summary.plot(path, dark=True, title="A & B")
    assert ET.fromstring(paths[0].read_text(encoding="utf-8")).attrib["role"] == "img"
    assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_is_filled_and_not_overrun(summary, width):
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(summary)
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    late = next(line for line in lines if line.startswith("late"))
    assert len(late) == width
    assert late.endswith("█" * 20)
    marks = next(line for line in lines if line.startswith("known drifts  "))
    bars = width - (len(late) - len(late.rstrip("▁▂▃▄▅▆▇█ ")))
    assert abs((marks.index("▲") - bars) / (width - bars) - 0.5) < 0.1
    assert ("from – to" in text.getvalue()) == (width >= 80)
    ramp = next(line for line in lines if line.startswith("ramp"))[-20:]
    assert list(ramp) == sorted(ramp)


def test_markup_in_names_is_text():
    X = np.random.default_rng(0).normal(size=(100, 1))
    schema = Schema((Feature("[bold]x[/bold]"),), ("[red]", "b"))
    text = str(describe_stream(TinyStream(X, np.array(["[red]", "b"] * 50), schema=schema), name="[/x]"))
    assert "[bold]x" in text
    assert "[red]" in text


def test_plain_numbers(summary):
    data = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert data["rows"] == 4000
    assert data["features"][0]["name"] == "ramp"
    assert len(data["features"][0]["mean"]) == len(data["edges"]) - 1
    assert repr(summary) == "StreamSummary(moving, 4,000 rows, 2 classes, 3 features)"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stream": SEA}, "stream must be a stream, the name of one"),
        ({"rows": 0}, "rows must lie in"),
        ({"rows": 1.5}, "rows must be a whole number"),
        ({"features": ["x9"]}, r"features must be among those of the stream \(x0, x1, x2\), got 'x9'"),
        ({"features": "x0"}, "features must be a list of names, got 'x0'"),
        ({"features": []}, "at least one feature"),
        ({"stream": SEA(limit=0)}, "stream must have records"),
    ],
)
def test_bad_arguments_get_a_sentence(change, words):
    with pytest.raises((ValueError, TypeError), match=words):
        describe_stream(**{"stream": SEA(), "rows": 100, **change})


def test_a_bad_path_is_refused(summary, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in one of .png, .svg, .pdf"):
        summary.plot(tmp_path / "x.jpeg")


# -- the command ------------------------------------------------------------------------------------------------------


def test_show_draws_on_the_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    code, out, err = run("show", "SEA_g", "--limit", 300_000, "--seed", 3)
    assert (code, err) == (0, "")
    assert out.startswith("SEA_g, 300,000 rows, 2 classes, 3 features\nknown drifts at 250,000, over 50,000 rows\n")
    assert "▲" in out
    assert max(map(len, out.splitlines())) <= 60


def test_show_writes_a_file(run, tmp_path):
    path = tmp_path / "agrawal.svg"
    code, out, err = run("show", "agrawal(function=2)", "--limit", 2000, "--features", "age, car", "--plot", path)
    assert (code, out, err) == (0, f"written: {path}\n", "")
    assert "2 of 9 features: age, car" in path.read_text(encoding="utf-8")
    code, _, err = run("show", "sea", "--plot", tmp_path / "none" / "x.png")
    assert code == 2
    assert "folder that exists" in err
    code, _, err = run("show", "sea", "--limit", 50, "--features", "x0,nothing")
    assert code == 2
    assert "got 'nothing'" in err


def test_a_file_is_read_to_its_end_by_show_and_by_run(run, tmp_path, monkeypatch):
    monkeypatch.setattr("thalweg.cli.shared.ENDLESS", 100)
    path = tmp_path / "long.csv"
    path.write_text("x,class\n" + "1.5,a\n2.5,b\n" * 150, encoding="utf-8")
    out = run("show", path, "--target", "class")[1]
    assert out.startswith("long.csv, 300 rows, 2 classes, 1 feature\n")
    assert json.loads(run("run", "majority", path, "--target", "class", "--json", "-")[1])["rows"] == 300
    assert json.loads(run("run", "majority", "sea", "--json", "-")[1])["rows"] == 100
    assert run("show", "sea")[1].startswith("sea, 100 rows")


def test_composed_streams_can_be_described():
    broken = FeatureDrift(MissingValues(Agrawal(), 0.1, columns=("age",)), 2000, drop=["car"])
    summary = describe_stream(broken, rows=4000)
    by_name = {f.name: f for f in summary.features}
    assert by_name["age"].missing_share == pytest.approx(0.1, abs=0.02)
    assert summary.features[0].name == "car"  # all of it is lost in the middle
    assert by_name["car"].missing_share == pytest.approx(0.5, abs=0.01)
    assert summary.drifts == [2000]
