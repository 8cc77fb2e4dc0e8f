"""What a person notices of compilation: a line when it takes long, and that Ctrl-C is heard.

The line is a warning of the log ``thalweg``, so that it is seen on standard error unless the program says otherwise:
``logging.getLogger("thalweg").setLevel(logging.ERROR)`` silences it. It comes once in a process.

Python ignores an exception that is raised inside a callback of LLVM, and Ctrl-C may arrive there: it is noted, and
raised again when the callback is over.
"""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

PATIENCE = 1.0
"""Seconds that pass before anything is said."""
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
    heard = False

    def hear(number: int, frame: Any) -> None:
        nonlocal heard
        heard = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if heard:
        raise KeyboardInterrupt
