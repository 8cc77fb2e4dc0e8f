"""Ctrl-C and SIGTERM while rows are being learned: the rows in hand are finished first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self, final

SECONDS = 0.5
"""Rows in hand should not take longer: that is how long a signal waits."""


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived: somebody wants the process to end. Handled like Ctrl-C."""


@final
class Interrupts:
    """Holds SIGINT and SIGTERM back until ``raise_if_asked``; a second signal is not held back.

    Only the main thread hears signals, and handlers of the caller's own are left alone.
    """

    __slots__ = ("_before", "_patient", "asked")

    def __init__(self) -> None:
        self.asked: type[KeyboardInterrupt] | None = None
        self._patient = True
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL, terminate):
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *_error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def raise_if_asked(self) -> None:
        """End here if a signal has come."""
        if self.asked is not None:
            raise self.asked

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Hold nothing back while nothing is done that must be finished, such as compiling.

        What is raised inside a callback of LLVM Python ignores: it is raised again at the end.
        """
        self.raise_if_asked()
        self._patient = False
        try:
            yield
        finally:
            self._patient = True
        self.raise_if_asked()

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        kind = Terminated if number == signal.SIGTERM else KeyboardInterrupt
        again, self.asked = self.asked is not None, kind
        if again or not self._patient:
            raise kind


def terminate(_number: int, _frame: FrameType | None) -> None:
    """Take SIGTERM as an exception that can be caught, for programs that want to end cleanly wherever they are."""
    raise Terminated
