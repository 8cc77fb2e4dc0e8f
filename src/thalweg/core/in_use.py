"""Who uses a learner right now: any number of threads that look at it, or one that changes it.

Compiled code runs without Python's global lock, so a thread that predicts while another one learns could follow a
pointer into a table that has just been replaced. Nobody waits here: whoever comes second is told so, at once.
"""

import functools
import threading
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class InUse:
    """Marks of those that use a learner: ``with use.looking`` and ``with use.changing``.

    >>> use = InUse("Tree")
    >>> with use.looking, use.looking:
    ...     pass
    >>> with use.looking, use.changing:
    ...     pass
    Traceback (most recent call last):
    RuntimeError: this Tree is in use by another call: one that learns needs it for itself (copy() gives another)
    """

    __slots__ = ("changing", "looking")

    def __init__(self, who: str) -> None:
        looking: list[None] = []  # appending and popping are atomic
        changing = threading.Lock()
        self.looking = _Looking(who, looking, changing)
        self.changing = _Changing(who, looking, changing)


class _Looking:
    """Someone looks. Each side makes its mark first and then looks for the other's: so they never miss each other."""

    __slots__ = ("_enter", "_leave", "_locked", "_who")

    def __init__(self, who: str, looking: list[None], changing: threading.Lock) -> None:
        self._who, self._enter, self._leave, self._locked = who, looking.append, looking.pop, changing.locked

    def __enter__(self) -> None:
        self._enter(None)
        if self._locked():
            self._leave()
            raise RuntimeError(
                f"this {self._who} is in use by another call, which learns and needs it alone (copy() gives another)"
            )

    def __exit__(self, *_: object) -> None:
        self._leave()


class _Changing:
    """Someone learns."""

    __slots__ = ("_acquire", "_looking", "_release", "_who")

    def __init__(self, who: str, looking: list[None], changing: threading.Lock) -> None:
        self._who, self._looking = who, looking
        self._acquire, self._release = changing.acquire, changing.release

    def __enter__(self) -> None:
        alone = self._acquire(False)
        if alone and not self._looking:
            return
        if alone:
            self._release()
        raise RuntimeError(
            f"this {self._who} is in use by another call: one that learns needs it for itself (copy() gives another)"
        )

    def __exit__(self, *_: object) -> None:
        self._release()


class Used(Protocol):
    """What has marks of those that use it."""

    _use: InUse


U = TypeVar("U", bound=Used)


def looks(method: Callable[Concatenate[U, P], R]) -> Callable[Concatenate[U, P], R]:
    """Let a method look at a learner: it is refused while another call learns."""

    @functools.wraps(method)
    def marked(self: U, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._use.looking:
            return method(self, *args, **kwargs)

    return marked


def changes(method: Callable[Concatenate[U, P], R]) -> Callable[Concatenate[U, P], R]:
    """Let a method change a learner: it is refused while another call uses it."""

    @functools.wraps(method)
    def marked(self: U, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._use.changing:
            return method(self, *args, **kwargs)

    return marked
