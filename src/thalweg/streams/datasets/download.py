"""Files from OpenML, only when asked: checked, resumed where they broke off, never half there under their name."""

import errno
import hashlib
import http.client
import json
import os
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn
from urllib.parse import urlsplit

from thalweg.core.params import number, shown, whole

VARIABLE = "THALWEG_OPENML"
"""Names another server that speaks OpenML's language."""

HOME = "https://www.openml.org"

Watch = Callable[[int, int | None], None]
"""Told how many bytes there are, and how many there will be (None: unknown)."""

_ATTEMPTS = 4  # of which all but the first go on where the one before broke off
_BLOCK = 1 << 18
_MOST_DESCRIPTION = 1 << 24


class DownloadError(OSError):
    """A file could not be had; the message is a sentence that says why.

    >>> describe(151, base="ftp://example.org")
    Traceback (most recent call last):
    thalweg....DownloadError: ftp://example.org/api/v1/json/data/151 must be an http or https address
    """


class _BrokenOffError(DownloadError):
    """It broke off on the way: what came is kept, and asking again goes on from there."""


@dataclass(frozen=True, slots=True)
class Description:
    """What OpenML says about a data set.

    >>> Description(151, "electricity", "https://example.org/e.arff", "ab" * 16, "class", ("id",), "Public").drop
    ('id',)
    """

    id: int
    name: str
    url: str
    md5: str
    target: str
    """Empty: OpenML names none."""
    drop: tuple[str, ...]
    """Attributes that number the rows, or that OpenML says to leave out."""
    licence: str


def describe(id: int, *, base: str | None = None, timeout: float = 30.0) -> Description:
    """Ask OpenML what it has under an id: where the file is, and its checksum.

    base: the server; None: the one that THALWEG_OPENML names, or else https://www.openml.org. timeout: in seconds.

    >>> describe(0)
    Traceback (most recent call last):
    ValueError: id must lie in [1, ∞), got 0
    """
    whole("id", id, least=1)
    number("timeout", timeout, above=0)
    home = (base or os.environ.get(VARIABLE) or HOME).rstrip("/")
    url = f"{home}/api/v1/json/data/{id}"
    with _asked(url, timeout) as answer:
        said = bytearray()
        while len(said) < _MOST_DESCRIPTION and (block := _received(answer, url)):
            said += block
    try:
        known = json.loads(said.decode())["data_set_description"]
        file, md5 = known["url"], known["md5_checksum"].lower()
        if not re.fullmatch("[0-9a-f]{32}", md5) or not isinstance(file, str):
            raise ValueError
        drop = [*_names(known.get("row_id_attribute")), *_names(known.get("ignore_attribute"))]
        target, name, licence = (str(known.get(key) or "") for key in ("default_target_attribute", "name", "licence"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DownloadError(
            f"{url} must describe a data set in JSON with its url and md5_checksum, got {shown(bytes(said[:60]))}"
        ) from None
    return Description(int(id), name, file, md5, target, tuple(dict.fromkeys(drop)), licence)


def fetch(url: str, path: Path, md5: str, *, timeout: float = 30.0, on_progress: Watch | None = None) -> None:
    """Bring a file to a path, whole and with the right checksum, or not at all.

    What has come is kept beside it in a file that ends with .part, and the next call goes on from there.
    on_progress: called with the bytes there are, and the bytes there will be (None: unknown).

    >>> fetch("file:///secret", Path("x.arff"), "ab" * 16)
    Traceback (most recent call last):
    thalweg.streams.datasets.download.DownloadError: file:///secret must be an http or https address
    """
    _check_address(url)
    number("timeout", timeout, above=0)
    part = path.with_name(f"{path.name}.{md5[:8]}.part")
    with _one_at_a_time(part) as file:
        if not _size(file) or checksum(part, "md5") != md5:
            for attempt in range(_ATTEMPTS):
                before = _size(file)
                try:
                    _receive(url, file, timeout, on_progress)
                    break
                except _BrokenOffError:
                    if attempt == _ATTEMPTS - 1 or _size(file) <= before:
                        raise
        with _disk(part):
            os.fsync(file.fileno())
    with _disk(part):
        found = checksum(part, "md5")
        if found == md5:
            part.replace(path)
        else:
            part.unlink()
    if found != md5:
        raise DownloadError(f"{url} must have the MD5 checksum {md5}, it has {found}: what came is deleted")


def checksum(path: Path, kind: str = "sha256") -> str:
    """Compute the checksum of a file, in hexadecimal digits. kind: as hashlib names it.

    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "empty"
    >>> _ = path.write_bytes(b"")
    >>> checksum(path, "md5")
    'd41d8cd98f00b204e9800998ecf8427e'
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()


# -- the network ------------------------------------------------------------------------------------------------------


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow a redirection to the web, and nowhere else."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
        _check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_address(url: str) -> None:
    try:
        good = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except ValueError:
        good = False
    if not good:
        raise DownloadError(f"{url} must be an http or https address")


@contextmanager
def _asked(url: str, timeout: float, start: int = 0) -> Iterator[http.client.HTTPResponse]:
    """Ask for a file, or for what follows its first bytes."""
    _check_address(url)
    headers = {"User-Agent": "thalweg", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        request = urllib.request.Request(url, headers=headers)
        answer = urllib.request.build_opener(_Redirects).open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
                raise
            raise DownloadError(_refusal(url, error.code, error.reason)) from None
    except DownloadError:
        raise
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DownloadError(_unreachable(url, timeout, error)) from None
    with answer:
        yield answer


def _refusal(url: str, code: int, reason: Any) -> str:
    if code in (404, 410, 412):  # OpenML says 412 where it has no such data set
        return f"{url} is not there (HTTP {code})"
    later = ": try again later" if code >= 500 or code == 429 else ""
    return f"{urlsplit(url).hostname} answered HTTP {code} ({' '.join(str(reason).split())}) to {url}{later}"


def _unreachable(url: str, timeout: float, error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    host = urlsplit(url).hostname
    if isinstance(reason, TimeoutError):
        return f"{host} must answer within {timeout:g} seconds, it did not: try again later"
    why = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
    return f"{host} cannot be reached ({' '.join(str(why).split())}): is there a network?"


def _received(answer: http.client.HTTPResponse, url: str) -> bytes:
    """Read what comes next; empty: it has ended, or has broken off."""
    try:
        return answer.read1(_BLOCK)
    except TimeoutError:
        raise _BrokenOffError(f"{url} stopped sending: ask again to resume") from None
    except (OSError, http.client.HTTPException) as error:
        why = f"{type(error).__name__}: {error}"
        raise _BrokenOffError(f"{url} broke off ({why}): ask again to resume") from None


def _receive(url: str, file: IO[bytes], timeout: float, on_progress: Watch | None) -> None:
    """Add to a part of a file what it lacks."""
    start = _size(file)
    try:
        with _asked(url, timeout, start) as answer:
            _write(url, file, start, answer, on_progress)
    except urllib.error.HTTPError:  # there is nothing after the part: it is no part of this file
        file.truncate(0)
        with _asked(url, timeout) as answer:
            _write(url, file, 0, answer, on_progress)


def _write(url: str, file: IO[bytes], start: int, answer: http.client.HTTPResponse, on_progress: Watch | None) -> None:
    resumed = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", "")) if answer.status == 206 else None
    if start and not (resumed and int(resumed[1]) == start):  # the server sends it from the beginning
        file.truncate(0)
        start = 0
        if answer.status == 206:
            raise _BrokenOffError(f"{url} sent a different part than requested: ask again to start over")
    length = answer.headers.get("Content-Length", "")
    total = start + int(length) if length.isdigit() else None
    path = Path(file.name)
    if total is not None and (free := shutil.disk_usage(path.parent).free) < total - start:
        raise DownloadError(f"{path.parent} must have {total - start:,} bytes free for {path.name}, it has {free:,}")
    done = start
    while block := _received(answer, url):
        if done == 0 and block.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            raise DownloadError(f"{url} must be an ARFF file, it is a web page")
        with _disk(path):
            file.write(block)
        done += len(block)
        if on_progress is not None:
            on_progress(done, total)
    with _disk(path):
        file.flush()
    if total is not None and done < total:
        raise _BrokenOffError(f"{url} broke off after {done:,} of {total:,} bytes: ask again to resume")


def _names(given: Any) -> list[str]:
    """Names of attributes, which OpenML gives as a list, as text with commas, or not at all."""
    many = given.split(",") if isinstance(given, str) else given or []
    return [name.strip() for name in many if isinstance(name, str) and name.strip()]


# -- the disk ---------------------------------------------------------------------------------------------------------


def _size(file: IO[bytes]) -> int:
    return file.seek(0, os.SEEK_END)


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    """Say in a sentence why a file cannot be written."""
    try:
        yield
    except OSError as error:
        _cannot_write(path, error)


def _cannot_write(path: Path, error: OSError) -> NoReturn:
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        raise DownloadError(f"{path.parent} must have room for {path.name}, the disk is full") from None
    raise DownloadError(f"{path.parent} must be a folder that can be written to: {error.strerror or error}") from None


@contextmanager
def _one_at_a_time(part: Path) -> Iterator[IO[bytes]]:
    """Open the part to add to it, unless another process does so now; leave none behind that is empty."""
    with _disk(part):
        part.parent.mkdir(parents=True, exist_ok=True)
        file = part.open("ab")
    try:
        with file:
            _lock(file)
            yield file
    finally:
        if part.exists() and not part.stat().st_size:
            part.unlink()


def _lock(file: IO[bytes]) -> None:
    try:
        import fcntl
    except ImportError:  # elsewhere than on Unix there is no such lock: the checksum is the guard
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        name = Path(file.name).name
        raise DownloadError(f"{name} must have one writer: another process is downloading it") from None
    except OSError:  # a disk without locks
        pass
