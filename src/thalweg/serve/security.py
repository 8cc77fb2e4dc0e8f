"""Who may do what: tokens with roles, kept hashed, and how many requests each may make."""

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, final

import msgspec

from thalweg.core import params

ROLES = ("predict", "label", "admin")
"""predict: ask for answers. label: also send labels and records with labels. admin: everything."""
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Headers of every reply."""
CSP = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The content security policy of pages: nothing but what the service itself serves."""


class Token(msgspec.Struct, frozen=True):
    """A token as it is kept: whose it is, what it may do, and its SHA-256."""

    name: str
    role: str
    sha256: str

    def __post_init__(self) -> None:
        params.choice("role", self.role, ROLES)
        if len(self.sha256) != 64 or not set(self.sha256) <= set("0123456789abcdef"):
            raise ValueError(f"sha256 must be 64 hexadecimal digits, got {params.shown(self.sha256)}")


class Caller(NamedTuple):
    """Who makes a request."""

    name: str
    rank: int
    """The place of the role in ``ROLES``; -1: nobody."""


def make_token(name: str, role: str) -> tuple[str, Token]:
    """Make a token: what is handed out, once, and what is kept.

    >>> text, kept = make_token("desk", "label")
    >>> len(text) >= 43, kept.name, kept.role
    (True, 'desk', 'label')
    """
    text = secrets.token_urlsafe(32)
    return text, Token(name, role, hash_of(text))


def hash_of(text: str) -> str:
    """The SHA-256 of a token. Tokens are drawn, 256 bits each, so that nobody can guess one from its hash."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_tokens(path: str | os.PathLike[str]) -> list[Token]:
    """Read a file of tokens: JSON lines of name, role and sha256."""
    try:
        lines = Path(path).read_bytes().splitlines()
        tokens = [msgspec.json.decode(line, type=Token) for line in lines if line.strip()]
    except msgspec.DecodeError as error:
        raise ValueError(
            f"token-file must hold lines of name, role and sha256, {os.fspath(path)} does not: {error}"
        ) from None
    if not tokens:
        raise ValueError(f"token-file must hold at least one token, got {os.fspath(path)}, which has none")
    if len({token.name for token in tokens}) != len(tokens):
        raise ValueError(f"token-file must have a name for each token, got one twice in {os.fspath(path)}")
    return tokens


def add_token(path: str | os.PathLike[str], name: str, role: str) -> str:
    """Add a token to a file, which is made where it is not there; give what is to be handed out."""
    known = read_tokens(path) if Path(path).exists() else []
    if name in [token.name for token in known]:
        raise ValueError(f"name must be another than those in {os.fspath(path)}, got {name!r}")
    text, token = make_token(name, role)
    data = b"".join(msgspec.json.encode(each) + b"\n" for each in (*known, token))
    part = Path(path).with_name(Path(path).name + ".part")
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    return text


@final
class Gate:
    """Lets requests in.

    tokens: None: whoever can reach the service may do everything, which is for a loopback address only. rate: requests
    per second and token, as many at once as come in two seconds; None: as many as come.
    """

    def __init__(self, tokens: list[Token] | None, rate: float | None = None) -> None:
        if rate is not None:
            params.number("rate", rate, above=0)
        self.tokens, self.rate = tokens, rate
        self._buckets: dict[str, tuple[float, float]] = {}
        self._known: dict[bytes, Caller] = {}

    def caller(self, headers: Mapping[bytes, bytes]) -> Caller:
        """Say who makes a request, by its header ``Authorization: Bearer …``."""
        if self.tokens is None:
            return Caller("", len(ROLES) - 1)
        given = headers.get(b"authorization", b"")
        if given[:7].lower() != b"bearer ":
            return Caller("", -1)
        mine = hashlib.sha256(given[7:].strip()).hexdigest()
        found = Caller("", -1)
        for token in self.tokens:  # all of them: how long it takes says nothing
            if hmac.compare_digest(mine, token.sha256):
                found = Caller(token.name, ROLES.index(token.role))
        return found

    def spend(self, caller: Caller, now: float | None = None) -> float:
        """Count a request; give the seconds to wait where there were too many, else 0."""
        if self.rate is None:
            return 0.0
        now = time.monotonic() if now is None else now
        left, last = self._buckets.get(caller.name, (2.0 * self.rate, now))
        left = min(2.0 * self.rate, left + (now - last) * self.rate)
        if left < 1.0:
            self._buckets[caller.name] = left, now
            return (1.0 - left) / self.rate
        self._buckets[caller.name] = left - 1.0, now
        return 0.0


def check_address(host: str, tokens: list[Token] | None) -> None:
    """Refuse to be reached from other machines without tokens."""
    if tokens is None and host not in ("127.0.0.1", "::1", "localhost"):
        raise ValueError(
            f"host must be a loopback address such as 127.0.0.1 where no token-file is given, got {host!r}"
        )


def rank(role: str) -> int:
    """The place of a role."""
    return ROLES.index(role)


def log_line(**fields: Any) -> str:
    """A line of the log: JSON, without values of records."""
    return msgspec.json.encode(fields).decode()
