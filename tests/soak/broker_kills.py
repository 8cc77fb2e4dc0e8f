"""Kill a run with SIGKILL at random moments while it learns from a broker and answers to it; start it again each time.

    python -m soak.broker_kills --kills 100                         # each of Redis, NATS, Kafka (real servers)
    python -m soak.broker_kills --kills 30 --only redis --seed 3

At the end the model has the bits of one that was never killed, every record was learned once, and the topic of answers
has each answer once, in order, with the probabilities that the run that was never killed gave.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import live_brokers
import thalweg
from streams_rows import bits_of, rows
from thalweg import MessageStream, prequential
from thalweg.keeping.arrays_file import read_arrays

EVERY = 400


def learn(address, to, path):
    """Learn the topic from wherever the checkpoint stands."""
    model = thalweg.HoeffdingTree(grace_period=50)
    stream = MessageStream(address, key="id")
    result = prequential(
        stream, model, every=500, chunk=50, checkpoint=path, checkpoint_every=EVERY,
        resume=path is not None and path.exists(), to=to, keep=path is None,
    )  # fmt: skip
    return model, result


def torment(broker, kills, n, random):
    """Kill up to so many times while one topic is learned; give how often, or -1 where something did not hold."""
    topic, out = live_brokers.topic(broker), live_brokers.topic(broker, "answers")
    topic.send([json.dumps({k: v for k, v in r.items() if v is not None}).encode() for r in rows(n).to_pylist()])
    expected, whole = learn(topic.address, None, None)
    folder = Path(tempfile.mkdtemp())
    path = folder / "run.ckpt"
    done = starts = 0
    typical = 1.0
    ended = False
    while not ended:
        begun, starts = time.monotonic(), starts + 1
        child = os.fork()
        if child == 0:
            code = 1
            try:
                model, _ = learn(topic.address, out.address, path)
                thalweg.save(model, folder / "model")
                code = 0
            finally:
                os._exit(code)
        if done < kills:
            time.sleep(random.uniform(0.0, typical))
            if os.waitpid(child, os.WNOHANG) == (0, 0):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                done += 1
                far = int(read_arrays(path)[0]["run.counts"][0]) if path.exists() else 0
                # as fast as there is work left for the kills that are left
                typical = 1.3 * typical if far / n < done / kills else 0.7 * typical
                typical = min(max(typical, 0.05), 8.0)
                continue
            ended = True
        else:
            _, status = os.waitpid(child, 0)
            if status:
                print(f"{broker}: the last start failed after {time.monotonic() - begun:.1f} s", flush=True)
                return -1
            ended = True
    model = thalweg.load(folder / "model")
    answers = [json.loads(value) for _, value in out.answers()]
    same = bits_of(model) == bits_of(expected)
    once = [a["key"] for a in answers] == [f"r{i}" for i in range(n)]
    right = [a["label"] for a in answers] == whole.predictions.prediction.tolist() and np.array_equal(
        [max(a["proba"].values(), default=0.0) for a in answers], whole.predictions.probability
    )
    told = "once each, in order" if once else "LOST OR DOUBLED"
    print(f"{broker}: {done} kills in {starts} starts, {n:,} records, {len(answers):,} answers; "
          f"model {'bit-equal' if same else 'DIFFERS'}; answers "
          f"{told}, {'as never killed' if right else 'OTHER VALUES'}", flush=True)  # fmt: skip
    return done if same and once and right else -1


def main():
    """Kill; the exit code is 0 where nothing was lost or doubled."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--rows", type=int, default=20_000)
    options.add_argument("--only", nargs="*", default=["redis", "nats", "kafka"])
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    random = np.random.default_rng(given.seed)
    held = []
    try:
        for broker in given.only:
            if isinstance(why := live_brokers.server(broker), str):
                print(f"{broker}: left out: {why}", flush=True)
            else:
                total = 0
                while total < given.kills and (not held or held[-1]):
                    done = torment(broker, given.kills - total, given.rows, random)
                    held.append(done >= 0)
                    total += done
                print(f"{broker}: {total} kills in all", flush=True)
    finally:
        live_brokers.stop_all()
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
