"""A file from a stranger can be wrong but not harmful: what was once found to harm, tried in a process of its own.

Each case saves a model, changes its tables, writes them again with a right checksum, loads, and goes on. It must end in
a ValueError sentence, or simply work; a crash of the process, or any other exception, is a failure.
"""

import io
import os
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest

import thalweg

EVIL = """
import os, sys, tempfile
import numpy as np
import thalweg
from thalweg import *
from thalweg import registry
from thalweg.keeping.arrays_file import read_arrays, write_arrays

rng = np.random.default_rng(3)
X = rng.normal(size=(400, 5))
y = np.where(X[:, 0] + 0.3 * rng.normal(size=400) > 0, "up", "down")
path = os.path.join(tempfile.mkdtemp(), "model.safetensors")

def evil(model, change):
    save(model, path)
    arrays, header = read_arrays(path)
    arrays = {name: table.copy() for name, table in arrays.items()}
    change(arrays)
    for key in ("format", "format_version", "library_version"):
        header.pop(key, None)
    write_arrays(path, arrays, header)
    return load(path)

def use(model, rows=400):
    model.predict_proba(X[:20])
    if hasattr(model, "partial_fit"):
        for at in range(0, rows, 40):
            model.partial_fit(X[at : at + 40], y[at : at + 40])
        model.predict_proba(X[:20])
        save(model, path)
    if hasattr(model, "compile"):
        model.compile().predict_proba(X[:20])

def attack(model, change):
    try:
        use(evil(model, change))
    except ValueError as error:
        print("refused:", str(error)[:200])
    else:
        print("worked")

def every(part, value):
    def change(arrays):
        found = [name for name in arrays if name.split(".")[-1] == part or name == part]
        assert found, (part, sorted(arrays))
        for name in found:
            arrays[name][...] = value
    return change

def added(part, where, value):
    def change(arrays):
        found = [name for name in arrays if part in name.split(".")]
        assert found, (part, sorted(arrays))
        for name in found:
            arrays[name][where] += value
    return change

def some(name, **params):
    return registry.LEARNERS[name].make(**params).partial_fit(X[:350], y[:350])

def fewer_labels(arrays):
    one = MajorityClass().partial_fit(X[:1], y[:1])
    arrays["labels"] = one.state()["labels"]
"""

CASES = {
    "codes of a condensed knn": "attack(CondensedKNN().partial_fit(X, y), every('codes', 2**40))",
    "sides of a kernel perceptron": "attack(KernelPerceptron().partial_fit(X, y), every('sides', 2**40))",
    "codes of a chunk ensemble": "attack(some('chunk-ensemble', chunk=100), every('codes', 2**40))",
    "negative codes of a chunk ensemble": "attack(some('chunk-ensemble', chunk=100), every('codes', -9))",
    "codes of an le-tree": "attack(some('le-tree', chunk=100), every('codes', 2**40))",
    "codes of an l-ensemble": "attack(some('l-ensemble', chunk=100), every('codes', 2**40))",
    "kept codes of a subspace tree": "X = X.reshape(-1, 1, 5)\n"
    "attack(SubspaceTree(warmup=300).partial_fit(X[:200], y[:200]), every('kept_codes', 2**40))",
    "fewer labels than classes, balls": "attack(BallCoverPlus().partial_fit(X, y), fewer_labels)",
    "fewer labels than classes, condensed knn": "attack(CondensedKNN().partial_fit(X, y), fewer_labels)",
    "room of an arf": "attack(some('arf', size=3), added('layout', (0, 0), 2**62))",
    "room of an srp": "attack(some('srp', size=3), added('layout', (0, 0), 2**62))",
    "room of online bagging": "attack(some('online-bagging', size=3), added('layout', (0, 0), 2**62))",
    "room of a tree": "attack(some('hoeffding-tree', binary_splits=True), added('layout', (0, 0), 2**62))",
    "rooms that wrap": "attack(some('hoeffding-tree', binary_splits=True), added('layout', (0, slice(None)), 2**61))",
    **{
        f"values of a frozen ensemble, {kind}": f"attack(some('chunk-ensemble', chunk=100, index={kind!r}).compile(), "
        "every('values', 2**63 - 3))"
        for kind in ("bitmap", "linear-rules", "e-tree")
    },
    "waiting nominal rows of a chunk ensemble": """
        schema = Schema((Feature("a", values=("u", "v", "w")), Feature("b")), classes=("down", "up"))
        R = np.c_[rng.integers(0, 3, 150), rng.normal(size=150)]
        model = ChunkEnsemble(chunk=100).declare(schema).partial_fit(R, y[:150])
        try:
            model = evil(model, every("rows", -5.0))
            model.partial_fit(R, y[:150])
            model.predict_proba(R)
            print("worked")
        except ValueError as error:
            print("refused:", error)
    """,
    "a free list that overlaps": """
        def change(arrays):
            for name in arrays:
                if name.split(".")[0] == "head":
                    arrays[name][1] = 3  # H_FREE: nodes 3 and 4 lie across two pairs
        attack(HoeffdingTree(grace_period=20, delta=0.1, tau=0.5).partial_fit(X, y), change)
    """,
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_found_to_harm_does_so_no_more(case):
    code = EVIL + textwrap.dedent(CASES[case])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-800:]}"
    assert done.stdout.startswith(("refused:", "worked")), done.stdout


def test_a_class_code_is_refused_and_not_used(tmp_path):
    """Not only is there no crash: the sentence names the table."""
    code = EVIL + CASES["codes of a condensed knn"]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert "'codes' must hold numbers from 0 to 1, and holds 1099511627776" in done.stdout


@pytest.mark.parametrize(
    ("make", "table", "value"),
    [
        ("SEA(balance=True)", "wanted", 7),  # no record is of that class: it would be looked for forever
        ("Text(words=50, rng='java')", "random", [1, 0x412E848000000000, 1]),  # a message of 15 million words
        ("HyperCube()", "given", 2**63 - 1),
        ("PriorDrift(SEA(), (0.5, 0.5), (0.9, 0.1), 100)", "wanted", 2),
    ],
)
def test_a_position_that_could_not_have_been_saved_is_refused(make, table, value):
    stream = eval(make, vars(thalweg) | {name: getattr(thalweg, name) for name in thalweg.__all__})
    state = stream.state()
    state[table][:] = value
    with pytest.raises(ValueError, match=f"'{table}'"):
        stream.restore(state)


def test_a_file_that_is_cut_off_while_it_is_read_is_refused(tmp_path):
    from soak.verbs import files

    path = tmp_path / "cut.arrow"
    folder = tmp_path / "sound"
    folder.mkdir()
    path.write_bytes(files(folder)["arrow"][0])
    stream = thalweg.open_file(path, target="class")
    assert len(stream.read(5)) == 5
    os.truncate(path, 100)
    with pytest.raises(ValueError, match="damaged or cut off"):
        stream.take(40)


def test_an_array_that_claims_more_than_its_file_holds_is_refused(tmp_path):
    path = tmp_path / "large.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**37, 8)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", header.getvalue() + bytes(1 << 20))
        archive.writestr("y.npy", header.getvalue())
    with pytest.raises(ValueError, match="it is none, or damaged, or cut off"):
        thalweg.open_file(path)


@pytest.mark.parametrize("ending", ["arrow", "parquet", "npz"])
def test_a_damaged_file_is_refused(ending, tmp_path):
    from soak.verbs import damaged, files

    sound = files(tmp_path)[ending]
    code = """
        import sys, thalweg
        for path in sys.argv[1:]:
            try:
                stream = thalweg.open_file(path, **({} if path.endswith("npz") else {"target": "class"}))
                while (chunk := stream.read(7)) is not None and len(chunk):
                    pass
            except (ValueError, TypeError, OSError):
                pass
        print("done")
    """
    paths = []
    for number in range(300):
        path = tmp_path / f"{number}.{ending}"
        path.write_bytes(damaged(sound[number % 2], np.random.default_rng(number)))
        paths.append(str(path))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *paths], capture_output=True, text=True, check=False
    )
    assert done.stdout == "done\n", f"ended with {done.returncode}: {done.stderr[-500:]}"
