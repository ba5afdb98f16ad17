"""The combined graph J: its entries by hand, and its scales."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from truegraph.errors import InputError
from truegraph.tasks.links.completed_graph import combined_graph

OBSERVED = csr_array(np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], float))
LEARNED = csr_array(
    np.array([[0, 3, 0, 2], [3, 0, 0, 0], [0, 0, 0, 0.5], [2, 0, 0.5, 0]], dtype=float)
)


def test_observed_links_stay_and_learned_weights_fill_the_rest():
    graph, filling = combined_graph(OBSERVED, LEARNED)
    expected = OBSERVED.toarray()
    expected[0, 3] = expected[3, 0] = 2 / 3
    expected[2, 3] = expected[3, 2] = 0.5 / 3
    np.testing.assert_allclose(graph.toarray(), expected)
    assert (filling.learned_edges, filling.filled) == (3, 2)
    assert filling.observed_share == pytest.approx(1 / 3)
    assert filling.mean_weight == pytest.approx((2 / 3 + 0.5 / 3) / 2)
    assert str(filling) == (
        "3 learned edges, 33% of them observed; 2 unobserved pairs get a weight, 0.42 on average"
    )


@pytest.mark.parametrize(("scale", "weights"), [("binary", (1.0, 1.0)), ("raw", (1.0, 0.5))])
def test_other_scales(scale, weights):
    graph, _ = combined_graph(OBSERVED, LEARNED, weight_scale=scale)
    assert (graph[0, 3], graph[3, 2]) == weights
    assert graph[0, 1] == 1.0


def test_only_the_pairs_asked_about_are_filled():
    pairs = np.array([[3, 2], [0, 2]])
    graph, filling = combined_graph(OBSERVED, LEARNED, unobserved="pairs", pairs=pairs)
    expected = OBSERVED.toarray()
    expected[2, 3] = expected[3, 2] = 0.5 / 3
    np.testing.assert_allclose(graph.toarray(), expected)
    assert filling.filled == 1


def test_an_empty_learned_graph_changes_nothing():
    graph, filling = combined_graph(OBSERVED, csr_array((4, 4)))
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(graph, name), getattr(OBSERVED, name))
    assert (filling.learned_edges, filling.filled, filling.mean_weight) == (0, 0, None)


def test_errors_name_the_choice():
    with pytest.raises(InputError, match=r"unobserved='edges' must be one of non-edges, pairs"):
        combined_graph(OBSERVED, LEARNED, unobserved="edges")
    with pytest.raises(InputError, match="weight_scale='log'"):
        combined_graph(OBSERVED, LEARNED, weight_scale="log")
    with pytest.raises(InputError, match="needs the pairs"):
        combined_graph(OBSERVED, LEARNED, unobserved="pairs")
