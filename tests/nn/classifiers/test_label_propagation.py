"""Label propagation against its closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.nn.classifiers.label_propagation import propagate_labels

GRAPH = np.array(
    [[0, 1, 0, 0, 0], [1, 0, 2, 1, 0], [0, 2, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
)
LABELS = np.array([0, -1, 1, -1, -1])


def test_the_limit_is_the_closed_form() -> None:
    result = propagate_labels(csr_array(GRAPH), LABELS, np.array([0, 2]), 2, alpha=0.7)
    degrees = GRAPH[:4, :4].sum(1)
    spread = GRAPH[:4, :4] / np.sqrt(np.outer(degrees, degrees))
    start = np.array([[1, 0], [0, 0], [0, 1], [0, 0]])
    mass = np.linalg.solve(np.eye(4) - 0.7 * spread, start)
    np.testing.assert_allclose(result[:4], mass / mass.sum(1, keepdims=True), atol=1e-5)


def test_a_node_that_no_label_reaches_is_undecided() -> None:
    result = propagate_labels(csr_array(GRAPH), LABELS, np.array([0, 2]), 2)
    assert result[4].tolist() == [0.5, 0.5]
    np.testing.assert_allclose(result.sum(1), 1, rtol=1e-6)


def test_other_labels_are_not_read() -> None:
    first = propagate_labels(csr_array(GRAPH), LABELS, np.array([0, 2]), 2)
    other = np.array([0, 1, 1, 1, 0])
    np.testing.assert_array_equal(
        first, propagate_labels(csr_array(GRAPH), other, np.array([0, 2]), 2)
    )


def test_alpha_is_checked() -> None:
    with pytest.raises(InputError, match=r"alpha=1\.0"):
        propagate_labels(csr_array(GRAPH), LABELS, np.array([0, 2]), 2, alpha=1.0)
