from __future__ import annotations

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.sparse import csr_array

from truegraph.learning import EmbeddingDistance
from truegraph.learning.search.candidates import (
    LARGEST_EXACT,
    NeighbourLists,
    bipartite_lists,
    candidate_graph,
    choose_engine,
    nearest_lists,
)
from truegraph.progress import Progress


def lists_of(points: np.ndarray, k: int, engine: str = "exact") -> NeighbourLists:
    return nearest_lists(
        EmbeddingDistance(points),
        k,
        engine=engine,
        random_state=np.random.default_rng(0),
        progress=Progress(),
    )


def union_by_hand(points: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pattern of the union of the k-nearest lists, and all distances."""
    values = ((points[:, None] - points) ** 2).sum(axis=2)
    ranked = np.where(np.eye(len(points), dtype=bool), np.inf, values)
    nearest = np.argsort(ranked, axis=1, kind="stable")[:, :k]
    pattern = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(pattern, nearest, True, axis=1)
    return pattern | pattern.T, values


def pattern_of(graph: csr_array) -> np.ndarray:
    """Return the stored entries, zeros included."""
    out = np.zeros(graph.shape, dtype=bool)
    out[np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr)), graph.indices] = True
    return out


@pytest.mark.parametrize("kind", ["normal", "duplicates"])
@pytest.mark.parametrize("k", [1, 4, 30, 59, 200])
def test_candidates_are_the_union_of_the_lists(kind: str, k: int) -> None:
    points = np.random.default_rng(1).normal(size=(60, 2))
    if kind == "duplicates":
        points = np.repeat(points[:20], 3, axis=0)
    lists = lists_of(points, k)
    graph = candidate_graph(lists, EmbeddingDistance(points))
    pattern, values = union_by_hand(points, min(k, 59))
    np.testing.assert_array_equal(pattern_of(graph), pattern)
    np.testing.assert_allclose(graph.toarray(), np.where(pattern, values, 0.0), atol=1e-12)
    assert graph.has_sorted_indices
    assert (np.diff(graph.indptr) >= min(k, 59)).all()
    assert lists.complete.all() == (k >= 59)
    assert lists.recall == 1.0


def test_a_hub_keeps_all_who_list_it() -> None:
    """Every leaf is nearest to the hub, which lists one leaf only: the union keeps all pairs."""
    star = np.vstack([np.zeros(40), np.eye(40)])
    graph = candidate_graph(lists_of(star, 1), EmbeddingDistance(star))
    wanted = np.zeros((41, 41), dtype=bool)
    wanted[0, 1:] = wanted[1:, 0] = True
    np.testing.assert_array_equal(pattern_of(graph), wanted)


def test_users_list_items_and_items_list_users() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(50, 2))
    distance = EmbeddingDistance(points)
    lists = bipartite_lists(distance, 20, 3, engine="exact", random_state=rng, progress=Progress())
    values = ((points[:20, None] - points[20:]) ** 2).sum(axis=2)
    for i in range(50):
        row = values[i] if i < 20 else values[:, i - 20]
        wanted = np.argsort(row, kind="stable")[:3] + (20 if i < 20 else 0)
        np.testing.assert_array_equal(lists.ids[lists.start[i] : lists.start[i + 1]], wanted)
    pattern = pattern_of(candidate_graph(lists, distance))
    assert not pattern[:20, :20].any()
    assert not pattern[20:, 20:].any()


def test_few_items_make_the_lists_of_users_complete() -> None:
    rng = np.random.default_rng(3)
    distance = EmbeddingDistance(rng.normal(size=(30, 2)))
    lists = bipartite_lists(distance, 26, 10, engine="exact", random_state=rng, progress=Progress())
    np.testing.assert_array_equal(lists.lengths, [4] * 26 + [10] * 4)
    np.testing.assert_array_equal(lists.complete, [True] * 26 + [False] * 4)


def mask_of(*pairs: tuple[int, int], nodes: int = 30) -> csr_array:
    rows, columns = zip(*pairs, strict=True)
    return csr_array((np.ones(len(pairs)), (rows, columns)), shape=(nodes, nodes))


def farthest_pair(points: np.ndarray) -> tuple[int, int]:
    values = ((points[:, None] - points) ** 2).sum(axis=2)
    return divmod(int(values.argmax()), len(points))


def test_a_fixed_pair_is_a_candidate_however_far() -> None:
    points = np.random.default_rng(4).normal(size=(30, 2))
    i, j = farthest_pair(points)
    plain = paper_graph(points, 4)
    fixed = paper_graph(points, 4, fixed_pairs=mask_of((i, j)))
    assert not pattern_of(plain.candidates)[i, j]
    assert pattern_of(fixed.candidates)[i, j]
    assert pattern_of(fixed.candidates)[j, i]
    assert fixed.candidates[i, j] == pytest.approx(((points[i] - points[j]) ** 2).sum())
    assert fixed.certificate.candidate_pairs == plain.certificate.candidate_pairs + 1


@pytest.mark.parametrize("metric", ["sqeuclidean", "precomputed"])
def test_a_forbidden_pair_never_gets_weight(metric: str) -> None:
    points = np.random.default_rng(5).normal(size=(30, 2))
    X = ((points[:, None] - points) ** 2).sum(axis=2) if metric == "precomputed" else points
    plain = paper_graph(X, 4, metric=metric)
    strongest = plain.adjacency.tocoo()
    at = int(strongest.data.argmax())
    pair = int(strongest.row[at]), int(strongest.col[at])
    graph = paper_graph(X, 4, metric=metric, forbidden_pairs=mask_of(pair))
    assert graph.adjacency[pair] == 0.0
    assert not pattern_of(graph.candidates)[pair]
    assert not pattern_of(graph.candidates)[pair[::-1]]
    assert (graph.adjacency.sum(axis=1) > 0).all()
    assert graph.certificate.converged


def test_forbidden_pairs_stay_out_of_the_global_optimum() -> None:
    points = np.random.default_rng(6).normal(size=(30, 2))
    values = ((points[:, None] - points) ** 2).sum(axis=2)
    forbidden = csr_array(np.triu(np.random.default_rng(7).random((30, 30)) < 0.3, 1))
    graph = paper_graph(
        points, scope="global", forbidden_pairs=forbidden, theta=2.0, tol=1e-12, candidate_ratio=1.0
    )
    assert graph.adjacency.multiply(forbidden).nnz == 0
    allowed = csr_array(values)
    allowed[(forbidden + forbidden.T).nonzero()] = 0.0
    allowed.eliminate_zeros()
    wanted = paper_graph(allowed, metric="precomputed", theta=2.0, tol=1e-12)
    assert abs(graph.adjacency - wanted.adjacency).max() < 1e-6
    assert graph.certificate.scope == "global"


def test_auto_is_exact_for_few_nodes_and_approximate_for_many() -> None:
    assert choose_engine("auto", LARGEST_EXACT) == "exact"
    assert choose_engine("auto", LARGEST_EXACT + 1) == "ivf"
    assert choose_engine("ivf", 10) == "ivf"


def test_mutual_candidates_are_listed_by_both() -> None:
    points = np.random.default_rng(3).normal(size=(80, 4))
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    listed = distances.argsort(axis=1)[:, :6]
    lists = np.zeros((80, 80), dtype=bool)
    np.put_along_axis(lists, listed, True, axis=1)
    expected = lists & lists.T
    lonely = np.flatnonzero(~expected.any(axis=1))
    expected[lonely, listed[lonely, 0]] = True
    graph = paper_graph(points, degree=2, candidate_ratio=3.0, mutual=True)
    found = np.zeros((80, 80), dtype=bool)
    pairs = graph.candidates.tocoo()
    found[pairs.row, pairs.col] = True
    assert lonely.size
    np.testing.assert_array_equal(found, expected | expected.T)
