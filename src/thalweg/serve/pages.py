"""What the service shows to people: the live page, the desk and their files, and the requests of the desk."""

from importlib.resources import files
from typing import Any

import msgspec

from thalweg.core.params import shown
from thalweg.serve.asgi import Kernel, Reply, Request, error, reply
from thalweg.serve.desk import Desk, Label, TakenError
from thalweg.serve.security import CSP, ROLES

_KINDS = {
    ".html": b"text/html; charset=utf-8", ".css": b"text/css; charset=utf-8", ".svg": b"image/svg+xml",
    ".js": b"text/javascript; charset=utf-8", ".txt": b"text/plain; charset=utf-8",
}  # fmt: skip
_POLICY = ((b"content-security-policy", CSP),)
_PAGES = {"page.html": "/", "desk.html": "/desk"}


class _Ask(msgspec.Struct, forbid_unknown_fields=True):
    expert: str = ""
    n: int = 1
    order: str = "oldest"


class _Answer(msgspec.Struct, forbid_unknown_fields=True):
    ticket: int
    label: Label
    expert: str = ""
    new: bool = False


class _TurnDown(msgspec.Struct, forbid_unknown_fields=True):
    ticket: int
    why: str = "skip"
    expert: str = ""


class _Undo(msgspec.Struct, forbid_unknown_fields=True):
    ticket: int | None = None
    expert: str = ""


class _Leave(msgspec.Struct, forbid_unknown_fields=True):
    expert: str = ""


def static_files() -> dict[str, tuple[bytes, bytes]]:
    """The files of the pages by the path at which they are served, with their content types; read once."""
    found = {}
    for file in files("thalweg.serve").joinpath("static").iterdir():
        ending = file.name[file.name.rfind(".") :]
        if ending in _KINDS:
            found[_PAGES.get(file.name, f"/static/{file.name}")] = file.read_bytes(), _KINDS[ending]
    return found


def add_pages(kernel: Kernel, desk: Desk) -> None:
    """Add the routes of the pages and of the desk."""
    for path, (data, kind) in static_files().items():
        kernel.add("GET", path, _giving(Reply(200, data, kind, _POLICY)), None)
    kernel.add("GET", "/v1/me", _me, "predict")
    requests = _Requests(desk)
    kernel.add("GET", "/v1/desk", requests.summary, "label")
    for verb in ("next", "answer", "pass", "undo", "leave"):
        kernel.add("POST", f"/v1/desk/{verb}", getattr(requests, f"do_{verb}"), "label", body=True)


def _giving(answer: Reply) -> Any:
    async def give(_request: Request) -> Reply:
        return answer

    return give


async def _me(request: Request) -> Reply:
    """``GET /v1/me``: whose token this is, and what it may do."""
    return reply({"name": request.caller.name, "role": ROLES[request.caller.rank]})


class _Requests:
    """The requests of the desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def summary(self, _request: Request) -> Reply:
        """``GET /v1/desk``: the numbers of the desk."""
        return reply(self._desk.summary())

    async def do_next(self, request: Request) -> Reply:
        """``POST /v1/desk/next``: questions for an expert."""
        given = _read(request, _Ask)
        expert = _expert(request, given.expert)
        questions = self._desk.next(expert, given.n, given.order)
        classes = list(self._desk.engine.book.labels.values)
        return reply({"expert": expert, "classes": classes, "questions": questions, "desk": self._desk.summary()})

    async def do_answer(self, request: Request) -> Reply:
        """``POST /v1/desk/answer``: the label of a question."""
        given = _read(request, _Answer)
        if type(given.label) is str and not 0 < len(given.label) <= 1_000:
            raise ValueError(f"label must have 1 to 1,000 characters, got {len(given.label):,}")
        if type(given.label) is int and not -(1 << 63) <= given.label < 1 << 63:
            raise ValueError(f"label must be below 2^63 where it is a number, got {shown(given.label)}")
        try:
            until = await self._desk.answer(
                _expert(request, given.expert), given.ticket, given.label, new=given.new
            )  # fmt: skip
        except TakenError as reason:
            return error(409, str(reason))
        return reply({"ticket": given.ticket, "undo_until": until})

    async def do_pass(self, request: Request) -> Reply:
        """``POST /v1/desk/pass``: a question is given back, skipped or not known."""
        given = _read(request, _TurnDown)
        try:
            why: Any = given.why
            await self._desk.turn_down(_expert(request, given.expert), given.ticket, why)
        except TakenError as reason:
            return error(409, str(reason))
        return reply({"ticket": given.ticket})

    async def do_undo(self, request: Request) -> Reply:
        """``POST /v1/desk/undo``: the latest answer, or that of a ticket, is taken back."""
        given = _read(request, _Undo)
        try:
            question = await self._desk.undo(_expert(request, given.expert), given.ticket)
        except TakenError as reason:
            return error(409, str(reason))
        return reply({"question": question})

    async def do_leave(self, request: Request) -> Reply:
        """``POST /v1/desk/leave``: all questions of an expert go to others."""
        return reply({"returned": self._desk.leave(_expert(request, _read(request, _Leave).expert))})


def _read(request: Request, kind: Any) -> Any:
    try:
        return msgspec.json.decode(request.body, type=kind)
    except RecursionError:
        raise ValueError("body must not be nested so deep") from None
    except msgspec.DecodeError as reason:
        raise ValueError(f"body must be JSON as the documentation says: {reason}") from None


def _expert(request: Request, name: str) -> str:
    """Who answers: the name of the token, and that which the expert gave; nobody can pass for another's token."""
    name, token = name.strip(), request.caller.name
    if len(name) > 60 or not (name.isprintable() or not name):
        raise ValueError(f"expert must be a name of at most 60 printable characters, got {shown(name)}")
    if not token:
        return name or "local"
    return token if name in ("", token) else f"{token}:{name}"
