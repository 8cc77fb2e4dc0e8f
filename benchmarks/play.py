"""Start the measurements: each in a process of its own, on one core, one after the other."""

import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")


class AbsentError(Exception):
    """Why a measurement cannot be made here."""


def pin() -> str:
    """Keep this process and its children on one core; say how."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned to a core (this system cannot)"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"pinned to core {core}"


def require(library: str) -> None:
    """Refuse when a library is not installed."""
    if importlib.util.find_spec(library) is None:
        raise AbsentError(f"{library} is not installed")


def python(folder: Path, *arguments: str, **environment: str) -> str:
    """Run this Python in a fresh process, in the folder."""
    return _run([sys.executable, *arguments], folder, environment)


def worker(place: Path, measurement: str, environment: dict[str, str] | None = None, /, **arguments: Any) -> Any:
    """Run one measurement of worker.py."""
    out = python(place, str(HERE / "worker.py"), measurement, json.dumps(arguments), **(environment or {}))
    return json.loads(out.splitlines()[-1])


def seconds_of(folder: Path, *arguments: str, **environment: str) -> float:
    """Time a whole Python process, from its start to its end."""
    start = time.perf_counter()
    python(folder, *arguments, **environment)
    return time.perf_counter() - start


class Java:
    """MOA's pure Java loop, compiled against the archive that CapyMOA brings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.missing = ""
        spec = importlib.util.find_spec("capymoa")
        jar = Path(spec.origin).parent / "jar" / "moa.jar" if spec and spec.origin else None
        if jar is None or not jar.exists():
            self.missing = "no moa.jar: capymoa is not installed"
        elif shutil.which("javac") is None:
            self.missing = "no javac on this machine"
        else:
            self.path = os.pathsep.join((str(jar), str(folder)))
            _run(["javac", "-cp", str(jar), "-d", str(folder), str(HERE / "PureMoa.java")], folder, {})

    def __call__(self, *arguments: str) -> Any:
        """Run PureMoa."""
        if self.missing:
            raise AbsentError(self.missing)
        return json.loads(_run(["java", "-cp", self.path, "PureMoa", *arguments], self.folder, {}).splitlines()[-1])


def machine(pinned: str) -> dict[str, Any]:
    """Say where and with what the figures were made."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next((line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line), cpu)
    versions = {"python": platform.python_version()}
    for name in ("thalweg", "numpy", "numba", "river", "capymoa"):
        if importlib.util.find_spec(name) is not None:
            versions[name] = importlib.metadata.version(name)
    if shutil.which("java"):
        told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
        versions["java"] = told.split('"')[1] if '"' in told else told.strip()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "pinned": pinned,
        "load": load,
        "versions": versions,
    }


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        told = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        raise AbsentError(f"failed: {told[-1].strip()[:160]}")
    return done.stdout
