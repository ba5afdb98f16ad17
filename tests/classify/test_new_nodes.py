"""The graph and the features after new nodes have joined."""

from __future__ import annotations

import numpy as np
import pytest

from truegraph.classify.inputs import NodeInputs, complete_inputs, extend_inputs
from truegraph.errors import InputError


@pytest.fixture
def pair() -> NodeInputs:
    """Two linked nodes with two features."""
    return complete_inputs([[1, 1], [0, 2]], np.array([[0, 2.0], [2.0, 0]]), 2)


def test_edges_are_added_and_old_ones_stay(pair: NodeInputs) -> None:
    extended = extend_inputs(pair, [[3, 1], [0, 0]], [(2, 0), (3, 2), (2, 0)])
    expected = np.zeros((4, 4))
    expected[0, 1], expected[0, 2], expected[2, 3] = 2, 1, 1
    np.testing.assert_array_equal(extended.graph.toarray(), expected + expected.T)
    np.testing.assert_allclose(
        extended.features.toarray(), [[0.5, 0.5], [0, 1], [0.75, 0.25], [0, 0]]
    )
    np.testing.assert_array_equal(pair.graph.toarray(), [[0, 2], [2, 0]])


def test_edges_may_have_weights(pair: NodeInputs) -> None:
    extended = extend_inputs(pair, [[1, 1]], np.array([[1, 2, 0.5]]))
    assert extended.graph[1, 2] == extended.graph[2, 1] == 0.5


def test_nodes_without_features_have_none() -> None:
    inputs = complete_inputs(None, np.array([[0, 1.0], [1.0, 0]]), 2)
    extended = extend_inputs(inputs, None, [(0, 3)])
    assert extended.features.toarray().tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]
    with pytest.raises(InputError, match="fitted without features"):
        extend_inputs(inputs, [[1.0, 0.0]], [(0, 2)])
    with pytest.raises(InputError, match="known by edges alone"):
        extend_inputs(inputs, None, [])


@pytest.mark.parametrize("edges", [[(-1, 2)], [(0.5, 2)], [("a", 2)], [(0, 2, 1, 1)]])
def test_what_is_no_edge(pair: NodeInputs, edges: object) -> None:
    with pytest.raises(InputError, match="edges"):
        extend_inputs(pair, [[1, 1]], edges)
