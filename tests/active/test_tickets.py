"""Live use: labels that come by ticket, late, out of order, twice, or never."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg import AVU, ActiveLearner, HoeffdingTree, MajorityClass, Random, Split, load, prequential, save
from thalweg.active.tickets import TicketCounts, Told
from thalweg.core.chunk import Chunk
from thalweg.core.schema import Schema

ALL = Random(budget=1.0)


def live(max_open=100, max_age=None, strategy=ALL, learner=None):
    return ActiveLearner(learner=learner or MajorityClass(), strategy=strategy, max_open=max_open, max_age=max_age)


def numbered(first, n):
    """Rows that say which they are."""
    return np.arange(first, first + n, dtype=float)[:, None] + np.array([[0.0, 0.5]])


def bits(learner):
    return {name: table.tobytes() for name, table in learner.state().items()}


def test_tickets_count_up_and_are_given_only_to_rows_that_are_wanted():
    learner = live(strategy=AVU(budget=0.3))
    tickets = np.concatenate([learner.ask(numbered(i, 10)) for i in range(0, 500, 10)])
    given = tickets[tickets >= 0]
    assert given.tolist() == list(range(len(given)))
    assert len(given) == learner.labels_asked < 0.3 * 500 + 1
    assert set(tickets[tickets < 0]) == {-1}
    assert np.array_equal(learner.asked_rows, tickets[-10:] >= 0)


def test_the_row_that_was_asked_about_is_learned_in_the_order_of_the_labels():
    learner, plain = live(300, learner=HoeffdingTree(grace_period=20)), HoeffdingTree(grace_period=20)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    tickets = learner.ask(X)
    order = rng.permutation(300)
    for part in np.array_split(order, 7):
        assert learner.tell(tickets[part], y[part]) == Told(len(part))
        plain.partial_fit(X[part], y[part])
    assert bits(learner.model) == bits(plain)


def test_repeated_unknown_and_expired_are_told_and_change_nothing_else():
    learner = live(max_open=10)
    assert learner.tell([0, 5], ["a", "b"]) == Told(0, unknown=(0, 5))
    learner.ask(numbered(0, 8))
    assert learner.tell([3, 3, 8, -1], ["a", "b", "c", None]) == Told(1, repeated=(3,), unknown=(8, -1))
    learner.ask(numbered(8, 7))  # 15 given: 0 to 4 are let go of
    assert learner.tell([0, 3, 4, 5, 14], ["a"] * 5) == Told(2, expired=(0, 3, 4))
    assert learner.tell([5], ["a"]) == Told(0, repeated=(5,))
    assert learner.tickets == TicketCounts(given=15, open=8, answered=3, expired=4, repeated=2, unknown=2, late=3)
    assert learner.predict_proba_one([0.0, 0.5]) == {"a": 1.0}
    assert learner.open_tickets.tolist() == [6, 7, 8, 9, 10, 11, 12, 13]


def test_tickets_grow_old():
    learner = live(max_age=20)
    first = learner.ask(numbered(0, 3))
    learner.ask(numbered(3, 18))  # rows 0 and 1 are now 20 and more rows old
    assert learner.tell(first, ["a", "b", "c"]).expired == (0,)
    assert learner.tickets.expired == 1
    learner.test_then_train(numbered(50, 30), ["a"] * 30)  # rows that arrive in another way count too
    assert learner.tickets.open == 0
    assert learner.tickets.given == 21 == learner.tickets.answered + learner.tickets.expired


def test_a_ticket_lives_to_the_last_row_of_its_age():
    for rows_after, alive in ((5, True), (6, False)):
        learner = live(max_age=5)
        learner.ask(numbered(0, 1))
        learner.ask(numbered(1, rows_after - 1))
        assert (learner.tell([0], ["a"]).learned == 1) is alive


@pytest.mark.parametrize(
    ("tickets", "labels", "sentence"),
    [
        ([0], ["a", "b"], "labels must hold a label for each of the 1 tickets, got 2"),
        (["x"], ["a"], "tickets must be a list of tickets, whole numbers, got"),
        ([0.5], ["a"], "tickets must be a list of tickets, whole numbers, got"),
        (3, ["a"], "tickets must have one dimension, got 0"),
        ([0, 1], ["a", None], "labels must hold no missing label"),
        ([0, 1], ["a", 1], "labels must hold labels of one type"),
        ([0, 1], [7, 8], "the classes so far are str, got int"),
        ([0], "a", "labels must be a sequence of labels, got 'a'"),
    ],
)
def test_bad_answers_change_nothing(tickets, labels, sentence):
    learner = live()
    learner.ask(numbered(0, 5))
    learner.tell([4], ["z"])
    before = bits(learner)
    with pytest.raises((ValueError, TypeError), match=sentence):
        learner.tell(tickets, labels)
    assert bits(learner) == before
    assert learner.tell([0, 1], ["a", "b"]).learned == 2


def test_bad_answers_do_not_bring_back_what_has_expired():
    learner = live(max_age=5)
    learner.ask(numbered(0, 7))
    with pytest.raises(ValueError, match="labels must hold no missing label"):
        learner.tell([6], [None])
    assert (learner.tickets.open, learner.tickets.expired) == (5, 2)
    assert learner.copy().tell(range(7), ["a"] * 7) == Told(5, expired=(0, 1))


def test_bad_rows_change_nothing():
    learner = live()
    learner.ask(numbered(0, 5))
    before = bits(learner)
    for X in ([[np.inf, 1.0]], [[1.0]], "rows", None):
        with pytest.raises((ValueError, TypeError), match="X "):
            learner.ask(X)
    assert bits(learner) == before
    assert learner.ask(np.zeros((0, 2))).tolist() == []
    assert learner.tell([], []) == Told(0)


def test_huge_numbers_are_unknown_tickets():
    learner = live()
    learner.ask(numbered(0, 1))
    assert learner.tell(np.array([2**64 - 1], dtype=np.uint64), ["a"]).unknown == (2**63 - 1,)


class Book:
    """What the tickets of a learner should be: a dict, and no hurry."""

    def __init__(self, max_open, max_age):
        self.max_open, self.max_age, self.rows = max_open, max_age, 0
        self.status, self.born = {}, {}

    def expire(self):
        for t, status in self.status.items():
            old = len(self.status) - t >= self.max_open + 1
            aged = self.max_age is not None and self.rows - self.born[t] > self.max_age
            if status == "open" and (old or aged):
                self.status[t] = "expired"

    def ask(self, wanted):
        tickets = []
        for one in wanted:
            if one:
                tickets.append(len(self.status))
                self.status[tickets[-1]], self.born[tickets[-1]] = "open", self.rows
            else:
                tickets.append(-1)
            self.rows += 1
        self.expire()
        return tickets

    def tell(self, tickets):
        self.expire()
        found = {"open": [], "answered": [], "unknown": [], "expired": []}
        for t in tickets:
            status = self.status.get(t, "unknown")
            if status == "answered" and len(self.status) - t > self.max_open:
                status = "expired"  # too long ago to know
            found[status].append(t)
            if status == "open":
                self.status[t] = "answered"
        return Told(len(found["open"]), tuple(found["answered"]), tuple(found["unknown"]), tuple(found["expired"]))


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.one_of(st.integers(0, 40), st.lists(st.integers(-3, 200), max_size=30)), min_size=1, max_size=25),
    max_open=st.sampled_from([1, 2, 7, 20, 64]),
    max_age=st.sampled_from([None, 1, 10, 50]),
    budget=st.sampled_from([0.3, 1.0]),
)
def test_any_order_of_asking_and_telling(steps, max_open, max_age, budget):
    learner, book = live(max_open, max_age, AVU(budget=budget)), Book(max_open, max_age)
    for step in steps:
        if isinstance(step, int):
            tickets = learner.ask(numbered(book.rows, step))
            assert tickets.tolist() == book.ask(tickets >= 0)
        elif book.rows:
            assert learner.tell(step, ["a"] * len(step)) == book.tell(step)
        values = list(book.status.values())
        counts = learner.tickets
        assert (counts.given, counts.open, counts.answered, counts.expired) == (
            len(values), values.count("open"), values.count("answered"), values.count("expired"),
        )  # fmt: skip
        assert learner.open_tickets.tolist() == [t for t, status in book.status.items() if status == "open"]
        assert counts.open <= max_open


def crowd(n, tmp_path, size=100, delay=2000, max_open=5000):
    """Ask n times; labels come out of order, 1 % twice, 1 % never; save and load in the middle."""
    rng = np.random.default_rng(7)
    learner = live(max_open, strategy=ALL)
    due = np.arange(n) + rng.integers(0, delay, n)
    never = rng.random(n) < 0.01
    twice = np.flatnonzero((rng.random(n) < 0.01) & ~never)
    answers = np.r_[np.flatnonzero(~never), twice]
    when = np.r_[due[~never], due[twice] + rng.integers(1, 500, len(twice))]
    order = np.argsort(when, kind="stable")
    answers, when = answers[order], when[order]
    done = learned = repeated = expired = 0
    sizes = []
    for i in range(0, n, size):
        assert np.array_equal(learner.ask(numbered(i, size)), np.arange(i, i + size))
        to = int(np.searchsorted(when, i + size)) if i + size < n else len(when)
        told = learner.tell(answers[done:to], answers[done:to] % 3)
        assert told.unknown == ()
        learned, repeated, expired = learned + told.learned, repeated + len(told.repeated), expired + len(told.expired)
        done = to
        sizes.append(learner.state_bytes)
        if i == n // 2 // size * size:
            save(learner, tmp_path / "crowd")
            learner = load(tmp_path / "crowd")
    return learner, never, twice, learned, repeated, expired, sizes


def check_crowd(n, tmp_path):
    learner, never, twice, learned, repeated, expired, sizes = crowd(n, tmp_path)
    assert (learned, repeated, expired) == (n - never.sum(), len(twice), 0)
    gone = int(never[: n - 5000].sum())
    assert learner.tickets == TicketCounts(
        given=n, open=int(never.sum()) - gone, answered=learned, expired=gone, repeated=repeated, unknown=0, late=0
    )
    assert max(sizes) <= 5000 * (2 * 8 + 9) + 1000
    assert learner.open_tickets.tolist() == [t for t in np.flatnonzero(never) if t >= n - 5000]
    share = np.bincount(np.flatnonzero(~never) % 3) / learned
    assert learner.predict_proba(numbered(0, 1))[0].tolist() == pytest.approx(share[learner.classes_], abs=1e-12)


def test_a_crowd_of_tickets(tmp_path):
    check_crowd(40_000, tmp_path)


def test_save_with_open_tickets(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 2))
    y = (X[:, 0] > 0).astype(int)
    learner = live(max_open=64, max_age=300, strategy=AVU(budget=0.6), learner=HoeffdingTree(grace_period=20))
    tickets = learner.ask(X)
    rows = {t: i for i, t in enumerate(tickets.tolist()) if t >= 0}
    some = learner.open_tickets[::3]
    learner.tell(some, y[[rows[t] for t in some.tolist()]])
    save(learner, tmp_path / "learner")
    again = load(tmp_path / "learner")
    assert again.tickets == learner.tickets
    assert bits(again) == bits(learner)
    rest = learner.open_tickets[::-1]
    assert again.tell(rest, y[[rows[t] for t in rest.tolist()]]) == learner.tell(
        rest, y[[rows[t] for t in rest.tolist()]]
    )
    assert np.array_equal(again.ask(X[:50]), learner.ask(X[:50]))
    assert bits(again) == bits(learner)
    assert bits(again.copy()) == bits(learner)


def test_damaged_tickets_are_refused():
    learner = live()
    learner.ask(numbered(0, 5))
    learner.tell([4], ["a"])
    state = learner.state()
    counts, latest = state["tickets.counts"], state["tickets.latest"]
    for bad in (
        {"tickets.counts": counts + 1}, {"tickets.counts": counts[:3]}, {"tickets.counts": -counts},
        {"tickets.latest": latest * 0}, {"tickets.latest": latest + 7},
        {"tickets.latest": latest.astype(float)}, {"tickets.latest": latest[:3]}, {"tickets.latest": latest.ravel()},
        {"tickets.counts": counts + np.eye(8, dtype=int)[1]},
        {"tickets.rows": state["tickets.rows"][:2]}, {"tickets.rows": state["tickets.rows"][:, :1]},
        {"tickets.rows": state["tickets.rows"].astype(np.float32)},
        {"strategy.random": state["strategy.random"][:0]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="state must be what"):
            live().restore(state | bad)
    for name in state:
        with pytest.raises(ValueError, match="state must be what"):
            live().restore({k: v for k, v in state.items() if k != name})


def test_features_that_come_later():
    learner = live(learner=HoeffdingTree())
    learner.learn_one({"a": 1.0}, "x")
    learner.ask(np.array([[2.0]]))
    learner.learn_one({"a": 1.0, "b": 2.0}, "y")
    assert np.isnan(learner.state()["tickets.rows"][0, 1])
    assert learner.ask(np.array([[2.0, 1.0]])).tolist() == [1]
    assert learner.tell([0, 1], ["x", "y"]).learned == 2
    assert learner.schema.names == ("a", "b")


# -- an evaluation with late labels is live use -----------------------------------------------------------------------


class Watched:
    """A stream over arrays that writes down, before it gives rows, which of the rows before were asked about."""

    def __init__(self, X, y, due, learner):
        self.rows = Chunk(X, y, None, np.arange(len(y), dtype=float), due)
        self.schema, self.learner = Schema.numeric(X.shape[1]), learner
        self.at, self.given, self.asked = 0, 0, []

    def note(self):
        if self.given:
            self.asked += self.learner.asked_rows[-self.given :].tolist()

    def read(self, n):
        self.note()
        chunk = self.rows[self.at : self.at + n]
        self.given = len(chunk)
        self.at += self.given
        return chunk if self.given else None


def answer_live(learner, X, y, due, *, before, moves):
    """Ask row by row; tell a label as soon as it is due, before or after the row of that time; say what was asked."""
    waiting, asked = {}, []

    def tell(now):
        ripe = sorted((r for r in waiting if due[r] <= now), key=due.__getitem__)
        assert learner.tell([waiting.pop(r) for r in ripe], y[ripe]) == Told(len(ripe))

    for t in range(len(X)):
        if t == moves:
            learner = learner.copy()
        if before:
            tell(t)
        ticket = learner.ask(X[t : t + 1]).item()
        asked.append(ticket >= 0)
        if ticket >= 0:
            waiting[t] = ticket
        if not before:
            tell(t)
    return learner, asked, len(waiting)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 150),
    delay=st.one_of(st.integers(1, 60), st.just("time")),
    chunk=st.sampled_from([1, 7, 64, 1000]),
    strategy=st.sampled_from([AVU(budget=0.3), AVU(budget=0.8), Split(budget=0.5), ALL]),
    tree=st.booleans(),
    moves=st.integers(0, 150),
    seed=st.integers(0, 20),
)
def test_late_labels_are_the_same_in_an_evaluation_and_live(n, delay, chunk, strategy, tree, moves, seed):
    """The same rows are asked about, the same wait at the end, and model and strategy are the same to the bit."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).round(1)
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), [-0.7, 0.7])
    due = np.arange(n, dtype=float) + delay if delay != "time" else np.arange(n) + rng.integers(0, 40, n).astype(float)
    due[rng.random(n) < (0.1 if delay == "time" else 0.0)] = np.inf
    learner, twin = (
        live(n, strategy=strategy, learner=HoeffdingTree(grace_period=10, delta=0.2, tau=0.2) if tree else None)
        for _ in range(2)
    )
    stream = Watched(X, y, due, learner)
    twin.declare(stream.schema)
    result = prequential(stream, learner, delay=delay, chunk=chunk)
    stream.note()
    twin, asked, waiting = answer_live(twin, X, y, due, before=delay == "time", moves=moves)
    assert stream.asked[:n] == asked
    assert (result.labels_used, result.labels_pending) == (twin.tickets.answered, waiting)
    assert bits(learner.model) == bits(twin.model)
    assert bits(learner.policy) == bits(twin.policy)
