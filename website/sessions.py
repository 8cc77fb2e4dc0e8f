"""Pages that a newcomer follows from top to bottom, in an empty folder: commands, scripts, and what they print."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import outputs

PAGES = ("docs/start.md",)
"""Followed as a whole. Of README.md only the first command is followed by what it prints."""
STEP = re.compile(
    r"^```(console|python)\n(.*?)^```\n(?:\n```text title=\"Output\"\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
INSTALL = ("python3 -m venv", ". .venv/", "pip install")
"""What is left out: the package is there already."""


def commands(block: str) -> list[str]:
    """Give the lines that a newcomer types."""
    text = block.replace("\\\n", "")
    return [re.sub(r"\s+# .*", "", line[2:]) for line in text.splitlines() if line.startswith("$ ")]


def sh(command: str, folder: Path) -> str:
    """Run a command as typed; give what it prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    source = os.pathsep.join([str(outputs.ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": source, "COLUMNS": "80"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def follow(page: Path, folder: Path) -> Iterator[tuple[re.Match[str], str, list[str]]]:
    """Carry out the steps of a page in a folder; give each with what it prints, and the commands that install.

    The first script is saved as first.py, to be run by a command; the others are run as they stand.
    """
    for n, step in enumerate(STEP.finditer(page.read_text("utf-8"))):
        language, block = step[1], step[2]
        if language == "python":
            name = f"step{n}.py" if (folder / "first.py").exists() else "first.py"
            (folder / name).write_text(block, "utf-8")
            yield step, "" if name == "first.py" else sh(f"python {name}", folder), []
            continue
        typed = commands(block)
        installing = [command for command in typed if command.startswith(INSTALL)]
        yield step, "".join(sh(command, folder) for command in typed if command not in installing), installing


def rewrite(page: Path) -> None:
    """Write below each step what it prints now; what differs in measured numbers alone stays as it is."""
    parts, end, text = [], 0, page.read_text("utf-8")
    with outputs.emptied():
        for step, printed, _ in follow(page, Path.cwd()):
            before = step[3] or ""
            shown = before if outputs.plain(before) == outputs.plain(printed) else printed
            below = f'\n```text title="Output"\n{shown}```\n' if shown else ""
            parts.append(f"{text[end : step.start()]}```{step[1]}\n{step[2]}```\n{below}")
            end = step.end()
    page.write_text("".join([*parts, text[end:]]), "utf-8")
