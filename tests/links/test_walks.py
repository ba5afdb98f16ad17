"""Walks and heuristics against dense powers of small matrices; candidates against brute force."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numba import set_num_threads
from scipy.sparse import csr_array

from truegraph.data.adjacency import as_adjacency
from truegraph.links import walks as module
from truegraph.links.heuristics import heuristic
from truegraph.links.names import HEURISTICS
from truegraph.links.problem import bipartite_sides, crosses
from truegraph.links.walks import (
    WALKS,
    candidates_of,
    partners_per_node,
    raw_walks,
    two_step_walks,
    walk_graph,
    walk_scores,
    walked_pairs,
)


def random_graph(nodes: int = 40, seed: int = 0, *, weighted: bool = False) -> csr_array:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((nodes, nodes)) < 0.12, 1).astype(float)
    upper[:, nodes - 1] = 0.0  # the last node has no links
    if weighted:
        upper *= rng.uniform(0.5, 3.0, size=upper.shape)
    return csr_array(upper + upper.T)


def all_pairs(nodes: int) -> np.ndarray:
    return np.column_stack(np.triu_indices(nodes, 1)).astype(np.int64)


@pytest.mark.parametrize("weighted", [False, True])
def test_walks_are_powers_of_the_normalised_matrix(weighted):
    graph = random_graph(weighted=weighted)
    dense, pairs = graph.toarray(), all_pairs(40)
    strength = dense.sum(axis=1)
    root = np.divide(1.0, np.sqrt(strength), out=np.zeros(40), where=strength > 0.0)
    step = dense * root[:, None] * root
    raw = raw_walks(walk_graph(graph), pairs)
    plain = raw_walks(walk_graph(graph, normalised=False), pairs)
    rows, columns = pairs.T
    for power, column in ((2, 3), (3, 4), (4, 5)):
        wanted = np.linalg.matrix_power(step, power)[rows, columns]
        np.testing.assert_allclose(raw[:, column], wanted, atol=1e-14)
        wanted = np.linalg.matrix_power(dense, power)[rows, columns]
        np.testing.assert_allclose(plain[:, column], wanted, atol=1e-9)


def test_shared_neighbours_by_hand():
    # 0 and 1 share 2 (degree 2) and 3 (degree 3: 0, 1 and 4)
    dense = np.zeros((5, 5))
    for i, j in ((0, 2), (1, 2), (0, 3), (1, 3), (3, 4)):
        dense[i, j] = dense[j, i] = 1.0
    raw = raw_walks(walk_graph(csr_array(dense)), np.array([[0, 1], [0, 4], [2, 4]]))
    np.testing.assert_allclose(raw[0, :3], [2.0, 1 / np.log(2) + 1 / np.log(3), 1 / 2 + 1 / 3])
    np.testing.assert_allclose(raw[1, :3], [1.0, 1 / np.log(3), 1 / 3])
    assert (raw[2, :3] == 0.0).all()
    np.testing.assert_array_equal(two_step_walks(csr_array(dense)), [5, 5, 4, 5, 3])


def test_scores_do_not_depend_on_direction_order_company_or_threads():
    graph, pairs = random_graph(weighted=True), all_pairs(40)
    scores = walk_scores(walk_graph(graph), pairs)
    assert scores.shape == (len(pairs), len(WALKS))
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores, walk_scores(walk_graph(graph), pairs[:, ::-1]))
    order = np.random.default_rng(0).permutation(len(pairs))[:50]
    set_num_threads(1)
    np.testing.assert_array_equal(scores[order], walk_scores(walk_graph(graph), pairs[order]))
    assert walk_scores(walk_graph(graph), pairs[:0]).shape == (0, len(WALKS))


def test_common_neighbours_and_adamic_adar_on_a_diamond():
    # 0 - 1, 0 - 2, 3 - 1, 3 - 2, 1 - 4: nodes 0 and 3 share 1 (degree 3) and 2 (degree 2)
    edges = [(0, 1), (0, 2), (3, 1), (3, 2), (1, 4)]
    dense = np.zeros((5, 5))
    for i, j in edges:
        dense[i, j] = dense[j, i] = 1.0
    graph, pairs = csr_array(dense), np.array([[0, 3], [0, 4], [2, 4], [0, 1]])
    np.testing.assert_array_equal(heuristic("common-neighbours", graph, pairs), [2, 1, 0, 0])
    expected = [1 / np.log(3) + 1 / np.log(2), 1 / np.log(3), 0, 0]
    np.testing.assert_allclose(heuristic("adamic-adar", graph, pairs), expected)


def test_pagerank_is_that_of_walks_of_two_to_four_steps():
    graph = random_graph()
    pairs, degree = all_pairs(40), np.maximum(graph.sum(axis=1), 1.0)
    steps = graph.toarray() / degree[None, :]  # column j: the steps from j
    visits = sum(0.15 * 0.85**k * np.linalg.matrix_power(steps, k) for k in (2, 3, 4))
    expected = visits[pairs[:, 1], pairs[:, 0]] + visits[pairs[:, 0], pairs[:, 1]]
    np.testing.assert_allclose(
        heuristic("personalised-pagerank", graph, pairs), expected, atol=1e-12
    )


@pytest.mark.parametrize("name", HEURISTICS)
def test_scores_do_not_depend_on_the_direction_of_a_pair(name):
    graph = random_graph(seed=1)
    pairs = all_pairs(40)
    found = [heuristic(name, graph, ends) for ends in (pairs, pairs[:, ::-1])]
    np.testing.assert_allclose(*found, atol=1e-4)


# --- candidates


def pairs_of(mask: np.ndarray) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(mask, 1)), strict=True)}


def as_set(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in pairs}


def test_all_pairs_at_two_steps_and_no_others():
    graph = as_adjacency(nx.gnm_random_graph(50, 90, seed=1))
    dense = graph.toarray()
    wanted = pairs_of((dense @ dense > 0) & (dense == 0))
    found, searched = candidates_of(graph, graph)
    assert as_set(found) == wanted
    assert len(found) == len(wanted)
    assert "at 2 steps" in searched
    near = np.array([[49, 0], [3, 1]])
    more, _ = candidates_of(graph, graph, near)
    assert as_set(more) == (wanted | {(0, 49), (1, 3)}) - pairs_of(dense > 0)


def test_the_best_partners_are_kept():
    # 0 reaches 4 and 5 by two ways each, but those to 4 are through nodes with fewer links
    edges = [(0, 1), (0, 2), (1, 4), (2, 4), (0, 3), (3, 5), (2, 5), (3, 6), (3, 7)]
    graph = as_adjacency(nx.Graph(edges), node_names=range(8))
    own = walked_pairs(graph, 2, 1)
    assert len(own) == 8  # one list per node
    assert own[0].tolist() == [0, 4]
    assert {(0, 4), (0, 5)} <= as_set(walked_pairs(graph, 2, 4))


def test_walks_do_not_go_on_from_hubs(monkeypatch):
    graph = as_adjacency(nx.star_graph(30))
    assert len(candidates_of(graph, graph)[0]) == 30 * 29 // 2
    monkeypatch.setattr(module, "HUB", 20)
    found, searched = candidates_of(graph, graph)
    assert len(found) == 0
    assert "more than 20 links" in searched


def test_links_that_are_known_but_hidden_are_not_wanted():
    graph = as_adjacency(nx.cycle_graph(6))
    known = as_adjacency(nx.Graph([*nx.cycle_graph(6).edges(), (0, 2)]), node_names=range(6))
    assert (0, 2) in as_set(candidates_of(graph, graph)[0])
    assert (0, 2) not in as_set(candidates_of(graph, known)[0])


def test_bipartite_graphs_are_joined_across_their_sides():
    rng = np.random.default_rng(0)
    dense = np.zeros((45, 45))
    dense[:20, 20:] = rng.random((20, 25)) < 0.15
    graph = as_adjacency(dense)
    sides = bipartite_sides(graph)
    both = graph.toarray()
    found, searched = candidates_of(graph, graph, np.array([[0, 1], [0, 21]]))
    cubed = (both @ both @ both > 0) & (both == 0)
    allowed = {pair for pair in pairs_of(cubed) if pair[0] < 20 <= pair[1]}
    assert allowed <= as_set(found)
    assert all(i < 20 <= j for i, j in as_set(found))
    assert crosses(sides, found).all()
    assert "at 3 steps" in searched


@pytest.mark.parametrize(
    "graph", [nx.random_labeled_tree(60, seed=0), nx.gnm_random_graph(40, 90, seed=0)]
)
def test_trees_and_odd_cycles_are_not_bipartite(graph):
    assert bipartite_sides(as_adjacency(graph)) is None


def test_the_denser_a_graph_the_fewer_partners_of_a_node():
    sizes = [
        partners_per_node(as_adjacency(nx.random_regular_graph(degree, 4000, seed=0)))
        for degree in (4, 60)
    ]
    assert sizes == [1000, 150_000_000 // 120 // 4000]
    assert partners_per_node(as_adjacency(nx.star_graph(30))) == 30
