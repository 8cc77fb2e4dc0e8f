"""A learner that asks for labels: within a budget, in an evaluation or live, where labels come late or never."""

from collections.abc import Hashable
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from thalweg.active.avu import AVU
from thalweg.active.strategy import Strategy
from thalweg.active.tickets import TicketCounts, Tickets, Told
from thalweg.active.tickets_jit import ANSWERED
from thalweg.active.walking import walk
from thalweg.core import door, params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.door import Rows, take_rows
from thalweg.core.in_use import changes, looks
from thalweg.core.inside import Inner, SeenThrough, check_inner, take_after
from thalweg.core.labels import sequence
from thalweg.core.params import shown
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.core.tables import prefixed, under
from thalweg.core.task import Task

_MOST_AHEAD = 64
_UNDECIDED, _EARLIER = 16, 8  # what becomes of a row, beside the reasons why its label is wanted, and 0


@final
class ActiveLearner(SeenThrough, Classifier):
    """Any learner, and a strategy that decides which labels it learns from.

    **In an evaluation**: every verb that takes labels offers them. ``test_then_train``, ``partial_fit`` and
    ``learn_one`` predict a row, let the strategy decide on the probabilities, and learn the row only if its label is
    wanted; other labels are not looked at, and a class that was never asked for stays unknown. ``play``, for late
    labels, lets it decide when a row is predicted, and learns a row if it was wanted, or was predicted in an earlier
    call. ``asked_rows`` tells which rows of the last call were wanted.

    **Live**: ``ask`` takes rows as they arrive and gives a ticket for each whose label is wanted. ``tell`` takes
    labels by ticket, in any order and at any time. Where the learner takes sparse rows, these wait as such.

    Parameters
    ----------
    learner : Classifier
        Joins with its parameters and as if it had seen nothing.
    strategy : Strategy | None
        Likewise; None: ``AVU()``.
    max_open : int
        A ticket expires when so many newer ones have been given.
    max_age : int | None
        It also expires when more than so many rows have arrived after its own; None: only the number counts.

    Examples
    --------
    >>> from thalweg import AVU, SEA, ActiveLearner, HoeffdingTree, prequential
    >>> learner = ActiveLearner(learner=HoeffdingTree(), strategy=AVU(budget=0.7))
    >>> result = prequential(SEA(seed=1), learner, limit=5_000)
    >>> 3_450 < result.labels_used <= 3_501
    True

    >>> learner = ActiveLearner(learner=HoeffdingTree(), strategy=AVU(budget=0.5))
    >>> tickets = learner.ask([[1.0], [2.0], [3.0], [4.0]])
    >>> tickets.tolist()
    [0, -1, 1, -1]
    >>> learner.tell([1, 7, 1], ["yes", "no", "yes"])
    Told(learned=1, repeated=(1,), unknown=(7,), expired=())
    >>> learner.tickets.open
    1
    """

    asks = True

    __slots__ = ("_inner", "_policy", "_tickets", "_why")

    def __init__(
        self, *, learner: Classifier, strategy: Strategy | None = None, max_open: int = 10_000,
        max_age: int | None = None,
    ) -> None:  # fmt: skip
        check_inner("learner", learner)
        if strategy is not None and not isinstance(strategy, Strategy):
            raise TypeError(f"strategy must be a strategy or None, got {shown(strategy)}")
        params.whole("max_open", max_open, least=1, most=100_000_000)
        if max_age is not None:
            params.whole("max_age", max_age, least=1)
        self.learner = learner
        self.strategy = strategy
        self.max_open = max_open
        self.max_age = max_age
        take_after(self, [learner])

    # -- labels that are offered --------------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Offer the labels of rows in order, as ``test_then_train`` does."""
        self._carry_out(X, y, sample_weight, classes=classes)
        return self

    def play(self, X: Any, y: Any, events: Any, sample_weight: Any = None) -> Floats:
        """Predict and learn rows in any order, for late labels: a row is decided on when it is predicted.

        A row that is learned but not predicted in this call was asked for earlier: its label is learned.
        """
        return super().play(X, y, events, sample_weight)

    def learn_one(self, x: Any, y: Hashable, weight: float = 1.0) -> Self:
        """Offer the label of one record: a dict by feature name, or a row."""
        with self._use.changing:
            X, schema = self._one_row(x, learning=True)
            w = door.weights(weight, 1)
            code, new = self._labels.read_one(y)
            if w[0] > 0.0:
                self._perform(Task(X, schema, self._labels, np.array([code]), new, w, np.array([0, -1])))
        return self

    def _perform(self, task: Task) -> Floats:
        """Carry out the events; learn rows that are wanted: a new label gets its code when it is first learned."""
        X, schema, labels, codes, new, w, order, late = task
        learned = order < 0
        if learned.any() or (late and len(order)):
            self._meet(schema)  # may still refuse
        self._labels = labels
        n = X.shape[0]
        out = np.zeros((n, len(labels) + len(new)))
        done, why = 0, np.zeros(n, dtype=np.int8)
        if self._started and not late and not new and len(order) == 2 * n and len(labels) and type(X) is np.ndarray:
            done = self._decide_inside(X, codes, w, why, out, len(labels)) or 0  # the usual case, fast
            if done == n:
                self._policy.watch()
                self._why = why
                return out
        arrived = np.zeros(n, dtype=np.bool_)
        arrived[order[~learned]] = True
        decision = np.where(arrived, _UNDECIDED, _EARLIER).astype(np.uint8)
        if self._started:
            offered = w > 0.0 if late else np.zeros(n, dtype=np.bool_)
            offered[~order[learned]] = True
            decision[:done] = why[:done]
            decisions = bytearray(decision)
            decision = np.frombuffer(decisions, dtype=np.uint8)
            own = np.where(codes < len(labels), codes, len(labels) - codes - 2)  # -2, -3, … are new
            if not late:
                done = self._stride(X, own, new, w, order, out, decisions, offered.tobytes(), done)
            self._walk(X, own, new, w, order[2 * done :].tolist(), out, decisions, offered.tobytes())
            self._policy.watch()
        elif len(labels):
            out[order] = 1.0 / len(labels)
        self._why = np.where(arrived & (decision < _EARLIER), decision, 0).astype(np.int8)
        return out if out.shape[1] == len(labels) else np.ascontiguousarray(out[:, : len(labels)])

    def _stride(
        self, X: Rows, own: Ints, new: list[Hashable], w: Floats, events: Ints, out: Floats,
        decision: bytearray, offered: bytes, at: int,
    ) -> int:  # fmt: skip
        """Let the learner decide about rows from ``at`` on inside its compiled loop; give how many rows are done.

        That takes rows that are all predicted and then offered. A row with a label that nobody has learned yet, or
        for which the learner is not ready, is played event by event.
        """
        n = len(own)
        if not isinstance(X, np.ndarray) or len(events) != 2 * n:
            return at
        why = np.frombuffer(decision, dtype=np.int8)
        while at < n:
            unknown = np.flatnonzero(own[at:] < 0)
            stop = at + int(unknown[0]) if len(unknown) else n
            part, known, done = slice(at, stop), len(self._labels), 0
            if stop > at and known:
                found = self._decide_inside(X[part], own[part], w[part], why[part], out[part], known)
                if found is None:
                    return at
                done = found
            at += done
            if at < n and not done:
                self._walk(X, own, new, w, [at, ~at], out, decision, offered)
                at += 1
        return n

    def _decide_inside(
        self, X: Floats, y: Ints, w: Floats, why: NDArray[np.int8], out: Floats, known: int
    ) -> int | None:
        """Predict rows, decide about them and learn them, as ``Classifier._play_asking`` says."""
        asking = self._policy.asking
        routine = self._inner.as_routine(X)
        if routine is not None:
            return walk(routine, y, w, asking, why, out, known)
        return self._inner.play_asking(X, y, w, asking, why, out, known, self._labels)

    def _walk(
        self, X: Rows, own: Ints, new: list[Hashable], w: Floats, events: list[int], out: Floats,
        decision: bytearray, offered: bytes,
    ) -> None:  # fmt: skip
        """Go through the events. As long as nothing is learned the model stays as it is: rows are predicted ahead.

        How far ahead changes nothing but the time: as many rows as the budget surely refuses, or as were not wanted
        just now. own: the codes of rows; -2 - i stands for label i of the new ones until a row with it is learned.
        """
        labels, decide, closed_for = self._labels, self._policy.decide_one, self._policy.closed_for
        i, quiet, ahead, n = 0, 0, 1, len(events)
        while i < n:
            learned: list[int] = []
            predicted: list[int] = []
            j = i
            while j < n and len(predicted) < ahead:
                e = events[j]
                if e >= 0:
                    if not predicted:
                        i = j
                    predicted.append(e)
                elif 0 < decision[~e] < _UNDECIDED:
                    if predicted:
                        break
                    learned.append(~e)
                j += 1
            known = len(labels)
            for r in learned if new else ():
                if own[r] < -1:
                    labels.admit([new[-2 - own[r]]])
                    own[own == own[r]] = len(labels) - 1
            rows = np.array(learned + predicted, dtype=np.int64)
            proba = np.zeros((len(rows), len(labels)))
            steps = np.arange(len(rows))
            if learned:
                steps[: len(learned)] = ~steps[: len(learned)]
            self._inner.play(take_rows(X, rows), own.take(rows), w.take(rows), steps, proba, known, labels)
            known, at = len(labels), len(learned)
            i = i if predicted else j
            while i < j:
                e = events[i]
                if e >= 0:
                    out[e, :known] = proba[at]
                    if offered[e] and decision[e] == _UNDECIDED:  # a row is decided on once
                        decision[e] = decide(proba, at, known)
                    at += 1
                elif 0 < decision[~e] < _UNDECIDED:
                    break
                i += 1
            quiet = quiet + len(predicted) if i == j else 0
            ahead = min(max(quiet, closed_for() + 1), _MOST_AHEAD)

    @property
    def asked_rows(self) -> NDArray[np.bool_]:
        """Which rows of the last call that took labels, or of the last ``ask``, were wanted."""
        return self._why > 0

    @property
    def asked_why(self) -> NDArray[np.int8]:
        """As ``asked_rows``, with the reason: 0 not wanted, otherwise the place in ``thalweg.active.strategy.REASONS``.

        With ``Split`` or ``Random`` the rows asked about by chance (2) are an unbiased sample: a drift detector should
        watch the errors on those.
        """
        return self._why.copy()

    # -- live ---------------------------------------------------------------------------------------------------------

    @changes
    def ask(self, X: Any) -> Ints:
        """Take rows as they arrive; give for each the ticket of the label that is wanted, -1 where it is not."""
        X, schema = self._rows(X, learning=True)
        n = X.shape[0]
        if not n:
            self._why = np.zeros(0, dtype=np.int8)
            return np.zeros(0, dtype=np.int64)
        self._meet(schema)
        proba = np.zeros((n, len(self._labels)))
        self._play(X, np.zeros(0, dtype=np.int64), np.zeros(0), np.arange(n), proba, proba.shape[1])
        first = self._policy.seen
        why = self._policy.decide(proba)
        self._why = why
        return self._tickets.give(X, why, first)

    @changes
    def tell(self, tickets: Any, labels: Any) -> Told:
        """Take labels by ticket, in any order; learn the rows that are still waiting for one, in the order given.

        Tickets that were answered before, were never given, or have expired are reported, and their labels not looked
        at. A label that cannot be one is refused, and nothing is learned.
        """
        given = _numbers(tickets)
        values = sequence(labels, "labels")
        if len(values) != len(given):
            raise ValueError(f"labels must hold a label for each of the {len(given)} tickets, got {len(values)}")
        if not self._started:
            return Told(0, unknown=tuple(given.tolist()))
        kinds = self._tickets.find(given, self._policy.seen)
        codes, new = self._labels.read(values[kinds == ANSWERED], "labels")  # may still refuse
        rows, told = self._tickets.close(given, kinds)
        if told.learned:
            known = len(self._labels)
            self._labels.admit(new)
            n, nothing = len(codes), np.zeros((len(codes), len(self._labels)))
            self._inner.play(rows, codes, np.ones(n), ~np.arange(n), nothing, known, self._labels)
        return told

    @property
    @changes
    def tickets(self) -> TicketCounts:
        """How many tickets were given, are open, were answered and have expired, and which answers were refused."""
        if not self._started:
            return TicketCounts(0, 0, 0, 0, 0, 0, 0)
        self._tickets.let_go(self._policy.seen)
        return self._tickets.counts()

    @property
    @changes
    def open_tickets(self) -> Ints:
        """The tickets that wait for a label, oldest first."""
        if not self._started:
            return np.zeros(0, dtype=np.int64)
        self._tickets.let_go(self._policy.seen)
        return self._tickets.open()

    # -- what it is made of -------------------------------------------------------------------------------------------

    @property
    @looks
    def model(self) -> Classifier:
        """The learner with what it knows: a copy."""
        return self._inner.lend(self._labels).copy() if self._started else self.learner.fresh()

    @property
    @looks
    def policy(self) -> Strategy:
        """The strategy as it is now: a copy."""
        return self._policy.copy() if self._started else self._new_policy()

    @property
    def labels_asked(self) -> int:
        """Labels asked for so far, in evaluations and live."""
        return self._policy.asked if self._started else 0

    def _telling(self) -> Classifier:
        return self._inner.lend(self._labels) if self._started else self.learner

    # -- a learner like any other -------------------------------------------------------------------------------------

    def _forget(self) -> None:
        super()._forget()
        self._why = np.zeros(0, dtype=np.int8)

    def _new_policy(self) -> Strategy:
        return AVU() if self.strategy is None else self.strategy.fresh()

    def _start(self, schema: Schema) -> None:
        self._inner, self._policy = Inner(self.learner.fresh(), schema), self._new_policy()
        self._tickets = Tickets(schema.n_features, max_open=self.max_open, max_age=self.max_age)

    def _play(self, X: Rows, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        self._inner.play(X, y, w, events, out, known, self._labels)

    def _extend(self, schema: Schema) -> None:
        assert self._schema is not None
        self._inner.meet(schema)
        self._tickets.widen(self._schema, schema, lacking=np.nan if self.missing == "native" else 0.0)

    def _rehearse(self) -> None:
        self._inner.rehearse(self._labels)

    @property
    def state_bytes(self) -> int:
        """Bytes of all tables of the model, the strategy and the tickets."""
        if not self._started:
            return 0
        policy = sum(t.nbytes for t in self._policy.tables().values())
        return self._inner.state_bytes + policy + self._tickets.nbytes

    def _tables(self) -> State:
        own = prefixed("strategy", self._policy.tables()) | prefixed("tickets", self._tickets.state())
        return self._inner.tables("learner") | own

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        inner, policy = Inner.adopt(self.learner.fresh(), "learner", tables, schema, classes), self._new_policy()
        waiting = Tickets(schema.n_features, max_open=self.max_open, max_age=self.max_age)
        policy.restore(under("strategy", tables))
        waiting.restore(under("tickets", tables), schema, missing=self.missing == "native")
        self._inner, self._policy, self._tickets = inner, policy, waiting


def _numbers(tickets: Any) -> Ints:
    try:
        array = np.asarray(tickets)
    except Exception:  # someone else's container
        array = np.empty(0, dtype=object)
    if array.ndim == 1 and not len(array):
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"tickets must be a list of tickets, whole numbers, got {shown(tickets)}")
    if array.ndim != 1:
        raise ValueError(f"tickets must have one dimension, got {array.ndim}")
    if array.dtype == np.uint64:  # a number too large for any ticket stays an unknown one
        array = np.minimum(array, np.uint64(np.iinfo(np.int64).max))
    return np.array(array, dtype=np.int64)
