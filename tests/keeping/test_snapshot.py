"""Files of arrays and snapshots: what goes in comes out; anything damaged, foreign or newer is refused."""

import errno
import json
import os
import pickle
import stat
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import thalweg
from thalweg.core.classifier import Classifier
from thalweg.keeping import arrays_file
from thalweg.keeping.arrays_file import read_arrays, write_arrays

NODE = np.dtype([("threshold", "f8"), ("feature", "i4"), ("left", "i4")])
ALIGNED = np.dtype([("flag", "i1"), ("weight", "f8")], align=True)
NESTED = np.dtype([("a", "i1"), ("b", "f8", (2, 3)), ("c", [("x", "u2"), ("y", "S3")])])

EXAMPLES = {
    "floats": np.linspace(0, 1, 7),
    "matrix": np.arange(6.0).reshape(2, 3),
    "nodes": np.array([(0.5, 1, 2), (-1.0, 3, 4)], dtype=NODE),
    "aligned": np.array([(1, 2.5)] * 3, dtype=ALIGNED),
    "nested": np.ones(3, dtype=NESTED),
    "empty": np.zeros((0, 3)),
    "empty nodes": np.zeros((2, 0), dtype=NODE),
    "scalar": np.array(3.5),
    "bools": np.array([True, False, True]),
    "seeds": np.array([2**63, 1], dtype=np.uint64),
    "bytes": np.frombuffer(b"text", dtype=np.uint8),
    "small": np.arange(-3, 4, dtype=np.int8),
    "single": np.arange(5, dtype=np.float32),
    "half": np.arange(5, dtype=np.float16),
    "words": np.array(["ab", "ü"]),
    "days": np.array(["2020-02-29"], dtype="M8[D]"),
    "complex": np.array([1j]),
    "nan": np.array([np.nan, np.inf, -0.0]),
    'odd "name" ü/': np.arange(3),
}


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


# -- arrays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mapped", [True, False])
def test_arrays_come_back_as_plain_writeable_arrays(path, mapped):
    write_arrays(path, EXAMPLES, {"note": ["ü", 1, None]})
    arrays, header = read_arrays(path, mapped=mapped)
    assert header["note"] == ["ü", 1, None]
    assert header["format"] == "thalweg-arrays"
    assert header["format_version"] == 1
    assert header["library_version"] == thalweg.__version__
    assert set(arrays) == set(EXAMPLES)
    for name, a in arrays.items():
        assert same(a, EXAMPLES[name]), name
        assert type(a) is np.ndarray
        assert a.flags.writeable
        assert a.flags.c_contiguous
        assert a.flags.aligned
        assert a.dtype.isalignedstruct == EXAMPLES[name].dtype.isalignedstruct  # compiled code tells them apart


def test_compiled_code_sees_the_same_type(path):
    numba = pytest.importorskip("numba")
    tables = {name: EXAMPLES[name] for name in ("matrix", "nodes", "aligned", "nested", "seeds", "small")}
    write_arrays(path, tables, {})
    for name, a in read_arrays(path)[0].items():
        assert numba.typeof(a) == numba.typeof(tables[name]), name


plain_types = st.one_of(
    hnp.integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(32, 64)),
    hnp.boolean_dtypes(),
    hnp.byte_string_dtypes(min_len=1, max_len=5),
    hnp.unicode_string_dtypes(endianness="?", min_len=1, max_len=5),
)
record_types = st.builds(
    lambda parts, align: np.dtype([(f"part {i}", part) for i, part in enumerate(parts)], align=align),
    st.lists(plain_types, min_size=1, max_size=4),
    st.booleans(),
)


@settings(max_examples=50, deadline=None)
@given(
    hnp.arrays(plain_types, hnp.array_shapes(min_dims=0, min_side=0, max_side=4)),
    record_types.flatmap(lambda dtype: st.builds(np.zeros, st.integers(0, 4), st.just(dtype))),
)
def test_any_arrays(tmp_path_factory, a, b):
    path = tmp_path_factory.mktemp("any") / "x"
    write_arrays(path, {"a": a, "b": b}, {})
    back, _ = read_arrays(path)
    assert same(back["a"], a.astype(a.dtype.newbyteorder("<")))
    assert back["b"].dtype == b.dtype.newbyteorder("<")
    assert np.array_equal(back["b"], b)  # not the bytes: those between aligned fields are anything
    assert back["a"].flags.aligned
    assert back["b"].flags.aligned


def test_layout_of_the_input_does_not_matter(path):
    a = np.arange(12.0).reshape(3, 4)
    read_only = a.copy()
    read_only.flags.writeable = False
    forms = {"fortran": np.asfortranarray(a), "sliced": np.repeat(a, 2, axis=1)[:, ::2], "big": a.astype(">f8"),
             "read only": read_only, "reversed": a[::-1][::-1]}  # fmt: skip
    write_arrays(path, forms, {})
    for name, back in read_arrays(path)[0].items():
        assert same(back, a), name
    assert not read_only.flags.writeable


def test_writing_to_a_mapped_array_leaves_the_file(path):
    write_arrays(path, {"a": np.zeros(1000)}, {})
    before = path.read_bytes()
    first, _ = read_arrays(path, mapped=True)
    first["a"][:] = 7.0
    assert path.read_bytes() == before
    assert not read_arrays(path)[0]["a"].any()


def test_saving_over_the_file_that_is_mapped(path):
    write_arrays(path, {"a": np.arange(100_000)}, {})
    arrays, _ = read_arrays(path, mapped=True)
    for _ in range(3):
        write_arrays(path, {"a": arrays["a"] + 1}, {})
        assert arrays["a"][-1] == 99_999
    assert read_arrays(path)[0]["a"][-1] == 100_000


def test_no_arrays_at_all(path):
    write_arrays(path, {}, {"only": "a header"})
    arrays, header = read_arrays(path)
    assert arrays == {}
    assert header["only"] == "a header"


def test_other_programs_can_read_the_file(path):
    safetensors = pytest.importorskip("safetensors")
    write_arrays(path, EXAMPLES, {"class": "Tree"})
    with safetensors.safe_open(path, "np") as file:
        assert set(file.keys()) == set(EXAMPLES)
        for name in ("floats", "matrix", "bools", "seeds", "small", "single", "empty", "scalar"):
            assert same(np.asarray(file.get_tensor(name)), EXAMPLES[name]), name
        assert json.loads(file.metadata()["thalweg"])["class"] == "Tree"


# -- damage -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(path):
    write_arrays(path, {"a": np.arange(5), "nodes": EXAMPLES["nodes"], "b": np.zeros(3, dtype=np.int8)}, {"k": 1})
    return path


def refused(path, **options):
    with pytest.raises(ValueError, match="is not a file of arrays that this thalweg can read: ") as caught:
        read_arrays(path, **options)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text


def test_truncation_at_every_byte_is_refused(small):
    data = small.read_bytes()
    for n in range(len(data)):
        small.write_bytes(data[:n])
        refused(small, verify=n % 2 == 0)


def test_a_flipped_bit_in_any_byte_is_refused(small):
    data = small.read_bytes()
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        small.write_bytes(damaged)
        refused(small)


def test_bytes_too_many_are_refused(small):
    data = small.read_bytes()
    for extra in (b"\0", b"\0" * 64, data):
        small.write_bytes(data + extra)
        assert "too long" in refused(small, verify=False)


def with_text(change):
    """A file whose JSON text was changed, with a right checksum."""
    table = {"__metadata__": {"checksum": "0" * 8}, "a": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}
    about = {"format": "thalweg-arrays", "format_version": 1, "library_version": "9", "dtypes": {}}
    change(table, about)
    table["__metadata__"]["thalweg"] = json.dumps(about)
    text = json.dumps(table).encode()
    text += b" " * (-(8 + len(text)) % 64)
    parts = [len(text).to_bytes(8, "little"), text, bytes(16)]
    right = f"{zlib.crc32(b''.join(parts)):08x}".encode()
    return parts[0] + text.replace(b"0" * 8, right, 1) + parts[2]


def test_the_helper_writes_files_that_are_read(path):
    path.write_bytes(with_text(lambda table, about: None))
    assert read_arrays(path)[0]["a"].tolist() == [0.0, 0.0]


def test_newer_files_are_refused_by_their_version(path):
    path.write_bytes(with_text(lambda table, about: about.update(format_version=2)))
    assert "newer thalweg 9 (format 2, this one reads up to 1)" in refused(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda table, about: about.update(format="other"),
        lambda table, about: about.update(format_version="1"),
        lambda table, about: about.pop("dtypes"),
        lambda table, about: table["a"].update(shape=[3]),
        lambda table, about: table["a"].update(shape=[-1, -2]),
        lambda table, about: table["a"].update(shape=[2.0]),
        lambda table, about: table["a"].update(dtype="F128"),
        lambda table, about: table["a"].update(data_offsets=[0, 8]),
        lambda table, about: table["a"].update(data_offsets=[8, 16]),
        lambda table, about: table["a"].update(data_offsets=[-8, 16]),
        lambda table, about: table["a"].update(data_offsets=["0", 16]),
        lambda table, about: table.update(b={"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}),
        lambda table, about: table.update(b=5),
        lambda table, about: about.update(dtypes={"a": {"dtype": "|O", "shape": [2]}}),
        lambda table, about: about.update(dtypes={"a": {"dtype": "nonsense", "shape": [2]}}),
        lambda table, about: about.update(dtypes={"a": {"dtype": {"names": ["x"]}, "shape": [2]}}),
        lambda table, about: about.update(
            dtypes={"a": {"dtype": {"names": ["x"], "formats": ["|O"], "offsets": [0], "itemsize": 8,
                                    "aligned": False}, "shape": [2]}}
        ),
        lambda table, about: about.update(dtypes=[]),
    ],
)  # fmt: skip
def test_files_that_lie_are_refused(path, change):
    path.write_bytes(with_text(change))
    refused(path)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"x", b"1234567", b"\0" * 8, b"\0" * 100, b"\xff" * 100, b"PK\x03\x04" * 10, pickle.dumps({"a": 1}) * 3,
        (2).to_bytes(8, "little") + b"{}", (2).to_bytes(8, "little") + b"[]", (4).to_bytes(8, "little") + b"null",
        (200_000).to_bytes(8, "little") + b"[" * 200_000, (9).to_bytes(8, "little") + b"\xff" * 9,
        (1 << 63).to_bytes(8, "little") + b"{}",
    ],
)  # fmt: skip
def test_foreign_files_are_refused(path, data):
    path.write_bytes(data)
    refused(path)


def test_a_safetensors_file_of_someone_else_is_refused(path):
    numpy_files = pytest.importorskip("safetensors.numpy")
    numpy_files.save_file({"weights": np.zeros(3)}, path, metadata={"format": "pt"})
    refused(path)


def test_a_place_that_cannot_be_written_to_gets_a_sentence(tmp_path, monkeypatch):
    long = tmp_path / ("m" * 300)
    with pytest.raises(OSError, match=rf"^path must be a file that can be written, {long} cannot: File name too long$"):
        thalweg.save(thalweg.MajorityClass(), long)
    assert list(tmp_path.iterdir()) == []

    def forbidden(path, *_):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr("thalweg.keeping.arrays_file.open", forbidden, raising=False)
    with pytest.raises(PermissionError) as caught:
        thalweg.save(thalweg.MajorityClass(), tmp_path / "model")
    assert (
        str(caught.value) == f"path must be a file that can be written, {tmp_path / 'model'} cannot: Permission denied"
    )


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(
        PermissionError, match="^path must be a file that can be written, .* cannot: Permission denied$"
    ):
        thalweg.save(thalweg.MajorityClass(), tmp_path / "model")
    tmp_path.chmod(0o700)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.here does not exist"):
        read_arrays(tmp_path / "nothing.here")
    with pytest.raises(FileNotFoundError, match="path must be in a folder that exists"):
        write_arrays(tmp_path / "no folder" / "x", {}, {})
    with pytest.raises(IsADirectoryError, match="path must name a file"):
        write_arrays(tmp_path, {}, {})
    assert "it is a folder" in refused(tmp_path)


# -- bad arguments, and crashes while writing -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arrays", "header"),
    [
        ({"a": np.array([{}], dtype=object)}, {}),
        ({"a": [1, 2]}, {}),
        ({"a": np.zeros(1, dtype=[("x", object)])}, {}),
        ({1: np.zeros(1)}, {}),
        ({"__metadata__": np.zeros(1)}, {}),
        ({}, {"x": float("nan")}),
        ({}, {"x": object()}),
        ({}, {"format": "mine"}),
    ],
)
def test_what_cannot_be_written_leaves_the_old_file(small, arrays, header):
    before = small.read_bytes()
    with pytest.raises((ValueError, TypeError), match="must"):
        write_arrays(small, arrays, header)
    assert small.read_bytes() == before
    assert os.listdir(small.parent) == [small.name]


@pytest.mark.parametrize("when", ["fsync", "replace"])
def test_a_crash_leaves_the_old_file_and_nothing_else(small, monkeypatch, when):
    before = small.read_bytes()

    def crash(*_args):
        raise OSError("no space left")

    monkeypatch.setattr(arrays_file.os, when, crash)
    with pytest.raises(OSError, match="no space left"):
        write_arrays(small, {"a": np.ones(3)}, {})
    assert small.read_bytes() == before
    assert os.listdir(small.parent) == [small.name]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_permissions_and_links(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    write_arrays(real, {}, {})
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(real.stat().st_mode) == 0o666 & ~umask
    link.symlink_to(real)
    write_arrays(link, {"a": np.ones(2)}, {})
    assert link.is_symlink()
    assert "a" in read_arrays(real)[0]


# -- snapshots --------------------------------------------------------------------------------------------------------


def learner():
    X = np.random.default_rng(0).random((50, 3))
    return thalweg.MajorityClass().partial_fit(X, np.where(X[:, 0] > 0.3, "up", "down"))


class MyLearner(Classifier):
    """A user's own class, with parameters of all kinds."""

    def __init__(self, *, a=1, b=(1, 2), c=("x", [1.5, None, (True,)])):
        self.a, self.b, self.c = a, b, c

    def _start(self, schema):
        self._count = np.zeros(1)

    def _play(self, X, y, w, events, out, known):
        for e in events:
            if e >= 0:
                out[e, :known] = 1 / known
            else:
                self._count += w[~e]
                known = max(known, y[~e] + 1)

    def _tables(self):
        return {"count": self._count}

    def _adopt(self, tables, schema, classes):
        self._count = tables["count"]


def test_learner_comes_back(path):
    one = learner()
    thalweg.save(one, path)
    two = thalweg.load(path)
    assert type(two) is thalweg.MajorityClass
    assert two.classes_.tolist() == one.classes_.tolist()
    assert two.schema == one.schema
    for name, table in one.state().items():
        assert same(table, two.state()[name])
    X = np.ones((5, 3))
    assert np.array_equal(two.test_then_train(X, ["up"] * 5), one.test_then_train(X, ["up"] * 5))
    header = read_arrays(path)[1]
    assert header["class"] == "thalweg.learners.baselines.majority:MajorityClass"
    assert header["params"] == {}
    assert [f["name"] for f in header["schema"]["features"]] == ["x0", "x1", "x2"]


def test_untrained_learner_comes_back(path):
    thalweg.save(thalweg.NoChange(), path)
    back = thalweg.load(path)
    assert back.classes_.size == 0
    assert back.learn_one([1.0], "a").predict_one([0.0]) == "a"


@pytest.mark.parametrize("mapped", [True, False])
def test_loading_never_changes_the_file(path, mapped):
    thalweg.save(learner(), path)
    before = path.read_bytes()
    two = thalweg.load(path, mapped=mapped)
    assert (two._tables()["counts"].base is not None) == mapped  # it stands on the file
    two.partial_fit(np.ones((5, 3)), ["up"] * 5)
    assert path.read_bytes() == before


def test_detector_comes_back(path):
    values = np.r_[np.zeros(500), np.ones(500)]
    whole = thalweg.ADWIN(delta=0.01)
    levels = whole.update_many(values)
    half = thalweg.ADWIN(delta=0.01)
    half.update_many(values[:511])
    thalweg.save(half, path)
    back = thalweg.load(path)
    assert back.get_params() == half.get_params()
    assert np.array_equal(back.update_many(values[511:]), levels[511:])


def test_streams_come_back_where_they_were(path):
    def make():
        return thalweg.DriftStream(thalweg.SEA(function=1, seed=1), thalweg.SEA(function=2, seed=5), position=100)

    for stream, fresh in ((make(), make()), (thalweg.SEA(seed=3, noise=0.25), thalweg.SEA(seed=3, noise=0.25))):
        stream.take(77)
        thalweg.save(stream, path)
        back = thalweg.load(path)
        fresh.take(77)
        a, b = back.take(200), fresh.take(200)
        assert a.X.tobytes() == b.X.tobytes()
        assert a.y.tobytes() == b.y.tobytes()
        assert repr(back) == repr(stream)


def test_own_class_must_be_passed(path):
    mine = MyLearner(a=np.int64(3), b=(5, "ü")).partial_fit([[1.0]], [1])
    thalweg.save(mine, path)
    with pytest.raises(ValueError, match=r"it holds a MyLearner from .*: pass your class with load\(path, cls=MyL"):
        thalweg.load(path)
    with pytest.raises(ValueError, match="it holds a MyLearner, and cls is NoChange"):
        thalweg.load(path, cls=thalweg.NoChange)
    back = thalweg.load(path, cls=MyLearner)
    assert back.get_params() == {"a": 3, "b": (5, "ü"), "c": ("x", [1.5, None, (True,)])}
    assert type(back.b) is tuple
    assert back.state()["count"] == 1.0


@pytest.mark.parametrize("value", [object(), float("nan"), {"a": {1}}, {1}, np.zeros(2), b"x", 1j, len, [object()]])
def test_parameters_that_cannot_be_written(path, value):
    with pytest.raises(TypeError, match="parameter 'a' of MyLearner must be"):
        thalweg.save(MyLearner(a=value), path)
    assert not path.exists()


@pytest.mark.parametrize("obj", [1, None, np.zeros(3), thalweg.MajorityClass, "model"])
def test_things_that_are_no_model(path, obj):
    with pytest.raises(TypeError, match="obj must have state"):
        thalweg.save(obj, path)
    assert not path.exists()


def test_a_file_cannot_name_code(path, tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("evil:MajorityClass", "os:system", "thalweg.evil:system", "thalweg:__name__", "thalweg.cli:main", ""):
        write_arrays(path, learner().state(), {"class": name, "params": {}})
        with pytest.raises(ValueError, match="is no snapshot that can be loaded: "):
            thalweg.load(path)
    assert "evil" not in sys.modules


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"class": 5, "params": {}},
        {"class": "thalweg.learners.baselines.majority:MajorityClass"},
        {"class": "thalweg.learners.baselines.majority:MajorityClass", "params": {"unknown": 1}},
        {"class": "thalweg.learners.baselines.majority:MajorityClass", "params": [1]},
        {"class": "thalweg.detectors.adwin:ADWIN", "params": {"delta": 7}},
        {"class": "thalweg.detectors.adwin:ADWIN", "params": {"delta": {"x": 7}}},
        {"class": "thalweg.detectors.adwin:ADWIN", "params": {}},
    ],
)
def test_headers_that_make_no_sense(path, header):
    write_arrays(path, learner().state(), header)
    with pytest.raises(ValueError, match="is no snapshot that can be loaded: ") as caught:
        thalweg.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("lost", ["labels", "schema", "counts"])
def test_states_that_lack_a_part(path, lost):
    state = learner().state()
    state.pop(lost)
    write_arrays(path, state, {"class": "thalweg.learners.baselines.majority:MajorityClass", "params": {}})
    if lost == "counts":  # all tables gone: a learner that was declared, but has not started
        assert not thalweg.load(path).state_bytes
    else:
        with pytest.raises(ValueError, match=r"state must be what MajorityClass\.state"):
            thalweg.load(path)


def test_snapshot_truncated_every_4_kb(path):
    wide = thalweg.MajorityClass().partial_fit(np.zeros((1, 8000)), ["a"])
    thalweg.save(wide, path)
    data = path.read_bytes()
    assert len(data) > 100_000
    for n in range(0, len(data), 4096):
        path.write_bytes(data[:n])
        with pytest.raises(ValueError, match="is not a file of arrays"):
            thalweg.load(path)


def test_missing_snapshot():
    with pytest.raises(FileNotFoundError, match="no such model does not exist"):
        thalweg.load(Path("no such model"))


@pytest.mark.parametrize("name", ["McDiarmidTree", "MDDT", "CKDTForest"])
def test_snapshots_in_the_words_of_an_older_version_load(name, tmp_path):
    learner = getattr(thalweg, name)(tau=0.02, leaf="bayes")
    thalweg.save(learner, tmp_path / "new.safetensors")
    arrays, header = read_arrays(tmp_path / "new.safetensors")
    words = header["params"]
    words["tie"], words["leaf"] = words.pop("tau"), "nb"
    write_arrays(tmp_path / "old.safetensors", arrays, {key: header[key] for key in ("class", "params")})
    old = thalweg.load(tmp_path / "old.safetensors")
    assert old.get_params() == learner.get_params()
    with pytest.raises(TypeError, match="tie"):
        getattr(thalweg, name)(tie=0.02)  # one word only
    with pytest.raises(ValueError, match="leaf must be one of 'majority', 'bayes', 'adaptive'(, None)?, got 'nb'"):
        getattr(thalweg, name)(leaf="nb")
