"""Labels on a budget where rows are sparse: the same as row by row, and tickets that keep no zeros."""

import numpy as np
import pytest

from thalweg import AVU, ActiveLearner, Random, WindowKNN, checks, load, save
from thalweg.active.tickets import Told

csr_array = pytest.importorskip("scipy.sparse").csr_array

D = 5_000
ALL = Random(budget=1.0)


def rows(n=120, seed=1):
    """Wide rows with about six values each, of two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.zeros((n, D))
    for i in range(n):
        X[i, rng.integers(0, 40, 6) + 30 * y[i]] = rng.normal(2, 1, 6)
    return X, y


def neighbours():
    return WindowKNN(k=3, window=60, scale=None)


def bits(learner):
    return {name: table.tobytes() for name, table in learner.state().items()}


@pytest.mark.parametrize("check", checks.sparse.CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_the_promises_about_sparse_rows(check):
    check(lambda: ActiveLearner(learner=neighbours(), strategy=ALL))


def test_it_takes_sparse_rows_where_its_learner_does():
    assert ActiveLearner(learner=neighbours()).sparse


@pytest.mark.parametrize("size", [1, 7, 120])
def test_it_equals_a_slow_loop_at_any_chunk_size(size):
    X, y = rows()
    S = csr_array(X)
    plain, strategy, expected, asked = neighbours(), AVU(budget=0.5), [], []
    for i in range(len(y)):
        expected.append(plain.predict_proba(S[[i]])[0])
        asked.append(bool(strategy.ask(expected[-1][None])[0]))
        if asked[-1]:
            plain.partial_fit(S[[i]], y[[i]])
    learner, got, wanted = ActiveLearner(learner=neighbours(), strategy=AVU(budget=0.5)), [], []
    for i in range(0, len(y), size):
        got += list(learner.test_then_train(S[i : i + size], y[i : i + size]))
        wanted += learner.asked_rows.tolist()
    assert wanted == asked
    assert 0 < sum(asked) < len(y)
    for a, b in zip(got, expected, strict=True):
        assert a[: len(b)].tobytes() == b.tobytes()
    assert bits(learner.model) == bits(plain)


def test_labels_by_ticket_in_any_order_also_after_a_save(tmp_path):
    X, y = rows()
    S, order = csr_array(X), np.random.default_rng(3).permutation(len(y))
    learner, plain = ActiveLearner(learner=neighbours(), strategy=ALL), neighbours()
    tickets = np.concatenate([learner.ask(S[:50]), learner.ask(S[50:])])
    assert learner.tell(tickets[order[:40]], y[order[:40]]) == Told(40)
    save(learner, tmp_path / "learner")
    again = load(tmp_path / "learner")
    assert bits(again) == bits(learner)
    for one in (learner, again):
        assert one.tell(tickets[order[40:]], y[order[40:]]) == Told(80)
    plain.partial_fit(S[order], y[order])
    assert bits(learner.model) == bits(again.model) == bits(plain)


def test_waiting_rows_take_the_room_of_their_values():
    X, _ = rows()
    learner = ActiveLearner(learner=neighbours(), strategy=ALL, max_open=30)
    learner.ask(csr_array(X))
    state = learner.state()
    assert "tickets.rows" not in state
    assert state["tickets.starts"].tolist() == [0, *np.cumsum((X[-30:] != 0).sum(axis=1))]
    assert learner.tickets.open == 30
    assert sum(table.nbytes for name, table in state.items() if name.startswith("tickets.")) < 10_000 < X[-30:].nbytes
    learner.ask(csr_array(X[:20]))  # places are used again
    np.testing.assert_array_equal(learner.state()["tickets.values"], csr_array(np.r_[X[-10:], X[:20]]).data)


def test_a_row_that_lacks_a_value_makes_waiting_rows_dense():
    X, y = rows(20)
    holes = X.copy()
    holes[15, 3] = np.nan
    learner, plain = ActiveLearner(learner=neighbours(), strategy=ALL), neighbours()
    tickets = np.concatenate([learner.ask(csr_array(X[:10])), learner.ask(X[10:12])])
    assert "tickets.values" in learner.state()  # dense rows join sparse ones
    tickets = np.concatenate([tickets, learner.ask(holes[12:])])
    np.testing.assert_array_equal(learner.state()["tickets.rows"], holes)
    learner.tell(tickets, y)
    assert bits(learner.model) == bits(plain.partial_fit(holes, y))


def test_sparse_rows_join_dense_ones():
    X, y = rows(20)
    learner, plain = ActiveLearner(learner=neighbours(), strategy=ALL), neighbours()
    tickets = np.concatenate([learner.ask(X[:10]), learner.ask(csr_array(X[10:]))])
    np.testing.assert_array_equal(learner.state()["tickets.rows"], X)
    learner.tell(tickets, y)
    assert bits(learner.model) == bits(plain.partial_fit(X, y))


def test_damaged_sparse_tickets_are_refused():
    X, y = rows(12)
    learner = ActiveLearner(learner=neighbours(), strategy=ALL)
    learner.tell(learner.ask(csr_array(X))[:2], y[:2])
    state = learner.state()
    starts, columns, values = (state[f"tickets.{name}"] for name in ("starts", "columns", "values"))
    for bad in (
        {"tickets.starts": starts[:-1]}, {"tickets.starts": starts + 1}, {"tickets.starts": starts.astype(float)},
        {"tickets.columns": columns + D}, {"tickets.columns": columns * 0}, {"tickets.values": values * np.inf},
        {"tickets.values": values[:-1]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="state must be what"):
            ActiveLearner(learner=neighbours(), strategy=ALL).restore(state | bad)
