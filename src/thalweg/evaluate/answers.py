"""The answers of a run, written to a sink as they are given: key, label, probabilities, version, id."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, final

import msgspec
import numpy as np
from numpy.typing import NDArray

from thalweg.core.protocols import State
from thalweg.streams.brokers.sinks import Out, Sink, open_sink

_ENCODER = msgspec.json.Encoder()


def written(
    ids: Iterable[Any], keys: Iterable[Any], proba: NDArray[np.float64], classes: list[Any], more: list[dict[str, Any]]
) -> list[Out]:
    """Write answers as messages: id, key, label, probabilities, and what else each has."""
    n, names = len(proba), [str(c) for c in classes]
    best = proba.argmax(axis=1).tolist() if proba.shape[1] else [0] * n
    known = (proba.max(axis=1, initial=0.0) > 0.0).tolist()
    out: list[Out] = []
    for i, (id_, key, row) in enumerate(zip(ids, keys, proba.tolist(), strict=True)):
        key = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
        value = _ENCODER.encode({
            "id": id_, "key": key, "label": classes[best[i]] if known[i] else None,
            "proba": dict(zip(names, row, strict=False)), **more[i],
        })  # fmt: skip
        out.append(Out(str(id_), None if key is None else str(key).encode(), value))
    return out


@final
class Answers:
    """Writes an answer for each record of a stream.

    An answer is a JSON object: ``id`` (from the record's position), ``key`` (the record's, where it has one), ``label``
    (null: no prediction), ``proba`` (of each class), ``version`` (how many records the run had met before this one).
    """

    def __init__(self, to: Any) -> None:
        self._own = not isinstance(to, Sink)
        self.sink: Sink = to if isinstance(to, Sink) else open_sink(to)
        self.begun = False

    def put(self, stream: Any, first: int, proba: NDArray[np.float64], classes: list[Any]) -> None:
        """Write the answers to the records of the stream's last chunk, of which the first has this number."""
        n = len(proba)
        if hasattr(stream, "origins"):
            ids, keys = stream.origins()
        else:
            ids, keys = [str(first + i) for i in range(n)], [None] * n
        self.sink.write(written(ids, keys, proba, classes, [{"version": first + i} for i in range(n)]))

    def begin(self) -> None:
        """Begin behind what is there, unless the run goes on from a checkpoint."""
        if not self.begun:
            self.sink.begin()
            self.begun = True

    def close(self) -> None:
        """Close the sink, unless it is the caller's; what could not be written is answered again on resuming."""
        if self._own:
            with suppress(Exception):
                self.sink.close()

    def state(self) -> State:
        """Give how far the answers are; all of them are with the broker then."""
        return self.sink.state()

    def restore(self, state: State) -> None:
        """Go on from a state."""
        self.sink.restore(state)
        self.begun = True
