"""A newcomer: what README.md and docs/start.md say works word for word, in an empty folder."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INSTALL = ("python3 -m venv", ". .venv/", "pip install")
"""What is left out here: the package under test is there already."""


def steps(page: str) -> list[tuple[str, str]]:
    """The blocks of a page that are to be carried out, in order: (language, text)."""
    return re.findall(r"^```(console|python)\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)


def commands(block: str) -> list[str]:
    """The lines that a newcomer types."""
    return [re.sub(r"\s+# .*", "", line[2:]) for line in block.splitlines() if line.startswith("$ ")]


def sh(command: str, folder: Path) -> str:
    """Run a command as typed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    source = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": source}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_five_minutes_in_an_empty_folder(tmp_path: Path) -> None:
    installed = []
    for i, (language, block) in enumerate(steps("docs/start.md")):
        if language == "python":
            name = "first.py" if "first.py" not in os.listdir(tmp_path) else f"step{i}.py"
            (tmp_path / name).write_text(block, "utf-8")
            if name != "first.py":  # that one has its own command
                sh(f"python {name}", tmp_path)
            continue
        for command in commands(block):
            if command.startswith(INSTALL):
                installed.append(command)
            else:
                sh(command, tmp_path)
    assert len(installed) == 3
    for made in ("sea.png", "forest.safetensors", "river.csv", "tree.safetensors", "comparison/report.html"):
        assert (tmp_path / made).stat().st_size > 0, made


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_targets_that_the_readme_names_are_there() -> None:
    named = {
        c.split()[1]
        for language, b in steps("README.md")
        if language == "console"
        for c in commands(b)
        if c.startswith("make ")
    }
    assert {"run", "test", "docs"} <= named
    for target in sorted(named):
        assert sh(f"make --dry-run {target}", ROOT)


@pytest.mark.parametrize(
    "command",
    [
        c
        for language, b in steps("README.md")
        if language == "console"
        for c in commands(b)
        if c.startswith("thalweg run")
    ],
)
def test_the_commands_of_the_readme_work(command: str, tmp_path: Path) -> None:
    if "flights" in command:
        pytest.skip("a file of the reader's own")
    if "electricity" in command and not (Path(os.environ.get("THALWEG_DATA", "")) / "electricity.parquet").exists():
        pytest.skip("needs THALWEG_DATA with electricity.parquet")
    sh(re.sub(r"--limit \d+", "", command).replace("--json -", "--json out.json") + " --limit 300", tmp_path)
