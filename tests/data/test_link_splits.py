"""Splits of links: sizes, disjointness, uniform non-links, clear errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from truegraph.data import load_dataset
from truegraph.data.link_splits import (
    links_of,
    numbered_pairs,
    pair_numbers,
    sample_non_links,
    split_links,
)
from truegraph.errors import InputError


def random_graph(n_nodes: int, density: float, seed: int) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n_nodes, n_nodes)) < density, 1)
    return sparse.csr_array((upper | upper.T).astype(float))


def parts_of(split):
    return [
        split.validation_links,
        split.validation_non_links,
        split.test_links,
        split.test_non_links,
    ]


@settings(max_examples=60, deadline=None)
@given(
    n_nodes=st.integers(12, 40),
    density=st.floats(0.15, 0.6),
    seed=st.integers(0, 2**20),
    connected=st.booleans(),
)
def test_all_pairs_are_disjoint_and_what_they_claim_to_be(n_nodes, density, seed, connected):
    graph = random_graph(n_nodes, density, seed)
    total = graph.nnz // 2
    try:
        split = split_links(graph, connected=connected, random_state=seed)
    except InputError:
        assert connected or total < 20 or total * 1.15 > n_nodes * (n_nodes - 1) / 2
        return
    dense, train = graph.toarray(), split.train.toarray()
    assert (train == train.T).all()
    assert split.train.nnz // 2 == total - total // 20 - total // 10
    sizes = [len(part) for part in parts_of(split)]
    assert sizes == [total // 20, total // 20, total // 10, total // 10]
    everything = np.concatenate([links_of(split.train), *parts_of(split)])
    assert (everything[:, 0] < everything[:, 1]).all()
    assert len(np.unique(pair_numbers(everything))) == len(everything)
    for part, value in zip(parts_of(split), (1.0, 0.0, 1.0, 0.0), strict=True):
        assert (dense[part[:, 0], part[:, 1]] == value).all()
        assert not train[part[:, 0], part[:, 1]].any()
    if connected:
        assert connected_components(split.train)[0] == connected_components(graph)[0]


def test_cora_and_citeseer_have_the_sizes_of_the_paper():
    for name, nodes, links in (("cora", 2485, 5069), ("citeseer", 2110, 3668)):
        graph = load_dataset(name, component="largest").graph
        assert (graph.shape[0], graph.nnz // 2) == (nodes, links)
        split = split_links(graph, random_state=0)
        assert len(split.test_links) == len(split.test_non_links) == links // 10
        assert len(split.validation_links) == links // 20


def test_seed_fixes_the_split():
    graph = random_graph(50, 0.2, 0)
    first, again, other = (split_links(graph, random_state=seed) for seed in (3, 3, 4))
    for part, same, different in zip(*(parts_of(s) for s in (first, again, other)), strict=True):
        np.testing.assert_array_equal(part, same)
        assert (part != different).any()


def test_weights_and_self_loops_do_not_count():
    graph = random_graph(40, 0.3, 1)
    heavy = sparse.csr_array(7.0 * graph + 3.0 * sparse.eye_array(40))
    first, second = split_links(graph, random_state=0), split_links(heavy, random_state=0)
    assert (first.train != second.train).nnz == 0
    np.testing.assert_array_equal(first.test_links, second.test_links)


def test_non_links_are_drawn_uniformly():
    graph = random_graph(9, 0.4, 2)
    free = 36 - graph.nnz // 2
    counts = np.zeros(36)
    for seed in range(3000):
        counts[pair_numbers(sample_non_links(graph, 4, seed))] += 1
    linked = pair_numbers(links_of(graph))
    assert not counts[linked].any()
    drawn = np.delete(counts, linked)
    expected = 3000 * 4 / free
    assert abs(drawn - expected).max() < 5 * np.sqrt(expected)


def test_pairs_are_numbered_without_gaps():
    pairs = np.array([(i, j) for j in range(40) for i in range(j)])
    numbers = pair_numbers(pairs)
    np.testing.assert_array_equal(numbers, np.arange(780))
    np.testing.assert_array_equal(numbered_pairs(numbers), pairs)
    n = 50_000_000  # beyond the precision of a float's root
    large = np.array([[0, n], [n - 1, n], [0, n + 1], [123, n]])
    np.testing.assert_array_equal(numbered_pairs(pair_numbers(large)), large)


def test_errors_name_the_argument_and_the_remedy():
    ring = np.roll(np.eye(8), 1, axis=1)
    with pytest.raises(InputError, match=r"validation=0.05 of 8 links is less than one.*20 links"):
        split_links(ring)
    with pytest.raises(InputError, match="has 0 pairs without a link"):
        split_links(np.ones((10, 10)))
    with pytest.raises(InputError, match=r"test=1.5 must be a share"):
        split_links(ring, test=1.5)
    with pytest.raises(InputError, match="leave no links"):
        split_links(ring, validation=0.5, test=0.5)
    with pytest.raises(InputError, match=r"connected=True: only 1 of 40 links"):
        split_links(np.roll(np.eye(40), 1, axis=1), connected=True)
