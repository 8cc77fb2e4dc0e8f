"""What a person notices of compilation: a line when it takes long, and that Ctrl-C is heard.

The line is a warning of the log ``thalweg``, so that it is seen on standard error unless the program says otherwise:
``logging.getLogger("thalweg").setLevel(logging.ERROR)`` silences it. It comes once in a process.

Python ignores an exception that is raised inside a callback of LLVM, and Ctrl-C may arrive there: it is noted, and
sent again until it is raised elsewhere.
"""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, final

PATIENCE = 1.0
"""Seconds that pass before anything is said."""
AGAIN = 0.2
"""Seconds after which Ctrl-C is sent again."""
_CALLBACKS = ("_raw_object_cache_notify", "_raw_object_cache_getbuffer")
_LINE = "Compiling, once: this may take up to a minute; later runs start at once (`thalweg warmup` does it beforehand)."


@final
class Notice:
    """Says that code is being compiled, if that takes long, once in a process."""

    def __init__(self) -> None:
        self.wanted = True
        """Has nobody been told yet? False: say nothing."""
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        """Note that compilation has begun."""
        if self.wanted and self._timer is None:
            self._timer = threading.Timer(PATIENCE, self._tell)
            self._timer.daemon = True
            self._timer.start()

    def end(self) -> None:
        """Note that it is over."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _tell(self) -> None:
        if self.wanted:
            self.wanted = False
            logging.getLogger("thalweg").warning(_LINE)


NOTICE = Notice()


def watched(compile_: Callable[..., Any], done: Callable[[], None]) -> Callable[..., Any]:
    """Let what compiles a routine, or loads its code, be heard of and be interrupted; ``done``: to do in the end."""

    def compile_and_watch(*args: Any, **kwargs: Any) -> Any:
        with _ctrl_c_is_heard():
            try:
                return compile_(*args, **kwargs)
            finally:
                NOTICE.end()
                done()

    return compile_and_watch


@contextmanager
def _ctrl_c_is_heard() -> Iterator[None]:
    """Raise Ctrl-C again if it came where Python ignores it; a handler of the caller's own is left alone."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    heard, over = threading.Event(), threading.Event()
    sender = threading.Thread(target=_insist, args=(over,), daemon=True)

    def hear(number: int, frame: FrameType | None) -> None:
        if not heard.is_set():
            heard.set()
            sender.start()
        if not _in_callback(frame):
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, lambda *_: None)
        over.set()
        if heard.is_set():
            sender.join()
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if heard.is_set():
        raise KeyboardInterrupt


def _insist(over: threading.Event) -> None:
    """Send Ctrl-C again and again until somebody has acted on it."""
    while not over.wait(AGAIN):
        signal.raise_signal(signal.SIGINT)


def _in_callback(frame: FrameType | None) -> bool:
    """Is this inside a function that LLVM calls?"""
    while frame is not None:
        if frame.f_code.co_name in _CALLBACKS and "llvmlite" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False
