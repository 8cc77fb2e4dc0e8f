"""Make the golden files: ``make golden``. Prints what differs from the files that were there, learner by learner.

Existing files are replaced only with ``--write``; snapshots of earlier versions are kept as they are (they are what the
tests load), and only learners that have none get one.
"""

import sys

import numpy as np

import thalweg
from golden.scenes import FOLDER, play, snapshot
from thalweg import registry


def difference(name: str, old: np.ndarray, new: np.ndarray) -> str:
    """Say how two tables of probabilities of a learner differ; nothing where they do not.

    Learners of tensors take decompositions from LAPACK, whose last digits differ from one kind of processor to another.
    """
    if old.shape != new.shape:
        return f"shape {old.shape} became {new.shape}"
    least = 1e-11 if registry.LEARNERS[name].cls.tensors else 0.0
    rows = np.flatnonzero((np.abs(old - new) > least).any(axis=1))
    if not len(rows):
        return ""
    answers = int((old.argmax(axis=1) != new.argmax(axis=1)).sum())
    largest = float(np.abs(old - new).max())
    where = f"{len(rows)} of {len(old)} rows differ from row {rows[0]} on"
    return f"{where}, by {largest:.3g} at most; {answers} other answers"


def main() -> None:
    """Play every learner, print the differences, write what is new or asked for."""
    write, names = "--write" in sys.argv, [a for a in sys.argv[1:] if not a.startswith("-")]
    FOLDER.mkdir(exist_ok=True)
    differ = 0
    for name in names or registry.LEARNERS:
        found, path = play(name), FOLDER / f"{name}.npz"
        before = dict(np.load(path)) if path.exists() else {}
        for scene in sorted(found.keys() | before.keys()):
            if scene not in before or scene not in found:
                said = "new" if scene in found else "gone"
            else:
                said = difference(name, before[scene], found[scene])
            if said:
                differ += said != "new"
                print(f"{name} {scene}: {said}", flush=True)
        if write or not path.exists():
            np.savez_compressed(path, **found)
        kept = FOLDER / f"{name}.safetensors"
        if not kept.exists():
            thalweg.save(snapshot(name), kept)
    print(f"{differ} runs differ")


if __name__ == "__main__":
    main()
