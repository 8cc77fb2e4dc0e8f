"""A small client of the service, with nothing but the standard library."""

import http.client
import json
import secrets
import time
from collections.abc import Sequence
from typing import Any, Self, final
from urllib.parse import urlsplit

from thalweg.core import params


class ServiceError(Exception):
    """The service refused a request: its status, and its sentence."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status, self.text = status, text


@final
class Client:
    """Talks to a service; for one thread at a time.

    A request that may have been lost on the way is sent again with the same idempotency key, so that nothing is
    recorded or learned twice.

    Parameters
    ----------
    address : str
        Such as "http://127.0.0.1:8642".
    token : str | None
        Where the service wants one.
    timeout : float
        Seconds to wait for an answer.
    tries : int
        How often a request is sent where the service cannot be reached, or says 503 or 429.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8642")
    >>> client.address
    'http://127.0.0.1:8642'
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8642",
        *,
        token: str | None = None,
        timeout: float = 30.0,
        tries: int = 3,
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"address must be like http://127.0.0.1:8642, got {params.shown(address)}")
        params.whole("tries", tries, least=1)
        self.address, self._token, self._timeout, self._tries = address, token, timeout, tries
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._root = parts.hostname, parts.port, parts.path.rstrip("/")
        self._connection: http.client.HTTPConnection | None = None

    # -- verbs --------------------------------------------------------------------------------------------------------

    def predict(self, records: Any, ids: Sequence[Any] | None = None) -> dict[str, Any]:
        """Ask for answers to records: a list of objects or of rows, or one object."""
        if isinstance(records, dict):
            body = {"record": records, **({} if ids is None else {"id": ids})}
        else:
            body = {"records": _plain(records), **({} if ids is None else {"ids": _plain(ids)})}
        return self._post("/v1/predict", body)

    def label(self, labels: Any, *, tickets: Any = None, ids: Any = None, expert: str | None = None) -> dict[str, Any]:
        """Tell the labels of earlier records, by ticket or by your own names."""
        body: dict[str, Any] = {"labels": _plain(labels)}
        body |= {"tickets": _plain(tickets)} if tickets is not None else {"ids": _plain(ids)}
        return self._post("/v1/labels", body | ({} if expert is None else {"expert": expert}))

    def learn(self, records: Any, labels: Any) -> dict[str, Any]:
        """Let the service learn records with their labels."""
        return self._post("/v1/learn", {"records": _plain(records), "labels": _plain(labels)})

    def explain(self, record: Any) -> dict[str, Any]:
        """Ask why a record gets its label."""
        return self._post("/v1/explain", {"record": _plain(record)})

    def wanted(self, n: int = 20, order: str = "oldest") -> list[dict[str, Any]]:
        """Ask which labels are wanted."""
        found: list[dict[str, Any]] = self.get(f"/v1/wanted?n={n}&order={order}")["questions"]
        return found

    def state(self) -> dict[str, Any]:
        """Ask for all numbers of the live page."""
        return self.get("/v1/state")

    def model(self) -> dict[str, Any]:
        """Ask what the model is."""
        return self.get("/v1/model")

    def get(self, path: str) -> dict[str, Any]:
        """Ask for any path that answers in JSON."""
        found: dict[str, Any] = json.loads(self._send("GET", path, None, {}))
        return found

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside -------------------------------------------------------------------------------------------------------

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"content-type": "application/json", "idempotency-key": secrets.token_hex(16)}
        found: dict[str, Any] = json.loads(self._send("POST", path, json.dumps(body).encode(), headers))
        return found

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> bytes:
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        for attempt in range(self._tries):
            last = attempt + 1 == self._tries
            try:
                if self._connection is None:
                    self._connection = self._kind(self._host, self._port, timeout=self._timeout)
                self._connection.request(method, self._root + path, body, headers)
                answer = self._connection.getresponse()
                data = answer.read()
            except (OSError, http.client.HTTPException):
                self.close()
                if last:
                    raise
                time.sleep(0.05 * 2**attempt)
                continue
            if answer.status == 200:
                return data
            if answer.status not in (429, 503) or last:
                raise ServiceError(answer.status, _sentence(data))
            time.sleep(0.2 * 2**attempt)
        raise AssertionError


def _sentence(data: bytes) -> str:
    try:
        return str(json.loads(data)["error"])
    except (ValueError, KeyError, TypeError):
        return data[:200].decode("utf-8", "replace")


def _plain(things: Any) -> Any:
    if hasattr(things, "tolist"):
        return things.tolist()
    if isinstance(things, (list, tuple)):
        return [_plain(each) for each in things]
    return things
