"""Start the measurements: each in a process of its own, on one core, one after the other, repeated in turn."""

import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

HERE = Path(__file__).resolve().parent
PASSES = 5
"""Passes over a stream in one process: the first is cold, those from the third on count as warmed up."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")


class Seconds(NamedTuple):
    """How long a process took."""

    wall: float
    cpu: float


class AbsentError(Exception):
    """Why a measurement cannot be made here."""


class Bench:
    """One run: its folder, its repeats, and what was promised against what was measured."""

    def __init__(self, folder: Path, repeats: int, console: Console) -> None:
        self.folder, self.repeats, self.console = folder, repeats, console
        self.promises: list[tuple[str, str, str, str]] = []
        self._java_path = ""

    def turns(self, what: str, work: Mapping[str, Callable[[], Any]], repeats: int = 0) -> dict[str, Any]:
        """Measure each in turn, several times over. Who cannot take part gets a reason (text) instead of a list."""
        found: dict[str, Any] = {who: [] for who in work}
        repeats = repeats or self.repeats
        for repeat in range(repeats):
            for who, measure in work.items():
                if isinstance(found[who], str):
                    continue
                with self.console.status(f"{what}: {who}, {repeat + 1} of {repeats}"):
                    try:
                        found[who].append(measure())
                    except AbsentError as reason:
                        found[who] = str(reason)
        return found

    def promise(self, what: str, value: float, *, least: float = -math.inf, most: float = math.inf, unit: str) -> None:
        """Hold a figure against its bar."""
        bar = f"≥ {least:g}{unit}" if least > -math.inf else f"≤ {most:g}{unit}"
        self.promises.append((what, f"{value:.3g}{unit}", bar, "yes" if least <= value <= most else "NO"))

    def python(self, *arguments: str, cache: Path | None = None) -> str:
        """Run this Python in a fresh process. cache: where thalweg keeps compiled code, None: where it always does."""
        return self._run([sys.executable, *arguments], {"THALWEG_CACHE": str(cache)} if cache else {})

    def seconds(self, *arguments: str, cache: Path | None = None) -> Seconds:
        """Time a whole Python process, from its start to its end."""
        before, start = os.times(), time.perf_counter()
        self.python(*arguments, cache=cache)
        wall, after = time.perf_counter() - start, os.times()
        return Seconds(
            wall, after.children_user + after.children_system - before.children_user - before.children_system
        )

    def worker(self, measurement: str, cache: Path | None = None, /, **arguments: Any) -> Any:
        """Make one measurement of worker.py."""
        out = self.python(str(HERE / "worker.py"), measurement, json.dumps(arguments), cache=cache)
        return json.loads(out.splitlines()[-1])

    def java(self, *arguments: str) -> Any:
        """Run PureMoa.java, compiled once against the archive that CapyMOA brings."""
        if not self._java_path:
            require("capymoa")
            if shutil.which("javac") is None:
                raise AbsentError("no javac on this machine")
            jar = str(importlib.metadata.distribution("capymoa").locate_file("capymoa/jar/moa.jar"))
            self._run(["javac", "-cp", jar, "-d", str(self.folder), str(HERE / "PureMoa.java")])
            self._java_path = os.pathsep.join((jar, str(self.folder)))
        return json.loads(self._run(["java", "-cp", self._java_path, "PureMoa", *arguments]).splitlines()[-1])

    def _run(self, command: list[str], environment: Mapping[str, str] = {}) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env={**os.environ, **environment}, capture_output=True, text=True
        )
        if done.returncode != 0:
            told = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            raise AbsentError(f"failed: {told[-1][:160]}" if told else f"failed with exit code {done.returncode}")
        return done.stdout


def require(library: str) -> None:
    """Refuse when a library is not installed."""
    if importlib.util.find_spec(library) is None:
        raise AbsentError(f"{library} is not installed")


def pick(passes: list[list[float]], stage: str) -> list[float]:
    """Give the seconds of a pass: of the first ("cold"), or the mean from the third on ("warm")."""
    chosen = passes[:1] if stage == "cold" else passes[2:]
    return [sum(column) / len(chosen) for column in zip(*chosen, strict=True)]


def pin() -> str:
    """Keep this process and its children on one core; say how."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned to a core (this system cannot)"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"pinned to core {core}"


def load() -> float:
    """Give the number of processes that wanted to run in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan


def machine() -> dict[str, Any]:
    """Say where and with what the figures are made."""
    cpu, info = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if info.exists():
        cpu = next((line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line), cpu)
    versions = {"python": platform.python_version()}
    for name in ("thalweg", "numpy", "numba", "river", "capymoa"):
        if importlib.util.find_spec(name) is not None:
            versions[name] = importlib.metadata.version(name)
    if shutil.which("java"):
        told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
        versions["java"] = told.split('"')[1] if '"' in told else told.strip()
    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform(), "pinned": pin(), "load": load(),
            "versions": versions}  # fmt: skip
