"""Coordinates of features: scales, directions, ties and constant columns."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, random_array

from truegraph.classify.spaces import FeatureSpace, unit_rows


def _space_of(table: np.ndarray) -> tuple[np.ndarray, bool]:
    space = FeatureSpace(csr_array(table))
    return space.coordinates(csr_array(table)), space.has_directions


def test_rare_words_count_more_and_rows_have_length_one() -> None:
    words = (random_array((200, 60), density=0.05, rng=0) > 0).astype(float)
    space = FeatureSpace(csr_array(words))
    used = np.asarray(words.sum(axis=0)).ravel()
    rare, common = used.argmin(), used.argmax()
    assert space.scale[rare] > space.scale[common] > 0.0
    length = np.linalg.norm(space.coordinates(csr_array(words)), axis=1)
    filled = np.asarray(words.sum(axis=1)).ravel() > 0
    np.testing.assert_allclose(length[filled], 1.0, atol=1e-5)
    assert (length[~filled] == 0.0).all()


def test_weights_that_are_no_counts_are_taken_as_they_are() -> None:
    table = random_array((100, 50), density=0.05, rng=0)
    assert (FeatureSpace(csr_array(table)).scale == 1.0).all()


def test_columns_of_mixed_scales_count_alike() -> None:
    generator = np.random.default_rng(0)
    table = generator.normal(size=(300, 12))
    mixed = table.copy()
    mixed[:, 0] *= 1e6
    scale = FeatureSpace(csr_array(mixed)).scale
    np.testing.assert_allclose(scale, 1.0 / mixed.std(axis=0))
    pixels = table * generator.uniform(0.5, 1.5, size=12)
    assert len(np.unique(FeatureSpace(csr_array(pixels)).scale)) == 1


def test_one_feature_keeps_its_values() -> None:
    table = np.arange(50.0)[:, None]
    found, has_directions = _space_of(table)
    assert not has_directions
    assert abs(np.corrcoef(found[:, 0], table[:, 0])[0, 1]) > 0.999999
    np.testing.assert_allclose(np.mean(found**2), 1.0, rtol=1e-5)


def test_equal_rows_have_no_coordinates() -> None:
    found, _ = _space_of(np.full((20, 3), 7.0))
    assert found.shape == (20, 0)
    assert FeatureSpace(None, 4).coordinates(csr_array((5, 4))).shape == (5, 0)


def test_new_rows_get_the_coordinates_of_equal_old_ones() -> None:
    table = np.random.default_rng(1).normal(size=(40, 9))
    space = FeatureSpace(csr_array(table))
    both = space.coordinates(csr_array(np.vstack([table, table[:3]])))
    np.testing.assert_allclose(both[40:], both[:3], atol=1e-6)


def test_unit_rows() -> None:
    np.testing.assert_allclose(unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0, 0]])


def test_pixels_are_no_counts_of_words() -> None:
    generator = np.random.default_rng(0)
    pixels = generator.integers(1, 256, (50, 40)) * (generator.random((50, 40)) < 0.15)
    pixels[:, 0] = 0
    pixels[0, 0] = 200  # a rare pixel
    assert np.array_equal(FeatureSpace(csr_array(pixels.astype(float))).scale, np.ones(40))
    counts = FeatureSpace(csr_array(np.minimum(pixels, 3).astype(float))).scale
    assert counts[0] == counts.max() > counts.min()


def test_categories_count_as_much_as_numbers_however_rare_they_are() -> None:
    generator = np.random.default_rng(0)
    rare, common = generator.random((2, 400, 1)) < np.array([0.05, 0.5])[:, None, None]
    numbers = generator.normal(size=(400, 8))
    table = csr_array(np.hstack([numbers, rare, common]).astype(float))
    space = FeatureSpace(table)
    assert space.is_table
    assert not space.has_directions
    deviation = space.columns(table).std(axis=0)
    np.testing.assert_allclose(deviation, deviation[0], rtol=0.15)
    np.testing.assert_allclose((deviation**2).sum(), 1.0, rtol=1e-5)
    assert not FeatureSpace(csr_array(numbers)).is_table
    assert not FeatureSpace(csr_array(np.hstack([rare, common]).astype(float))).is_table
