"""Gibbs draws against numerical integration, and simulation-based calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lab.known_problems import paper_graph
from scipy.sparse import csr_array
from scipy.stats import chisquare

from truegraph import LearnedGraph
from truegraph.learning.posterior.samples import effective_sample_size

GRAPHS = {
    "triangle": [(0, 1), (0, 2), (1, 2)],
    "star": [(0, 1), (0, 2), (0, 3)],
    "paw": [(0, 1), (0, 2), (1, 2), (2, 3)],
    "k4": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
}
DISTANCES = [0.3, 1.1, 0.6, 0.05, 0.9, 1.6]
POINTS = 30  # of the quadrature, per pair


def _learn(edges: list[tuple[int, int]], t: Any) -> LearnedGraph:
    nodes = 1 + max(max(edge) for edge in edges)
    dense = np.full((nodes, nodes), -1.0)
    for (i, j), distance in zip(edges, t, strict=True):
        dense[i, j] = dense[j, i] = distance
    rows, columns = np.nonzero(dense >= 0.0)
    distances = csr_array((dense[rows, columns], (rows, columns)), shape=dense.shape)
    return paper_graph(distances, metric="precomputed", theta=1.0, tol=1e-12)


class Integration:
    """Moments of the posterior of a few pairs, by Gauss-Legendre rules in every weight.

    The density is written as a normal one of every weight around the tangents at the mode, times
    exp(kappa [log(d / d0) - (d - d0) / d0]) <= 1 for every node: no factor overflows. The sum over
    the grid goes node by node, so that six weights cost no more than a few matrix products.
    """

    def __init__(self, edges: list[tuple[int, int]], graph: LearnedGraph, kappa: float) -> None:
        degree = np.asarray(graph.adjacency.sum(axis=1)).ravel()
        points, weights = np.polynomial.legendre.leggauss(POINTS)
        spread = np.sqrt(0.5 / kappa)  # no marginal is wider
        self._grid, self._of_pair, self._of_node = [], [], []
        for i, j in edges:
            mode = graph.adjacency[i, j]
            low, high = max(0.0, mode - 8.0 * spread), mode + 8.0 * spread
            w = 0.5 * (high - low) * points + 0.5 * (high + low)
            x = 0.5 * (1.0 / degree[i] + 1.0 / degree[j]) - graph.candidates[i, j]
            self._grid.append(w)
            self._of_pair.append(weights * np.exp(-kappa * (w - x) ** 2))
        for i, d0 in enumerate(degree):
            at = [e for e, edge in enumerate(edges) if i in edge]
            d = sum(np.ix_(*[self._grid[e] for e in at]))
            self._of_node.append((at, np.exp(kappa * (np.log(d / d0) - (d - d0) / d0))))
        self._total = self._sum({})

    def _sum(self, powers: dict[int, int]) -> float:
        """Sum prod w_e^power times the density over the grid."""
        left = {e: f * self._grid[e] ** powers.get(e, 0) for e, f in enumerate(self._of_pair)}
        operands: list[Any] = []
        for at, factor in self._of_node:
            # A pair's own factor goes with the first of its nodes.
            own = [left.pop(e, np.ones(POINTS)) for e in at]
            for along in np.ix_(*own):
                factor = factor * along
            operands += [factor, at]
        path = ["einsum_path", *[(0, 1)] * (len(self._of_node) - 1)]
        return float(np.einsum(*operands, [], optimize=path))

    def moment(self, powers: dict[int, int]) -> float:
        """Return E[prod w_e^power]."""
        return self._sum(powers) / self._total


def _z_scores(draws: np.ndarray, exact: Integration) -> dict[str, float]:
    """Return how many standard errors the draws (chains, rounds, pairs) are off."""
    pairs = draws.shape[2]
    quantities = {f"w{e}": (draws[..., e], exact.moment({e: 1})) for e in range(pairs)}
    quantities |= {f"w{e}^2": (draws[..., e] ** 2, exact.moment({e: 2})) for e in range(pairs)}
    cross = draws[..., 0] * draws[..., -1]
    quantities["cross"] = (cross, exact.moment({0: 1, pairs - 1: 1}))
    found = {}
    for name, (values, expected) in quantities.items():
        ess = effective_sample_size(values[:, :, None])[0]
        found[name] = (values.mean() - expected) / (values.std() / np.sqrt(ess))
    return found


def _draws(graph: LearnedGraph, kappa: float, samples: int, seed: int, **how: Any) -> np.ndarray:
    """Return draws (samples, pairs)."""
    drawn = graph.posterior(concentration=kappa).sample(samples, seed, **how)
    return np.stack(list(drawn.weights))


@pytest.mark.parametrize("kappa", [0.5, 5.0, 70.0, 1000.0])
@pytest.mark.parametrize("name", GRAPHS)
def test_moments_agree_with_numerical_integration(name: str, kappa: float) -> None:
    edges = GRAPHS[name]
    graph = _learn(edges, DISTANCES[: len(edges)])
    draws = _draws(graph, kappa, 6000, 1, thin=4, burn_in=50)
    z = _z_scores(draws.reshape(-1, 4, len(edges)).swapaxes(0, 1), Integration(edges, graph, kappa))
    assert max(map(abs, z.values())) < 4.0, z


def test_the_quadrature_is_right() -> None:
    # One pair: w^2 exp(-kappa (2 t w + w^2)) for kappa = 1, whose moments are known for t = 0.
    edges = [(0, 1)]
    exact = Integration(edges, _learn(edges, [0.0]), 1.0)
    assert exact.moment({0: 1}) == pytest.approx(2.0 / np.sqrt(np.pi), rel=1e-6)
    assert exact.moment({0: 2}) == pytest.approx(1.5, rel=1e-6)


def _draw_prior(
    ends: np.ndarray, degree: np.ndarray, kappa: float, rate: float, rng: np.random.Generator
) -> np.ndarray:
    """Draw w from exp(-kappa [|w|^2 - sum log d]) prod 1 / (rate + 2 kappa w), by rejection.

    The proposals come from the tangents at the mode, whose degrees are given.
    """
    x = 0.5 * (1.0 / degree[ends]).sum(axis=1)
    while True:
        w = x + rng.normal(size=len(ends)) * np.sqrt(0.5 / kappa)
        if w.min() < 0.0:
            continue
        ratio = (np.bincount(ends[:, 0], w, 4) + np.bincount(ends[:, 1], w, 4)) / degree
        log_accept = kappa * (np.log(ratio) - (ratio - 1.0)).sum()
        log_accept -= np.log1p(2.0 * kappa * w / rate).sum()
        if np.log(rng.random()) < log_accept:
            return w


# Short single chains cannot prove that they have mixed; the ranks will tell.
@pytest.mark.filterwarnings("ignore:the chains have not mixed")
@pytest.mark.parametrize(("name", "kappa"), [("paw", 2.0), ("k4", 20.0)])
def test_simulation_based_calibration(name: str, kappa: float) -> None:
    # With t_e ~ Exp(rate + 2 kappa w_e) the posterior of w given t is the one we draw from: the
    # rank of the true w among draws must then be uniform.
    edges, rate, rng = GRAPHS[name], 2.0 * kappa, np.random.default_rng(5)
    mode = _learn(edges, [0.0] * len(edges))
    degree = np.asarray(mode.adjacency.sum(axis=1)).ravel()
    ranks = []
    for simulation in range(240):
        truth = _draw_prior(np.array(edges), degree, kappa, rate, rng)
        t = rng.exponential(1.0 / (rate + 2.0 * kappa * truth))
        how = {"chains": 1, "thin": 4, "burn_in": 20}
        draws = _draws(_learn(edges, t), kappa, 31, simulation, **how)
        ranks.append((draws < truth).sum(axis=0))
    for of_pair in np.array(ranks).T:
        counts = np.bincount(of_pair // 4, minlength=8)
        assert chisquare(counts).pvalue > 1e-3, counts
