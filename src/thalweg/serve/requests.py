"""What requests hold beside records, and what is checked of it; an explanation as a reply."""

import dataclasses
from typing import Any

import msgspec
import numpy as np

from thalweg.core.params import shown
from thalweg.serve.asgi import Request


class ManyLabels(msgspec.Struct):
    labels: list[str | int | float | bool]
    tickets: list[int] | None = None
    ids: list[str | int] | None = None
    expert: str | None = None


class OneLabel(msgspec.Struct):
    """One label; the words of the River API are understood, too."""

    label: str | int | float | bool
    ticket: int | None = None
    id: str | int | None = None
    identifier: str | int | None = None
    expert: str | None = None


class River(msgspec.Struct):
    ground_truth: str | int | float | bool
    features: dict[str, Any] | None = None
    identifier: str | int | None = None


class Rollback(msgspec.Struct):
    version: int
    why: str = "asked for"


class Promote(msgspec.Struct):
    name: str
    why: str = "asked for"


def read_json(body: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except RecursionError:
        raise ValueError("body must not be nested so deep") from None
    except msgspec.DecodeError as reason:
        raise ValueError(f"body must be JSON as the documentation says: {reason}") from None


def read_labels(body: bytes) -> tuple[list[Any], list[int] | None, list[Any] | None, str | None]:
    """Labels, tickets, names and expert of a request for one label or for many."""
    try:
        many = msgspec.json.decode(body, type=ManyLabels)
        return many.labels, many.tickets, many.ids, many.expert
    except (msgspec.ValidationError, RecursionError):
        one: OneLabel = read_json(body, OneLabel)
    except msgspec.DecodeError as reason:
        raise ValueError(f"body must be JSON: {reason}") from None
    name = one.id if one.id is not None else one.identifier
    tickets, ids = None if one.ticket is None else [one.ticket], None if name is None else [name]
    return [one.label], tickets, ids, one.expert


def check_texts(what: str, values: list[Any]) -> None:
    for value in values:
        if type(value) is str and len(value) > 1_000:
            raise ValueError(f"{what} must have at most 1,000 characters each, got {len(value):,}")
        if type(value) is int and not -(1 << 63) <= value < 1 << 63:
            raise ValueError(f"{what} must be below 2^63 where they are numbers, got {shown(value)}")


def idempotency_key(request: Request) -> str | None:
    """The key of a request that may come again, with whose it is and what it is for; None: it has none."""
    key = request.headers.get(b"idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= 200:
        raise ValueError(f"the idempotency key must have 1 to 200 characters, got {len(key)}")
    return f"{request.caller.name}:{request.path}:{key.decode('latin-1')}"


def whole(request: Request, name: str, default: int, least: int, most: int) -> int:
    text = request.query.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not least <= int(text) <= most:
        raise ValueError(f"{name} must be a whole number in [{least}, {most}], got {shown(text)}")
    return int(text)


def explained(why: Any) -> dict[str, Any]:
    """An explanation as JSON: its fields, and as text."""
    if isinstance(why, list):
        return {"reasons": [_plain(each) for each in why]}
    return {**_plain(why), "text": str(why)}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: _plain(getattr(value, name)) for name in value._fields}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
