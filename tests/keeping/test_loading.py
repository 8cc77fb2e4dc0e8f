"""Files that change, lie, name other files, or are no files; and saves that are killed."""

import copy
import functools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import thalweg
from thalweg.keeping.arrays_file import read_arrays, write_arrays

NODE = np.dtype([("threshold", "f8"), ("open", "?"), ("left", "i4", (2,))])
posix = pytest.mark.skipif(os.name != "posix", reason="files of POSIX")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model"


def in_a_process(code, *words, **options):
    """Run a program of its own, which must end well."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# -- a file that others change ----------------------------------------------------------------------------------------

CHANGED = """
import os, sys
import numpy as np
import thalweg
path = sys.argv[1]
X = np.random.default_rng(1).random((3000, 50))
model = thalweg.NaiveBayes().partial_fit(X, np.arange(3000) % 20)
thalweg.save(model, path)
before, size = model.predict_proba(X[:50]), os.path.getsize(path)
loaded = thalweg.load(path)
with open(path, "r+b") as file:
    file.write(b"\\xff" * size)
assert np.array_equal(loaded.predict_proba(X[:50]), before)
os.truncate(path, 0)
assert np.array_equal(loaded.predict_proba(X[:50]), before)
loaded.partial_fit(X, np.arange(3000) % 20)
thalweg.save(loaded, path)
assert np.array_equal(thalweg.load(path).predict_proba(X), loaded.predict_proba(X))
print("alive")
"""


def test_a_file_changed_in_place_changes_no_loaded_model(path):
    assert in_a_process(CHANGED, path) == "alive"


def test_a_file_that_becomes_shorter_while_it_is_read(path, monkeypatch):
    write_arrays(path, {"a": np.arange(1_000_000)}, {})
    size = os.path.getsize(path)
    fstat = os.fstat

    def and_then_truncated(descriptor):
        found = fstat(descriptor)
        os.truncate(path, size // 2)
        return found

    monkeypatch.setattr("thalweg.keeping.arrays_file.os.fstat", and_then_truncated)
    with pytest.raises(ValueError, match="it is truncated, or somebody is writing to it"):
        read_arrays(path)


MANY = """
import resource, sys
import thalweg
path, n = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
thalweg.save(thalweg.MajorityClass().partial_fit([[1.0], [2.0]], ["no", "yes"]), path)
models = [thalweg.load(path) for _ in range(n)]
assert all(model.predict_proba_one([1.0]) == {"no": 0.5, "yes": 0.5} for model in models[:: n // 10])
print(len(models))
"""


@posix
def test_more_models_than_a_process_may_have_open_files(path):
    assert in_a_process(MANY, path, 1500) == "1500"


# -- headers that lie, with a right checksum --------------------------------------------------------------------------


def written(table, about, body):
    """Write a file as its header says, with a right checksum."""
    table = {"__metadata__": {"checksum": "0" * 8, "thalweg": json.dumps(about)}} | table
    return with_checksum(json.dumps(table).encode(), body)


def with_checksum(text, body):
    text += b" " * (-(8 + len(text)) % 64)
    length = len(text).to_bytes(8, "little")
    right = f"{zlib.crc32(length + text + body):08x}".encode()
    return length + text.replace(b"0" * 8, right, 1) + body


ABOUT = {"format": "thalweg-arrays", "format_version": 1, "library_version": "9", "dtypes": {}}


def lying(**entry):
    """A file with one array of no bytes, of which a raw dtype is told."""
    about = ABOUT | {"dtypes": {"a": entry}}
    return written({"a": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}}, about, b"")


def plain(shape, dtype="F64", offsets=(0, 0), body=b""):
    return written({"a": {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}}, ABOUT, body)


DEEP = "[" * 900 + "]" * 900
EACH = functools.reduce(lambda inner, _: {"each": inner, "shape": [1]}, range(300), "<f8")
RECORD = {"names": ["x"], "formats": ["<f8"], "offsets": [0], "itemsize": 8, "aligned": False}
LIES = {
    "no width": lying(dtype="|S0", shape=[10**15]),
    "no width, text": lying(dtype="<U0", shape=[10**12]),
    "no width, raw": lying(dtype="|V0", shape=[2**62]),
    "empty record": lying(dtype={**RECORD, "names": [], "formats": [], "offsets": [], "itemsize": 0}, shape=[10**15]),
    "wide": lying(dtype="|V1000000000", shape=[0]),
    "wide record": lying(dtype={**RECORD, "itemsize": 2**31 - 1}, shape=[0]),
    "wider record": lying(dtype={**RECORD, "itemsize": 2**80}, shape=[0]),
    "far field": lying(dtype={**RECORD, "offsets": [2**40]}, shape=[0]),
    "field before": lying(dtype={**RECORD, "offsets": [-8]}, shape=[0]),
    "many in each": lying(dtype={"each": "<f8", "shape": [10**9]}, shape=[0]),
    "none in each": lying(dtype={"each": "<f8", "shape": [0]}, shape=[10**15]),
    "half in each": lying(dtype={"each": "<f8", "shape": [0.5]}, shape=[0]),
    "list of types": lying(dtype="f8," * 100_000, shape=[0]),
    "shape in a type": lying(dtype="(1000000,1000000)f8", shape=[0]),
    "a call in a type": lying(dtype="(__import__('os'),)f8", shape=[0]),
    "type of objects": lying(dtype="|O8", shape=[0]),
    "type of nothing": lying(dtype=None, shape=[0]),
    "huge and nothing": plain([2**61, 0, 2**61]),
    "huger and nothing": plain([10**30, 0]),
    "huge": plain([2**61]),
    "wraps around": plain([2**32, 2**32]),
    "a thousand dimensions": plain([0] * 1000),
    "sixty-four dimensions": plain([10**18] * 64),
    "truth as a shape": plain([True], offsets=(0, 8), body=bytes(8)),
    "truth as an offset": plain([1], offsets=(False, 8), body=bytes(8)),
    "real offsets": plain([1], offsets=(0.0, 8.0), body=bytes(8)),
    "negative offsets": plain([1], offsets=(-8, 0)),
    "three offsets": plain([1], offsets=(0, 8, 16), body=bytes(16)),
    "neither true nor false": plain([4], "BOOL", (0, 4), b"\0\1\2\1"),
    "checksum of other letters": with_checksum(
        json.dumps({"__metadata__": {"checksum": "\ud800" * 8, "thalweg": json.dumps(ABOUT)}}).encode(), b""
    ),
    "deep": with_checksum(b'{"__metadata__":{"checksum":"00000000"},"a":' + DEEP.encode() + b"}", b""),
    "deep in each": lying(dtype=EACH, shape=[0]),
    "long number": with_checksum(b'{"__metadata__":{"checksum":"00000000"},"a":' + b"9" * 10_000 + b"}", b""),
    "endless header": (2**63 - 1).to_bytes(8, "little") + b"{}",
    "header longer than all": (2**64 - 1).to_bytes(8, "little") + b"{}",
    "a hundred thousand": written(
        {f"{i}": {"dtype": "F64", "shape": [0], "data_offsets": [0, i % 2]} for i in range(100_000)}, ABOUT, b""
    ),
}


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", LIES)
def test_lies_are_refused_with_a_sentence(path, name, mapped):
    path.write_bytes(LIES[name])
    with pytest.raises(ValueError, match="is not a file of arrays that this thalweg can read: ") as caught:
        read_arrays(path, mapped=mapped)
    assert len(str(caught.value)) < len(str(path)) + 400


def honest():
    """The header and the bytes of a file with arrays of many kinds."""
    arrays = {
        "a": np.arange(6.0).reshape(2, 3), "nodes": np.zeros(3, dtype=NODE), "words": np.array(["ab", "c"]),
        "days": np.zeros(2, dtype="M8[D]"), "truth": np.array([True, False]), "none": np.zeros((0, 3)),
        "codes": np.arange(3, dtype=np.int32),
    }  # fmt: skip
    return arrays, {"class": "thalweg.learners.baselines.majority:MajorityClass", "params": {"x": [1, {"tuple": [2]}]}}


ODD = [
    0, 1, -1, 8, True, False, None, 0.5, 1e300, 2**31, 2**32, 2**62, 2**63, 2**64, 10**30, "", "F64", "BOOL", "|S0",
    "<U0", "|V0", "|V999999999", "<f8", "|O8", ">f8", "<M8[D]", "<M8[99999Y]", "f8,f8", "(3,)f8", [], {}, [0], [2**62],
    [0, 2**62], [-1], {"each": "<f8", "shape": [0]}, {"each": "|V0", "shape": [10**9]}, RECORD,
    {"dtype": "|S0", "shape": [9]},
]  # fmt: skip


def spots(value, found):
    """Give every place in a JSON value: the container and the key."""
    for key in value if isinstance(value, dict) else range(len(value)):
        found.append((value, key))
        if isinstance(value[key], (dict, list)):
            spots(value[key], found)
    return found


def mutated(rng, table, about, body):
    """Change one to three places of the header, mostly so that something still fits."""
    table, about = copy.deepcopy((table, about))
    for _ in range(rng.randint(1, 3)):
        found = spots({"table": table, "about": about}, [])[2:]
        holder, key = rng.choice(found)
        how = rng.random()
        if how < 0.5:
            holder[key] = copy.deepcopy(rng.choice(ODD))
        elif how < 0.7 and isinstance(holder[key], int):
            holder[key] += rng.choice((-8, -1, 1, 8, 2**40))
        elif how < 0.85:
            other, at = rng.choice(found)
            holder[key] = copy.deepcopy(other[at])
        elif isinstance(holder, dict):
            del holder[key]
        else:
            holder.insert(key, copy.deepcopy(rng.choice(ODD)))
    return written(table, about, body)


def fuzz(path, times, seed):
    """Read mutated files; give how many were refused. Anything but a sentence is an error."""
    rng = random.Random(seed)
    arrays, header = honest()
    write_arrays(path, arrays, header)
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    table, body = json.loads(data[8:begin]), data[begin:]
    about = json.loads(table.pop("__metadata__")["thalweg"])
    refused = 0
    for i in range(times):
        path.write_bytes(mutated(rng, table, about, body))
        for mapped in (False, True):
            found, said = attempt(read_arrays, path, mapped=mapped)
            assert found is not None or "is not a file of arrays that this thalweg can read: " in said, (i, said)
            assert found is None or sum(a.nbytes for a in found[0].values()) <= len(body), i
            refused += found is None
        found, said = attempt(thalweg.load, path)
        assert found is not None or said.startswith(str(path)), (i, said)
    return refused


def attempt(call, *args, **options):
    """Give what a call gave, or None, and its sentence."""
    try:
        return call(*args, **options), ""
    except ValueError as error:
        return None, str(error)


def test_mutated_headers_are_read_or_refused(path):
    assert 200 < fuzz(path, 300, seed=1) < 600


@pytest.mark.parametrize("depth", [10, 200, 400, 900, 5000])
def test_parameters_that_are_nested_deeply(path, depth):
    text = json.dumps(ABOUT | {"class": "thalweg.detectors.adwin:ADWIN", "params": {"delta": "@"}})
    text = text.replace('"@"', "[" * depth + "]" * depth)
    table = json.dumps({"__metadata__": {"checksum": "0" * 8, "thalweg": text}})
    path.write_bytes(with_checksum(table.encode(), b""))
    with pytest.raises(ValueError, match="^.*model is n"):
        thalweg.load(path)


# -- streams, and files that are none ---------------------------------------------------------------------------------


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,class\n" + "".join(f"{i},{i % 7},{'xy'[i % 2]}\n" for i in range(500)))
    return path


def streams(csv):
    one, two, three, four = (thalweg.CSVStream(csv) for _ in range(4))
    return [one, thalweg.MissingValues(two), thalweg.DriftStream(three, four, position=10)]


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_a_snapshot_opens_files_only_at_the_callers_word(path, csv, kind):
    thalweg.save(streams(csv)[kind], path)
    with pytest.raises(
        ValueError, match=r"holds a CSVStream, .*rows\.csv.*say load\(path, open_files=True\)"
    ) as caught:
        thalweg.load(path)
    assert str(csv) in str(caught.value)
    assert len(thalweg.load(path, open_files=True).take(20)) == 20
    csv.unlink()
    with pytest.raises(ValueError, match=r"open_files=True"):
        thalweg.load(path)  # nothing was looked at


def test_streams_that_need_no_files_need_no_word(path):
    for stream in (thalweg.SEA(seed=1), thalweg.LabelNoise(thalweg.RandomRBF(seed=2))):
        thalweg.save(stream, path)
        assert len(thalweg.load(path).take(5)) == 5


class Wire:
    """A stream of somebody's own, of which nothing is known."""

    drifts = ()

    def __init__(self, *, address="10.0.0.1"):
        self.address = address

    def get_params(self):
        return {"address": self.address}

    def state(self):
        return {}

    def restore(self, state):
        pass

    def read(self, n):
        return None


def test_a_stream_of_ones_own_needs_the_word_unless_it_says_otherwise(path, monkeypatch):
    thalweg.save(Wire(), path)
    with pytest.raises(ValueError, match="it holds a Wire, which reads files of its own"):
        thalweg.load(path, cls=Wire)
    assert thalweg.load(path, cls=Wire, open_files=True).address == "10.0.0.1"
    monkeypatch.setattr(Wire, "opens_files", False, raising=False)
    assert thalweg.load(path, cls=Wire).address == "10.0.0.1"


@posix
@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_file_is_refused_before_it_is_read(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    path = Path("/dev/zero") if kind == "device" else Path("odd.csv")
    if kind == "pipe":
        os.mkfifo(path)
    with socket.socket(socket.AF_UNIX) as own:
        if kind == "socket":
            own.bind(str(path))
        with pytest.raises(ValueError, match="it is a device, a pipe or a socket"):
            thalweg.load(path)
        readers = (thalweg.CSVStream, thalweg.ARFFStream, thalweg.JSONLinesStream, thalweg.LibSVMStream,
                   thalweg.ParquetStream, thalweg.ArrowStream, thalweg.NPZStream)  # fmt: skip
        for reader in readers:
            with pytest.raises(ValueError, match="is a device, a pipe or a socket"):
                reader(path)


# -- saves that are killed --------------------------------------------------------------------------------------------

STOPS = """
import os, sys, time
import numpy as np
from thalweg.keeping.arrays_file import write_arrays
def fsync(descriptor):
    print("half way", flush=True)
    time.sleep(600)
os.fsync = fsync
write_arrays(sys.argv[1], {"a": np.zeros(1_000_000)}, {})
"""


def stopped(path):
    process = subprocess.Popen([sys.executable, "-c", STOPS, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "half way\n"
    return process


def killed(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


@posix
def test_what_a_killed_save_left_is_removed_by_the_next(path):
    write_arrays(path, {"a": np.ones(3)}, {})
    before = path.read_bytes()
    running, dead = stopped(path), stopped(path)
    other = stopped(path.with_name("other"))
    killed(dead)
    killed(other)
    assert path.read_bytes() == before
    assert len(os.listdir(path.parent)) == 4
    own = path.with_name(".model.notes.part")  # somebody else's
    own.write_text("mine")
    write_arrays(path, {"a": np.ones(4)}, {})
    left = os.listdir(path.parent)
    assert len([name for name in left if name.startswith(".model.")]) == 2  # the one that is being written, and own
    killed(running)
    write_arrays(path, {"a": np.ones(5)}, {})
    write_arrays(path.with_name("other"), {}, {})
    assert sorted(os.listdir(path.parent)) == [own.name, "model", "other"]
    assert read_arrays(path)[0]["a"].size == 5


@posix
def test_where_files_cannot_be_locked_only_old_ones_are_removed(path, monkeypatch):
    def no_locks(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    old, new = (path.with_name(f".model.{letter * 12}.part") for letter in "ab")
    old.write_text("old")
    new.write_text("new")
    os.utime(old, (0, 0))
    write_arrays(path, {}, {})
    assert sorted(os.listdir(path.parent)) == [new.name, "model"]


def test_a_file_that_is_taken_for_abandoned_before_it_is_locked_is_begun_again(path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    lock, taken = fcntl.flock, []

    def late(file, how):
        if not taken:
            taken.append(file.name)
            os.unlink(file.name)
        lock(file, how)

    monkeypatch.setattr("fcntl.flock", late)
    write_arrays(path, {"a": np.ones(4)}, {})
    assert len(taken) == 1
    assert read_arrays(path)[0]["a"].size == 4
    assert os.listdir(path.parent) == ["model"]


@pytest.mark.parametrize("mapped", [True, False])
def test_a_predictor_reads_its_own_copy_unless_it_shares_the_trainers(tmp_path, mapped):
    X, y = [[0.0]] * 100, ["a", "b"] * 50
    with thalweg.Trainer(thalweg.MajorityClass(), tmp_path, every=100) as trainer:
        trainer.feed(X, y)
        with thalweg.Predictor(tmp_path, mapped=mapped, poll=None) as predictor:
            model = predictor._held.model
            assert (model._tables()["counts"].base is not None) == mapped
            assert predictor.answer(X[:1])[1] == 1
