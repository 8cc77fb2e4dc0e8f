"""Eight threads that predict and one that learns with the same learner: a sentence, or right answers, nothing else.

    python -m soak.threads --seconds 20               # every learner, one process each
    python -m soak.threads --seconds 2 --only arf ball-cover

A call that meets a learner in use is refused with a RuntimeError of one sentence. One that is not refused must give
what the learner answers when it is alone: every answer of a thread is compared with those of all states between chunks.
"""

import argparse
import faulthandler
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

from contracts.test_wrappers import labels, rows_for, small
from thalweg import registry

HERE = Path(__file__).resolve()


def attack(name, seconds, readers=8):
    """Let threads use one learner at once; give counts and failures."""
    learner = small(name)
    kinds = rows_for(learner)
    X, y = kinds.get("rows", kinds["tensors"]), labels()
    chunks = [slice(a, a + 6) for a in range(0, 54, 6)]
    learner.partial_fit(X, y)
    learner.predict_proba(X[:4])
    learner.predict_one(X[0])
    answers = [learner.predict_proba(X[:4]).tobytes()]  # of each state, in order
    seen, failures, counts = set(), [], {"answered": 0, "refused": 0, "learned": 0, "learning refused": 0}
    stop, lock = time.monotonic() + seconds, threading.Lock()

    def predict():
        while time.monotonic() < stop and not failures:
            try:
                said = learner.predict_proba(X[:4]).tobytes()
            except RuntimeError as error:
                with lock:
                    counts["refused"] += 1
                if "in use" not in str(error):
                    failures.append(repr(error))
                time.sleep(0.0005)
            except Exception as error:
                failures.append(repr(error))
            else:
                with lock:
                    counts["answered"] += 1
                    seen.add(said)

    threads = [threading.Thread(target=predict) for _ in range(readers)]
    for thread in threads:
        thread.start()
    number = 0
    while time.monotonic() < stop and not failures:
        part = chunks[number % len(chunks)]
        try:
            learner.partial_fit(X[part], y[part])
        except RuntimeError as error:
            counts["learning refused"] += 1
            if "in use" not in str(error):
                failures.append(repr(error))
            time.sleep(0.0002)
        except Exception as error:
            failures.append(repr(error))
        else:
            number += 1
            counts["learned"] += 1
    for thread in threads:
        thread.join()
    single = small(name).partial_fit(X, y)
    for done in range(number):
        part = chunks[done % len(chunks)]
        single.partial_fit(X[part], y[part])
        answers.append(single.predict_proba(X[:4]).tobytes())
    wrong = seen - set(answers)
    if wrong:
        failures.append(f"{len(wrong)} of {len(seen)} different answers belong to no state")
    if {n: t.tobytes() for n, t in single.state().items()} != {n: t.tobytes() for n, t in learner.state().items()}:
        failures.append("the model is another than that of one thread")
    return counts, failures


def main():
    """Attack some learners here, or each in a process of its own."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--seconds", type=float, default=20.0)
    options.add_argument("--only", nargs="*")
    options.add_argument("--here", action="store_true", help="in this process")
    given = options.parse_args()
    names = given.only or list(registry.LEARNERS)
    bad = 0
    for name in names:
        if given.here:
            warnings.simplefilter("ignore")
            faulthandler.enable()
            counts, failures = attack(name, given.seconds)
            print(f"{name}: " + ", ".join(f"{n} {said}" for said, n in counts.items()))
            for line in failures[:5]:
                print(f"    {line}")
            bad += bool(failures)
            continue
        command = [sys.executable, "-m", "soak.threads", "--here", "--only", name, f"--seconds={given.seconds}"]
        done = subprocess.run(command, env=os.environ, cwd=HERE.parents[1], capture_output=True, text=True, check=False)
        print(done.stdout, end="", flush=True)
        if done.returncode not in (0, 1) or (done.returncode and not done.stdout):
            print(f"{name}: ended with {done.returncode}\n    {done.stderr[-1500:]}", flush=True)
        bad += done.returncode != 0
    if not given.here:
        print(f"{bad} of {len(names)} failed")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
