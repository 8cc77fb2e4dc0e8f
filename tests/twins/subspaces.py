"""Patch features and class subspaces the plain way: a loop over patches, projections written out, every sum kept."""

import numpy as np


def patch_features(image, tables, cells):
    """Pooled responses of one image (height, width, channels): each patch normalised, filtered by whole filters."""
    (down, across), colours = tables["modes"], tables["colours"]
    side, floor = len(down), tables["floor"][0]
    filters = np.array(
        [
            gain[0] * np.einsum("a,b,k->abk", down[i], across[j], colours[c])
            for (i, j, c), gain in zip(tables["filters"], tables["gains"], strict=True)
        ]
    )
    h, w = image.shape[0] - side + 1, image.shape[1] - side + 1
    responses = np.empty((h, w, len(filters)))
    for r in range(h):
        for v in range(w):
            patch = image[r : r + side, v : v + side]
            patch = (patch - patch.mean()) / np.sqrt(patch.var() + floor)
            responses[r, v] = (filters * patch).sum(axis=(1, 2, 3))
    rows, columns = [np.arange(cells + 1) * n // cells for n in (h, w)]
    pooled = np.empty((cells, cells, len(filters), 2))
    for g in range(cells):
        for k in range(cells):
            cell = responses[rows[g] : rows[g + 1], columns[k] : columns[k + 1]]
            pooled[g, k, :, 0] = np.maximum(cell, 0.0).mean(axis=(0, 1))
            pooled[g, k, :, 1] = np.maximum(-cell, 0.0).mean(axis=(0, 1))
    return pooled.reshape(-1)


class PlainSubspaces:
    """Keeps all rows; finds mean and directions of a class from them when they have grown by a quarter."""

    def __init__(self, dimension, *, rank, softness, prior, window):
        self.p, self.rank, self.softness, self.prior, self.decay = dimension, rank, softness, prior, 1.0 - 1.0 / window
        self.rows, self.fresh, self.found = {}, {}, {}

    def learn(self, z, k, weight=1.0):
        rows = self.rows.setdefault(k, [])
        for row in rows:
            row[0] *= self.decay
        rows.append([weight, z])
        self.fresh[k] = self.fresh.get(k, 0.0) + weight
        if self.fresh[k] >= 0.25 * sum(v for v, _ in rows):
            self.refresh(k)

    def refresh(self, k):
        total, pooled = 0.0, np.zeros((self.p, self.p))
        for c in self.rows:
            n, _, scatter = self.moments(c)
            total, pooled = total + n, pooled + scatter
        pooled /= total
        n, mean, scatter = self.moments(k)
        values, vectors = np.linalg.eigh((scatter + self.prior * pooled) / (n + self.prior))
        best = np.argsort(-values)[: self.rank]
        q = self.softness * np.trace(pooled) / self.p
        rounding = 1e-13 * sum(v * (z @ z) for v, z in self.rows[k]) / n
        variances = np.where(values[best] > rounding, values[best], 0.0)
        self.found[k] = mean, vectors[:, best], variances, q
        self.fresh[k] = 0.0

    def moments(self, k):
        v, Z = np.array([row[0] for row in self.rows[k]]), np.array([row[1] for row in self.rows[k]])
        mean = v @ Z / v.sum()
        return v.sum(), mean, (Z - mean).T @ np.diag(v) @ (Z - mean)

    def residual(self, z, k):
        """min over a of |z - m - U a|² + q Σ a_i² / λ_i, solved as least squares."""
        mean, U, variances, q = self.found[k]
        d, used = z - mean, variances > 0.0
        U, variances = U[:, used], variances[used]
        tall = np.vstack([U, np.diag(np.sqrt(q / variances))])
        a = np.linalg.lstsq(tall, np.concatenate([d, np.zeros(len(variances))]), rcond=None)[0]
        return float(((d - U @ a) ** 2).sum() + q * (a**2 / variances).sum())
