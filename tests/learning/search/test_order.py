"""Large problems are solved in another order of the nodes and put back."""

from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import dual_bound, paper_graph, primal_objective
from scipy.sparse import csr_array

from truegraph.learning import (
    CosineDistance,
    Distance,
    EmbeddingDistance,
    LabelDisagreement,
    SumDistance,
)
from truegraph.learning.search.approximate import CellSearch

POINTS = np.random.default_rng(5).normal(size=(1500, 4))


def test_the_order_of_the_cells_puts_neighbours_together() -> None:
    line = np.random.default_rng(0).permutation(4000)[:, None].astype(float)
    order = CellSearch(line, seed=0).order
    assert sorted(order) == list(range(4000))
    jumps = np.abs(np.diff(line[order, 0]))
    assert np.median(jumps) < 100  # about 1300 in the order given


@pytest.mark.parametrize("unit", [1.0, 1e25])
def test_the_result_is_in_the_callers_order(unit: float) -> None:
    graph = paper_graph(POINTS * unit, 8, candidates="ivf", random_state=0)
    pairs = graph.candidates.tocoo()
    distances = ((POINTS[pairs.row] - POINTS[pairs.col]) ** 2).sum(axis=1)
    assert pairs.data / unit**2 == pytest.approx(distances, rel=1e-9)
    theta = graph.certificate.theta
    primal = primal_objective(graph.adjacency, graph.candidates, theta)
    dual = dual_bound(graph.multipliers, graph.candidates, theta)
    assert primal == pytest.approx(dual, rel=1e-6)
    assert graph.adjacency.has_sorted_indices
    assert (graph.adjacency != csr_array(graph.adjacency.T)).nnz == 0


def test_the_order_does_not_change_the_graph() -> None:
    exact, cells = (
        paper_graph(POINTS[:300], 8, candidates=engine, random_state=0, tol=1e-12)
        for engine in ("exact", "ivf")
    )
    assert cells.certificate.recall == 1.0
    assert abs(exact.adjacency - cells.adjacency).max() < 1e-6


def _distances() -> list[Distance]:
    points = POINTS[:40]
    shares = np.abs(points) / np.abs(points).sum(axis=1, keepdims=True)
    embedding, labels = EmbeddingDistance(points), LabelDisagreement.from_shares(shares)
    return [embedding, CosineDistance(points), labels, SumDistance(embedding, labels)]


@pytest.mark.parametrize("own_way", [True, False], ids=["own", "of any distance"])
@pytest.mark.parametrize("distance", _distances(), ids=lambda d: type(d).__name__)
def test_a_permuted_distance_names_the_nodes_anew(distance: Distance, own_way: bool) -> None:
    order = np.random.default_rng(1).permutation(40)
    permuted = distance.permuted(order) if own_way else Distance.permuted(distance, order)
    rows, columns = np.triu_indices(40, 1)
    expected = distance.pair_values(order[rows], order[columns])
    assert permuted.n_nodes == 40
    assert (permuted.pair_values(rows, columns) == expected).all()
    assert (permuted.queries == distance.queries[order]).all()
    assert (permuted.base == distance.base[order]).all()
