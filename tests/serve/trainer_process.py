"""A trainer in a process of its own: python trainer_process.py FOLDER KIND VERSIONS. Says what each version is."""

import sys
import time

from thalweg import SEA, AdaptiveRandomForest, ChunkEnsemble, Trainer

BATCH = 250


def make(kind):
    if kind == "forest":
        return AdaptiveRandomForest(size=3), {"every": BATCH}
    return ChunkEnsemble(size=4, chunk=BATCH, index=kind, weights="accuracy"), {}


def batch(k):
    """The k-th rows of the stream, whatever was read before."""
    chunk = SEA(function=1 + k % 4, seed=k).read(BATCH)
    return chunk.X, chunk.y


def main(folder, kind, versions):
    learner, given = make(kind)
    with Trainer(learner, folder, **given) as trainer:
        print("begin", trainer.version, trainer.rows, flush=True)
        while trainer.version < versions:
            trainer.feed(*batch(trainer.rows // BATCH))
            print(trainer.version, time.time(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
