"""The perceptron on four nodes, by hand."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from truegraph.nn.classifiers.mlp import MLP, MLPSettings
from truegraph.nn.sparse import FixedSparse
from truegraph.nn.training.base import Inputs

FEATURES = np.array([[1, 0, 2], [0, 3, 0], [1, 1, 0], [0, 0, 1]], dtype=float)


def test_forward_pass_ignores_the_graph() -> None:
    model = MLP(MLPSettings(hidden=5), 3, 2)
    weights = model.initial(np.array([3, 8]))
    operator = FixedSparse(MLP.operator(csr_array(np.ones((4, 4)))))
    logits = model.forward(weights, Inputs(FixedSparse(csr_array(FEATURES)), operator), None)
    assert operator.stored == 0
    for trial in range(2):
        first, second = weights["first"][trial].numpy(), weights["second"][trial].numpy()
        expected = np.maximum(FEATURES @ first, 0) @ second
        np.testing.assert_allclose(logits[trial], expected, atol=1e-5)
