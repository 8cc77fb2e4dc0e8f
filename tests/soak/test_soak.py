"""The short part of what ``make soak`` does for hours."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from soak import kills, mutations, verbs
from thalweg import registry

HERE = Path(__file__).resolve().parents[1]
SPECIMENS = [name for name in mutations.specimens() if not name.endswith("(grown)")]
"""To grow the others takes minutes with the compiler off: ``make soak`` has them too."""
GROUPS = 6


@pytest.mark.parametrize("group", range(GROUPS))
def test_changed_tables_are_refused_or_harmless(group):
    """With the compiler off every index is checked."""
    names = SPECIMENS[group::GROUPS]
    command = [sys.executable, "-W", "ignore", "-m", "soak.mutations", "--here", "--each", "12", "--rows", "15",
               "--seed", "11", "--only", *names]  # fmt: skip
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=env, cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-800:]
    assert done.stdout.count(" refused") + done.stdout.count(" used") >= len(names)


def test_a_wrong_index_is_found():
    """The fuzzer itself: a class that trusts its file is caught."""
    code = """
        import numpy as np, thalweg
        from soak import mutations

        class Trusting(thalweg.NoChange):
            def _adopt(self, tables, schema, classes):
                self._last = tables["last"]

            def _play(self, X, y, w, events, out, known):
                super()._play(X, y, w, events, out, known)
                out[:, self._last[0]]

        learner = Trusting().partial_fit(np.zeros((4, 2)), ["a", "b", "a", "b"])
        found = []
        for number in range(200):
            try:
                mutations.attempt(learner, {}, 1, number, 4)
            except IndexError:
                found.append(number)
        print(len(found) > 0)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "True", done.stderr[-800:]


@pytest.mark.parametrize("name", ["naive-bayes", "knn", "arf", "ball-cover-plus", "ckdt", "csb-knn"])
def test_anything_at_all_is_taken_or_refused(name):
    assert not verbs.try_learner(name, 150, seed=11)


@pytest.mark.parametrize("ending", verbs.READERS)
def test_damaged_files_are_refused(ending):
    command = [sys.executable, "-m", "soak.verbs", "--here", "--calls", "150", "--seed", "11", "--only", ending]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-800:]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("work", ["run", "trainer", "save"])
def test_kills_lose_nothing(work):
    command = [sys.executable, "-m", "soak.kills", "--kills", "8", "--seed", "11", "--only", work]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-800:]
    assert "nothing lost" in done.stdout


def test_every_learner_is_a_specimen():
    assert set(registry.LEARNERS) <= set(SPECIMENS)
    assert set(kills.WORKS) == {"run", "trainer", "save", "compare"}
