"""The command ``thalweg warmup``: compile everything beforehand."""

import time

from thalweg import registry
from thalweg.cli import shared


def warmup() -> None:
    """Compile everything now, once, so that no later command waits for it."""
    import numpy as np

    from thalweg.cli.demo import drifting_stream
    from thalweg.evaluate.prequential import prequential
    from thalweg.streams.memory import ArrayStream

    begun = time.perf_counter()
    rng = np.random.default_rng(1)
    images, digits = rng.random((2_000, 8, 8)), rng.integers(0, 10, 2_000)
    with shared.progress() as watch:
        for name, entry in registry.LEARNERS.items():
            tensors = getattr(entry.cls, "tensors", False)
            stream = ArrayStream(images, digits) if tensors else drifting_stream(2_000, seed=1)
            prequential(stream, entry.make(), limit=2_000, delay=10, on_progress=watch(name))
        for name, entry in registry.STREAMS.items():
            if name == "image-drift":  # reads a data set, which may not be there
                continue
            prequential(entry.make(), registry.LEARNERS["majority"].make(), limit=2_000, on_progress=watch(name))
        for entry in registry.DETECTORS.values():
            entry.make().update_many(np.zeros(100))
    print(f"compiled in {time.perf_counter() - begun:.1f} s; kept for later runs")
