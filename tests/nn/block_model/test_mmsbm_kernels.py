"""The gradients of the block model against differences of its likelihood."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from truegraph.nn.block_model.mmsbm import theta_gradient
from truegraph.nn.block_model.mmsbm_kernels import phi_gradient, shares_in_non_links, sum_of_shares

ACROSS = 0.02


SEED = np.uint64(7)


def log_evidence(graph: np.ndarray, phi: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """log Z_ab of every pair, as printed in the paper."""
    pi = phi / phi.sum(axis=1, keepdims=True)
    beta = theta[:, 1] / theta.sum(axis=1)
    same = np.einsum("ak,bk->abk", pi, pi)
    linked = ACROSS + ((beta - ACROSS) * same).sum(axis=2)
    return np.where(graph > 0, np.log(linked), np.log(1.0 - linked))


def tiny_model(n_nodes: int = 8, n_communities: int = 3):
    rng = np.random.default_rng(5)
    upper = np.triu(rng.random((n_nodes, n_nodes)) < 0.4, 1)
    phi = rng.gamma(1.0, size=(n_nodes, n_communities))
    theta = rng.gamma(2.0, size=(n_communities, 2))
    return (upper | upper.T).astype(float), phi, theta


def differences(function, point: np.ndarray, step: float = 1e-6) -> np.ndarray:
    slopes = np.empty_like(point)
    for place in np.ndindex(point.shape):
        moved = [point.copy(), point.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        slopes[place] = (function(moved[0]) - function(moved[1])) / (2.0 * step)
    return slopes


def pairs_of(graph: np.ndarray):
    lists = sparse.csr_array(graph)
    sources, targets = np.nonzero(np.triu(graph, 1))
    return sources, targets, lists.indptr.astype(np.int64), lists.indices.astype(np.int64)


def kernel_phi_gradient(graph, phi, theta, n_partners, seed=SEED):
    _, _, indptr, indices = pairs_of(graph)
    pi, beta = phi / phi.sum(axis=1, keepdims=True), theta[:, 1] / theta.sum(axis=1)
    gradient = np.empty_like(phi)
    nodes = np.arange(len(phi))
    phi_gradient(nodes, (indptr, indices), (pi, beta, ACROSS), n_partners, seed, gradient)
    return gradient / phi.sum(axis=1, keepdims=True)


def test_phi_gradient_is_the_derivative_of_the_log_likelihood():
    graph, phi, theta = tiny_model()
    ours = kernel_phi_gradient(graph, phi, theta, n_partners=100)  # all pairs take part

    def likelihood(point):
        return log_evidence(graph, point, theta)[np.triu_indices(len(phi), 1)].sum()

    np.testing.assert_allclose(ours, differences(likelihood, phi), rtol=1e-6, atol=1e-7)


def test_phi_gradient_on_random_partners_is_unbiased():
    graph, phi, theta = tiny_model(n_nodes=12)
    exact = kernel_phi_gradient(graph, phi, theta, n_partners=100)
    draws = np.stack(
        [kernel_phi_gradient(graph, phi, theta, 6, np.uint64(seed)) for seed in range(4000)]
    )
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - exact) < 5.0 * error + 1e-12).all()
    assert draws.std(axis=0).max() > 0.0


def test_theta_gradient_is_the_derivative_of_the_log_likelihood():
    graph, phi, theta = tiny_model()
    pi, beta = phi / phi.sum(axis=1, keepdims=True), theta[:, 1] / theta.sum(axis=1)
    upper = np.triu_indices(len(phi), 1)
    evidence = np.exp(log_evidence(graph, phi, theta)[upper])
    linked = graph[upper] > 0
    probability = np.where(linked[:, None], beta, 1.0 - beta)
    shares = probability * pi[upper[0]] * pi[upper[1]] / evidence[:, None]

    def likelihood(point):
        return log_evidence(graph, phi, point)[upper].sum()

    ours = theta_gradient(theta, shares[linked].sum(axis=0), shares[~linked].sum(axis=0))
    np.testing.assert_allclose(ours, differences(likelihood, theta), rtol=1e-6, atol=1e-7)

    # The kernel gives the same shares: exactly for links, in the mean for drawn non-links.
    n_drawn = 400_000
    sources, targets, indptr, indices = pairs_of(graph)
    in_links = np.zeros(len(beta))
    sum_of_shares(sources, targets, pi, beta, ACROSS, in_links)
    in_non_links = shares_in_non_links((indptr, indices), (pi, beta, ACROSS), n_drawn, SEED)
    np.testing.assert_allclose(in_links, shares[linked].sum(axis=0))
    np.testing.assert_allclose(in_non_links / n_drawn, shares[~linked].mean(axis=0), rtol=0.01)
