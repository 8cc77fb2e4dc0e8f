"""Where a result comes from: the stream and its parameters, the versions and the machine."""

import os
import platform
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from thalweg.core.protocols import Stream
from thalweg.evaluate.joined import Joined
from thalweg.evaluate.result import plain


def name_of(stream: Stream | Joined) -> str:
    """Give the name a stream goes by."""
    return str(getattr(stream, "name", None) or type(stream).__name__)


def stream_params(stream: Stream | Joined) -> dict[str, Any]:
    """Give the parameters of a stream that tells them."""
    settings = getattr(stream, "get_params", None)
    return {k: plain(v) for k, v in settings().items()} if callable(settings) else {}


def about(stream: Stream | Joined) -> dict[str, Any]:
    """Say with what the run was made."""
    from thalweg import __version__

    return {"version": __version__, **_here(), "stream_params": stream_params(stream)}


@cache
def _here() -> dict[str, str]:
    """Say on what the library runs; looked up once."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": version("numba"),
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} cores",
    }


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown processor"
