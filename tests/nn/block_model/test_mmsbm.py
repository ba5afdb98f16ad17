"""The assortative block model: its gradients, its two fits, and the graphs it draws."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import sparse, stats

from truegraph.errors import InputError
from truegraph.nn.block_model import mmsbm
from truegraph.nn.block_model.mmsbm import AssortativeMMSBM, sample_block_graph


def planted_graph(n_nodes: int = 200, seed: int = 0):
    labels = np.repeat([0, 1], n_nodes // 2)
    rng = np.random.default_rng(seed)
    return sample_block_graph(labels, np.array([0.15, 0.2]), 0.005, rng), labels


def test_fit_from_probabilities_recovers_planted_communities():
    graph, labels = planted_graph()
    rng = np.random.default_rng(1)
    truth = np.where(labels[:, None] == [0, 1], 0.7, 0.3)
    probabilities = truth.copy()
    wrong = rng.choice(len(labels), 30, replace=False)
    probabilities[wrong] = 1.0 - truth[wrong]
    model = AssortativeMMSBM(graph, 2, random_state=0).fit_random()
    model.fit_from_probabilities(probabilities)
    assert (model.labels_ == labels).mean() > 0.97  # 0.85 at the start
    np.testing.assert_allclose(model.within_, [0.15, 0.2], rtol=0.2)
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0)


def test_fit_from_probabilities_without_iterations_is_the_stated_start():
    graph, labels = planted_graph()
    probabilities = np.where(labels[:, None] == [0, 1], 0.75, 0.25)
    model = AssortativeMMSBM(graph, 2, random_state=3).fit_random(iterations=5)
    totals = model._phi.sum(axis=1), model._theta.sum(axis=1)
    model.fit_from_probabilities(probabilities, iterations=0)
    np.testing.assert_allclose(model.memberships_, probabilities)
    inside = [graph[labels == k][:, labels == k].sum() / (100**2 + 1) for k in (0, 1)]
    np.testing.assert_allclose(model.within_, inside)
    np.testing.assert_allclose(model._phi.sum(axis=1), totals[0])
    np.testing.assert_allclose(model._theta.sum(axis=1), totals[1])


def test_the_seed_fixes_the_bits():
    graph, labels = planted_graph()
    probabilities = np.where(labels[:, None] == [0, 1], 0.75, 0.25)
    models = []
    for seed in (4, 4, 5):
        model = AssortativeMMSBM(graph, 2, random_state=seed, batch_partners=60)
        models.append(model.fit_random(20).fit_from_probabilities(probabilities, 20))
    np.testing.assert_array_equal(models[0].memberships_, models[1].memberships_)
    np.testing.assert_array_equal(models[0].within_, models[1].within_)
    assert (models[0].memberships_ != models[2].memberships_).any()


@pytest.mark.parametrize("edges", [[], [(0, 1)], list(itertools.combinations(range(6), 2))])
def test_edgeless_and_complete_graphs_stay_finite(edges):
    dense = np.zeros((6, 6))
    for a, b in edges:
        dense[a, b] = dense[b, a] = 1.0
    model = AssortativeMMSBM(sparse.csr_array(dense), 3, random_state=0).fit_random(50)
    model.fit_from_probabilities(np.eye(3)[[0, 0, 1, 1, 2, 2]], 50)
    assert np.isfinite(model.memberships_).all()
    assert np.isfinite(model.within_).all()


def test_memory_is_linear_in_nodes_and_links():
    n_nodes = 20_000
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=n_nodes)
    graph = sample_block_graph(labels, np.full(4, 6e-4), 1e-4, rng)
    AssortativeMMSBM(graph[:50][:, :50], 4, random_state=0).fit_random(1)  # compile first
    tracemalloc.start()
    try:
        AssortativeMMSBM(graph, 4, random_state=0).fit_random(1)
        sample_block_graph(labels, np.full(4, 6e-4), 1e-4, rng)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40e6  # the list of non-links alone would take 3.2 GB


def test_drawing_fewer_non_links_finds_the_same_densities(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=3_000)
    graph = sample_block_graph(labels, np.array([0.002, 0.004, 0.008]), 1e-4, rng)
    found = []
    for most in (2_000, 45_000):  # of the 45,000 that are 1 % of the non-links
        monkeypatch.setattr(mmsbm, "_MOST_NON_LINKS", most)
        model = AssortativeMMSBM(graph, 3, random_state=0).fit_random(300)
        found.append(model.fit_from_probabilities(np.eye(3)[labels], 200).within_)
    np.testing.assert_allclose(found[0], found[1], rtol=0.02)
    np.testing.assert_allclose(found[1], [0.002, 0.004, 0.008], rtol=0.1)


def test_work_per_iteration_is_bounded_on_large_graphs():
    assert mmsbm._drawn_non_links(0) == 0
    assert mmsbm._drawn_non_links(30) == 1
    assert mmsbm._drawn_non_links(3_660_000) == 36_600  # Cora: the authors' 1 %
    assert mmsbm._drawn_non_links(10**12) == 100_000


def test_drawn_graphs_have_exactly_the_bernoulli_distribution():
    labels = np.array([0, 1, 0, 1])
    within, across = np.array([0.5, 0.3]), 0.2
    pairs = list(itertools.combinations(range(4), 2))
    chances = [within[labels[a]] if labels[a] == labels[b] else across for a, b in pairs]
    expected = [
        np.prod([p if bit else 1.0 - p for p, bit in zip(chances, bits, strict=True)])
        for bits in itertools.product([0, 1], repeat=len(pairs))
    ]
    rng = np.random.default_rng(11)
    counts = np.zeros(len(expected))
    for _ in range(6000):
        dense = sample_block_graph(labels, within, across, rng).toarray()
        counts[int("".join(str(int(dense[pair])) for pair in pairs), 2)] += 1
    # Rare graphs are pooled so that every cell expects at least five.
    order = np.argsort(expected)
    cells = np.cumsum(np.asarray(expected)[order] * 6000) // 8
    observed = np.bincount(cells.astype(int), counts[order])
    wanted = np.bincount(cells.astype(int), np.asarray(expected)[order] * 6000)
    observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    assert stats.chisquare(observed, wanted).pvalue > 1e-3


def test_drawn_graphs_are_simple_and_have_the_expected_degrees():
    rng = np.random.default_rng(2)
    labels = rng.choice(4, 3000, p=[0.5, 0.3, 0.2, 0.0])
    within, across = np.array([0.004, 0.01, 0.03, 0.5]), 1e-3
    sizes = np.bincount(labels, minlength=4)
    expected = within * np.maximum(sizes - 1, 0) + across * (3000 - sizes)
    degrees = np.zeros(3000)
    for _ in range(20):
        graph = sample_block_graph(labels, within, across, rng)
        assert not graph.diagonal().any()
        assert abs(graph - graph.T).sum() == 0
        assert graph.data.max() == 1.0  # placed without replacement
        degrees += graph.sum(axis=1) / 20
    means = [degrees[labels == k].mean() for k in range(3)]
    np.testing.assert_allclose(means, expected[:3], rtol=0.02)


def test_certain_links_give_the_complete_block():
    graph = sample_block_graph(
        np.array([0, 0, 1, 0, 1]), np.array([1.0, 0.0]), 0.0, np.random.default_rng(0)
    )
    expected = np.zeros((5, 5))
    for a, b in ((0, 1), (0, 3), (1, 3)):
        expected[a, b] = expected[b, a] = 1.0
    np.testing.assert_array_equal(graph.toarray(), expected)


def test_errors_name_the_argument_and_the_remedy():
    graph, _ = planted_graph(20)
    model = AssortativeMMSBM(graph, 2)
    with pytest.raises(InputError, match="fit_random first"):
        model.fit_from_probabilities(np.ones((20, 2)))
    model.fit_random(1)
    with pytest.raises(InputError, match=r"probabilities have shape \(20, 3\)"):
        model.fit_from_probabilities(np.ones((20, 3)))
    with pytest.raises(InputError, match="softmax"):
        model.fit_from_probabilities(np.zeros((20, 2)))
    with pytest.raises(InputError, match="n_communities=0"):
        AssortativeMMSBM(graph, 0)
    with pytest.raises(InputError, match=r"across=1\.5"):
        AssortativeMMSBM(graph, 2, across=1.5)
    with pytest.raises(InputError, match="not symmetric"):
        AssortativeMMSBM(sparse.csr_array(np.triu(np.ones((3, 3)))), 2)
