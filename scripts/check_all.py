"""The wide check, ``make check-all``: every Python, the oldest and the newest dependencies, no extras, no compiler.

Each environment is a folder in .venv-check/, made by uv, and kept for the next time. What was found, how many tests
passed and how long it took is printed as a table at the end; the exit code is 1 if anything failed.

    python scripts/check_all.py                  # all of them
    python scripts/check_all.py bare oldest      # only these
    python scripts/check_all.py --list
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venv-check"
VERSIONS = ("3.11", "3.12", "3.13")
"""The Pythons that we claim."""
TESTS = ("pytest", "pytest-xdist", "hypothesis")
PLAIN = ("majority", "no-change", "naive-bayes", "hoeffding-tree", "arf", "knn", "ball-cover", "mcdiarmid-tree")
"""Learners whose golden predictions are checked without compilation, where a row takes milliseconds."""


@dataclass(frozen=True)
class Environment:
    """A Python with certain packages, and the tests to run there."""

    name: str
    python: str
    what: tuple[str, ...]
    install: tuple[str, ...] = ()
    tests: tuple[str, ...] = ("-n", "auto", "tests")
    settings: dict[str, str] = field(default_factory=dict)

    def run(self) -> tuple[bool, str]:
        """Make the environment where it is missing, and run the tests there; give the closing line."""
        folder = HOME / self.name
        python = folder / "bin" / "python"
        if not python.exists():
            _uv("venv", "--quiet", "--python", self.python, str(folder))
        _uv("pip", "install", "--quiet", "--python", str(python), *self.install, *self.what)
        command = [str(python), "-m", "pytest", *self.tests]
        found = subprocess.run(command, cwd=ROOT, env=os.environ | self.settings, capture_output=True, text=True)
        (HOME / f"{self.name}.log").write_text(found.stdout + found.stderr)
        closing = [line for line in found.stdout.splitlines() if re.search(r"\d+ (passed|failed|error)", line)]
        return found.returncode == 0, closing[-1].strip("= ") if closing else "no test was run"


def environments() -> list[Environment]:
    """The environments that can be had here, with the Pythons that are installed."""
    pythons = {version: path for version in VERSIONS if (path := _python(version))}
    if not pythons:
        raise SystemExit(f"none of Python {', '.join(VERSIONS)} is installed")
    first, last = next(iter(pythons)), list(pythons)[-1]
    newest = [Environment(f"python{v}", path, (".[dev]",), ("--upgrade",)) for v, path in pythons.items()]
    without = "not site and not river and not sklearn"
    names = " or ".join(f"[{name}]" for name in PLAIN)
    return [
        *newest,
        Environment("oldest", pythons[first], (".[dev]",), ("--resolution", "lowest-direct")),
        Environment("bare", pythons[last], (".", *TESTS), tests=("-n", "auto", "tests", "-k", without)),
        Environment(
            "uncompiled", pythons[first], (".[dev]",), ("--upgrade",),
            ("-n", "auto", "-W", "ignore::RuntimeWarning", "tests/golden", "tests/core", "-k", f"core or {names}"),
            {"NUMBA_DISABLE_JIT": "1"},
        ),
        Environment(
            "coverage", pythons[first], (".[dev]", "pytest-cov"), ("--upgrade",),
            ("-n", "auto", "--cov=thalweg", "--cov-report=term:skip-covered", "tests"),
        ),
    ]  # fmt: skip


def _python(version: str) -> str:
    """Find an installed interpreter of this version, on the path or among pyenv's; nothing is downloaded."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = [shutil.which(f"python{version}"), *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")), reverse=True)]
    works = (path for path in found if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0)
    return next(works, "")


def _uv(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "uv", *words], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "uv failed")


def main() -> None:
    """Run the environments that were named, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="environments; none: all")
    parser.add_argument("--list", action="store_true", help="say which environments there are")
    options = parser.parse_args()
    known = {e.name: e for e in environments()}
    if options.list:
        print("\n".join(known))
        return
    for name in options.names:
        if name not in known:
            raise SystemExit(f"an environment must be one of {', '.join(known)}, got {name!r}")
    HOME.mkdir(exist_ok=True)
    rows = []
    for name in options.names or known:
        begin = time.monotonic()
        try:
            passed, said = known[name].run()
        except (OSError, RuntimeError) as error:
            passed, said = False, str(error)
        rows.append((name, "passed" if passed else "FAILED", f"{(time.monotonic() - begin) / 60:.1f} min", said))
        print("  ".join(rows[-1]), flush=True)
        if name == "coverage":
            total = re.search(r"^TOTAL.*$", (HOME / "coverage.log").read_text(), re.MULTILINE)
            print(total[0] if total else "no figure for the coverage", flush=True)
    raise SystemExit(any(row[1] == "FAILED" for row in rows))


if __name__ == "__main__":
    main()
