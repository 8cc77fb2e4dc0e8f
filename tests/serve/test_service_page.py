"""Every command of docs/service.md is run, in order, and prints what the page shows; … stands for anything."""

import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from running import start

PAGE = Path(__file__).resolve().parents[2] / "docs" / "service.md"


def commands():
    """The commands of the page, each with the lines it is said to print."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def matches(shown, printed):
    pattern = ".*".join(re.escape(part) for part in "\n".join(shown).split("…"))
    return re.fullmatch(pattern + r"\s*.*" if shown and shown[-1] == "…" else pattern, printed.strip(), re.DOTALL)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def test_the_commands_of_the_page(tmp_path, monkeypatch):
    if shutil.which("curl") is None:
        pytest.skip("the page uses curl, which is not here")
    monkeypatch.chdir(tmp_path)
    ports = {"8642": str(free_port()), "8643": str(free_port())}
    service, ran = None, 0
    try:
        for command, shown in commands():
            if command.startswith("pip install"):
                continue
            for written, port in ports.items():
                command = command.replace(written, port)
                shown = [line.replace(written, port) for line in shown]
            words = shlex.split(command)
            if words[:2] == ["thalweg", "serve"]:
                if service is not None:
                    service.send_signal(signal.SIGINT)
                    service.wait(60)
                    service.stdout.close()
                service, line = start(*words[2:], port=None, whole=True)
                printed = line
            elif words[0] == "thalweg":
                words = [sys.executable, "-m", *words]
                printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            else:
                printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            assert matches(shown, printed), f"{command}\nprinted\n{printed}\nthe page shows\n" + "\n".join(shown)
            ran += 1
    finally:
        if service is not None:
            service.terminate()
            service.wait(60)
            service.stdout.close()
    assert ran >= 14
