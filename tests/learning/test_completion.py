"""Edges beyond the optimum: smallest degrees and connectedness."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.sparse.csgraph import connected_components

from truegraph import InputError, learn_bipartite_graph, learn_graph

RNG = np.random.default_rng(0)
CLUSTERS = np.concatenate([RNG.normal(size=(40, 3)) + 60.0 * centre for centre in np.eye(4, 3)])


def components(graph) -> int:
    return connected_components(graph.adjacency, directed=False)[0]


def test_without_the_options_nothing_is_added() -> None:
    graph = paper_graph(CLUSTERS, degree=4)
    assert components(graph) >= 4
    assert graph.certificate.added_edges == 0
    assert graph.certificate.gap_with_added is None


@pytest.mark.parametrize("options", [{}, {"local_scaling": 5}, {"mutual": True}])
def test_distant_clusters_are_joined_by_their_nearest_pairs(options: dict) -> None:
    plain = paper_graph(CLUSTERS, 4, options=options)
    graph = paper_graph(CLUSTERS, 4, options={**options, "connected": True})
    assert components(graph) == 1
    added = graph.n_edges - plain.n_edges
    assert added == graph.certificate.added_edges == components(plain) - 1
    # The old edges keep their weights; the new ones are as weak as the weakest at their ends.
    old, new = plain.adjacency.toarray(), graph.adjacency.toarray()
    np.testing.assert_array_equal(new[old > 0.0], old[old > 0.0])
    for i, j in zip(*np.nonzero((new > 0.0) & (old == 0.0)), strict=True):
        assert new[i, j] == min(old[i][old[i] > 0.0].min(), old[j][old[j] > 0.0].min())


def test_two_clusters_are_joined_at_their_nearest_points() -> None:
    points = np.concatenate([np.arange(8.0), 100.0 + np.arange(8.0)])[:, None]
    graph = paper_graph(points, degree=2, candidate_ratio=1.0, connected=True)
    assert components(graph) == 1
    assert graph.adjacency[7, 8] > 0.0
    assert graph.edge_distances()[7, 8] == pytest.approx(93.0**2)


def test_components_are_joined_by_the_pairs_nearest_to_an_edge() -> None:
    plain = paper_graph(CLUSTERS[:80], degree=4, candidate_ratio=80 / 4)
    graph = paper_graph(CLUSTERS[:80], degree=4, candidate_ratio=80 / 4, connected=True)
    n_parts, part = connected_components(plain.adjacency, directed=False)
    edges = (graph.adjacency - plain.adjacency).tocoo()
    real = (edges.data > 0.0) & (edges.row < edges.col)
    rows, columns = edges.row[real], edges.col[real]
    assert rows.size == n_parts - 1
    # The best crossing pair of all belongs to every spanning tree of greatest slack.
    i, j = np.nonzero(part[:, None] < part[None, :])
    slack = plain.slack(np.stack([i, j], axis=1))
    best = {i[slack.argmax()], j[slack.argmax()]}
    assert best in [{int(a), int(b)} for a, b in zip(rows, columns, strict=True)]


def test_every_node_gets_its_smallest_degree() -> None:
    plain = paper_graph(CLUSTERS, degree=4)
    graph = paper_graph(CLUSTERS, degree=4, min_degree=4)
    counts = np.diff(graph.adjacency.indptr)
    assert np.diff(plain.adjacency.indptr).min() < 4
    assert counts.min() == 4
    assert (graph.adjacency != graph.adjacency.T).nnz == 0
    lacking = np.flatnonzero(np.diff(plain.adjacency.indptr) < 4)
    added = (graph.adjacency - plain.adjacency).tocoo()
    assert np.isin(added.row, lacking)[~np.isin(added.col, lacking)].all()


def test_the_gap_with_the_added_edges_is_that_of_the_returned_graph() -> None:
    graph = paper_graph(CLUSTERS, degree=4, connected=True, min_degree=3)
    certificate = graph.certificate
    z, w = graph.edge_distances().data, graph.adjacency.data
    degrees = np.asarray(graph.adjacency.sum(axis=1)).ravel()
    primal = float((w * (certificate.theta * z + 0.5 * w)).sum() - np.log(degrees).sum())
    gap = (primal - certificate.dual) / max(1.0, abs(primal))
    assert math.isclose(certificate.gap_with_added, gap, rel_tol=1e-9)
    assert certificate.gap_with_added > certificate.relative_gap
    assert certificate.converged


def test_given_pairs_must_suffice() -> None:
    points = np.concatenate([np.arange(8.0), 100.0 + np.arange(8.0)])[:, None]
    near = paper_graph(points, degree=2, candidate_ratio=1.0).candidates
    with pytest.raises(InputError, match=r"leave 2 components; offer more pairs"):
        paper_graph(near, degree=2, metric="precomputed", connected=True)


def test_users_and_items_are_joined_by_candidates() -> None:
    graph = learn_bipartite_graph(
        CLUSTERS[:80:2], CLUSTERS[1:80:2], 3, options={"candidate_ratio": 20.0, "connected": True}
    )
    assert components(graph) == 1
    assert graph.biadjacency.nnz == graph.n_edges


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"options": {"min_degree": 0}}, "min_degree=0 must be a whole number of at least 1"),
        ({"options": {"min_degree": 2.5}}, "min_degree"),
        ({"options": {"connected": "yes"}}, "connected='yes' must be True, False or 'auto'"),
        ({"options": {"mutual": 1}}, "mutual=1 must be True or False"),
        ({"options": {"local_scaling": 0}}, "local_scaling"),
        ({"scope": "global", "options": {"mutual": True}}, "mutual=True"),
        ({"scope": "global", "options": {"local_scaling": 7}}, "local_scaling=7"),
        ({"metric": "precomputed", "options": {"mutual": True}}, "store only the pairs"),
    ],
)
def test_options_that_cannot_be_are_named(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        paper_graph(CLUSTERS, degree=4, **options)


def test_min_degree_beyond_the_usual_lists_is_honoured_or_refused() -> None:
    points = np.random.default_rng(3).normal(size=(300, 4))
    graph = learn_graph(points, options={"min_degree": 50})
    assert np.diff(graph.adjacency.indptr).min() >= 50
    with pytest.raises(InputError, match="min_degree=50"):
        learn_graph(points[:40], options={"min_degree": 50})
    with pytest.raises(InputError, match="min_degree=50"):
        learn_bipartite_graph(points[:250], points[250:290], options={"min_degree": 50})
