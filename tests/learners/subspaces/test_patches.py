"""Patch features: the separable filters against whole filters patch by patch, chunks, and what is refused."""

import numpy as np
import pytest

from thalweg.learners.subspaces.patches import PatchFeatures, has_patches
from twins.subspaces import patch_features


def images(n, *shape, seed=0):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.normal(size=(n, *shape)), axis=2)


@pytest.mark.parametrize(("shape", "params"), [
    ((8, 8), {}),
    ((8, 11), {"patch": 4, "filters": 9, "cells": 3}),
    ((9, 8, 3), {"patch": 3, "filters": 12, "cells": 2}),
    ((17, 16, 2), {"patch": 6, "filters": 50, "cells": 4}),
])  # fmt: skip
def test_equals_whole_filters_patch_by_patch(shape, params):
    X = images(30, *shape)
    map = PatchFeatures(**params).fit(X)
    got = map.transform(X[:3])
    for image, row in zip(X, got, strict=False):
        expected = patch_features(image.reshape(*shape[:2], -1), map.tables(), map.cells)
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-12)


def test_filters_are_orthogonal_and_their_responses_have_one_spread():
    X = images(200, 12, 12, 3)
    map = PatchFeatures(patch=4, filters=20, cells=1).fit(X)
    tables = map.tables()
    for U in (*tables["modes"], tables["colours"]):
        np.testing.assert_allclose(U @ U.T, np.eye(len(U)), atol=1e-12)
    F = map.transform(images(200, 12, 12, 3, seed=1)).reshape(200, 20, 2)
    mean_size = F.sum(axis=2).mean(axis=0)  # the mean of |response|: about the same for all if they are white
    assert mean_size.max() / mean_size.min() < 5.0


def test_brightness_and_contrast_do_not_matter_much_and_inverting_swaps_signs():
    X = images(50, 10, 10)
    map = PatchFeatures(cells=2).fit(X)
    F = map.transform(X[:5]).reshape(5, -1, 2)
    np.testing.assert_allclose(map.transform(X[:5] + 7.0).reshape(5, -1, 2), F, atol=1e-9)
    np.testing.assert_allclose(map.transform(-X[:5]).reshape(5, -1, 2), F[..., ::-1], atol=1e-12)


def test_chunks_change_no_bit():
    X = images(40, 16, 16, 3)
    map = PatchFeatures().fit(X)
    whole = map.transform(X)
    assert b"".join(map.transform(X[i : i + 1]).tobytes() for i in range(40)) == whole.tobytes()
    assert PatchFeatures().fit(X).transform(X).tobytes() == whole.tobytes()
    assert PatchFeatures(seed=2).fit(X).transform(X).tobytes() != whole.tobytes()


def test_flat_and_extreme_images_give_numbers():
    X = images(20, 8, 8)
    map = PatchFeatures().fit(X)
    odd = np.stack([np.zeros((8, 8)), np.full((8, 8), 1.7e308), np.eye(8) * 1e300])
    assert np.isfinite(map.transform(odd)).all()
    assert not map.transform(np.zeros((1, 8, 8))).any()
    assert np.isfinite(PatchFeatures().fit(np.zeros((5, 8, 8))).transform(X)).all()


def test_adopted_tables_give_the_same():
    X = images(20, 9, 9, 3)
    map, other = PatchFeatures().fit(X), PatchFeatures()
    other.adopt(map.tables(), (9, 9, 3))
    assert other.transform(X).tobytes() == map.transform(X).tobytes()
    bad = map.tables() | {"filters": map.tables()["filters"] + 9}
    with pytest.raises(ValueError, match="'filters.0.' must hold numbers from 0 to 2"):
        other.adopt(bad, (9, 9, 3))


def test_what_is_an_image():
    assert has_patches((8, 8))
    assert has_patches((32, 32, 3))
    assert not has_patches((7, 8))
    assert not has_patches((64,))
    assert not has_patches((8, 8, 17))
    assert not has_patches((8, 8, 3, 2))


@pytest.mark.parametrize(("X", "sentence"), [
    (np.zeros((3, 5)), "images must have the shape"),
    (np.zeros((3, 4, 4)), r"images must be at least 6 x 6 .* got 4 x 4"),
    (np.zeros((0, 8, 8)), "images must hold at least one image"),
    (np.full((3, 8, 8), np.nan), "images must"),
])  # fmt: skip
def test_refuses(X, sentence):
    with pytest.raises(ValueError, match=sentence):
        PatchFeatures().fit(X)


def test_refuses_parameters_and_use_before_fit():
    with pytest.raises(ValueError, match=r"patch must lie in \[2, 32\], got 1"):
        PatchFeatures(patch=1)
    with pytest.raises(ValueError, match="filters are not known yet"):
        PatchFeatures().transform(np.zeros((1, 8, 8)))
    with pytest.raises(ValueError, match="shape"):
        PatchFeatures().fit(images(5, 8, 8)).transform(images(5, 9, 9))
