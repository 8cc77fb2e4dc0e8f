"""What the engine learns from requests is what ``prequential`` learns with the same delays, also after a restart."""

import asyncio
import contextlib
import itertools
import resource
import shutil
import threading

import numpy as np
import pytest

from thalweg import AVU, SEA, ActiveLearner, ArrayStream, Chunk, Schema, prequential
from thalweg.registry.typed import make_learner
from thalweg.serve.contest import Contest
from thalweg.serve.engine import Engine, UnavailableError

ROWS, DELAY = 400, 7
NARROW = Schema.numeric(1)
WIDE = Schema.numeric(2)


def bits(obj):
    """Everything an object knows, to be compared."""
    return {name: (table.dtype, table.shape, table.tobytes()) for name, table in obj.state().items()}


def rows_of(name):
    """Rows and labels for a learner, and how it meets them."""
    if name == "ckdt":
        rng = np.random.default_rng(3)
        y = rng.integers(0, 2, ROWS)
        return Chunk(rng.normal(size=(ROWS, 6, 5)) + 2.0 * y[:, None, None] * np.eye(6, 5), y)
    return SEA(seed=3).read(ROWS)


def stream_of(chunk):
    return ArrayStream(chunk.X, chunk.y)


CASES = {
    "hoeffding-tree": lambda: make_learner("hoeffding-tree"),
    "arf": lambda: make_learner("arf(size=3)"),
    "sdf@0.5": lambda: ActiveLearner(learner=make_learner("sdf(size=3)"), strategy=AVU(budget=0.5)),
    "csb-knn": lambda: make_learner("csb-knn(size=3)"),
    "ball-cover-plus": lambda: make_learner("ball-cover-plus"),
    "ckdt": lambda: make_learner("ckdt"),
}


async def send_all(engine, chunk, delay, *, start=0, stop=None):
    """Predict each row, then tell the label of the row ``delay`` rows before; give what was answered."""
    said = []
    y = chunk.y.tolist()
    flat = chunk.X.reshape(len(chunk), -1)
    for r in range(start, len(chunk) if stop is None else stop):
        given = await engine.records(flat[r : r + 1])
        said.append((given.first, given.classes, np.frombuffer(given.proba)))
        if r >= delay and (given.first == r):
            await engine.labels([y[r - delay]], tickets=[r - delay])
    return said


def compare(said, kept, classes):
    """Answers by label are those of the evaluation."""
    for (_, names, proba), row in zip(said, kept, strict=True):
        mine = dict(zip(names, proba, strict=True))
        theirs = dict(zip(classes, row, strict=True))
        assert all(mine.get(label, 0.0) == p for label, p in theirs.items())


@pytest.mark.parametrize("name", CASES)
def test_equals_prequential(tmp_path, name):
    chunk, learner = rows_of(name), CASES[name]()
    stream = stream_of(chunk)
    result = prequential(stream, learner, delay=DELAY, keep=True)

    async def through():
        engine = Engine(CASES[name](), tmp_path / "a", schema=stream.schema, every="each", sync="never")
        await engine.start()
        said = await send_all(engine, chunk, DELAY)
        model, policy, metrics = engine.learning.learner, engine.book.policy, engine.learning.metrics
        await engine.stop()
        return said, model, policy, metrics

    said, model, policy, _ = asyncio.run(through())
    kept = result.predictions
    compare(said, kept.proba, kept.classes)
    if learner.asks:
        assert bits(policy) == bits(learner.policy)
        learner = learner.model
    assert bits(model) == bits(learner)


@pytest.mark.parametrize("name", ["arf", "sdf@0.5"])
def test_records_with_labels_are_test_then_train(tmp_path, name):
    chunk, learner = rows_of(name), CASES[name]()
    stream = stream_of(chunk)
    prequential(stream, learner)

    async def through():
        engine = Engine(CASES[name](), tmp_path, schema=stream.schema, every="each", sync="never")
        await engine.start()
        for at in range(0, len(chunk), 50):
            await engine.learn(chunk.X[at : at + 50], chunk.y[at : at + 50].tolist())
        await engine.in_learner(lambda: None)
        model = engine.learning.learner
        await engine.stop()
        return model

    assert bits(asyncio.run(through())) == bits(learner.model if learner.asks else learner)


@pytest.mark.parametrize("sync", ["always", "interval", "never"])
def test_recovery_gives_the_same_bits(tmp_path, sync):
    n = 200 if sync == "always" else 1_000  # each of them waits for the disk
    chunk, cuts = SEA(seed=3).read(n), [n // 60, n // 3, n // 3 + 1, 3 * n // 4]
    order = np.random.default_rng(1).permutation(n).tolist()

    async def part(folder, cuts):
        """Send records and labels; stop without a word at each cut, and go on from the folder."""
        state = None
        for start, stop in itertools.pairwise([0, *cuts, n]):
            engine = Engine(
                make_learner("arf(size=3)"), folder, shadows={"tree": make_learner("hoeffding-tree")}, sync=sync,
                every=50, snapshot_rows=n // 8, strategy=AVU(budget=0.6),
            )  # fmt: skip
            await engine.start()
            if engine.book.schema is None:
                await engine.grow(Schema.numeric(3))
            for r in range(start, stop):
                await engine.records(chunk.X[r : r + 1], ids=[f"row {r}"], key=f"r{r}")
                await engine.labels([int(chunk.y[order[r]])], ids=[f"row {order[r]}"], key=f"l{r}")
            await engine.in_learner(lambda: None)
            assert engine.learning.trouble is None
            model, shadow, book = engine.learning.learner, engine.learning.shadows[0], engine.book
            state = bits(model), bits(shadow.learner), book.counts(), bits(book.policy), engine.learning.learned
            if engine.duties.writing is not None:
                await engine.duties.writing
            for task in list(engine._tasks):  # as if it had been killed: nothing more is written
                task.cancel()
            engine.close()
        return state

    whole, cut = asyncio.run(part(tmp_path / "a", [])), asyncio.run(part(tmp_path / "b", cuts))
    # answers come from versions, whose moments depend on time: what is compared is what each of the two journals says
    assert whole[2].given == cut[2].given == n
    assert whole[2].answered == cut[2].answered == n

    async def again(folder):
        engine = Engine(
            make_learner("arf(size=3)"), folder, shadows={"tree": make_learner("hoeffding-tree")}, sync=sync,
            every=50, strategy=AVU(budget=0.6),
        )  # fmt: skip
        model, shadow, book = engine.learning.learner, engine.learning.shadows[0], engine.book
        state = bits(model), bits(shadow.learner), book.counts(), bits(book.policy), engine.learning.learned
        engine.close()
        return state

    assert asyncio.run(again(tmp_path / "a")) == whole
    assert asyncio.run(again(tmp_path / "b")) == cut


def test_repeated_requests_change_nothing(tmp_path):
    chunk = SEA(seed=3).read(20)

    async def through():
        engine = Engine(make_learner("naive-bayes"), tmp_path, schema=SEA().schema, sync="never", every="each")
        await engine.start()
        a = await engine.records(chunk.X, key="k")
        b = await engine.records(chunk.X, key="k")
        assert a == b
        assert engine.book.counts().given == 20
        one = await engine.labels([1, 0, 1], tickets=[0, 0, 99], key="l")
        assert (one.learned, one.repeated, one.unknown) == (1, [0], [99])
        assert await engine.labels([1, 0, 1], tickets=[0, 0, 99], key="l") == one
        early = await engine.labels([1], ids=["later"])
        assert early.early == ["later"]
        await engine.records(chunk.X[:1], ids=["later"])
        assert engine.book.counts().answered == 2
        refused = await engine.labels(["text"], tickets=[1])
        assert "one of the declared classes" in refused.refused or "one type" in refused.refused
        await engine.stop()

    asyncio.run(through())


def test_a_full_disk_stops_learning_and_not_answers(tmp_path):
    chunk = SEA(seed=3).read(500)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    async def through():
        engine = Engine(make_learner("naive-bayes"), tmp_path, schema=SEA().schema, sync="never", every="each")
        await engine.start()
        await engine.learn(chunk.X, chunk.y.tolist())
        resource.setrlimit(resource.RLIMIT_FSIZE, (engine.journal.nbytes + 10_000, hard))
        try:
            with pytest.raises(UnavailableError, match="cannot be written"):
                await engine.learn(chunk.X.repeat(10, axis=0), chunk.y.repeat(10).tolist())
            with pytest.raises(UnavailableError):
                await engine.labels([1], tickets=[0])
            given = await engine.records(chunk.X[:3])
            assert given.first == -1
            assert len(np.frombuffer(given.proba)) == 6
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        for _ in range(60):
            await asyncio.sleep(0.05)
            if engine.trouble is None:
                break
        assert (await engine.learn(chunk.X, chunk.y.tolist())).learned == 500
        await engine.in_learner(lambda: None)
        model = bits(engine.learning.learner)
        await engine.stop()
        again = Engine(make_learner("naive-bayes"), tmp_path, sync="never", every="each")
        assert bits(again.learning.learner) == model
        again.close()

    asyncio.run(through())


def test_a_ceiling_of_the_folder_is_kept(tmp_path):
    chunk = SEA(seed=3).read(2_000)

    async def through():
        engine = Engine(make_learner("naive-bayes"), tmp_path, schema=SEA().schema, sync="never", max_disk=1 << 24)
        await engine.start()
        refused = most = 0
        for _ in range(400):
            try:
                await engine.learn(chunk.X, chunk.y.tolist())
            except UnavailableError:
                refused += 1
                await asyncio.sleep(0.1)
            with contextlib.suppress(FileNotFoundError):  # files come and go meanwhile
                most = max(most, sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()))
        await engine.stop()
        assert most < 1.2 * (1 << 24)
        assert refused < 200  # how many depends on how fast the disk takes snapshots; it always goes on

    asyncio.run(asyncio.wait_for(through(), 120.0))


def test_a_shadow_is_promoted_by_its_test(tmp_path):
    chunk = SEA(seed=3).read(3_000)

    async def through():
        engine = Engine(
            make_learner("majority"), tmp_path, shadows={"tree": make_learner("hoeffding-tree")}, sync="never",
            schema=SEA().schema, promote=Contest(labels=1_000, alpha=0.001),
        )  # fmt: skip
        await engine.start()
        for at in range(0, 3_000, 100):
            await engine.learn(chunk.X[at : at + 100], chunk.y[at : at + 100].tolist())
            await engine.in_learner(lambda: None)
        assert engine.learning.name == "tree"
        assert [event.kind for event in engine.learning.events].count("promotion") == 1
        position = await engine.snapshot()
        before = bits(engine.learning.learner)
        await engine.learn(chunk.X[:100], chunk.y[:100].tolist())
        await engine.roll_back(position, "a test")
        assert bits(engine.learning.learner) == before
        await engine.stop()
        again = Engine(
            make_learner("majority"), tmp_path, shadows={"tree": make_learner("hoeffding-tree")}, sync="never",
        )  # fmt: skip
        assert again.learning.name == "tree"
        assert bits(again.learning.learner) == before
        again.close()

    asyncio.run(through())


def test_whoever_goes_away_does_not_stop_the_learning(tmp_path):
    """A request that was given up, and a stop while a snapshot is being made: nobody waits for ever."""

    async def through():
        engine = Engine(make_learner("naive-bayes"), tmp_path, schema=SEA().schema, sync="never")
        await engine.start()
        gate = threading.Event()
        first = asyncio.create_task(engine.in_learner(gate.wait))
        gone = asyncio.create_task(engine.in_learner(lambda: 1))
        await asyncio.sleep(0.05)
        gone.cancel()
        await asyncio.sleep(0)
        gate.set()
        await first
        assert await engine.in_learner(lambda: 2) == 2
        gate.clear()
        held = asyncio.create_task(engine.in_learner(gate.wait))
        await engine.learn(SEA(seed=3).read(10).X, [0, 1] * 5)
        engine.duties.snapshot_if_due(now=True)
        await asyncio.sleep(0.01)
        stopping = asyncio.create_task(engine.stop())
        await asyncio.sleep(0.01)
        gate.set()
        await stopping
        await held

    asyncio.run(asyncio.wait_for(through(), 60.0))


def test_a_defect_of_learning_is_told_and_nobody_waits(tmp_path, monkeypatch):
    chunk = SEA(seed=3).read(20)

    async def through():
        engine = Engine(make_learner("naive-bayes"), tmp_path, schema=SEA().schema, sync="never")
        await engine.start()
        await engine.learn(chunk.X, chunk.y.tolist())
        await engine.in_learner(lambda: None)

        def broken(_work):
            raise RuntimeError("a defect")

        monkeypatch.setattr(engine.learning, "carry_out", broken)
        await engine.learn(chunk.X, chunk.y.tolist())
        with pytest.raises(UnavailableError, match="learning failed: a defect"):
            await engine.in_learner(lambda: None)
        with pytest.raises(UnavailableError, match="learning failed: a defect"):
            await engine.learn(chunk.X, chunk.y.tolist())
        assert (await engine.records(chunk.X[:3])).first == -1
        await engine.stop()
        again = Engine(make_learner("naive-bayes"), tmp_path, sync="never")  # what was acknowledged is in the journal
        assert again.learning.learned == 40
        again.close()

    asyncio.run(asyncio.wait_for(through(), 60.0))


def test_records_before_a_schema_are_refused_with_a_sentence(tmp_path):
    chunk = SEA(seed=3).read(20)

    async def through():
        engine = Engine(make_learner("naive-bayes"), tmp_path, sync="never", every="each")
        await engine.start()
        with pytest.raises(ValueError, match="records must come after a schema"):
            await engine.records(chunk.X)
        assert "after a schema" in (await engine.learn(chunk.X, chunk.y.tolist())).refused
        await engine.grow(Schema.numeric(3))
        with pytest.raises(ValueError, match="at most the 3 features of the schema, got 4"):
            await engine.records(np.zeros((2, 4)))
        both = await asyncio.gather(*(engine.records(np.zeros((1, w))) for w in (3, 4, 4, 3)), return_exceptions=True)
        assert [type(each).__name__ for each in both] == ["Given", "ValueError", "ValueError", "Given"]
        assert (await engine.learn(chunk.X, chunk.y.tolist())).learned == 20
        assert engine.book.counts().given == 2
        await engine.stop()
        again = Engine(make_learner("naive-bayes"), tmp_path, sync="never", every="each")
        assert (again.learning.learned, again.book.counts().given, again.book.refused) == (20, 2, 5)
        again.close()

    asyncio.run(through())


def test_a_field_that_joins_between_answers_does_not_hinder_a_start(tmp_path):
    async def story(folder):
        engine = Engine(make_learner("no-change"), folder, sync="never", schema=NARROW)
        await engine.start()
        for _ in range(300):
            await engine.records(np.zeros((1, 1)))
        await engine.grow(WIDE)
        await engine.learn(np.zeros((1, 2)), ["yes"])
        await engine.in_learner(lambda: None)
        state = engine.learning.state()[0]
        engine.journal.bring_to_disk()
        shutil.copytree(folder, tmp_path / "copy")
        await engine.stop()
        return state

    before = asyncio.run(story(tmp_path / "first"))
    again = Engine(make_learner("no-change"), tmp_path / "copy", schema=NARROW)
    assert again.replayed > 300
    assert again.learning.learned == 1
    assert sorted(before) == sorted(again.learning.state()[0])
    again.close()
