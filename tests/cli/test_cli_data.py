"""The commands ``thalweg data`` as a person types them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openml_server import ARFF, Server
from thalweg.jit.compile import CACHE
from thalweg.streams.datasets.loading import DATASETS

Run = Callable[..., tuple[int, str, str]]
assert CACHE  # compiled code stays where it is: the tests below name another cache


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("THALWEG_DATA", raising=False)
    made = Server()
    monkeypatch.setenv("THALWEG_OPENML", made.base)
    yield made
    made.close()


@pytest.mark.parametrize("columns", [40, 80, 129, 200])
def test_list_fits_the_terminal(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, err = run("data", "list")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= columns
    assert server.asked == []
    if columns == 40:
        return
    for name, known in DATASETS.items():
        (line,) = [line.split() for line in lines if line.split()[:1] == [name]]
        assert line[1:4] == [f"{known.rows:,}", f"{known.features:,}", str(known.classes)]
        assert line[-1] == ("package" if known.packaged else "download" if known.openml else "own")
    words = " ".join(out.split())
    if columns == 80:
        assert "electricity 45,312 8 2 download time; SDF, ABACOC, licence: public" in words
    elif columns == 200:
        assert "electricity 45,312 8 2 time SDF, ABACOC public download" in words


def test_list_says_where_each_is(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    (tmp_path / "covtype.arff").write_text("")
    run("data", "get", "airlines-full")
    (tmp_path / "cache" / "thalweg" / "data" / "rialto.csv").write_text("")
    _, out, _ = run("data", "list")
    where = {line.split()[0]: line.split()[-1] for line in out.splitlines() if line.strip()}
    assert (where["covtype"], where["airlines-full"], where["rialto"]) == ("folder", "cache", "cache")
    assert (where["nomao"], where["outdoor"]) == ("download", "own")


def test_get_then_use(run: Run, server: Server, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "thalweg" / "data" / "airlines-full.arff"
    code, _, err = run("run", "no-change", "airlines-full", "--limit", 100)
    assert (code, server.asked) == (2, [])
    assert "`thalweg data get airlines-full` fetches it from OpenML" in err
    code, out, err = run("data", "get", "airlines-full")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"written: {path}"
    assert "539,383 rows, 7 features, 2 classes, order: time; licence: public; from: Ikonomovska" in out
    assert path.read_bytes() == ARFF
    assert run("data", "get", "airlines-full") == (0, f"already there: {path} (the checksum is right)\n", "")
    assert run("data", "path", "airlines-full") == (0, f"{path}\n", "")
    code, out, _ = run("run", "no-change", "airlines-full", "--limit", 100)
    assert code == 0
    assert "100" in out
    path.write_bytes(b"@relation other\n")
    code, _, err = run("data", "get", "airlines-full")
    assert code == 2
    assert "must have the checksum" in err


def test_get_says_what_differs(run: Run, server: Server) -> None:
    code, out, _ = run("data", "get", "adult")
    assert code == 0
    assert out.splitlines()[-1] == "note: on OpenML the 16,281 records of the test part come first"


def test_a_file_without_a_known_checksum(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    (tmp_path / "rialto.csv").write_text("a,class\n1,2\n")
    assert run("data", "get", "rialto") == (0, f"already there: {tmp_path / 'rialto.csv'} (no checksum is known)\n", "")


def test_path_prints_the_folders(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "thalweg" / "data"
    _, out, _ = run("data", "path")
    assert out.splitlines() == ["folder: (THALWEG_DATA is not set)", f"cache: {cache} (does not exist)"]
    cache.mkdir(parents=True)
    monkeypatch.setenv("THALWEG_DATA", str(tmp_path))
    _, out, _ = run("data", "path")
    assert out.splitlines() == [f"folder: {tmp_path}", f"cache: {cache}"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("get", "electrcity"), "name must be one of the data sets .* (did you mean 'electricity'?)"),
        (("get", "rialto"), "it cannot be fetched by name; it comes from: Losing et al. 2016"),
        (("get", "nomao"), "is not there (HTTP 404)"),
        (("get", "airlines-full", "more"), "unexpected extra argument"),
        (("get",), "Missing argument"),
        (("path", "rialto"), "data set 'rialto' must lie as rialto.parquet (or .csv, .csv.gz, .arff)"),
        (("path", "x"), "name must be one of the data sets"),
        (("nonsense",), "No such command 'nonsense'"),
    ],
)
def test_whatever_goes_wrong_is_one_line(run: Run, server: Server, words: tuple[str, ...], said: str) -> None:
    server.status["/file/1486.arff"] = 404
    code, out, err = run("data", *words)
    assert (code, out) == (2, "")
    assert err.startswith("thalweg: ")
    assert err.count("\n") == 1
    for piece in said.split(" .* "):
        assert piece in err


def test_alone_it_prints_help(run: Run) -> None:
    code, out, _ = run("data")
    assert code == 0
    assert all(word in out for word in ("list", "get", "path"))


def test_ctrl_c_keeps_what_has_come(server: Server, tmp_path: Path) -> None:
    server.stall = True
    process = subprocess.Popen(
        [sys.executable, "-m", "thalweg.cli", "data", "get", "airlines-full"], env=os.environ.copy(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until = time.monotonic() + 20
    part = None
    while time.monotonic() < until and not (part and part.stat().st_size):
        part = next(iter((tmp_path / "cache" / "thalweg" / "data").glob("*.part")), None)
        time.sleep(0.01)
    server.pause = 5  # it resumes after a second: not before the signal
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert err == "thalweg: interrupted; `thalweg data get airlines-full` goes on from there\n"
    assert part is not None
    assert ARFF.startswith(part.read_bytes())
