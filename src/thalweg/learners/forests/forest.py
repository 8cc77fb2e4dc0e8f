"""What all forests share: a pool of trees in shards, members, detectors and threads.

A forest is a resampling rule and a replacement rule. Its class says which, in a ``Plan``; the rest is here.
"""

import math
import os
from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from thalweg.core import params
from thalweg.core.classifier import Classifier, Floats, Ints
from thalweg.core.fields import again, choice, free, number, whole
from thalweg.core.protocols import State
from thalweg.core.schema import Schema
from thalweg.detectors.detector import Detector
from thalweg.frozen.frozen_forest import FrozenForest
from thalweg.index.sources import plain_sides
from thalweg.jit.random import seeded
from thalweg.learners.forests import forest_jit as m
from thalweg.learners.forests.view import Member, importances, look, permuted
from thalweg.pool.explanation import Explanation, explain, way_down
from thalweg.pool.leaf_jit import L_PATCH
from thalweg.pool.pool import Pool
from thalweg.pool.rules import Growing, Rules
from thalweg.show.tree_picture import View

SHARDS = 16
"""A forest's trees lie in up to so many pools, about eight members in each, which threads can take on at once."""
_WORTH_A_THREAD = 4_000  # steps of a member
_LISTED = 20  # patches: up to so many features all subsets are listed, and dealt out like cards


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What makes a forest the forest it is. The words are explained in forest_jit.py."""

    rules: Rules
    sampling: int = m.DRAW_POISSON
    rate: float = 1.0
    votes: int = m.VOTE_EQUAL
    replacing: int = m.REPLACE_NEVER
    drift: Detector | None = None
    warning: Detector | None = None
    detect_before: bool = False
    background_sampled: bool = False
    feed_always: bool = False
    codes: bool = False
    gamma: float = 0.0
    variant: int = m.BOOST_PLAIN
    patches: bool = False
    """Has each tree a patch of ``rules.subspace`` features, instead of each leaf?"""
    shards: int = SHARDS

    @property
    def apart(self) -> bool:
        """Do members not look at each other?"""
        return self.replacing != m.REPLACE_WORST and self.sampling != m.DRAW_BOOST

    def to_array(self) -> Floats:
        """The numbers that compiled code reads."""
        how = np.zeros(m.F_RULES)
        how[m.F_SAMPLING], how[m.F_RATE] = self.sampling, self.rate
        how[m.F_VOTES], how[m.F_REPLACE] = self.votes, self.replacing
        how[m.F_WARN] = -1 if self.warning is None else self.warning.code
        how[m.F_DRIFT] = -1 if self.drift is None else self.drift.code
        how[m.F_BEFORE], how[m.F_BACK_POISSON] = self.detect_before, self.background_sampled
        how[m.F_ALL_FED], how[m.F_CODES] = self.feed_always, self.codes
        how[m.F_GAMMA], how[m.F_DECAY], how[m.F_VARIANT] = self.gamma, 0.5 * math.log1p(-self.gamma), self.variant
        return how


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


class Forest(Growing, Classifier):
    """A pool of trees, a rule that samples rows for each, and a rule that replaces the failing."""

    missing = "native"

    __slots__ = ("_apart", "_arrays", "_how", "_plan", "_shards", "_shards_most")

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
    seed: int = whole(default=1, doc="For every random draw.", least=0)
    n_jobs: int = free(
        default=1, doc="Threads (-1: one on each core); they change nothing but the time.", check=check_jobs
    )

    def _prepare(self) -> None:
        self._shards_most = SHARDS

    def _tree_rules(self, subspace: int | None = None) -> Rules:
        """How the trees grow. subspace: features that a leaf, or a tree with a patch, looks at; None: all."""
        return self._rules(subspace=subspace, limit_bytes=None)

    @abstractmethod
    def _make_plan(self, d: int) -> Plan:
        """Say what the forest is made of, for records of d features."""

    def _plan_for(self, schema: Schema) -> Plan:
        return replace(self._make_plan(schema.n_features), shards=self._shards_most)

    # -- what a learner writes ----------------------------------------------------------------------------------------

    def _start(self, schema: Schema) -> None:
        plan, size = self._plan_for(schema), int(self.size)
        seeds = seeded(self.seed, 3 * size)
        arrays = _new_members(plan, size) | {"dice": seeds[2 * size :].copy()}
        patches = _deal(plan, schema.n_features, size, self.seed) if plan.patches else None
        pools = []
        parts, least = _parts(plan, size), 0
        for part in parts:
            trees = np.concatenate([seeds[:size][part], seeds[size : 2 * size][part]])
            own = None if patches is None else np.concatenate([patches[part], patches[part]])
            rules = self._share(plan, arrays)
            free = Pool(replace(rules, limit_bytes=None), schema, len(trees), trees, patches=own, need=_need(plan))
            least = max(least, free.least_bytes)
            if rules.limit_bytes is None:
                pools.append(free)
            elif least <= rules.limit_bytes:
                pools.append(Pool(rules, schema, len(trees), trees, patches=own, need=_need(plan)))
        if len(pools) < len(parts):
            least = least * len(parts) + sum(a.nbytes for a in arrays.values())
            raise ValueError(
                f"limit_bytes must be at least {least} for {schema.n_features} features and {size} members, "
                f"got {self.limit_bytes}"
            )
        self._settle_in(plan, schema, arrays, pools)

    def _adopt(self, tables: State, schema: Schema) -> None:
        size = int(self.size)
        names = ("members", "dice", "warn", "drift")
        arrays = {name: tables[name] for name in names}
        plan = self._plan_for(schema)
        if plan.rules.subspace is not None and tables["watched.0"].ndim == 3:  # it was chosen for the first features
            plan = replace(plan, rules=replace(plan.rules, subspace=max(1, tables["watched.0"].shape[1])))
        if plan.patches and len(tables["layout.0"]) == L_PATCH:  # it began with so few features that trees see all
            plan = replace(plan, patches=False, rules=replace(plan.rules, subspace=None))
        _check_members(plan, arrays, size)
        pools = []
        for g, part in enumerate(_parts(plan, size)):
            own = {name: tables[f"{name}.{g}"] for name in Pool.TABLES}
            trees = 2 * (part.stop - part.start)
            pools.append(Pool.adopt(self._share(plan, arrays), own, schema, trees, need=_need(plan)))
            if (len(pools[-1].layout) > L_PATCH) != plan.patches:
                raise ValueError("its tables do not fit each other")
        self._settle_in(plan, schema, arrays, pools)

    def _settle_in(self, plan: Plan, schema: Schema, arrays: dict[str, Any], pools: list[Pool]) -> None:
        self._plan, self._arrays = plan, arrays
        self._how, odds = plan.to_array(), m.odds(plan.rate)
        rules = [np.zeros(1) if d is None else d.rules() for d in (plan.warning, plan.drift)]
        self._shards = []
        for pool, part in zip(pools, _parts(plan, int(self.size)), strict=True):
            team = m.Team(
                members=arrays["members"][part], dice=arrays["dice"][part], warn=arrays["warn"][part],
                drift=arrays["drift"][part], odds=odds, warn_rules=rules[0], drift_rules=rules[1], how=self._how,
            )  # fmt: skip
            self._shards.append(_Shard(part.start, pool, team[:]))
        self._look_over(schema)

    def _share(self, plan: Plan, arrays: dict[str, Any]) -> Rules:
        """The rules of one pool: each shard gets the same part of the memory."""
        if self.limit_bytes is None:
            return replace(plan.rules, limit_bytes=None)
        left = int(self.limit_bytes) - sum(a.nbytes for a in arrays.values())
        return replace(plan.rules, limit_bytes=max(0, left) // len(_parts(plan, int(self.size))))

    def _look_over(self, schema: Schema) -> None:
        """May members play a chunk one after the other? Not where they share a memory, or meet values in turn."""
        self._apart = self._plan.apart and self.limit_bytes is None and not any(f.open for f in schema.features)

    def _play(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        if self.n_jobs == 1 or len(self._shards) == 1:
            self._play_alone(X, y, w, events, out, known)
        else:
            play_together([self], X, y, w, events, [out], known, self.n_jobs)

    def _play_alone(self, X: Floats, y: Ints, w: Floats, events: Ints, out: Floats, known: int) -> None:
        """Play all shards in this thread."""
        shape = int(np.count_nonzero(events >= 0)), out.shape[1]
        self._write([self._play_shard(s, X, y, w, events, shape, known) for s in self._shards], y, events, known, out)

    def _play_shard(
        self, shard: _Shard, X: Floats, y: Ints, w: Floats, events: Ints, shape: tuple[int, int], known: int
    ) -> Floats:
        """Let the compiled routine play all steps; whenever it stops short, grow what it lacks and go on.

        Gives the votes: a row for each event that predicts, as ``shape`` says.
        """
        pool, size, n = shard.pool, len(shard.team[0]), len(events)
        apart = self._apart or shape[0] == n
        classes = max(known, int(y.max(initial=0)) + 1) if self._plan.sampling == m.DRAW_BOOST else 0
        sums, now, done = np.zeros(shape), np.zeros(m.NOW_VOTES + classes), 0
        while True:
            work = (sums, now, np.empty((size, pool.classes)), np.empty(pool.work), np.empty((size, 4), np.int64))
            done = m.play(pool.bundle, shard.team, X, y, w, events, work, known, done, apart, shard.first)
            if done == size * n:
                return sums
            r = ~events[done % n if apart else done // size]
            pool.make_room(X[r], 1 if self._plan.codes else int(y[r]))

    def _write(self, parts: list[Floats], y: Ints, events: Ints, known: int, out: Floats) -> None:
        """Write the votes of all shards as probabilities."""
        for part in parts[1:]:  # always in this order: sums of floats depend on it
            parts[0] += part
        if len(parts[0]):
            m.write_all(parts[0], y, events, known, out)

    def _extend(self, schema: Schema) -> None:
        subspace = None if self._plan.patches else self._plan_for(schema).rules.subspace
        for shard in self._shards:
            shard.pool.extend(schema, subspace)
        self._look_over(schema)

    def _rehearse(self) -> None:
        for shard in self._shards[:1]:
            shard.pool.rehearse()

    def _tables(self) -> State:
        tables = dict(self._arrays)
        for g, shard in enumerate(self._shards):
            own = shard.pool.compact() if self.limit_bytes is None else shard.pool.tables()
            tables |= {f"{name}.{g}": table for name, table in own.items()}
        return tables

    @property
    def state_bytes(self) -> int:
        """Bytes of all tables of the model."""
        return sum(self.memory().values()) if self._started else 0

    # -- frozen -------------------------------------------------------------------------------------------------------

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
    def replacements(self) -> list[tuple[int, int]]:
        """When trees were replaced: (rows learned before, member), in order of time; the latest 18 of each member."""
        found = []
        for t, row in enumerate(self._arrays["members"] if self._started else ()):
            n = int(row[m.M_DRIFTS])
            found += [(int(at), t) for at in row[m.M_REPLACED : m.M_REPLACED + min(n, m.M_RING)]]
        return sorted(found)

    def importances(self, X: Any = None, y: Any = None, *, repeats: int = 3, seed: int = 1) -> dict[str, float]:
        """How much each feature matters, greatest first.

        Without a window: its part in what all splits gain. With one, rows X with labels y: how much accuracy is lost
        when the feature's values are shuffled among the rows.

        Examples
        --------
        >>> from thalweg import SEA, OnlineBagging
        >>> chunk = SEA(seed=1, noise=0.0).read(20_000)
        >>> found = OnlineBagging(size=3).partial_fit(chunk.X, chunk.y).importances()
        >>> list(found)[-1], round(sum(found.values()), 6)
        ('x2', 1.0)
        """
        views = [(view, 1.0) for view, _, _ in self._views()]
        if X is None and y is None:
            return importances(views)
        params.whole("repeats", repeats, least=1)
        params.whole("seed", seed, least=0)
        return permuted(self, X, y, repeats, seed)

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
        """Bytes of the model by part."""
        if not self._started:
            return {}
        pools = [shard.pool for shard in self._shards]
        return {
            "nodes": sum(p.nodes.nbytes + p.tally.nbytes for p in pools),
            "leaves": sum(p.stats.nbytes + p.watched.nbytes for p in pools),
            "detectors": self._arrays["warn"].nbytes + self._arrays["drift"].nbytes,
            "members": self._arrays["members"].nbytes + self._arrays["dice"].nbytes,
            "layout": sum(p.layout.nbytes + p.rng.nbytes + p.head.nbytes for p in pools),
        }

    def _say(self, row: Floats) -> float:
        """The weight of a member's vote."""
        one = getattr(m.say, "py_func", m.say)  # not worth compiling for one number
        return float(one(row.reshape(1, -1), self._how, 0))

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
    if jobs == 1 or len(events) * sum(int(forest.size) for forest in forests) < _WORTH_A_THREAD:
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


@lru_cache(maxsize=4)
def _threads(n: int, _process: int) -> ThreadPoolExecutor:
    """Threads that wait for work as long as this process runs: to start them for each chunk takes time."""
    return ThreadPoolExecutor(n, thread_name_prefix="thalweg")


def _need(plan: Plan) -> int:
    """How many trees one step teaches."""
    return 1 if plan.warning is None else 2


def _parts(plan: Plan, size: int) -> list[slice]:
    """The members of each shard. It depends on the size alone, never on the number of threads."""
    n = min(plan.shards, -(-size // 8)) if plan.apart else 1
    ends = [size * g // n for g in range(n + 1)]
    return [slice(a, b) for a, b in pairwise(ends)]


def _new_members(plan: Plan, size: int) -> dict[str, Any]:
    members = np.zeros((size, m.M_COLUMNS))
    for part in _parts(plan, size):
        n = part.stop - part.start
        members[part, m.M_FORE], members[part, m.M_BACK] = np.arange(n), np.arange(n) + n
    members[:, m.M_ALPHA] = members[:, m.M_EXPERT] = 1.0 / size
    rows = [np.zeros((size, 1)) if d is None else d.new_rows(size) for d in (plan.warning, plan.drift)]
    return {"members": members, "warn": rows[0], "drift": rows[1]}


def _check_members(plan: Plan, arrays: dict[str, Any], size: int) -> None:
    """Refuse tables that no forest of this plan could have."""
    fresh = _new_members(plan, size) | {"dice": seeded(0, size)}
    for name, table in fresh.items():
        given = arrays[name]
        if given.dtype != table.dtype or given.shape != table.shape or not given.flags.c_contiguous:
            raise ValueError(f"its table {name!r} has another type or shape")
    members = arrays["members"]
    counted = members[:, (m.M_GROWS, m.M_ROWS, m.M_BORN, m.M_BACK_BORN, m.M_WARNINGS, m.M_DRIFTS)]
    signed = members[:, (m.M_HIT, m.M_PREFIX_HIT)]
    if (
        not np.isfinite(members).all()
        or (np.delete(members, (m.M_HIT, m.M_PREFIX_HIT), axis=1) < 0.0).any()
        or (np.abs(signed) > 1.0).any()
        or (counted % 1.0).any()
        or (members[:, m.M_GROWS] > (plan.warning is not None)).any()
    ):
        raise ValueError("its table 'members' holds what no forest could")
    for part in _parts(plan, size):
        trees = np.sort(members[part, m.M_FORE : m.M_BACK + 1], axis=None)
        if not np.array_equal(trees, np.arange(len(trees))):
            raise ValueError("its table 'members' holds what no forest could")
    for name, detector in (("warn", plan.warning), ("drift", plan.drift)):
        if detector is not None and not all(detector.fits(arrays[name][t : t + 1]) for t in range(size)):
            raise ValueError(f"its table {name!r} holds what no {type(detector).__name__} could")


def _deal(plan: Plan, d: int, size: int, seed: int) -> Ints:
    """Give each member a patch of k of d features: few features, all subsets in turn; many, subsets at random."""
    k = int(plan.rules.subspace or d)
    draw = np.random.default_rng([seed, d])
    if d <= _LISTED:
        listed = list(combinations(range(d), k))
        rounds = -(-size // math.comb(d, k))
        cards = [listed[i % len(listed)] for i in draw.permutation(rounds * len(listed))[:size]]
    else:
        cards = [tuple(draw.choice(d, k, replace=False)) for _ in range(size)]
    patches = np.zeros((size, d), dtype=np.int64)
    for t, chosen in enumerate(cards):
        patches[t, list(chosen)] = 1
    return patches


def _jobs(n_jobs: int) -> int:
    return (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs)
