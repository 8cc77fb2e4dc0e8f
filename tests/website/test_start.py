"""A newcomer: what README.md and docs/start.md say works word for word, in an empty folder."""

import re
import shutil
from pathlib import Path

import pytest

import outputs
from sessions import STEP, commands, follow, sh

ROOT = Path(__file__).resolve().parents[2]


def steps(page: str) -> list[tuple[str, str, str]]:
    """The blocks of a page that are to be carried out, in order: (language, text, what it prints)."""
    return STEP.findall((ROOT / page).read_text("utf-8"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_five_minutes_in_an_empty_folder(tmp_path: Path) -> None:
    installed = []
    for step, printed, installing in follow(ROOT / "docs" / "start.md", tmp_path):
        installed += installing
        assert outputs.plain(printed) == outputs.plain(step[3] or ""), "run: make outputs"
    assert len(installed) == 3
    for made in ("sea.png", "forest.safetensors", "river.csv", "tree.safetensors", "comparison/report.html"):
        assert (tmp_path / made).stat().st_size > 0, made


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_first_command_of_the_readme_prints_what_is_shown(tmp_path: Path) -> None:
    block, shown = next((block, shown) for _, block, shown in steps("README.md") if shown)
    (command,) = (command for command in commands(block) if command.startswith("thalweg"))
    assert outputs.plain(sh(command, tmp_path)) == outputs.plain(shown)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_targets_that_the_readme_names_are_there() -> None:
    named = {
        c.split()[1]
        for language, b, _ in steps("README.md")
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
        for language, b, _ in steps("README.md")
        if language == "console"
        for c in commands(b)
        if c.startswith("thalweg run")
    ],
)
def test_the_commands_of_the_readme_work(command: str, tmp_path: Path) -> None:
    sh(re.sub(r"--limit \d+", "", command).replace("--json -", "--json out.json") + " --limit 300", tmp_path)
