"""The tensor drift detector, written plainly: arrays, one tensor at a time, nothing kept in parts."""

import numpy as np


class TensorDrift:
    """rule, window, norm: as in TensorDriftDetector. Levels of arrays, one at a time."""

    def __init__(self, rule="cusum", window=100, norm=True):
        self.rule, self.w, self.norm = rule, window, norm
        self.tensors, self.ready, self.changes = [], False, 0

    def reference(self, tensors):
        self.tensors, self.ready = [np.array(A) for A in tensors], True
        w = len(self.tensors)
        self.mean = np.mean(self.tensors, axis=0)
        self.distances = [w / (w - 1) * np.linalg.norm(A - self.mean) for A in self.tensors]
        self.logs = [np.log(np.linalg.norm(A)) for A in self.tensors]
        self.sums = np.zeros(3)

    def update(self, A):
        if not self.ready:
            self.tensors.append(np.array(A))
            if len(self.tensors) == self.w:
                self.reference(self.tensors)
            return 0
        level = self.by_cusum(A) if self.rule == "cusum" else self.by_paper(A)
        if level == 2:
            self.tensors, self.ready = [], False
            self.changes += 1
        return level

    def by_cusum(self, A):
        far = standing(np.linalg.norm(A - self.mean), self.distances)
        size = standing(np.log(np.linalg.norm(A)), self.logs)
        z = np.array([far, size, -size])
        self.sums = np.maximum(0.0, self.sums + np.minimum(z, 4.0) - 0.5)
        top = self.sums.max() if self.norm else self.sums[0]
        return 2 if top > 15 else 1 if top > 5 else 0

    def by_paper(self, A):
        far = np.linalg.norm(A - np.mean(self.tensors, axis=0))
        z = standing(far, self.distances)
        if z >= 3:
            return 2
        self.tensors, self.distances = [*self.tensors[1:], np.array(A)], [*self.distances[1:], far]
        return 1 if z >= 1 else 0


def standing(value, usual):
    return (value - np.mean(usual)) / np.std(usual, ddof=1)
