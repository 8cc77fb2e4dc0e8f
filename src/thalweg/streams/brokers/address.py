"""Where a broker is: ``kafka://localhost:9092/clicks?format=json`` taken apart, or one sentence about what is wrong."""

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from thalweg.core.params import shown
from thalweg.registry.typed import is_address

PORTS = {"kafka": 9092, "redis": 6379, "rediss": 6379, "nats": 4222, "postgresql": 5432, "sqlite": 0}
"""The kinds of address, and where such a server listens unless the address says otherwise."""
_EXAMPLES = {
    "kafka": "kafka://localhost:9092/topic", "redis": "redis://localhost:6379/stream",
    "rediss": "rediss://localhost:6379/stream", "nats": "nats://localhost:4222/subject",
    "postgresql": "postgresql://user@localhost/database?query=…&order=column",
    "sqlite": "sqlite:///file.db?query=…&order=column",
}  # fmt: skip


@dataclass(frozen=True)
class Address:
    """A server, and what is read from it or written to it.

    >>> parsed("kafka://localhost/clicks?format=csv")
    Address(scheme='kafka', host='localhost', port=9092, name='clicks', user='')
    """

    scheme: str
    host: str
    port: int
    name: str
    """The topic, stream, subject, database or file."""
    user: str = ""
    password: str = field(default="", repr=False)
    options: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def shown(self) -> str:
        """The address as it is written in sentences and files: without password and options."""
        return f"{self.scheme}://{self.host}{f':{self.port}' if self.port else ''}/{self.name}"

    def take(self, known: Iterable[str], *, foreign: str = "") -> dict[str, str]:
        """Give the options, all of which must be known; those whose names have a dot are the client's own."""
        names = list(known)
        for name in self.options:
            if name not in names and not (foreign and "." in name):
                own = f", or a setting of {foreign} with a dot in its name" if foreign else ""
                raise ValueError(
                    f"an address {self.scheme}://… must have options among {', '.join(names)}{own}, got {name}"
                )
        return self.options


def parsed(text: str) -> Address:
    """Take an address apart.

    >>> parsed("kafka://localhost")
    Traceback (most recent call last):
    ValueError: address must name a topic, as in kafka://localhost:9092/topic, got 'kafka://localhost'
    """
    if not isinstance(text, str) or not is_address(text):
        known = ", ".join(f"{scheme}://" for scheme in PORTS)
        got = shown(without_password(text) if isinstance(text, str) else text)
        raise ValueError(f"address must begin with one of {known}, got {got}")
    hidden = without_password(text)
    try:
        parts = urlsplit(text)
        port = parts.port
        if parts.netloc and "@" in parts.path:  # whether it belongs to a password cannot be told
            raise ValueError("an @ in a path")
    except ValueError:  # its own words may hold a part of a password
        login = "; in a name or password / ? # @ must be written as %2F %3F %23 %40" if "@" in text else ""
        raise ValueError(f"address must be like {_example(text)}, got {shown(hidden)}{login}") from None
    scheme = "postgresql" if parts.scheme == "postgres" else parts.scheme
    name = unquote(parts.path[1:])
    what = {"redis": "stream", "rediss": "stream", "nats": "subject", "postgresql": "database", "sqlite": "file"}
    if not name:
        raise ValueError(
            f"address must name a {what.get(scheme, 'topic')}, as in {_EXAMPLES[scheme]}, got {shown(hidden)}"
        )
    if scheme == "sqlite" and parts.netloc:
        raise ValueError(f"address must have three slashes before the file, sqlite:///file.db, got {shown(hidden)}")
    if scheme == "kafka" and not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", name):
        raise ValueError(
            f"a topic of Kafka must be named by letters, digits, dots, underscores and dashes, got {name!r}"
        )
    options: dict[str, str] = {}
    for key, value in parse_qsl(parts.query, keep_blank_values=True):
        if key in options:
            raise ValueError(f"an option of an address must be given once, {key} is there twice in {shown(hidden)}")
        options[key] = value
    host = parts.hostname or ("" if scheme == "sqlite" else "localhost")
    return Address(
        scheme, host, port or PORTS[scheme], name, unquote(parts.username or ""), unquote(parts.password or ""), options
    )


_SECRET = ("password", "passphrase", "secret", "token", "key.pem", "jaas", "oauthbearer.config")
_PLAIN = re.compile(r"(\[[^\]]*\]|[^:/#@]*)(:\d*)?(/[^#@]*)?")  # a host, a port, a name


def without_password(text: str, others: Container[str] = ()) -> str:
    """Write an address without its password, and without options that hold one, or have one of the names ``others``.

    >>> without_password("redis://me:secret@localhost/clicks")
    'redis://me@localhost/clicks'
    >>> without_password("kafka://localhost/clicks?format=csv&sasl.password=secret")
    'kafka://localhost/clicks?format=csv'
    """
    scheme, sign, rest = text.partition("://")
    if not sign:
        return text
    place, _, query = rest.partition("?")
    login = ""
    if not rest.startswith("/") and not (_PLAIN.fullmatch(place) and ("/" in place or "@" not in query)):
        cut = place.rfind("@") if "@" in place and _PLAIN.fullmatch(place.rpartition("@")[2]) else rest.rfind("@")
        if cut >= 0:
            login = re.split(r"[:/?#@]", rest[:cut])[0] + "@"
            place, _, query = rest[cut + 1 :].partition("?")
    names = [(unquote(option.partition("=")[0]), option) for option in query.split("&")]
    options = [option for name, option in names if name not in others and not _is_secret(name)]
    return f"{scheme}://{login}{place}" + (f"?{'&'.join(options)}" if any(options) else "")


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET)


def uri(address: Address) -> str:
    """Write an address as the clients of databases take it, password included, our options not.

    >>> uri(parsed("postgresql://me:a%2Fb%40c@localhost/records"))
    'postgresql://me:a%2Fb%40c@localhost:5432/records'
    """
    user, password, name = (quote(part, safe="") for part in (address.user, address.password, address.name))
    who = user + (f":{password}" if password else "")
    return f"{address.scheme}://{f'{who}@' if who else ''}{address.host}:{address.port}/{name}"


def library(name: str, extra: str) -> Any:
    """Import a client's library, or say what to install."""
    from importlib import import_module

    try:
        found: ModuleType = import_module(name)
    except ImportError:
        raise ImportError(
            f"{extra}://… needs the package {name.partition('.')[0]}: pip install 'thalweg[{extra}]'"
        ) from None
    return found


def _example(text: str) -> str:
    scheme = text.partition("://")[0]
    return _EXAMPLES.get("postgresql" if scheme == "postgres" else scheme, _EXAMPLES["kafka"])
