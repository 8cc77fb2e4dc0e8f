"""Builds wheels that carry compiled code: see src/thalweg/jit/shipped.py and decision 19.

``python -m build`` makes one for this Python, the Numba of the build and x86-64-v3, on Linux; elsewhere, and where pip
builds only to install, the wheel is a plain one. ``THALWEG_SHIP=0`` and ``=1`` decide it; any other value names the
learners to compile for, where all are too many.
"""

import os
import platform
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def wanted() -> str:
    """Say what to compile: "0", "1" (all) or names of learners."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "0"
    return os.environ.get("THALWEG_SHIP", "0" if "PIP_BUILD_TRACKER" in os.environ else "1")


class CompiledCode(BuildHookInterface):
    """Compiles every routine for the wheel."""

    def dependencies(self) -> list[str]:
        """Give what compiling needs: all that the package needs when it is used."""
        project = tomllib.loads((Path(self.root) / "pyproject.toml").read_text())["project"]
        return [] if wanted() == "0" else list(project["dependencies"])

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile in a process with the settings for shipped code, and add the result to the wheel."""
        names = wanted()
        if version == "editable" or names == "0":
            return
        self._work = tempfile.TemporaryDirectory()
        cache, packed = Path(self._work.name) / "cache", Path(self._work.name) / "packed"
        environment = os.environ | {"PYTHONPATH": str(Path(self.root) / "src"), "THALWEG_CACHE": str(cache)}
        settings = subprocess.check_output(
            [sys.executable, "-c", "from thalweg.jit.shipped import making; print(*map('='.join, making().items()))"],
            env=environment, text=True,
        )  # fmt: skip
        environment |= dict(item.split("=", 1) for item in settings.split())
        learners = [] if names == "1" else names.split()
        for command in (["thalweg", "warmup", *learners, "--jobs", "0"], ["thalweg.jit.shipped", cache, packed]):
            subprocess.run([sys.executable, "-m", *map(str, command)], env=environment, check=True)
        build_data["force_include"][str(packed)] = "thalweg/_code"
        build_data["pure_python"] = False
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        build_data["tag"] = f"{python}-{python}-manylinux_2_28_x86_64"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was only for the build."""
        if hasattr(self, "_work"):
            self._work.cleanup()
