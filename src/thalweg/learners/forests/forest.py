"""What all forests share: a pool of trees in shards, members, detectors and threads.

A forest is a resampling rule and a replacement rule. Its class says which, in a ``Plan``; the rest is here.
"""

import os
from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thalweg.core import params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.fields import again, choice, fixed, free, number, whole
from thalweg.core.in_use import looks
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.frozen.frozen_forest import FrozenForest
from thalweg.index.sources import plain_sides
from thalweg.jit.compile import uncompiled
from thalweg.jit.random import seeded
from thalweg.learners.deep.outputs_jit import LAST
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.one_row import ALONE, OneRow
from thalweg.learners.forests.plan import Plan
from thalweg.learners.forests.view import History, Member, look
from thalweg.learners.forests.walking import walk
from thalweg.pool.explanation import Explanation, explain, way_down
from thalweg.pool.importances import WithImportances, split_gains
from thalweg.pool.leaf_jit import L_PATCH
from thalweg.pool.pool import Pool
from thalweg.pool.rules import Growing, Rules
from thalweg.show.tree_picture import View

_WORTH_A_THREAD = 4_000  # steps of a member


@dataclass(frozen=True, slots=True)
class _Shard:
    """Some members and the pool their trees lie in."""

    first: int
    """The number of its first member."""
    pool: Pool
    team: m.Members
    """As compiled code takes them, in the order of ``Team``."""

    @property
    def members(self) -> Floats:
        """A row for each member."""
        return self.team[0]


def check_jobs(name: str, value: Any) -> None:
    """Refuse anything but a number of threads, or -1."""
    params.whole(name, value, least=-1)
    if value == 0:
        raise ValueError(f"{name} must be a number of threads, or -1 for one on each core, got 0")


class Forest(Growing, WithImportances, Classifier):
    """A pool of trees, a rule that samples rows for each, and a rule that replaces the failing."""

    missing = "native"

    most_shards: int = fixed(16)
    """Its trees lie in up to so many pools, about eight members in each, which threads can take on at once. Whoever
    holds the forest may set another number before the first row."""

    __slots__ = ("_apart", "_arrays", "_how", "_plan", "_shards", "_spare")

    size: int = whole(default=10, doc="Number of members.", least=1, most=100_000)
    binary_splits: bool = again(default=True)
    null_merit: Literal["zero", "moa"] = choice(
        default="moa", doc="Merit of not splitting: 0 (the paper), or minus infinity (MOA)."
    )
    smoothing: float = number(
        default=0.0,
        doc="Share of an attribute's range that is added to the spread of each class in a leaf.",
        least=0,
        most=1,
    )
    limit_bytes: int | None = whole(
        default=None,
        doc="The model never takes more: the least promising leaves of all members stop observing. None: no limit.",
        least=1024,
    )
    seed: int = whole(default=1, doc="Random seed.", least=0)
    n_jobs: int = free(
        default=1, doc="Threads (-1: one on each core); they change nothing but the time.", check=check_jobs
    )

    def _tree_rules(self, subspace: int | None = None) -> Rules:
        """How the trees grow. subspace: features that a leaf, or a tree with a patch, looks at; None: all."""
        return self._rules(subspace=subspace, limit_bytes=None)

    @abstractmethod
    def _make_plan(self, d: int) -> Plan:
        """Say what the forest is made of, for records of d features."""

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        plan, size = self._make_plan(schema.n_features), int(self.size)
        parts = plan.parts(size, self.most_shards)
        fore, back, dice = seeded(self.seed, 3 * size).reshape(3, size)
        arrays = plan.new_members(size, parts) | {"dice": dice.copy()}
        patches = plan.deal(schema.n_features, size, self.seed) if plan.patches else None

        def new_pool(part: slice, rules: Rules) -> Pool:
            trees = np.concatenate([fore[part], back[part]])
            own = None if patches is None else np.concatenate([patches[part], patches[part]])
            return Pool(rules, schema, len(trees), trees, patches=own, need=plan.need)

        try:
            pools = [new_pool(part, self._share(plan, arrays, len(parts))) for part in parts]
        except ValueError:  # limit_bytes is too small: say how much all shards need
            if self.limit_bytes is None:
                raise
            widest = max(parts, key=lambda part: part.stop - part.start)
            least = new_pool(widest, plan.rules).least_bytes * len(parts) + sum(a.nbytes for a in arrays.values())
            raise ValueError(
                f"limit_bytes must be at least {least} for {schema.n_features} features and {size} members, "
                f"got {self.limit_bytes}"
            ) from None
        self._settle_in(plan, schema, arrays, pools, parts)

    def _adopt(self, tables: State, schema: Schema, classes: int) -> None:
        size = int(self.size)
        arrays = {name: tables[name] for name in ("members", "dice", "warn", "drift")}
        plan = self._make_plan(schema.n_features)
        if plan.rules.subspace is not None and tables["watched.0"].ndim == 3:  # it was chosen for the first features
            plan = replace(plan, rules=replace(plan.rules, subspace=max(1, tables["watched.0"].shape[1])))
        if plan.patches and len(tables["layout.0"]) == L_PATCH:  # it began with so few features that trees see all
            plan = replace(plan, patches=False, rules=replace(plan.rules, subspace=None))
        shards = max(1, len({name.rpartition(".")[2] for name in tables.keys() - arrays.keys()}))
        parts = plan.parts(size, shards)
        plan.check(arrays, size, parts)
        rules, seen = self._share(plan, arrays, len(parts)), m.SIDES if plan.codes else classes
        pools = []
        for g, part in enumerate(parts):
            own = {name: tables[f"{name}.{g}"] for name in Pool.TABLES}
            trees = 2 * (part.stop - part.start)
            pools.append(Pool.adopt(rules, own, schema, seen, trees, need=plan.need))
            if (len(pools[-1].layout) > L_PATCH) != plan.patches:
                raise ValueError("its tables do not fit each other")
        self.most_shards = shards
        self._settle_in(plan, schema, arrays, pools, parts)

    def _settle_in(self, plan: Plan, schema: Schema, arrays: State, pools: list[Pool], parts: list[slice]) -> None:
        self._plan, self._arrays = plan, arrays
        self._how, odds = plan.to_array(), m.odds(plan.rate)
        rules = [np.zeros(1) if d is None else d.rules() for d in (plan.warning, plan.drift)]
        self._shards = []
        for pool, part in zip(pools, parts, strict=True):
            team = m.Team(
                members=arrays["members"][part], dice=arrays["dice"][part], warn=arrays["warn"][part],
                drift=arrays["drift"][part], odds=odds, warn_rules=rules[0], drift_rules=rules[1], how=self._how,
            )  # fmt: skip
            self._shards.append(_Shard(part.start, pool, team[:]))
        self._look_over(schema)

    def _share(self, plan: Plan, arrays: State, shards: int) -> Rules:
        """The rules of one pool: each shard gets the same part of the memory."""
        if self.limit_bytes is None:
            return plan.rules
        left = int(self.limit_bytes) - sum(a.nbytes for a in arrays.values())
        return replace(plan.rules, limit_bytes=max(0, left) // shards)

    def _look_over(self, schema: Schema) -> None:
        """May members play a chunk one after the other? Not where they share a memory, or meet values in turn."""
        self._spare: list[OneRow] = []
        self._apart = self._plan.apart and self.limit_bytes is None and not any(f.open for f in schema.features)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if len(events) == len(X) == 1 and self._play_row(X, y, w, events.item(0) < 0, out, known):
            return
        if self.n_jobs == 1 or len(self._shards) == 1:
            self._play_alone(X, y, w, events, out, known)
        else:
            play_together([self], X, y, w, events, [out], known, self.n_jobs)

    def _play_row(self, X: Floats, y: Ints, w: Floats, learns: bool, out: Floats, known: int) -> bool:
        """Predict the one row of X, or learn it, in one compiled call; False: that is not to be had."""
        spare, classes = self._spare, out.shape[1]
        one = spare.pop() if spare else None  # of threads at once each has one
        if one is None or one.classes != classes:
            one = None if worth_threads([self], 1, self.n_jobs) else OneRow.of([[self]], ALONE, classes)
        if one is None or not one.play(X, y, w, learns, out, known):
            return False
        spare.append(one)
        return True

    def _play_alone(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        """Play all shards in this thread."""
        shape = int(events[0] >= 0) if len(events) == 1 else int(np.count_nonzero(events >= 0)), out.shape[1]
        self._write([self._play_shard(s, X, y, w, events, shape, known) for s in self._shards], y, events, known, out)

    def _play_shard(
        self, shard: _Shard, X: Floats, y: Ints, w: Floats, events: Ints, shape: tuple[int, int], known: int
    ) -> Floats:
        """Let the compiled routine play all steps; whenever it stops short, grow what it lacks and go on.

        Gives the votes: a row for each event that predicts, as ``shape`` says.
        """
        pool, size, n = shard.pool, len(shard.team[0]), len(events)
        apart, done = self._apart or shape[0] == n, 0
        classes = max(known, int(y.max(initial=0)) + 1)
        work = self._work(shard, shape, classes)
        while True:
            done = m.play(pool.bundle, shard.team, X, y, w, events, work, known, done, apart, shard.first)
            if done == size * n:
                return work[0]
            r = ~events[done % n if apart else done // size]
            pool.make_room(X[r], 1 if self._plan.codes else int(y[r]))
            work = work[:2] + self._work(shard, shape, classes)[2:]

    def _work(self, shard: _Shard, shape: tuple[int, int], classes: int) -> m.Space:
        """Make the tables that a call works in; shape: of the votes, for classes up to ``classes``."""
        size, pool = len(shard.team[0]), shard.pool
        now = np.zeros(m.NOW_VOTES + (classes if self._plan.sampling == m.DRAW_BOOST else 0))
        notes = np.empty((size, m.NOTE_COLUMNS), dtype=np.int64)
        notes[:, m.NOTE_ANSWERED] = -1
        return np.zeros(shape), now, np.empty((size + 1, pool.classes)), np.empty((size + 1, pool.work)), notes

    def _play_asking(
        self, X: Floats, y: Ints, w: Floats, asking: Any, why: NDArray[np.int8], out: Floats, known: int
    ) -> int | None:
        alone = np.zeros(0, dtype=np.int64), np.zeros(1), np.array([1.0, 0.0, 0.0, 0.0]), LAST, True
        return walk([[self]], *alone, X, y, w, asking, why, out, known, out.shape[1])

    def _write(self, parts: list[Floats], y: Ints, events: Ints, known: int, out: Floats) -> None:
        """Write the votes of all shards as probabilities."""
        for part in parts[1:]:  # always in this order: sums of floats depend on it
            parts[0] += part
        if len(parts[0]):
            m.write_all(parts[0], y, events, known, out)

    def _extend(self, schema: Schema) -> None:
        subspace = None if self._plan.patches else self._make_plan(schema.n_features).rules.subspace
        for shard in self._shards:
            shard.pool.extend(schema, subspace)
        self._look_over(schema)

    def _rehearse(self) -> None:
        for shard in self._shards[:1]:
            shard.pool.rehearse()
        self._gains()

    def _tables(self) -> State:
        tables = dict(self._arrays)
        for g, shard in enumerate(self._shards):
            own = shard.pool.compact() if self.limit_bytes is None else shard.pool.tables()
            tables |= {f"{name}.{g}": table for name, table in own.items()}
        return tables

    @property
    def state_bytes(self) -> int:
        """Bytes of all tables of the model as a file has them."""
        return sum(self.memory().values()) if self._started else 0

    # -- frozen -------------------------------------------------------------------------------------------------------

    @looks
    def compile(self) -> FrozenForest:
        """Give a predictor that answers as the forest does now, bit for bit, and faster; it learns no more.

        Examples
        --------
        >>> from thalweg import SEA, AdaptiveRandomForest
        >>> chunk = SEA(seed=1).read(5_000)
        >>> forest = AdaptiveRandomForest(size=5).partial_fit(chunk.X, chunk.y)
        >>> bool((forest.compile().predict_proba(chunk.X) == forest.predict_proba(chunk.X)).all())
        True
        """
        if not self._started or self._schema is None:
            raise ValueError("the forest has not seen a row yet: nothing to compile")
        return FrozenForest.of(self._grown_trees(), self._labels, self._schema)

    def _grown_trees(self) -> list[tuple[Pool, int, float, Ints]]:
        """Each member's tree: its pool, its root, the weight of its votes, and which vote is for each class."""
        found, classes = [], len(self._labels)
        for shard in self._shards:
            sides = plain_sides(shard.pool, classes)
            for t, row in enumerate(shard.members):
                if self._plan.codes:
                    sides = np.array([m.code(shard.first + t, c) for c in range(classes)], dtype=np.int64)
                found.append((shard.pool, int(row[m.M_FORE]), self._say(row), sides))
        return found

    # -- looking at it ------------------------------------------------------------------------------------------------

    @property
    def members(self) -> list[Member]:
        """Each member as it is now: depth and leaves of its tree, accuracy, age, warnings and drifts.

        Examples
        --------
        >>> from thalweg import SEA, AdaptiveRandomForest
        >>> chunk = SEA(seed=1).read(5_000)
        >>> forest = AdaptiveRandomForest(size=3).partial_fit(chunk.X, chunk.y)
        >>> [member.drifts for member in forest.members]
        [0, 0, 0]
        """
        return [look(t, view, row) for t, (view, row, _) in enumerate(self._views())]

    @property
    def finds_drifts(self) -> bool:
        """Does it look for drifts, and tell of those it found?"""
        return (self._plan if self._started else self._make_plan(1)).replacing != m.REPLACE_NEVER

    @property
    def n_drifts(self) -> int:
        """How many trees were replaced so far."""
        return self.history.drifts

    @property
    def rows_learned(self) -> int:
        """Rows learned so far."""
        return int(self._arrays["members"][0, m.M_ROWS]) if self._started else 0

    @property
    def replacements(self) -> list[tuple[int, int]]:
        """When trees were replaced: (rows learned before, member), in order of time; the latest 18 of each member."""
        found = []
        for t, row in enumerate(self._arrays["members"] if self._started else ()):
            n = int(row[m.M_DRIFTS])
            found += [(int(at), t) for at in row[m.M_REPLACED : m.M_REPLACED + min(n, m.M_RING)]]
        return sorted(found)

    @property
    def history(self) -> History:
        """Rows learned so far, and how many warnings and replacements there were among all members.

        Examples
        --------
        >>> from thalweg import SEA, AdaptiveRandomForest
        >>> chunk = SEA(seed=1).read(5_000)
        >>> AdaptiveRandomForest(size=3).partial_fit(chunk.X, chunk.y).history
        History(rows=5000, warnings=0, drifts=0)
        """
        if not self._started:
            return History(0, 0, 0)
        members = self._arrays["members"]
        rows, warnings, drifts = members[0, m.M_ROWS], members[:, m.M_WARNINGS].sum(), members[:, m.M_DRIFTS].sum()
        return History(int(rows), int(warnings), int(drifts))

    def _gains(self) -> Floats:
        if not self._started or self._schema is None:
            raise ValueError("the forest has not seen a row yet: nothing to look at")
        gains = np.zeros(self._schema.n_features)
        for shard in self._shards:  # a tree that sees nothing of use counts little
            roots = shard.members[:, m.M_FORE].astype(np.int64)
            gains += split_gains(shard.pool.nodes, shard.pool.tally, roots, len(gains))
        return gains

    @looks
    def explain_one(self, x: Any) -> Explanation:
        """Say why: the rule that fired in each tree, and what each feature added to the probability of each class.

        Examples
        --------
        >>> from thalweg import SEA, OnlineBagging
        >>> chunk = SEA(seed=1, noise=0.0).read(20_000)
        >>> forest = OnlineBagging(size=3).partial_fit(chunk.X, chunk.y)
        >>> why = forest.explain_one(chunk.X[0])
        >>> why.label == forest.predict_one(chunk.X[0])
        True
        """
        views, proba = self._views(), self.predict_proba_one(x)
        X, _ = self._one_row(x, learning=False)
        ways = []
        for t, (view, row, pool) in enumerate(views):
            sides = [int(m.code(t, c)) if self._plan.codes else c for c in range(len(proba))]
            ways.append(way_down(view, pool, X, sides, self._say(row)))
        return explain(views[0][0].schema, proba, ways)

    def memory(self) -> dict[str, int]:
        """Bytes of the model by part: of all rows in use, or under a limit of all that are reserved."""
        if not self._started:
            return {}
        pools = [shard.pool for shard in self._shards]
        sizes = [p.row_bytes for p in pools]
        used = [p.live if self.limit_bytes is None else (len(p.nodes), len(p.stats)) for p in pools]
        return {
            "nodes": sum(nodes * node for (nodes, _), (node, _) in zip(used, sizes, strict=True)),
            "leaves": sum(slots * slot for (_, slots), (_, slot) in zip(used, sizes, strict=True)),
            "detectors": self._arrays["warn"].nbytes + self._arrays["drift"].nbytes,
            "members": self._arrays["members"].nbytes + self._arrays["dice"].nbytes,
            "layout": sum(p.layout.nbytes + p.rng.nbytes + p.head.nbytes for p in pools),
        }

    def _say(self, row: Floats) -> float:
        """The weight of a member's vote."""
        return float(uncompiled(m.say)(row.reshape(1, -1), self._how, 0))

    def _views(self) -> list[tuple[View, Floats, Pool]]:
        """The tree of each member, with its row of ``members``."""
        if not self._started or self._schema is None:
            raise ValueError("the forest has not seen a row yet: nothing to look at")
        labels = ("0", "1") if self._plan.codes else self._labels.values
        return [
            (View(shard.pool.nodes, shard.pool.tally, int(row[m.M_FORE]), self._schema, labels), row, shard.pool)
            for shard in self._shards
            for row in shard.members
        ]


def play_together(
    forests: "Sequence[Forest]", X: Floats, y: Ints, w: Floats, events: Ints, outs: Sequence[Floats], known: int,
    n_jobs: int,
) -> None:  # fmt: skip
    """Let forests that see the same rows carry out the same events; their shards share the threads."""
    pairs = list(zip(forests, outs, strict=True))
    tasks = [(forest, shard, out.shape[1]) for forest, out in pairs for shard in forest._shards]
    jobs = min(_jobs(n_jobs), len(tasks))
    if jobs == 1 or not worth_threads(forests, len(events), jobs):
        for forest, out in pairs:
            forest._play_alone(X, y, w, events, out, known)
        return
    predictions = int(np.count_nonzero(events >= 0))

    def run(task: tuple[Forest, _Shard, int]) -> Floats:
        forest, shard, classes = task
        return forest._play_shard(shard, X, y, w, events, (predictions, classes), known)

    found = list(_threads(jobs, os.getpid()).map(run, tasks))
    for forest, out in pairs:
        forest._write(
            [part for task, part in zip(tasks, found, strict=True) if task[0] is forest], y, events, known, out
        )


def worth_threads(forests: "Sequence[Forest]", events: int, n_jobs: int) -> bool:
    """Is there so much to do that threads gain more than they cost?"""
    return n_jobs != 1 and events * sum(int(forest.size) for forest in forests) >= _WORTH_A_THREAD


@lru_cache(maxsize=4)
def _threads(n: int, _process: int) -> ThreadPoolExecutor:
    """Threads that wait for work as long as this process runs: to start them for each chunk takes time."""
    return ThreadPoolExecutor(n, thread_name_prefix="thalweg")


def _jobs(n_jobs: int) -> int:
    return (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs)
