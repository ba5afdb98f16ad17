"""ChebyNet on four nodes, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from truegraph.nn.classifiers.chebynet import ChebyNet, ChebyNetSettings
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Inputs

GRAPH = np.array([[0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0]], dtype=float)
FEATURES = np.array([[1, 0, 2], [0, 3, 0], [1, 1, 0], [0, 0, 1]], dtype=float)


def _supports(degree: int) -> list[np.ndarray]:
    degrees = GRAPH.sum(1)
    root = np.diag(np.where(degrees > 0, 1 / np.sqrt(np.maximum(degrees, 1e-9)), 0.0))
    laplacian = np.eye(4) - root @ GRAPH @ root  # 1 on the diagonal of the isolated node
    scaled = 2 / np.linalg.eigvalsh(laplacian).max() * laplacian - np.eye(4)
    supports = [np.eye(4), scaled]
    while len(supports) <= degree:
        supports.append(2 * scaled @ supports[-1] - supports[-2])
    return supports[: degree + 1]


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_forward_pass(degree: int) -> None:
    model = ChebyNet(ChebyNetSettings(hidden=5, degree=degree), 3, 2)
    weights = model.initial(np.array([3, 8]))
    operator = FixedSparse(ChebyNet.operator(csr_array(GRAPH)))
    logits = model.forward(weights, Inputs(FixedSparse(csr_array(FEATURES)), operator), None)
    for trial in range(2):
        first = np.split(weights["first"][trial].numpy(), degree + 1, axis=1)
        second = np.split(weights["second"][trial].numpy(), degree + 1, axis=0)
        hidden = sum(s @ FEATURES @ w for s, w in zip(_supports(degree), first, strict=True))
        hidden = np.maximum(hidden, 0)
        expected = sum(s @ hidden @ w for s, w in zip(_supports(degree), second, strict=True))
        np.testing.assert_allclose(logits[trial], expected, atol=1e-4)


def test_every_matrix_starts_with_the_range_of_its_own_size() -> None:
    weights = ChebyNet(ChebyNetSettings(), 1000, 7).initial(np.array([0]))
    assert weights["first"].shape == (1, 1000, 64)
    limit = np.sqrt(6 / 1016)
    assert 0.99 * limit < weights["first"].abs().max() <= limit


def test_operator_has_its_spectrum_within_one() -> None:
    random = random_array((40, 40), density=0.1, rng=0)
    values = np.linalg.eigvalsh(ChebyNet.operator(csr_array(random + random.T)).toarray())
    assert values.max() == pytest.approx(1)
    assert values.min() >= -1 - 1e-9
