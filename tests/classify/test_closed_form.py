"""Left-out predictions equal those of a classifier trained without the labels."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from truegraph.classify.left_out import deal_folds
from truegraph.classify.spaces import walk_operator
from truegraph.classify.view_models import (
    fit_ridge,
    linear_scores,
    one_hot,
    spread_labels,
    spread_left_out,
    spread_values,
    values_left_out,
)

LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2])


def test_folds_leave_every_class_something() -> None:
    folds = deal_folds(LABELS, 3)
    assert folds.shape[1] == len(LABELS)
    for row in folds:
        for fold in range(row.max() + 1):
            assert set(LABELS[row != fold]) == {0, 1, 2}
    assert (deal_folds(np.array([0, 1, 1]), 0)[:, 0] == -1).all()
    assert (deal_folds(np.array([0, 1, 2]), 0) == -1).all()
    assert np.array_equal(folds, deal_folds(LABELS, 3))


def test_ridge_without_a_fold_is_exact() -> None:
    rows = np.random.default_rng(0).normal(size=(12, 5))
    folds = deal_folds(LABELS, 0)
    wanted = one_hot(LABELS, 3)
    coefficients, intercept, left_out = fit_ridge(rows, wanted, folds, 1.0)
    kernel = rows @ rows.T + 10.0
    whole = kernel @ np.linalg.solve(kernel + np.eye(12), one_hot(LABELS, 3))
    np.testing.assert_allclose(
        linear_scores(rows.astype(np.float32), coefficients, intercept), whole, atol=1e-5
    )
    for row, found in zip(folds, left_out, strict=True):
        for fold in range(row.max() + 1):
            out = row == fold
            if not out.any():
                continue
            own, middle, _ = fit_ridge(rows[~out], wanted[~out], folds[:, ~out], 1.0)
            np.testing.assert_allclose(rows[out] @ own + middle, found[out], atol=1e-8)


def test_a_sparse_table_is_the_same() -> None:
    rows = np.random.default_rng(0).normal(size=(12, 5))
    folds = deal_folds(LABELS, 0)
    wanted = one_hot(LABELS, 3)
    dense = fit_ridge(rows, wanted, folds, 1.0)[2]
    np.testing.assert_allclose(fit_ridge(csr_array(rows), wanted, folds, 1.0)[2], dense)


def test_spreading_without_a_fold_is_exact() -> None:
    links = np.triu(np.random.default_rng(0).random((30, 30)) < 0.2, 1)
    operator = walk_operator(csr_array((links | links.T).astype(float)))
    train = np.arange(0, 24, 2)
    folds = deal_folds(LABELS, 0)
    left_out = spread_left_out(operator, train, np.eye(3)[LABELS], folds, 0.1, 20)
    for row, found in zip(folds, left_out, strict=True):
        for fold in range(row.max() + 1):
            out = row == fold
            again = spread_labels(operator, train[~out], np.eye(3)[LABELS[~out]], 0.1, 20)
            np.testing.assert_allclose(again[train[out]], found[out], atol=1e-5)


def test_nodes_that_no_label_reaches_are_uniform() -> None:
    operator = walk_operator(csr_array((4, 4)))
    found = spread_labels(operator, np.array([0, 1]), np.eye(2), 0.1, 5)
    np.testing.assert_allclose(found[2:], 0.0)
    np.testing.assert_allclose(found[:2], [[0.5, -0.5], [-0.5, 0.5]])


def test_spreading_of_numbers_without_each_is_exact() -> None:
    generator = np.random.default_rng(0)
    links = np.triu(generator.random((30, 30)) < 0.2, 1)
    operator = walk_operator(csr_array((links | links.T).astype(float)))
    train, values = np.arange(0, 24, 2), generator.normal(size=12)
    weights = generator.uniform(0.5, 2.0, size=12)
    found = values_left_out(operator, train, values, weights, 0.1, 20)
    for place in range(12):
        kept = np.arange(12) != place
        again = spread_values(operator, train[kept], values[kept], weights[kept], 0.1, 20)
        np.testing.assert_allclose(again[train[place]], found[place], atol=1e-5)
