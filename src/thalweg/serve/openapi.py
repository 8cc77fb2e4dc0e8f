"""The OpenAPI document of the service."""

from typing import Any

from thalweg import __version__

_LABEL = {
    "anyOf": [{"type": "string", "maxLength": 1000}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"}]
}
_VALUE = {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "boolean"}, {"type": "null"}]}
_ID = {"anyOf": [{"type": "string", "maxLength": 200}, {"type": "integer"}]}
_RECORD = {
    "anyOf": [
        {"type": "object", "additionalProperties": _VALUE},
        {"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "null"}, {"type": "array"}]}},
    ]
}
_COLUMNS = {"type": "object", "additionalProperties": {"type": "array", "items": _VALUE}}
_ERRORS = {
    "400": "Something in the request is wrong; the sentence says what.",
    "401": "A token must be given.",
    "403": "The token may not do this.",
    "408": "The body did not come in time.",
    "409": "The idempotency key was used for another kind of request.",
    "413": "The request is too large.",
    "415": "The content type is none that is read.",
    "429": "There were too many requests with this token.",
    "503": "Nothing can be written down now, or learning is far behind; predictions go on.",
}


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object", "properties": properties}
    return made | ({"required": list(required)} if required else {})


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_WHOLE, _TEXT, _NUMBER = {"type": "integer"}, {"type": "string"}, {"type": "number"}
_MAYBE_LABEL = {"anyOf": [*_LABEL["anyOf"], {"type": "null"}]}
_ONE = _object(
    ("label", "classes", "probabilities", "ticket", "wanted", "version"), label=_MAYBE_LABEL, classes=_list(_LABEL),
    probabilities=_list(_NUMBER), ticket={"anyOf": [_WHOLE, {"type": "null"}]}, wanted={"type": "boolean"}, why=_TEXT,
    version=_WHOLE,
)  # fmt: skip
_MANY = _object(
    ("labels", "classes", "probabilities", "tickets", "wanted", "version"), labels=_list(_MAYBE_LABEL),
    classes=_list(_LABEL), probabilities=_list(_list(_NUMBER)),
    tickets={"anyOf": [_list(_WHOLE), {"type": "null"}]}, wanted=_list(_WHOLE), version=_WHOLE,
)  # fmt: skip
_OUTCOME = _object(
    ("learned", "scored"), learned=_WHOLE, scored=_WHOLE, repeated=_list(_ID), unknown=_list(_ID), expired=_list(_ID),
    early=_list(_ID),
)  # fmt: skip
_RECORDS = {
    "anyOf": [
        _object(("record",), record=_RECORD, id=_ID),
        _object(("records",), records=_list(_RECORD), ids=_list(_ID)),
        _object(("columns",), columns=_COLUMNS, ids=_list(_ID)),
    ]
}
_LESSONS = {
    "anyOf": [
        _object(("record", "label"), record=_RECORD, label=_LABEL),
        _object(("records", "labels"), records=_list(_RECORD), labels=_list(_LABEL)),
        _object(("columns", "labels"), columns=_COLUMNS, labels=_list(_LABEL)),
    ]
}
_TOLD = {
    "anyOf": [
        _object(("label", "ticket"), label=_LABEL, ticket=_WHOLE, expert=_TEXT),
        _object(("label", "id"), label=_LABEL, id=_ID, expert=_TEXT),
        _object(("labels", "tickets"), labels=_list(_LABEL), tickets=_list(_WHOLE), expert=_TEXT),
        _object(("labels", "ids"), labels=_list(_LABEL), ids=_list(_ID), expert=_TEXT),
    ]
}
_KEY = {
    "name": "Idempotency-Key", "in": "header", "required": False,
    "description": "A request that comes again with its key is answered as the first time, and changes nothing.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}  # fmt: skip
_ANY: dict[str, Any] = {"type": "object"}


def _query(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _operation(
    summary: str, answer: dict[str, Any] | None, *, body: dict[str, Any] | None = None, key: bool = False,
    query: tuple[dict[str, Any], ...] = (), kind: str = "application/json", open_: bool = False,
) -> dict[str, Any]:  # fmt: skip
    content = {kind: {"schema": answer}} if answer is not None else {kind: {}}
    made: dict[str, Any] = {
        "summary": summary,
        "responses": {"200": {"description": "Done.", "content": content}}
        | {
            status: {"description": text, "content": _content(_object(error=_TEXT))} for status, text in _ERRORS.items()
        },
    }
    parameters = [*query, *([_KEY] if key else [])]
    if parameters:
        made["parameters"] = parameters
    if body is not None:
        made["requestBody"] = {"required": True, "content": _content(body)}
    if open_:
        made["security"] = []
    return made


def _desk_paths() -> dict[str, Any]:
    expert = {"type": "string", "maxLength": 60, "description": "Who answers; by default the name of the token."}
    ticket = _object(("ticket",), ticket=_WHOLE)
    asked = _object(
        ("expert", "classes", "questions", "desk"),
        expert=_TEXT,
        classes=_list(_LABEL),
        questions=_list(_ANY),
        desk=_ANY,
    )
    ask = _object(
        expert=expert,
        n={"type": "integer", "minimum": 1, "maximum": 20},
        order={"type": "string", "enum": ["oldest", "newest", "uncertain"]},
    )
    answer = _object(("ticket", "label"), ticket=_WHOLE, label=_LABEL, expert=expert, new={"type": "boolean"})
    turn_down = _object(("ticket",), ticket=_WHOLE, why={"type": "string", "enum": ["skip", "unknown"]}, expert=expert)
    undo = _object(ticket={"anyOf": [_WHOLE, {"type": "null"}]}, expert=expert)
    until = _object(("ticket", "undo_until"), ticket=_WHOLE, undo_until=_NUMBER)
    taken = {"description": "The question is somebody else's, or not open.", "content": _content(_object(error=_TEXT))}
    paths = {
        "/v1/me": {"get": _operation("Whose token this is, and its role.", _object(("role",), name=_TEXT, role=_TEXT))},
        "/v1/desk": {"get": _operation("The numbers of the desk.", _ANY)},
        "/v1/desk/next": {"post": _operation("Lend questions to an expert.", asked, body=ask)},
        "/v1/desk/answer": {"post": _operation("Answer a question; can be undone for a while.", until, body=answer)},
        "/v1/desk/pass": {"post": _operation("Give a question back, skipped or not known.", ticket, body=turn_down)},
        "/v1/desk/undo": {"post": _operation("Take an answer back.", _object(("question",), question=_ANY), body=undo)},
        "/v1/desk/leave": {"post": _operation("Give back all questions.", _object(("returned",), returned=_WHOLE),
                                              body=_object(expert=expert))},
    }  # fmt: skip
    for path in ("answer", "pass", "undo"):
        paths[f"/v1/desk/{path}"]["post"]["responses"]["409"] = taken
    return paths


def document() -> dict[str, Any]:
    """Give the document."""
    ring = _query("ring", type="string", enum=["fine", "middle", "coarse"])
    history = _query("history", type="string", enum=["0", "1"])
    n = _query("n", type="integer", minimum=1, maximum=200)
    order = _query("order", type="string", enum=["oldest", "newest", "uncertain"])
    predict = _operation("Answer records.", {"anyOf": [_ONE, _MANY]}, body=_RECORDS, key=True)
    for kind in ("application/vnd.apache.arrow.stream", "text/csv"):
        predict["requestBody"]["content"][kind] = {"schema": {"type": "string", "format": "binary"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "thalweg", "version": __version__, "description": "A classifier that learns as it serves."},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}, {}],
        "paths": {
            "/v1/predict": {"post": predict},
            "/v1/labels": {"post": _operation("Tell labels of earlier records.", _OUTCOME, body=_TOLD, key=True)},
            "/v1/learn": {"post": _operation("Learn records with labels.", _OUTCOME, body=_LESSONS, key=True)},
            "/v1/explain": {"post": _operation("Say why a record gets its label.", _ANY,
                                               body=_object(("record",), record=_RECORD))},
            "/v1/wanted": {"get": _operation("The open questions.", _ANY, query=(n, order))},
            "/v1/model": {"get": _operation("What the model is.", _ANY)},
            "/v1/model/file": {"get": _operation("The model as a file.", None, kind="application/octet-stream")},
            "/v1/model/rollback": {"post": _operation("Go back to a version.", _ANY,
                                                      body=_object(("version",), version=_WHOLE, why=_TEXT))},
            "/v1/model/promote": {"post": _operation("Let a shadow answer.", _ANY,
                                                     body=_object(("name",), name=_TEXT, why=_TEXT))},
            "/v1/snapshot": {"post": _operation("Write a snapshot now.", _object(("position",), position=_WHOLE))},
            "/v1/state": {"get": _operation("All numbers of the live page.", _ANY, query=(ring, history))},
            "/v1/events": {"get": _operation("Server-sent events.", None, kind="text/event-stream")},
            **_desk_paths(),
            "/metrics": {"get": _operation("For Prometheus.", None, kind="text/plain")},
            "/healthz": {"get": _operation("Does the process live?", _ANY, open_=True)},
            "/readyz": {"get": _operation("Does it answer and learn?", _ANY, open_=True)},
            "/openapi.json": {"get": _operation("This document.", _ANY, open_=True)},
        },
    }  # fmt: skip
