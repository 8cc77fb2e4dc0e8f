"""Streams of images: data sets that keep their shape, orders in which classes join, and drifts made of changes."""

import numpy as np
import pytest

from thalweg import (
    SEA,
    ArrayStream,
    DriftStream,
    ImageDrift,
    NaiveBayes,
    NPZStream,
    Schema,
    SimTensor,
    checks,
    describe_stream,
    load_dataset,
    prequential,
    registry,
)

RNG = np.random.default_rng(0)
GREY, COLOUR = RNG.integers(0, 256, (2000, 6, 6), dtype=np.uint8), RNG.integers(0, 256, (2000, 4, 6, 3), dtype=np.uint8)
LABELS = RNG.integers(0, 4, 2000)


def stream(images=GREY, classes=(0, 1, 2, 3), **options):
    return ArrayStream(images, LABELS, schema=Schema.tensor(images.shape[1:], classes=classes), **options)


def drifted(change, images=GREY, position=500, n=1500, **options):
    """Give images and labels of a stream that changes."""
    chunk = ImageDrift(stream=stream(images), change=change, position=position, **options).take(n)
    return chunk.X.reshape(-1, *images.shape[1:]), chunk.y


# -- data sets --------------------------------------------------------------------------------------------------------


def test_digits_come_with_scikit_learn():
    found = load_dataset("digits")
    assert (found.name, found.rows, found.white) == ("digits", 1797, 16.0)
    assert (found.schema.shape, found.schema.classes) == ((8, 8), tuple(range(10)))
    bundled = pytest.importorskip("sklearn.datasets").load_digits()
    chunk = found.take(5000)
    assert (chunk.X.reshape(-1, 8, 8) == bundled.images).all()
    assert (chunk.y == bundled.target).all()
    assert chunk.X.max() == 16.0
    assert prequential(load_dataset("digits"), NaiveBayes()).accuracy > 0.8
    assert load_dataset("digits", sparse=True).take(5).sparse


@pytest.mark.parametrize(("name", "shape"), [("mnist", (28, 28)), ("cifar10", (32, 32, 3))])
def test_images_keep_their_shape(real_data, name, shape):
    found = load_dataset(name)
    assert (found.schema.shape, found.schema.classes, found.white) == (shape, tuple(range(10)), 255.0)
    assert found.X.dtype == np.uint8  # not copied as a whole
    with np.load(real_data / ("mnist.npz" if name == "mnist" else "cifar10_first10k.npz")) as arrays:
        assert (found.take(50).X.reshape(-1, *shape) == arrays["X"][:50]).all()
    smooth = load_dataset(name).take(200).X.reshape(-1, *shape)
    across = np.abs(np.diff(smooth, axis=2)).mean()  # neighbours are alike, so rows and columns come first
    assert across < np.abs(smooth - np.roll(smooth, 5, axis=2)).mean()


def test_an_npz_file_keeps_the_shape(tmp_path):
    np.savez(tmp_path / "images.npz", X=COLOUR[:9], y=LABELS[:9])
    found = NPZStream(tmp_path / "images.npz")
    assert found.schema.shape == (4, 6, 3)
    assert (found.take(9).X.reshape(-1, 4, 6, 3) == COLOUR[:9]).all()
    np.savez(tmp_path / "rows.npz", X=COLOUR[:9, 0, 0], y=LABELS[:9])
    assert NPZStream(tmp_path / "rows.npz").schema.shape is None


def test_a_table_of_pixels_has_the_shape_of_its_data_set(tmp_path, monkeypatch):
    header = "".join(f"@attribute pixel{i} numeric\n" for i in range(784))
    rows = "".join(",".join(str((i + r) % 256) for i in range(784)) + f",{r}\n" for r in range(3))
    text = f"@relation m\n{header}@attribute class {{0,1,2,3}}\n@data\n{rows}"
    (tmp_path / "fashion-mnist.arff").write_text(text)
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    found = load_dataset("fashion-mnist")
    assert found.take(2).X.shape == (2, 784)
    assert (found.schema.shape, found.schema.classes, found.white) == ((28, 28), (0, 1, 2, 3), 255.0)


# -- orders -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["shuffled", "incremental"])
def test_orders_give_every_row_once(order):
    found = stream(order=order, seed=5)
    chunk = found.take(3000)
    key = {row.tobytes(): i for i, row in enumerate(GREY.reshape(2000, -1).astype(np.float64))}
    rows = np.array([key[row.tobytes()] for row in chunk.X])
    assert sorted(rows.tolist()) == list(range(2000))
    assert (LABELS[rows] == chunk.y).all()
    assert (np.abs(np.diff(rows)) > 1).mean() > 0.9
    assert (stream(order=order, seed=6).take(3000).X != chunk.X).any()
    checks.check_stream(lambda: stream(order=order))


def test_classes_join_one_after_another_and_stay():
    y, drifts = stream(order="incremental").take(2000).y, stream(order="incremental").drifts
    assert drifts == tuple(np.flatnonzero(y == c)[0] for c in (1, 2, 3))
    for c, start in enumerate((0, *drifts)):
        stretch = y[start : [*drifts, 2000][c]]
        assert set(stretch.tolist()) == set(range(c + 1))
    assert (np.bincount(y[drifts[-1] :]) > 50).all()
    assert stream(order="incremental", limit=drifts[1]).drifts == drifts[:1]
    assert stream().drifts == stream(order="shuffled").drifts == ()


def test_bad_orders():
    for wrong in ({"order": "backwards"}, {"order": None}, {"seed": -1}):
        with pytest.raises((ValueError, TypeError), match=f"^{next(iter(wrong))} must"):
            stream(**wrong)


# -- changes ----------------------------------------------------------------------------------------------------------


def test_a_quarter_turn_is_exact_and_further_positions_turn_further():
    X, y = drifted("rotate", position=(500, 700, 900, 1100))
    assert (y == LABELS[:1500]).all()
    for quarters, rows in enumerate([slice(500), slice(500, 700), slice(700, 900), slice(900, 1100)]):
        assert (X[rows] == np.rot90(GREY[rows], quarters, axes=(1, 2))).all()
    assert (X[1100:] == GREY[1100:1500]).all()


def test_other_angles_are_turned_the_same_way():
    X, _ = drifted("rotate", degrees=-450.0)
    assert (X[500:] == np.rot90(GREY[500:1500], -1, axes=(1, 2))).all()
    blob = np.zeros((3, 21, 21))
    blob[:, 10, 16:19] = 1.0  # to the right
    labels = [0, 1, 0]
    found = ImageDrift(stream=ArrayStream(blob, labels), position=1, degrees=45.0).take(3).X.reshape(3, 21, 21)
    assert (found[0] == blob[0]).all()
    i, j = (float((found[1] * axis).sum() / found[1].sum()) for axis in np.indices((21, 21)))
    assert (10 - i, j - 10) == pytest.approx((7 * 2**-0.5, 7 * 2**-0.5), abs=0.3)  # up and to the right
    half, _ = drifted("rotate", COLOUR, degrees=180.0)
    assert (half[500:] == COLOUR[500:1500, ::-1, ::-1]).all()
    quarter, _ = drifted("rotate", COLOUR)  # of images that are wider than high: what leaves the frame is lost
    assert quarter.shape == (1500, 4, 6, 3)
    assert (quarter[500:, :, 1:5] == np.rot90(COLOUR[500:1500, :, 1:5], axes=(1, 2))).all()


def test_blur_keeps_the_mean_and_takes_the_contrast():
    X, _ = drifted("blur", COLOUR, sigma=1.5)
    before, after = COLOUR[500:1500].astype(float), X[500:]
    assert after.mean() == pytest.approx(before.mean(), rel=0.01)
    assert after.std(axis=(1, 2)).mean() < 0.5 * before.std(axis=(1, 2)).mean()
    flat = ImageDrift(stream=ArrayStream(np.full((4, 5, 5), 7.0), [0, 1, 0, 1]), change="blur", position=0).take(4)
    assert flat.X == pytest.approx(7.0)


def test_colours_are_inverted_or_exchanged():
    X, _ = drifted("invert", white=255)
    assert (X[500:] == 255.0 - GREY[500:1500]).all()
    X, _ = drifted("recolour", COLOUR)
    assert (X[500:, ..., [1, 2, 0]] == COLOUR[500:1500]).all()
    assert (ImageDrift(change="invert", position=0).take(9).X == 16.0 - load_dataset("digits").take(9).X).all()


def test_classes_get_the_name_of_the_next():
    X, y = drifted("relabel")
    assert (X == GREY[:1500]).all()
    assert (y[:500] == LABELS[:500]).all()
    assert (y[500:] == (LABELS[500:1500] + 1) % 4).all()
    names = ("a", "b", "c", "d")
    words = ArrayStream(GREY, np.array(names)[LABELS], schema=Schema.tensor((6, 6), classes=names))
    assert ImageDrift(stream=words, change="relabel", position=0).take(5).y.tolist() == ["bcda"[c] for c in LABELS[:5]]


def test_each_position_may_have_a_change_of_its_own():
    X, y = drifted(("invert", "relabel", "rotate"), position=(300, 600, 900), white=255.0)
    assert (X[300:900] == 255.0 - GREY[300:900]).all()
    assert (y[600:] == (LABELS[600:1500] + 1) % 4).all()
    assert (X[900:] == np.rot90(255.0 - GREY[900:1500], axes=(1, 2))).all()


def test_a_gradual_change_is_a_growing_share():
    runs = [drifted("relabel", position=700, n=2000, width=400, seed=s)[1] for s in range(40)]
    shares = np.mean([y != LABELS for y in runs], axis=0)
    t = np.arange(1, 2001)
    p = 1 / (1 + np.exp(-4 * (t - 700) / 400))
    for rows in range(0, 2000, 100):
        expected = p[rows : rows + 100]
        error = np.sqrt((expected * (1 - expected)).sum() / 40) / 100
        assert shares[rows : rows + 100].mean() == pytest.approx(expected.mean(), abs=4 * error + 1e-9)


def test_gradual_changes_come_in_order():
    X, y = drifted(("invert", "relabel"), position=(500, 700), width=600, white=255.0)
    inverted, renamed = (X == 255.0 - GREY[:1500]).all(axis=(1, 2)), y != LABELS[:1500]
    assert (inverted | (X == GREY[:1500]).all(axis=(1, 2))).all()
    assert not (renamed & ~inverted).any()
    assert 0 < (inverted & ~renamed)[300:900].sum()


# -- as a stream ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [
    {"change": "rotate", "degrees": 20.0, "width": 300}, {"change": "blur"}, {"change": "relabel", "width": 500},
    {"change": ("recolour", "invert"), "position": (200, 800), "white": 255.0},
], ids=str)  # fmt: skip
def test_promises(options, tmp_path):
    np.savez(tmp_path / "images.npz", X=COLOUR, y=LABELS)
    schema = Schema.tensor(COLOUR.shape[1:], classes=(0, 1, 2, 3))

    def make():
        return ImageDrift(**{"stream": NPZStream(tmp_path / "images.npz", schema=schema), "position": 400} | options)

    checks.check_stream(make)


def test_drifts_are_those_of_both():
    inner = ImageDrift(stream=stream(), change="rotate", position=300, width=50)
    outer = ImageDrift(stream=inner, change="relabel", position=(100, 900), limit=800)
    assert (outer.drifts, outer.widths, outer.rows) == ((100, 300), (1.0, 50.0), 800)
    assert (outer.schema, outer.white) == (stream().schema, None)
    X = outer.take(800).X.reshape(-1, 6, 6)
    assert (X[400:] == np.rot90(GREY[400:800], axes=(1, 2))).all()


def test_by_name():
    text = "image-drift(stream=digits(order=shuffled),change=blur,position=700)"
    made = registry.make("stream", text, registry.STREAMS)
    assert (made.drifts, made.rows, made.name, made.white) == ((700,), 1797, "digits", 16.0)
    assert made.get_params()["stream"] == "digits(order=shuffled)"
    assert (made.take(700).X == load_dataset("digits", order="shuffled").take(700).X).all()
    tensors = registry.make("stream", "sim-tensor(order=6,drift=sudden)", registry.STREAMS)
    assert (tensors.order, tensors.drifts) == (6, (25_000, 50_000, 75_000))


@pytest.mark.parametrize(("wrong", "sentence"), [
    ({"stream": SEA()}, "stream must have images, height × width or .*, got rows of 3 features"),
    ({"stream": SimTensor(size=4)}, r"stream must have images, .* got shape \(4, 4, 4\)"),
    ({"stream": "mnits"}, "stream must be a stream, or the name of a data set: .*did you mean 'mnist'"),
    ({"stream": "digits(colour=1)"}, "stream must be a stream, or the name of a data set: .*colour"),
    ({"stream": 3}, "stream must be a stream, got 3"),
    ({"stream": stream(sparse=True)}, "stream must give dense rows"),
    ({"change": "shrink"}, "change must be one of"),
    ({"change": ("blur", "rotate")}, "change must be one of .* or one for each position"),
    ({"change": "recolour"}, r"stream must have images with colours to recolour, got shape \(6, 6\)"),
    ({"change": "invert"}, "white must be the highest value of a pixel"),
    ({"change": "invert", "white": -1}, "white must"),
    ({"change": "relabel", "stream": ArrayStream(GREY, LABELS)}, "stream must know its classes"),
    ({"position": (500, 500)}, "position must be a whole number, or several that rise"),
    ({"position": ()}, "position must be a whole number, or several that rise"),
    ({"position": -1}, "position must"), ({"position": 1.5}, "position must"),
    ({"width": -1}, "width must"), ({"degrees": "90"}, "degrees must"), ({"sigma": 0}, "sigma must"),
    ({"seed": -1}, "seed must"), ({"limit": -1}, "limit must"),
])  # fmt: skip
def test_bad_arguments(wrong, sentence):
    with pytest.raises((ValueError, TypeError), match=f"^{sentence}"):
        ImageDrift(**{"stream": stream()} | wrong)


def test_the_old_word_for_position_still_works():
    with pytest.warns(DeprecationWarning, match="'at' of ImageDrift is now called 'position'"):
        assert ImageDrift(stream=stream(), at=500).drifts == (500,)


def test_concepts_of_different_shapes_are_not_joined():
    other = ArrayStream(GREY.reshape(-1, 4, 9), LABELS, schema=Schema.tensor((4, 9), classes=(0, 1, 2, 3)))
    with pytest.raises(ValueError, match=r"^new must have records of shape \(6, 6\) and rank None as old has, got"):
        DriftStream(stream(), other, 100)


# -- looked at --------------------------------------------------------------------------------------------------------


def test_a_summary_shows_images_before_and_after_a_drift():
    found = describe_stream(ImageDrift(stream=stream(), change="invert", position=900, white=255.0))
    assert (found.shape, found.width) == ((6, 6), "36 features (tensors of 6×6)")
    assert found.image_rows == [0, 0, 900, 900]
    for c in range(4):
        first, second = np.flatnonzero(LABELS[:900] == c)[:2], 900 + np.flatnonzero(LABELS[900:] == c)[:2]
        assert (found.images[:2, c] == GREY[first]).all()
        assert (found.images[2:, c] == 255.0 - GREY[second]).all()
    assert str(found).startswith("ImageDrift, 2,000 rows, 4 classes, 36 features (tensors of 6×6)\n")
    assert found.to_dict()["shape"] == [6, 6]
    tensors = describe_stream(SimTensor(size=5, limit=100))
    assert (tensors.shape, tensors.rank, tensors.images) == ((5, 5, 5), 3, None)
    assert describe_stream(SEA(), rows=100).images is None


@pytest.mark.parametrize("images", [GREY, COLOUR], ids=["grey", "colour"])
def test_a_picture_has_a_panel_of_images(tmp_path, images):
    pytest.importorskip("matplotlib")
    summary = describe_stream(stream(images, limit=600))
    picture = summary.plot(tmp_path / "images.png")
    assert (tmp_path / "images.png").stat().st_size > 10_000
    assert f"images of the classes, {'×'.join(map(str, images.shape[1:]))}" in picture.alt
    panel = [axes for axes in picture.figure.axes if axes.images]
    assert len(panel) == 1
    shown = np.asarray(panel[0].images[0].get_array())
    tall, wide = images.shape[1:3]
    top = summary.images[:, :4].max()
    np.testing.assert_allclose(shown[:tall, :wide, :3] * top, np.broadcast_to(
        summary.images[0, 0].reshape(tall, wide, -1), (tall, wide, 3)))  # fmt: skip
