"""Compiled code on disk: whatever is wrong with it, the library compiles, says one line and goes on."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from thalweg.jit import code_cache

TINY = """
from thalweg.jit.compile import compiled

@compiled
def twice(x):
    return x + x
"""
RUN = """
import os, sys
{before}
from tiny_jit import twice
assert twice(21) == 42
print("read" if twice.stats.cache_hits else "compiled")
"""
LOSES_ITS_NAME = """
import numba, thalweg.jit.code_cache
numba.njit(lambda x: x + x)(1)  # so that all of Numba is there, wherever it lies
os.environ.pop("HOME", None); os.setgid(54321); os.setuid(54321)
"""
FILES_OF_64_BYTES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))"

posix = pytest.mark.skipif(os.name != "posix", reason="users and limits of POSIX")
as_root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may do this")


@pytest.fixture
def home(tmp_path):
    """The folder of the cache, for a program in a folder beside it."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "tiny_jit.py").write_text(TINY)
    return tmp_path / "cache"


def start(home, before="", **variables):
    source = str(Path(code_cache.__file__).parents[2])
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    environment |= {"PYTHONPATH": f"{home.parent / 'code'}{os.pathsep}{source}", "THALWEG_CACHE": str(home)} | variables
    return subprocess.Popen(
        [sys.executable, "-c", RUN.format(before=before)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def outcome(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip(), err.strip()


def run(home, before="", **variables):
    return outcome(start(home, before, **variables))


def only(home):
    """Give the one file of compiled code; nothing else must lie beside it."""
    (path,) = [path for path in (home / "thalweg").rglob("*") if path.is_file()]
    return path


def test_code_is_kept_and_what_is_damaged_is_replaced(home):
    assert run(home) == ("compiled", "")
    path = only(home)
    whole = path.read_bytes()
    assert run(home) == ("read", "")
    flipped = bytearray(whole)
    flipped[-20] ^= 1
    for damaged in (b"", whole[:-100], bytes(flipped), b"garbage" * 1000):
        path.write_bytes(damaged)
        said, line = run(home)
        assert said == "compiled"
        assert line == f"Compiled code on disk cannot be used and is compiled again ({path}: it is damaged)."
        assert only(home).read_bytes() != damaged
    path.unlink()
    path.mkdir()  # neither can it be read nor replaced
    said, lines = run(home)
    assert said == "compiled"
    assert "cannot be used and is compiled again" in lines
    assert "cannot be kept, so that every start compiles again" in lines
    assert lines.count("\n") == 1


def test_a_file_that_was_made_for_something_else_is_not_used(home):
    assert run(home) == ("compiled", "")
    path = only(home)
    other = (home.parent / "code" / "tiny_jit.py").read_text().replace("x + x", "x * 3 - x")
    (home.parent / "code" / "tiny_jit.py").write_text(other)
    assert run(home) == ("compiled", "")
    (second,) = [p for p in (home / "thalweg").rglob("*.nbc") if p != path]
    shutil.copy(path, second)
    assert run(home) == ("compiled", "")
    assert run(home) == ("read", "")


def test_a_file_where_the_folder_should_be(home):
    home.write_text("I am a file")
    said, line = run(home)
    assert said == "compiled"
    assert line.startswith("Compiled code cannot be kept, so that every start compiles again (")
    assert "Not a directory" in line
    assert "\n" not in line
    assert home.read_text() == "I am a file"


@posix
def test_no_room_for_the_file(home):
    said, line = run(home, FILES_OF_64_BYTES)
    assert said == "compiled"
    assert "File too large" in line
    assert not list((home / "thalweg").rglob("*.*c"))  # nothing half written stays
    assert run(home) == ("compiled", "")
    assert run(home, FILES_OF_64_BYTES) == ("read", "")


@as_root
def test_a_full_disk_and_one_that_is_only_read(home):
    home.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", home], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        (home / "more").write_bytes(bytes(8192))
        said, line = run(home)
        assert said == "compiled"
        assert "No space left on device" in line
        (home / "more").unlink()
        subprocess.run(["mount", "-o", "remount,size=10m", home], check=True)
        assert run(home) == ("compiled", "")
        subprocess.run(["mount", "-o", "remount,ro", home], check=True)
        assert run(home) == ("read", "")
        subprocess.run(["mount", "-o", "remount,rw", home], check=True)
        shutil.rmtree(home / "thalweg")
        subprocess.run(["mount", "-o", "remount,ro", home], check=True)
        assert "Read-only file system" in run(home)[1]
    finally:
        subprocess.run(["umount", home], check=True)


@as_root
def test_a_user_without_a_name_or_a_home():
    """Neither is there a place for the cache, nor for anything else."""
    if not all(folder.stat().st_mode & 0o001 for folder in Path(code_cache.__file__).parents):
        pytest.skip("another user cannot read this installation")
    with tempfile.TemporaryDirectory() as name:  # where others may look, too
        folder = Path(name)
        (folder / "code").mkdir()
        (folder / "code" / "tiny_jit.py").write_text(TINY)
        folder.chmod(0o755)
        said, line = run(folder / "cache", LOSES_ITS_NAME, THALWEG_CACHE="", XDG_CACHE_HOME="")
    assert said == "compiled"
    assert "(home: this user has no home folder)" in line
    assert "\n" not in line


def test_many_processes_at_once(home):
    answers = [outcome(process) for process in [start(home) for _ in range(4)]]
    assert {err for _, err in answers} == {""}
    only(home)
    assert run(home) == ("read", "")


SLOW = """
import time
import numba.core.compiler as compiler

def late(*args, own=compiler.compile_extra, **kws):
    print("compiles", file=sys.stderr)
    time.sleep(3)
    return own(*args, **kws)

compiler.compile_extra = late
"""
TWO_ROUTINES = """
from thalweg.jit.compile import compiled, inlined_entry

@inlined_entry
def once(x):
    return x + 0

@compiled
def twice(x):
    return once(x) + once(x)
"""


def test_a_routine_that_calls_another_one_of_its_file_waits_for_nobody(home):
    (home.parent / "code" / "tiny_jit.py").write_text(TWO_ROUTINES)
    begun = time.monotonic()
    assert run(home, "from thalweg.jit import code_cache; code_cache.LONGEST_WAIT = 600.0")[0] == "compiled"
    assert time.monotonic() - begun < 120.0


def test_one_process_waits_for_the_code_of_another(home):
    """The other one is held up in the middle, so that both want the code; only one of them compiles."""
    answers = [outcome(process) for process in [start(home, SLOW) for _ in range(3)]]
    assert sorted(said for said, _ in answers) == ["compiled", "read", "read"]
    assert "".join(err for _, err in answers).count("compiles") == 1


def folder(home, name, size, age):
    path = home / name / "inner"
    path.mkdir(parents=True)
    (path / "code.nbc").write_bytes(bytes(size))
    os.utime(home / name, (time.time() - age,) * 2)


def left(home):
    return sorted(path.name for path in home.iterdir())


def test_older_versions_go_when_nobody_uses_them(home, monkeypatch):
    month = code_cache.KEPT_SECONDS
    folder(home, "compiled-0123456789abcdef", 10, month + 60)  # of an older library, which had no other names
    folder(home, "compiled-fedcba9876543210", 10, month - 60)
    folder(home, "compiled-trees.tree_jit-aa", 10, 5 * month)
    folder(home, "compiled-trees.tree_jit-bb", 10, 4 * month)
    folder(home, "compiled-knn_jit-aa", 10, month + 60)
    folder(home, "compiled-knn_jit-bb", 10, month - 60)
    folder(home, "compiled-knn_jit-cc", 10, 0)
    folder(home, "data", 10, 9 * month)
    code_cache.sweep(home)
    kept = ["compiled-fedcba9876543210", "compiled-knn_jit-bb", "compiled-knn_jit-cc", "compiled-trees.tree_jit-bb"]
    assert left(home) == [*kept, "data"]
    sizes = sum(path.stat().st_size for name in kept[:3] for path in (home / name).rglob("*"))
    monkeypatch.setattr(code_cache, "MOST_BYTES", sizes)
    code_cache.sweep(home)
    assert left(home) == [*kept[:3], "data"]


def test_compiling_removes_an_older_version(home):
    assert run(home) == ("compiled", "")
    old = only(home).parent
    os.utime(old, (time.time() - code_cache.KEPT_SECONDS - 60,) * 2)
    assert run(home) == ("read", "")  # so it is in use
    assert time.time() - old.stat().st_mtime < 600
    os.utime(old, (time.time() - code_cache.KEPT_SECONDS - 60,) * 2)
    with (home.parent / "code" / "tiny_jit.py").open("a") as file:
        file.write("# another version\n")
    assert run(home) == ("compiled", "")
    assert not old.exists()
    assert len(left(home / "thalweg")) == 1
