"""The feature maps of tensors, written plainly: whole matrices, arrays only."""

import numpy as np


def flattening(A, k):
    return A[:, None] if A.ndim == 1 else np.moveaxis(A, k, 0).reshape(A.shape[k], -1)


def core(A, bases):
    """bases: directions as columns."""
    for k, U in enumerate(bases):
        A = np.moveaxis(np.tensordot(U.T, A, axes=(1, k)), 0, k)
    return A.reshape(-1)


def upright(U):
    """Columns whose largest entry is positive."""
    return U * np.sign(U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])])


def leading(C, r):
    return upright(np.linalg.eigh(C)[1][:, ::-1][:, :r])


class OPOR:
    """M whole: n × n."""

    def __init__(self, vectors, k):
        n = len(vectors[0])
        self.M, self.k, self.t = np.eye(n) * k / n, k, 0
        for x in vectors:
            self.learn(x)

    def learn(self, x):
        n, k = len(x), self.k
        self.t += 1
        x = x / np.linalg.norm(x)
        values, V = np.linalg.eigh(self.M + np.sqrt(k * (n - k) / (n * self.t)) * np.outer(x, x))
        shifts = np.sort(np.concatenate([values, values - 1.0]))  # where the sum has a corner
        sums = np.array([np.clip(values - s, 0, 1).sum() for s in shifts])  # falls from n to 0
        after = int(np.argmax(sums <= k))
        s0, s1, f0, f1 = shifts[after - 1], shifts[after], sums[after - 1], sums[after]
        shift = s0 + (s1 - s0) * (f0 - k) / (f0 - f1)
        self.M = (V * np.clip(values - shift, 0, 1)) @ V.T

    def basis(self):
        return leading(self.M, self.k)


class LRTD:
    def __init__(self, tensors, ranks, rate=0.01, refresh=50):
        self.ranks, self.rate, self.refresh, self.t = ranks, rate, refresh, 0
        modes = range(tensors[0].ndim)
        self.C = [np.mean([flattening(A, k) @ flattening(A, k).T for A in tensors], axis=0) for k in modes]
        self.look()

    def look(self):
        self.bases = [leading(C, r) for C, r in zip(self.C, self.ranks, strict=True)]

    def learn(self, A):
        self.t += 1
        for k, C in enumerate(self.C):
            self.C[k] = (1 - self.rate) * C + self.rate * flattening(A, k) @ flattening(A, k).T
        if self.t % self.refresh == 0:
            self.look()

    def features(self, A):
        return core(A, self.bases)


class LRTCR:
    """errors: False leaves E = 0 and counts every tensor with norm 1."""

    def __init__(self, tensors, ranks, errors=True):
        self.errors, self.shape = errors, tensors[0].shape
        scaled = tensors if errors else [A / np.linalg.norm(A) for A in tensors]
        self.L = LRTD(scaled, ranks).bases
        self.A = [np.zeros((r, r)) for r in ranks]
        self.B = [np.zeros((size, r)) for size, r in zip(self.shape, ranks, strict=True)]
        self.weight = 1 / np.sqrt(max(self.shape))
        for A in tensors:
            self.learn(A)

    def learn(self, X):
        X = X / (np.sqrt(np.mean(X**2)) if self.errors else np.linalg.norm(X))
        E = np.zeros_like(X)
        for step in range(3):
            R = [self.ridge(L, flattening(X - E, k)) for k, L in enumerate(self.L)]
            used = E
            if self.errors and step < 2:
                close = np.mean([self.fold(L @ R[k], k) for k, L in enumerate(self.L)], axis=0)
                E = np.sign(X - close) * np.maximum(np.abs(X - close) - self.weight, 0)
        for k, L in enumerate(self.L):
            self.A[k] += R[k] @ R[k].T
            self.B[k] += flattening(X - used, k) @ R[k].T
            D = self.A[k] + self.weight * np.eye(len(self.A[k]))
            for c in range(L.shape[1]):
                others = sum(L[:, d] * D[d, c] for d in range(L.shape[1]) if d != c)
                L[:, c] = (self.B[k][:, c] - others) / D[c, c]

    def ridge(self, L, columns):
        return np.linalg.inv(L.T @ L + self.weight * np.eye(L.shape[1])) @ L.T @ columns

    def fold(self, matrix, k):
        if len(self.shape) == 1:
            return matrix[:, 0]
        rest = [size for j, size in enumerate(self.shape) if j != k]
        return np.moveaxis(matrix.reshape(self.shape[k], *rest), 0, k)

    def features(self, A):
        bases = []
        for L in self.L:
            Q = np.zeros_like(L)
            for c in range(L.shape[1]):  # Gram and Schmidt
                v = L[:, c] - Q @ (Q.T @ L[:, c])
                v = v - Q @ (Q.T @ v)
                Q[:, c] = v / np.linalg.norm(v)
            bases.append(Q)
        return core(A, bases)
