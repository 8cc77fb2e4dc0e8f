"""Downloads, from a server on this machine: whole and checked, or not at all, and a sentence that says why."""

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openml_server import ARFF, Server
from thalweg import load_dataset
from thalweg.jit.compile import CACHE
from thalweg.streams.datasets import download
from thalweg.streams.datasets import loading as datasets
from thalweg.streams.datasets.download import DownloadError, describe, fetch
from thalweg.streams.datasets.loading import DATASETS, dataset_path, folders, get_dataset, verify

NAME, FILE = "airlines-full", "/file/1169.arff"
N = len(ARFF)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    """A server; the library asks it rather than OpenML, and keeps what it gets in a folder of the test."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("THALWEG_DATA", raising=False)
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    made = Server()
    monkeypatch.setenv("THALWEG_OPENML", made.base)
    yield made
    made.close()


def cache() -> Path:
    folder = folders()["cache"]
    assert folder is not None
    return folder


def left() -> list[str]:
    """What lies in the cache."""
    return sorted(p.name for p in cache().iterdir()) if cache().exists() else []


def parts() -> list[Path]:
    return sorted(cache().glob("*.part"))


# -- what goes well ---------------------------------------------------------------------------------------------------


def test_a_file_comes_whole_and_is_read_with_the_right_columns(server: Server) -> None:
    seen: list[tuple[int, int | None]] = []
    path = get_dataset(NAME, on_progress=lambda done, total: seen.append((done, total)))
    assert path == cache() / "airlines-full.arff"
    assert path.read_bytes() == ARFF
    assert seen[-1] == (N, N)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert left() == ["airlines-full.arff", "airlines-full.arff.json"]
    note = json.loads((cache() / "airlines-full.arff.json").read_text("utf-8"))
    assert note["sha256"] == hashlib.sha256(ARFF).hexdigest()
    assert (note["openml"], note["md5"], note["licence"]) == (1169, server.md5, "Public")
    stream = load_dataset(NAME)
    assert stream.name == NAME
    assert stream.schema.names == ("Airline", "Length")  # id numbers the rows
    chunk = stream.take(3)
    assert chunk.X.tolist() == [[0, 0], [1, 7], [0, 14]]
    assert chunk.y.tolist() == [0, 1, 0]
    assert len(load_dataset(NAME, limit=7).take(100)) == 7
    assert "id" in load_dataset(NAME, drop=[]).schema.names


def test_a_file_that_is_there_is_verified_and_not_asked_for_again(server: Server) -> None:
    path = get_dataset(NAME)
    asked = len(server.asked)
    assert get_dataset(NAME) == path == dataset_path(NAME)
    assert verify(DATASETS[NAME], path)
    assert load_dataset(NAME, download=True).take(1).y.tolist() == [0]
    assert len(server.asked) == asked
    path.write_bytes(ARFF[:-1])
    with pytest.raises(ValueError, match=r"airlines-full.arff must have the checksum .* it is damaged, or another ver"):
        get_dataset(NAME)
    path.with_name(path.name + ".json").write_text("{")
    assert not verify(DATASETS[NAME], path)  # nothing is known about it any more


def test_nothing_is_asked_for_unless_a_person_asks(server: Server) -> None:
    with pytest.raises(FileNotFoundError, match=r"`thalweg data get airlines-full` fetches it from OpenML"):
        load_dataset(NAME)
    with pytest.raises(FileNotFoundError):
        dataset_path(NAME)
    assert server.asked == []
    assert load_dataset(NAME, download=True).take(2).y.tolist() == [0, 1]
    assert [path for path, _ in server.asked] == ["/api/v1/json/data/1169", FILE]
    with pytest.raises(TypeError, match="download must be True or False, got 'yes'"):
        load_dataset(NAME, download="yes")


def test_what_the_description_does_not_say_the_catalogue_does(server: Server) -> None:
    server.says = {"default_target_attribute": None, "ignore_attribute": "id, Length"}
    get_dataset(NAME)
    assert load_dataset(NAME).schema.names == ("Airline",)
    (cache() / "airlines-full.arff.json").unlink()  # a file that was put there by hand
    assert load_dataset(NAME).schema.names == ("id", "Airline", "Length")


@pytest.mark.parametrize("ignored", [["id"], "id", None, [], 7])
def test_names_of_attributes_come_in_many_ways(server: Server, ignored: Any) -> None:
    server.says = {"ignore_attribute": ignored}
    if ignored == 7:
        with pytest.raises(DownloadError, match="must describe a data set in JSON"):
            describe(1169)
        return
    assert describe(1169).drop == (("id",) if ignored else ())


def test_redirections_are_followed(server: Server) -> None:
    server.moved = {FILE: "/file/elsewhere.arff", "/file/elsewhere.arff": f"{server.base}/file/there.arff"}
    assert get_dataset(NAME).read_bytes() == ARFF


def test_a_server_that_does_not_say_how_long_it_is(server: Server) -> None:
    server.lengths = False
    seen: list[int | None] = []
    assert get_dataset(NAME, on_progress=lambda _, total: seen.append(total)).read_bytes() == ARFF
    assert set(seen) == {None}


# -- what breaks off --------------------------------------------------------------------------------------------------


def test_what_breaks_off_is_resumed_at_once(server: Server) -> None:
    server.cut = [100_000, 50_000]
    assert get_dataset(NAME).read_bytes() == ARFF
    assert server.files_asked == [None, "bytes=100000-", "bytes=150000-"]


def test_what_breaks_off_too_often_is_resumed_the_next_time(server: Server) -> None:
    server.cut = [10_000, 10_000, 10_000, 10_000]
    with pytest.raises(DownloadError, match=rf"{FILE} broke off after 40,000 of {N:,} bytes: ask again to resume"):
        get_dataset(NAME)
    (part,) = parts()
    assert part.read_bytes() == ARFF[:40_000]
    assert left() == [part.name]
    seen: list[int] = []
    assert get_dataset(NAME, on_progress=lambda done, total: seen.append(done)).read_bytes() == ARFF
    assert server.files_asked[-1] == "bytes=40000-"
    assert min(seen) > 40_000
    assert parts() == []


def test_a_server_that_cannot_resume_begins_anew(server: Server) -> None:
    server.ranges = False
    server.cut = [60_000]
    assert get_dataset(NAME).read_bytes() == ARFF
    assert server.files_asked == [None, "bytes=60000-"]
    (cache() / "airlines-full.arff").unlink()
    server.cut = [60_000, 60_000, 60_000, 60_000, 60_000]
    with pytest.raises(DownloadError, match="broke off after 60,000 of"):
        get_dataset(NAME)
    assert len(server.files_asked) == 4  # no use in asking more often


def test_a_server_that_resumes_elsewhere(server: Server) -> None:
    server.cut, server.shift = [60_000], -10
    with pytest.raises(DownloadError, match="sent a different part than requested: ask again to start over$"):
        get_dataset(NAME)
    assert left() == []
    assert get_dataset(NAME).read_bytes() == ARFF


def test_a_part_of_another_version_is_not_gone_on_with(server: Server) -> None:
    server.cut = [10_000] * 4
    with pytest.raises(DownloadError, match="broke off"):
        get_dataset(NAME)
    server.body = ARFF.replace(b"AA", b"CC")
    assert get_dataset(NAME).read_bytes() == server.body
    assert server.files_asked[-1] is None


def test_a_part_that_is_whole_or_longer(server: Server) -> None:
    cache().mkdir(parents=True)
    part = cache() / f"airlines-full.arff.{server.md5[:8]}.part"
    part.write_bytes(ARFF)  # stopped between the last byte and the new name
    assert get_dataset(NAME).read_bytes() == ARFF
    assert server.files_asked == []
    (cache() / "airlines-full.arff").unlink()
    part.write_bytes(ARFF + b"more")  # 416: nothing follows
    assert get_dataset(NAME).read_bytes() == ARFF
    assert server.files_asked == [f"bytes={N + 4}-", None]


def test_a_server_that_stalls(server: Server) -> None:
    server.stall = True
    begun = time.monotonic()
    with pytest.raises(DownloadError, match=f"{FILE} stopped sending: ask again to resume"):
        get_dataset(NAME, timeout=0.1)
    assert time.monotonic() - begun < 5
    assert parts()[0].stat().st_size > N / 2
    server.stall = False
    assert get_dataset(NAME).read_bytes() == ARFF


def test_stopped_by_a_person_it_goes_on_the_next_time(server: Server) -> None:
    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get_dataset(NAME, on_progress=stop)
    (part,) = parts()
    size = part.stat().st_size
    assert 0 < size <= N
    assert part.read_bytes() == ARFF[:size]
    assert not (cache() / "airlines-full.arff").exists()
    assert get_dataset(NAME).read_bytes() == ARFF
    assert server.files_asked == ([None, f"bytes={size}-"] if size < N else [None])


# -- what is refused --------------------------------------------------------------------------------------------------


def test_a_wrong_checksum(server: Server) -> None:
    server.says["md5_checksum"] = "0" * 32
    with pytest.raises(DownloadError, match=rf"must have the MD5 checksum 0+, it has {server.md5}: what came is del"):
        get_dataset(NAME)
    assert left() == []


def test_a_checksum_that_is_known_beforehand(server: Server) -> None:
    with pytest.raises(ValueError, match=r"OpenML's data set 554 must have the MD5 checksum 0298.*, it has .*another"):
        get_dataset("mnist")
    assert server.files_asked == []


def test_a_resumed_part_that_was_damaged(server: Server) -> None:
    cache().mkdir(parents=True)
    (cache() / f"airlines-full.arff.{server.md5[:8]}.part").write_bytes(b"x" * 1000)
    with pytest.raises(DownloadError, match="what came is deleted"):
        get_dataset(NAME)
    assert left() == []
    assert get_dataset(NAME).read_bytes() == ARFF


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        (FILE, 404, r"^http://127.0.0.1:\d+/file/1169.arff is not there \(HTTP 404\)$"),
        (FILE, 500, r"^127.0.0.1 answered HTTP 500 \(Internal Server Error\) to .*1169.arff: try again later$"),
        (FILE, 403, r"^127.0.0.1 answered HTTP 403 \(Forbidden\) to .*1169.arff$"),
        (FILE, 416, r"^127.0.0.1 answered HTTP 416 "),
        ("/api/v1/json/data/1169", 412, r"^http://127.0.0.1:\d+/api/v1/json/data/1169 is not there \(HTTP 412\)$"),
        ("/api/v1/json/data/1169", 503, r"^127.0.0.1 answered HTTP 503 .*: try again later$"),
    ],
)
def test_what_a_server_refuses(server: Server, path: str, code: int, said: str) -> None:
    server.status[path] = code
    with pytest.raises(DownloadError, match=said):
        get_dataset(NAME)
    assert left() == []


def test_a_web_page_instead(server: Server) -> None:
    server.body = b"\xef\xbb\xbf\n <!doctype html><html>Sign in to the airport's network</html>"
    with pytest.raises(DownloadError, match=r"1169.arff must be an ARFF file, it is a web page$"):
        get_dataset(NAME)
    assert left() == []


@pytest.mark.parametrize(
    "said",
    [b"<html>", b"", b"[]", b"{}", b'{"data_set_description": 3}', b"\xff", b"[" * 100_000,
     b'{"data_set_description": {"url": "http://x/y", "md5_checksum": null}}',
     b'{"data_set_description": {"url": "http://x/y", "md5_checksum": "abc"}}',
     b'{"data_set_description": {"url": 3, "md5_checksum": "00000000000000000000000000000000"}}'],
)  # fmt: skip
def test_a_description_that_is_none(server: Server, said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "description", lambda id: said)
    with pytest.raises(DownloadError, match="must describe a data set in JSON with its url and md5_checksum, got b"):
        get_dataset(NAME)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x", "nonsense", "http://", "//x/y",
                                 "http://[", "javascript:1"])  # fmt: skip
def test_only_the_web_is_asked(server: Server, url: str, tmp_path: Path) -> None:
    server.says["url"] = url
    with pytest.raises(DownloadError, match="must be an http or https address$"):
        get_dataset(NAME)
    with pytest.raises(DownloadError, match="must be an http or https address$"):
        fetch(url, tmp_path / "x", "0" * 32)
    with pytest.raises(DownloadError, match="must be an http or https address$"):
        describe(3, base=url)
    assert left() == []


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_no_redirection_leads_away_from_the_web(server: Server, to: str) -> None:
    server.moved[FILE] = to
    with pytest.raises(DownloadError, match=r"must be an http or https address$|Redirection to url .* is not allowed"):
        get_dataset(NAME)


def test_redirections_in_a_circle(server: Server) -> None:
    server.moved[FILE] = FILE
    with pytest.raises(DownloadError, match="127.0.0.1 answered HTTP 302 "):
        get_dataset(NAME)


def test_no_network(server: Server) -> None:
    server.close()
    with pytest.raises(DownloadError, match=r"^127.0.0.1 cannot be reached \(Connection refused\): is there a network"):
        get_dataset(NAME)
    with pytest.raises(DownloadError, match=r"^nowhere.invalid cannot be reached \(.+\): is there a network\?$"):
        get_dataset(NAME, base="http://nowhere.invalid")


def test_a_server_that_does_not_answer(server: Server) -> None:
    server.pause = 0.5
    with pytest.raises(DownloadError, match=r"^127.0.0.1 must answer within 0.1 seconds, it did not: try again later"):
        get_dataset(NAME, timeout=0.1)
    with pytest.raises(ValueError, match=r"timeout must lie in \(0, ∞\), got 0"):
        get_dataset(NAME, timeout=0)


def test_a_folder_that_cannot_be_written_to(server: Server, tmp_path: Path) -> None:
    (tmp_path / "thalweg").write_text("a file where the folder should be")
    with pytest.raises(DownloadError, match=r"must be a folder that can be written to: "):
        get_dataset(NAME)


def test_a_disk_that_is_full(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")
    with monkeypatch.context() as patch:
        patch.setattr(download.shutil, "disk_usage", lambda _: usage._replace(free=1000))
        with pytest.raises(DownloadError, match=rf"must have {N:,} bytes free for airlines-full.* it has 1,000$"):
            get_dataset(NAME)
    assert left() == []

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(DownloadError, match=r"must have room for airlines-full.*, the disk is full$"):
            get_dataset(NAME)
    assert not (cache() / "airlines-full.arff").exists()
    assert get_dataset(NAME).read_bytes() == ARFF


def test_two_at_a_time(server: Server) -> None:
    pytest.importorskip("fcntl")

    def meanwhile(done: int, total: int | None) -> None:
        with pytest.raises(DownloadError, match="must have one writer: another process is downloading it"):
            get_dataset(NAME)

    assert get_dataset(NAME, on_progress=meanwhile).read_bytes() == ARFF


def test_one_that_cannot_be_fetched(server: Server) -> None:
    with pytest.raises(FileNotFoundError, match=r"'rialto' must lie as rialto.parquet \(or .csv, .* it cannot be "
                       r"fetched by name; it comes from: Losing et al. 2016.*, https://"):  # fmt: skip
        get_dataset("rialto")
    with pytest.raises(FileNotFoundError, match="it cannot be fetched by name"):
        load_dataset("rialto", download=True)
    assert server.asked == []


def test_one_cache_for_all() -> None:
    assert cache() == CACHE / "data"


def test_asking_for_help_loads_no_compiler() -> None:
    code = ("import sys, thalweg.streams.datasets.loading; "
            "print([m for m in ('numba', 'pyarrow', 'scipy', 'rich') if m in sys.modules])")  # fmt: skip
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
    assert datasets.VARIABLE == "THALWEG_DATA"
