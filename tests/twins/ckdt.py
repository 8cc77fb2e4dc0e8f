"""CKDT's loop, tensor by tensor, as the paper tells it: features, tree, detector and a buffer, nothing in blocks."""

import numpy as np

from thalweg import ADWIN
from thalweg.detectors.tensor_drift import TensorDriftDetector
from thalweg.learners.tensors.chordal_features import ChordalFeatures
from thalweg.learners.tensors.ckdt import draw
from thalweg.learners.trees.binned import BinnedTrees


class PlainCKDT:
    def __init__(
        self, n_classes, *, landmarks, window, min_rebuild, max_buffer=500, replace="now", guard=False, seed=1
    ):
        self.K, self.s, self.window, self.least, self.most = n_classes, landmarks, window, min_rebuild, max_buffer
        self.replace, self.guarded, self.seed = replace, guard, seed
        self.model = self.trial = None
        self.buffer, self.builds, self.calm, self.refilling, self.learned = [], 0, 0, False, 0
        self.counts = np.zeros(n_classes)
        self.detector, self.guard = TensorDriftDetector(window=window), ADWIN()

    def predict(self, x, model=None):
        model = model or self.model
        if model is None:
            total = self.counts.sum()
            return self.counts / total if total else np.full(self.K, 1 / self.K)
        features, tree = model
        return tree.proba(0, features.transform(x[None]), self.K)[0]

    def learn(self, x, y):
        wrong = int(np.argmax(self.predict(x))) != y
        other = None if self.trial is None else int(np.argmax(self.predict(x, self.trial))) != y
        self.learned += 1
        self.counts[y] += 1
        for model in (self.model, self.trial):
            if model is not None:
                model[1].learn(0, model[0].transform(x[None]), np.array([y]), np.ones(1))
        if other is not None:
            self.compare(wrong, other)
        if self.model is None:
            self.buffer.append((x, y))
            if len(self.buffer) == self.window:
                self.build()
            return
        level = 0
        if not self.refilling:
            level = int(self.detector.update_many(x[None])[0])
            if self.guarded and self.guard.update(float(wrong)):
                level = 2
            self.refilling = level == 2
            self.calm = 0 if level else self.calm + 1
            if self.calm >= self.window:
                self.buffer = []
        if self.refilling or level or self.buffer:
            self.buffer = [*self.buffer, (x, y)][-self.most :]
        if self.refilling and len(self.buffer) >= self.least:
            self.build()

    def compare(self, old_wrong, new_wrong):
        self.wins += old_wrong and not new_wrong
        self.losses += new_wrong and not old_wrong
        ahead = self.wins - self.losses
        if ahead > 0 and ahead**2 > 9 * (self.wins + self.losses):
            self.model, self.trial = self.trial, None
        elif self.learned - self.born >= 2_000:
            self.trial = None

    def build(self):
        X, y = np.array([x for x, _ in self.buffer]), np.array([y for _, y in self.buffer])
        drawn = draw(
            np.random.default_rng([self.seed, self.builds]), X, y, self.s, stratify=True, how=ChordalFeatures()
        )
        features = ChordalFeatures(append_norm=True, seed=self.seed).fit(X[drawn])
        tree = BinnedTrees(tau=0.002)
        tree.begin(0, features.transform(X))
        tree.learn(0, features.transform(X), y, np.ones(len(y)))
        self.detector.reference(X)
        self.guard, self.buffer, self.refilling, self.calm = ADWIN(), [], False, 0
        self.wins = self.losses = 0
        self.builds += 1
        if self.model is None or self.replace == "now":
            self.model = features, tree
        else:
            self.trial, self.born = (features, tree), self.learned
