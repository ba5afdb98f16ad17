"""The assortative block model: its gradients, its two fits, and the graphs it draws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from scipy.stats import chisquare

from truegraph.paper import parametric_bgcn
from truegraph.paper.parametric_bgcn import BlockModel, draw_block_graph


def planted(n_nodes: int = 200, seed: int = 0) -> tuple[csr_array, np.ndarray]:
    labels = np.repeat([0, 1], n_nodes // 2)
    rng = np.random.default_rng(seed)
    return draw_block_graph(labels, np.array([0.15, 0.2]), 0.005, rng), labels


def fitted(graph, communities=2, seed=0, iterations=1000) -> BlockModel:
    model = BlockModel(graph, communities, np.random.default_rng(seed))
    model.fit_random(iterations)
    return model


def log_evidence(model: BlockModel, phi: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return log Z_ab of all pairs, (N, N)."""
    pi, beta = phi / phi.sum(1, keepdims=True), theta[:, 1] / theta.sum(1)
    linked = model._graph.toarray() > 0
    agree = pi[:, None, :] * pi[None, :, :]
    with_link = 1e-4 + agree @ (beta - 1e-4)
    return np.log(np.where(linked, with_link, 1 - with_link))


def test_gradients_are_those_of_the_evidence_of_all_pairs(monkeypatch):
    rng = np.random.default_rng(1)
    dense = np.triu(rng.random((14, 14)) < 0.3, 1)
    model = fitted(csr_array((dense | dense.T).astype(float)), 3, iterations=3)
    phi, theta = model._phi.copy(), model._theta.copy()
    others = ~np.eye(14, dtype=bool)

    def of_node(row: np.ndarray) -> float:
        changed = phi.copy()
        changed[4] = row
        return log_evidence(model, changed, theta)[4][others[4]].sum()

    found = model.phi_gradient(np.array([4, 9]), np.arange(14))[0]
    np.testing.assert_allclose(found, approx_fprime(phi[4], of_node), rtol=1e-4, atol=1e-6)

    def of_theta(flat: np.ndarray) -> float:
        return np.triu(log_evidence(model, phi, flat.reshape(3, 2)), 1).sum()

    wanted = approx_fprime(theta.ravel(), of_theta).reshape(3, 2)
    monkeypatch.setattr(parametric_bgcn, "_DRAWN_SHARE", 2000.0)  # many pairs, a small error
    found = np.mean([model.theta_gradient() for _ in range(20)], axis=0)
    np.testing.assert_allclose(found, wanted, rtol=0.05, atol=0.3)


def test_fit_from_probabilities_recovers_planted_communities():
    graph, labels = planted()
    truth = np.where(labels[:, None] == [0, 1], 0.7, 0.3)
    start = truth.copy()
    wrong = np.random.default_rng(1).choice(len(labels), 30, replace=False)
    start[wrong] = 1.0 - truth[wrong]
    model = fitted(graph)
    model.fit_from(start)
    assert (model.memberships.argmax(1) == labels).mean() > 0.97  # 0.85 at the start
    np.testing.assert_allclose(model.within, [0.15, 0.2], rtol=0.2)
    np.testing.assert_allclose(model.memberships.sum(axis=1), 1.0)


@pytest.mark.parametrize("edges", [[], [(0, 1)], list(itertools.combinations(range(6), 2))])
def test_edgeless_and_complete_graphs_stay_finite(edges):
    dense = np.zeros((6, 6))
    for a, b in edges:
        dense[a, b] = dense[b, a] = 1.0
    model = fitted(csr_array(dense), 3, iterations=50)
    model.fit_from(np.eye(3)[[0, 0, 1, 1, 2, 2]], 50)
    assert np.isfinite(model.memberships).all()
    assert np.isfinite(model.within).all()


def test_drawn_graphs_have_exactly_the_bernoulli_distribution():
    labels = np.array([0, 1, 0, 1])
    within, across = np.array([0.5, 0.3]), 0.2
    pairs = list(itertools.combinations(range(4), 2))
    chances = [within[labels[a]] if labels[a] == labels[b] else across for a, b in pairs]
    expected = np.array(
        [
            np.prod([p if bit else 1.0 - p for p, bit in zip(chances, bits, strict=True)])
            for bits in itertools.product([0, 1], repeat=len(pairs))
        ]
    )
    rng = np.random.default_rng(11)
    counts = np.zeros(len(expected))
    for _ in range(3000):
        dense = draw_block_graph(labels, within, across, rng).toarray()
        counts[int("".join(str(int(dense[pair])) for pair in pairs), 2)] += 1
    order = np.argsort(expected)  # rare graphs are pooled: every cell expects at least five
    cells = (np.cumsum(expected[order] * 3000) // 8).astype(int)
    observed = np.bincount(cells, counts[order])
    wanted = np.bincount(cells, expected[order] * 3000)
    assert chisquare(observed[wanted > 0], wanted[wanted > 0]).pvalue > 1e-3
