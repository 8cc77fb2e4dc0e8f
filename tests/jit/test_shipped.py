"""A wheel with compiled code: built, installed into a fresh environment without a cache, and timed."""

import hashlib
import importlib.util
import json
import os
import platform
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import numba
import pytest

from thalweg import Agrawal, HoeffdingTree
from thalweg.jit import shipped

ROOT = Path(__file__).resolve().parents[2]
FIRST = """
import resource, sys
import numba.core.event as event

class Heard(event.Listener):
    compiled = []
    def on_start(self, told): self.compiled.append(told.data["dispatcher"].py_func.__qualname__)
    def on_end(self, told): pass

event.register("numba:compile", Heard())
import hashlib
import thalweg
from thalweg import Agrawal, HoeffdingTree, prequential
result = prequential(Agrawal(seed=1), HoeffdingTree(), limit=1000)
used = resource.getrusage(resource.RUSAGE_SELF)
chunk = Agrawal(seed=2).take(3000)
bits = hashlib.sha256(HoeffdingTree(grace_period=50).test_then_train(chunk.X, chunk.y).tobytes()).hexdigest()
print(thalweg.__file__, used.ru_utime + used.ru_stime, len(Heard.compiled), bits)
"""

linux = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64" or numba.config.DISABLE_JIT,
    reason="compiled code is shipped for Linux on x86-64",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build a wheel with the code for one learner."""
    if (
        not all(importlib.util.find_spec(name) for name in ("build", "hatchling"))
        or not (ROOT / "hatch_build.py").exists()
    ):
        pytest.skip("build and hatchling are not installed, or this is not the project's folder")
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT],
        env=os.environ | {"THALWEG_SHIP": "hoeffding-tree"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """Install it into an environment that has what it depends on, and nothing else."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder)
    site = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "bin" / "python"


def first_use(python, cache, **settings):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON"))}
    environment |= {"THALWEG_CACHE": str(cache)} | settings
    done = subprocess.run([python, "-c", FIRST], env=environment, capture_output=True, text=True, check=True)
    where, seconds, compiled, bits = done.stdout.split()
    assert Path(where).is_relative_to(python.parents[1])
    return float(seconds), int(compiled), bits


@linux
def test_the_first_result_after_installing_needs_no_compiler(wheel, python, tmp_path):
    assert f"-cp{sys.version_info[0]}{sys.version_info[1]}-manylinux" in wheel.name
    assert wheel.stat().st_size < 6e6
    seconds, compiled, bits = first_use(python, tmp_path)
    assert compiled == 0
    assert seconds < 3.0, "a second on a quiet machine"
    assert not list(tmp_path.rglob("*.nbc"))
    chunk = Agrawal(seed=2).take(3000)
    here = HoeffdingTree(grace_period=50).test_then_train(chunk.X, chunk.y)
    assert hashlib.sha256(here.tobytes()).hexdigest() == bits


@linux
def test_code_for_anything_else_is_not_used(wheel, monkeypatch, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "thalweg" / "_code"
    monkeypatch.setattr(shipped, "FOLDER", folder)
    for name in [name for name in os.environ if name.startswith(("NUMBA_", "THALWEG_"))]:
        monkeypatch.delenv(name)
    find = shipped.folder.__wrapped__
    assert find() == folder
    with monkeypatch.context() as other:
        other.setattr(shipped.llvm, "get_host_cpu_features", lambda: {"sse2": True, "avx2": False})
        assert find() is None
    for name, value in (("NUMBA_BOUNDSCHECK", "1"), ("THALWEG_SHIPPED", "0")):
        with monkeypatch.context() as other:
            other.setenv(name, value)
            assert find() is None
    whole = json.loads((folder / "made_for.json").read_text())
    for name in whole:
        (folder / "made_for.json").write_text(json.dumps(whole | {name: "another"}))
        assert find() is None
    (folder / "made_for.json").write_text("{")
    assert find() is None
