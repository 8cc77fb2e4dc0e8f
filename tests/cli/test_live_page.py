"""Every command of docs/live.md is run, in order, and prints what the page shows; … stands for anything."""

import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "live.md"


def _commands():
    """The commands of the page, each with the lines it is said to print."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        for line in re.sub(r" *\\\n *", " ", block).splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def _matches(shown, printed):
    pattern = ".*".join(re.escape(part) for part in "\n".join(shown).split("…"))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL)


def _free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return str(sock.getsockname()[1])


def test_the_commands_of_the_page(tmp_path, monkeypatch):
    pytest.importorskip("redis")
    if shutil.which("redis-server") is None or shutil.which("redis-cli") is None:
        pytest.skip("the page needs redis-server and redis-cli, which are not here: apt install redis-server")
    monkeypatch.chdir(tmp_path)
    port = _free_port()
    behind, ran = [], 0
    try:
        for written, lines in _commands():
            command, shown = written.replace("6400", port), [line.replace("6400", port) for line in lines]
            words = shlex.split(command)
            if words[0] in ("sudo", "pip"):
                continue
            printed = ""
            if words[0] == "thalweg":
                words[:1] = [sys.executable, "-m", "thalweg"]
            if words[-1] == "&":
                behind.append(
                    subprocess.Popen(words[:-1], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
                )
            elif words[0] == "kill":
                until = time.monotonic() + 120
                while not Path("live.ckpt").exists() and time.monotonic() < until:
                    assert behind[1].poll() is None, behind[1].stdout.read()
                    time.sleep(0.05)
                time.sleep(2)
                behind[1].kill()
                behind[1].wait()
            elif words[0] == "wait":
                printed = behind[0].communicate(timeout=300)[0]
            else:
                done = subprocess.run(words, capture_output=True, text=True, timeout=300)
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
                printed = "" if words[0] == "redis-server" else done.stdout
                if words[0] == "redis-server":
                    _wait_for(port)
            assert _matches(shown, printed), f"{command}\nprinted\n{printed}\nthe page shows\n" + "\n".join(shown)
            ran += 1
    finally:
        for process in behind:
            if process.poll() is None:
                process.kill()
            process.communicate()
        subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], capture_output=True)
    assert ran == 10
    assert '"matched":40000' in Path("live.json").read_text("utf-8")


def _wait_for(port):
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", int(port))) == 0:
                return
        time.sleep(0.05)
