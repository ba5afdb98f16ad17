"""Candidates against brute force."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from truegraph.data.adjacency import as_adjacency
from truegraph.links import candidates as module
from truegraph.links.candidates import (
    bipartite_sides,
    candidates_of,
    crosses,
    partners_per_node,
    walked_pairs,
)


def pairs_of(mask: np.ndarray) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(mask, 1)), strict=True)}


def as_set(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in pairs}


def test_all_pairs_at_two_steps_and_no_others():
    graph = as_adjacency(nx.gnm_random_graph(50, 90, seed=1))
    dense = graph.toarray()
    wanted = pairs_of((dense @ dense > 0) & (dense == 0))
    found = candidates_of(graph, graph)
    assert as_set(found.pairs) == wanted
    assert len(found.pairs) == len(wanted)
    assert "at 2 steps" in found.searched
    near = np.array([[49, 0], [3, 1]])
    more = candidates_of(graph, graph, near)
    assert as_set(more.pairs) == (wanted | {(0, 49), (1, 3)}) - pairs_of(dense > 0)


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
    assert len(candidates_of(graph, graph).pairs) == 30 * 29 // 2
    monkeypatch.setattr(module, "HUB", 20)
    found = candidates_of(graph, graph)
    assert len(found.pairs) == 0
    assert "more than 20 links" in found.searched


def test_links_that_are_known_but_hidden_are_not_wanted():
    graph = as_adjacency(nx.cycle_graph(6))
    known = as_adjacency(nx.Graph([*nx.cycle_graph(6).edges(), (0, 2)]), node_names=range(6))
    assert (0, 2) in as_set(candidates_of(graph, graph).pairs)
    assert (0, 2) not in as_set(candidates_of(graph, known).pairs)


def test_bipartite_graphs_are_joined_across_their_sides():
    rng = np.random.default_rng(0)
    dense = np.zeros((45, 45))
    dense[:20, 20:] = rng.random((20, 25)) < 0.15
    graph = as_adjacency(dense)
    sides = bipartite_sides(graph)
    both = graph.toarray()
    found = candidates_of(graph, graph, np.array([[0, 1], [0, 21]]))
    cubed = (both @ both @ both > 0) & (both == 0)
    allowed = {pair for pair in pairs_of(cubed) if pair[0] < 20 <= pair[1]}
    assert allowed <= as_set(found.pairs)
    assert all(i < 20 <= j for i, j in as_set(found.pairs))
    assert crosses(sides, found.pairs).all()
    assert "at 3 steps" in found.searched


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
