"""Training apart from answering: one process learns and publishes versions, others answer from the newest.

``app`` is a whole service over HTTP, and ``Client`` talks to one.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.serve.application import app as app
    from thalweg.serve.client import Client as Client

__all__ = ["Client", "app"]


def __getattr__(name: str) -> Any:
    if name == "app":
        from thalweg.serve.application import app

        return app
    if name == "Client":
        from thalweg.serve.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
