"""The desk: questions are lent to one expert each, come back, and no record is labelled twice."""

import asyncio
import json
import time

import numpy as np
import pytest
from running import running, start

from thalweg import SEA
from thalweg.registry.typed import make_learner
from thalweg.serve import Client
from thalweg.serve.client import ServiceError
from thalweg.serve.desk import MOST_AT_ONCE, Desk, TakenError
from thalweg.serve.engine import Engine, UnavailableError
from thalweg.serve.records import without_classes


class Clock:
    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


def at_desk(folder, story, *, rows=20, path=None, **how):
    """Tell a story at a desk whose engine has answered some records."""

    async def tell():
        chunk, clock = SEA(seed=3).read(rows), Clock()
        schema = without_classes(SEA().schema)
        engine = Engine(make_learner("naive-bayes"), folder, schema=schema, every="each", sync="never")
        await engine.start()
        if not engine.book.records:
            await engine.learn(chunk.X[:4], [0, 1, 0, 1])
            await engine.records(chunk.X)
        desk = Desk(engine, path, clock=clock, **{"second": 0.0, **how})
        try:
            return await story(desk, clock, engine)
        finally:
            await engine.stop()

    return asyncio.run(tell())


def tickets_of(questions):
    return [question["ticket"] for question in questions]


def test_a_question_is_lent_to_one_expert_and_comes_back(tmp_path):
    async def story(desk, clock, _engine):
        assert tickets_of(desk.next("ann", 3)) == [0, 1, 2]
        assert tickets_of(desk.next("ben", 2)) == [3, 4]
        assert tickets_of(desk.next("ann", 3)) == [0, 1, 2], "she has them already"
        await desk.answer("ann", 0, 1)
        clock.now += 100.0
        assert tickets_of(desk.next("ben", 2)) == [3, 4]
        clock.now += 50.0  # Ann's are over; Ben's began anew
        assert tickets_of(desk.next("cem", 4)) == [1, 2, 5, 6]
        with pytest.raises(TakenError, match="the question 1 is somebody else's by now"):
            await desk.answer("ann", 1, 0)
        assert desk.leave("ben") == 2
        await desk.answer("ben", 3, 1)  # late, but nobody else has it
        assert tickets_of(desk.next("dan", 1)) == [4]
        assert desk.summary()["held"] == 2

    at_desk(tmp_path, story)


def test_an_answer_can_be_undone_for_a_minute_and_is_learned_after_it(tmp_path):
    async def story(desk, clock, engine):
        desk.next("ann", 2)
        until = await desk.answer("ann", 0, 1)
        assert until == clock.now + 60.0
        await desk.answer("ann", 1, 0)
        applied = engine.applied
        assert (await desk.undo("ann"))["ticket"] == 1
        assert (await desk.undo("ann"))["ticket"] == 0
        with pytest.raises(TakenError, match="an answer can be undone for 60 seconds"):
            await desk.undo("ann")
        await desk.answer("ann", 0, 0)
        clock.now += 59.0
        assert await desk.tell_due() == 0
        assert engine.applied == applied, "nothing was written to the journal"
        await desk.answer("ann", 1, 1)
        clock.now += 2.0
        assert await desk.tell_due() == 1
        with pytest.raises(TakenError):
            await desk.undo("ann", 0)
        assert engine.applied == applied + 1
        assert not engine.book.is_open(0)
        with pytest.raises(TakenError, match="the question 0 is not open"):
            await desk.answer("ann", 0, 1)
        clock.now += 60.0
        await desk.tell_due()
        seen = await engine.in_learner(lambda: dict(engine.learning.experts))
        assert seen == {"ann": 2}
        assert desk.summary()["experts"]["ann"] | {"seen": 0} == {
            "answered": 2, "skipped": 0, "unknown": 0, "undone": 2, "compared": 0, "agreed": 0, "seen": 0, "lent": 0,
        }  # fmt: skip

    at_desk(tmp_path, story)


def test_an_answer_given_again_within_the_minute_takes_the_place_of_the_first(tmp_path):
    async def story(desk, clock, engine):
        before = await engine.in_learner(lambda: engine.learning.told.tolist())
        desk.next("ann", 1)
        await desk.answer("ann", 0, 1)
        await desk.answer("ann", 0, 0)
        with pytest.raises(TakenError):
            await desk.answer("ben", 0, 1)
        assert desk.summary()["experts"]["ann"]["answered"] == 1
        clock.now += 61.0
        with pytest.raises(TakenError):
            await desk.answer("ann", 0, 1)
        assert await desk.tell_due() == 1
        told = await engine.in_learner(lambda: engine.learning.told.tolist())
        assert [after - b for after, b in zip(told, before, strict=True)] == [1, 0]

    at_desk(tmp_path, story)


def test_skipped_questions_go_to_others_and_unknown_ones_are_given_up(tmp_path):
    async def story(desk, _clock, _engine):
        desk.next("ann", 2)
        await desk.turn_down("ann", 0, "skip")
        await desk.turn_down("ann", 1, "unknown")
        assert tickets_of(desk.next("ann", 2)) == [2, 3]
        assert tickets_of(desk.next("ben", 2)) == [0, 1]
        await desk.turn_down("ben", 1, "unknown")
        assert tickets_of(desk.next("cem", 2)) == [4, 5], "two did not know 1"
        assert desk.summary()["unknown"] == 1
        with pytest.raises(ValueError, match="why must be one of"):
            await desk.turn_down("ben", 0, "bored")

    at_desk(tmp_path, story)


def test_a_second_expert_is_compared_and_never_learned(tmp_path):
    async def story(desk, clock, engine):
        desk.next("ann", 2)
        await desk.answer("ann", 0, 1)
        await desk.answer("ann", 1, 0)
        await desk.tell_due(everything=True)
        applied = engine.applied
        assert tickets_of(desk.next("ann", 1)) == [2], "not to herself"
        asked = desk.next("ben", 3)
        assert tickets_of(asked) == [0, 1, 3]
        assert not any("label" in question for question in asked), "he does not see what she said"
        assert await desk.answer("ben", 0, 1) == clock.now
        await desk.answer("ben", 1, 1)
        assert engine.applied == applied
        found = desk.summary()
        assert (found["compared"], found["agreed"]) == (2, 1)
        assert {who: (n["compared"], n["agreed"]) for who, n in found["experts"].items()} == {
            "ann": (2, 1), "ben": (2, 1),
        }  # fmt: skip
        assert tickets_of(desk.next("cem", 1)) == [4]

    at_desk(tmp_path, story, second=1.0)


def test_the_share_of_second_questions_is_as_stated(tmp_path):
    async def story(desk, _clock, _engine):
        assert sum(map(desk._is_second, range(20_000))) == pytest.approx(5_000, rel=0.05)

    at_desk(tmp_path, story, second=0.25)


def test_what_is_held_back_survives_a_crash(tmp_path):
    """The process ends without telling anybody; the next one holds the label still, and learns it once."""
    path = tmp_path / "desk.json"

    async def before(desk, _clock, _engine):
        desk.next("ann", 2)
        await desk.answer("ann", 0, 1)
        await desk.answer("ann", 1, 1)
        await desk.undo("ann")

    async def after(desk, clock, engine):
        assert desk.summary()["held"] == 1
        assert tickets_of(desk.next("ben", 1)) == [1], "0 is answered"
        clock.now += 61.0
        assert await desk.tell_due() == 1
        assert not engine.book.is_open(0)
        assert json.loads(path.read_bytes())["held"] == []

    at_desk(tmp_path / "a", before, path=path)
    at_desk(tmp_path / "a", after, path=path)
    path.write_bytes(b"{")
    with pytest.raises(ValueError, match=r"desk\.json must hold what the desk wrote"):
        at_desk(tmp_path / "a", after, path=path)


def test_an_answer_that_cannot_be_written_down_is_refused_and_the_question_stays(tmp_path):
    async def story(desk, _clock, _engine):
        desk.next("ann", 1)
        with pytest.raises(UnavailableError, match="the desk cannot write"):
            await desk.answer("ann", 0, 1)
        assert desk.summary()["held"] == 0
        assert tickets_of(desk.next("ann", 1)) == [0]
        assert desk.summary()["experts"]["ann"]["answered"] == 0

    at_desk(tmp_path / "a", story, path=tmp_path / "missing" / "desk.json")


def test_a_label_that_came_another_way_wins_and_is_counted(tmp_path):
    async def story(desk, _clock, engine):
        desk.next("ann", 2)
        await desk.answer("ann", 0, 1)
        await engine.labels([0, 0], tickets=[0, 1])
        assert tickets_of(desk.next("ann", 1)) == [2], "1 has its label"
        assert await desk.tell_due(everything=True) == 0
        assert desk.summary()["lost"] == 1

    at_desk(tmp_path, story)


def test_all_at_the_desk_is_bounded(tmp_path):
    async def story(desk, _clock, engine):
        for k in range(10):
            desk.next(f"expert {k}", 1)
        assert desk.summary()["lent"] == 3
        assert len(desk.summary()["experts"]) == 3
        for ticket in range(6):
            desk.leave("ann")
            desk.next("ann", 1)
            await desk.answer("ann", ticket, 1) if ticket > 2 else None
        for ticket in range(10, 16):
            await desk.answer("ben", ticket, 1)
        assert desk.summary()["held"] == 3
        assert not engine.book.is_open(10), "the oldest was told"

    at_desk(tmp_path, story, most=3)


def test_mistakes_are_named(tmp_path):
    async def story(desk, _clock, engine):
        desk.next("ann", 1)
        with pytest.raises(ValueError, match="label must be one of the classes, or new must be true, got 7"):
            await desk.answer("ann", 0, 7)
        with pytest.raises(TypeError, match="label must hold labels of one type"):
            await desk.answer("ann", 0, "seven", new=True)
        await desk.answer("ann", 0, 7, new=True)
        await desk.tell_due(everything=True)
        assert engine.book.labels.values == [0, 1, 7]
        with pytest.raises(ValueError, match="n must lie in"):
            desk.next("ann", MOST_AT_ONCE + 1)
        with pytest.raises(ValueError, match="order must be one of"):
            desk.next("ann", 1, "best")
        with pytest.raises(TakenError):
            await desk.answer("ann", 1 << 70, 1)

    at_desk(tmp_path, story)
    with pytest.raises(ValueError, match="second must lie"):
        Desk(None, second=1.5)
    with pytest.raises(ValueError, match="lease must"):
        Desk(None, lease=0)


def test_the_most_uncertain_come_first_if_asked_for(tmp_path):
    async def story(desk, _clock, _engine):
        assert desk.next("ben", 1, "newest")[0]["ticket"] == 19
        asked = desk.next("ann", 10, "uncertain")
        sure = [max(question["probabilities"]) for question in asked]
        assert sure == sorted(sure)

    at_desk(tmp_path, story)


def test_two_experts_and_a_lost_one_over_http(tmp_path):
    """Three ask, one of them goes away: each record is labelled once, also those that were lent to the lost one."""
    chunk = SEA(seed=5).read(60)
    rows, truth = chunk.X.tolist(), chunk.y.tolist()
    with running("naive-bayes", "--folder", tmp_path, "--lease", "1.5", "--hold", "0.5", "--second", "0.2") as (
        client,
        _,
    ):
        client.learn(rows[:2], [0, 1])
        client.predict(rows)

        def ask(expert, n):
            return tickets_of(client._post("/v1/desk/next", {"expert": expert, "n": n})["questions"])

        lost = ask("lost", 10)
        assert lost == list(range(10))
        answered, until = {}, time.monotonic() + 120.0
        while client.state()["labels"]["open"] and time.monotonic() < until:
            for expert in ("ann", "ben"):
                for ticket in ask(expert, 3):
                    body = {"expert": expert, "ticket": ticket, "label": truth[ticket]}
                    client._post("/v1/desk/answer", body)
                    answered.setdefault(ticket, []).append(expert)
            time.sleep(0.02)
        with pytest.raises(ServiceError, match="409"):
            client._post("/v1/desk/answer", {"expert": "lost", "ticket": lost[0], "label": 0})
        found = client.state()
        assert found["labels"] | {"given": 60, "open": 0, "answered": 60, "repeated": 0} == found["labels"]
        assert sum(found["experts"].values()) == 60
        assert sorted(answered) == list(range(60))
        assert all(len(set(who)) == len(who) for who in answered.values()), "nobody was asked the same thing twice"
        desk = client.get("/v1/desk")
        assert desk["compared"] == desk["agreed"] == sum(len(who) == 2 for who in answered.values())


def test_a_service_that_is_stopped_tells_what_it_holds_and_one_that_is_killed_holds_it_still(tmp_path):
    rows = SEA(seed=5).read(10).X.tolist()
    process, address = start("naive-bayes", "--folder", tmp_path)
    with Client(address) as client:
        client.learn(rows[:2], [0, 1])
        client.predict(rows)
        client._post("/v1/desk/next", {"n": 4})
        for ticket in range(3):
            client._post("/v1/desk/answer", {"ticket": ticket, "label": 1})
        assert client._post("/v1/desk/undo", {})["question"]["ticket"] == 2
    process.kill()
    process.wait()
    process.stdout.close()
    with running("naive-bayes", "--folder", tmp_path) as (client, _):
        assert client.get("/v1/desk")["held"] == 2
        assert client.state()["labels"]["answered"] == 0
    with running("naive-bayes", "--folder", tmp_path) as (client, _):
        assert client.get("/v1/desk")["held"] == 0
        assert client.state()["labels"]["answered"] == 2
        assert client.state()["experts"] == {"local": 2}


def test_pictures_keep_their_shape(tmp_path):
    from thalweg import load_dataset

    stream = load_dataset("digits")
    chunk = stream.read(5)
    schema = tmp_path / "schema.json"
    schema.write_bytes(stream.schema.to_json())
    with running("ckdt", "--folder", tmp_path / "folder", "--schema", schema) as (client, _):
        client.predict(chunk.X.tolist())
        question = client._post("/v1/desk/next", {})["questions"][0]
        assert question["shape"] == [8, 8]
        assert np.array_equal(np.ravel(question["record"]), chunk.X[0])


def test_roles_at_the_desk(tmp_path):
    from thalweg.serve.security import add_token

    tokens = tmp_path / "tokens"
    words = {role: add_token(tokens, f"the {role}", role) for role in ("predict", "label", "admin")}
    process, address = start("naive-bayes", "--folder", tmp_path / "folder", "--token-file", tokens)
    try:
        with Client(address, token=words["predict"]) as client:
            assert client.get("/v1/me") == {"name": "the predict", "role": "predict"}
            with pytest.raises(ServiceError, match="403"):
                client._post("/v1/desk/next", {})
        with Client(address, token=words["label"]) as client:
            assert client._post("/v1/desk/next", {})["expert"] == "the label"
            assert client._post("/v1/desk/next", {"expert": "ann"})["expert"] == "the label:ann"
            for body in ({"n": 0}, {"n": "1"}, {"expert": "a\nb"}, {"expert": 61 * "x"}, {"what": 1}, []):
                with pytest.raises(ServiceError, match="400"):
                    client._post("/v1/desk/next", body)
        with Client(address) as client, pytest.raises(ServiceError, match="401"):
            client._post("/v1/desk/next", {})
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
