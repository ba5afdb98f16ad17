"""Places of nodes: groups apart, the same bits everywhere."""

from __future__ import annotations

import numba
import numpy as np
from scipy.sparse import block_diag, csr_array

from truegraph.report.explorer.layout import layout


def two_cliques(size: int = 12) -> csr_array:
    clique = np.ones((size, size)) - np.eye(size)
    both = block_diag([clique, clique]).tolil()
    both[0, size] = both[size, 0] = 1.0
    return csr_array(both)


def test_groups_lie_apart() -> None:
    places = layout(two_cliques())
    first, second = places[:12], places[12:]
    between = np.linalg.norm(first.mean(axis=0) - second.mean(axis=0))
    within = np.linalg.norm(first - first.mean(axis=0), axis=1).mean()
    assert between > 2.0 * within
    assert np.isfinite(places).all()


def test_the_same_bits_for_any_number_of_threads() -> None:
    before = numba.get_num_threads()
    found = []
    for threads in (1, before):
        numba.set_num_threads(threads)
        found.append(layout(two_cliques()))
    assert np.array_equal(*found)
    assert not np.array_equal(found[0], layout(two_cliques(), seed=1))


def test_nodes_without_edges_have_places() -> None:
    places = layout(csr_array((5, 5)))
    assert places.shape == (5, 2)
    assert np.isfinite(places).all()
