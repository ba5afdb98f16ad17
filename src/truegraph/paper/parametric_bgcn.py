r"""The Bayesian GCN of Zhang et al. (AAAI 2019): graphs drawn from a fitted block model.

A GCN is trained on the observed graph for the epochs of its options, and one more. Then a block
model is fitted to the graph, first from a random start (run A), which only sets its step sizes, and
then from the classes that the GCN predicts (run B). From there on every epoch trains on a new graph
drawn from it; run B is repeated every `refresh_every` epochs. The last iterates, each on the graph
of its epoch and without dropout, are averaged.

In the block model, node a belongs to community k with probability pi_ak. Two nodes that pick the
same community k are linked with probability beta_k, two that do not with a small constant delta.
With B(p) = p for a linked pair and 1 - p for the others, and both memberships summed out,

    Z_ab = B(delta) + sum_k [B(beta_k) - B(delta)] pi_ak pi_bk .

The mode is looked for by stochastic ascent in phi and theta, where pi_ak = phi_ak / sum_l phi_al
and beta_k = theta_k1 / (theta_k0 + theta_k1), and the same for theta:

    phi <- | phi + (eps/2) (-rho phi + phi o d log Z / d phi) | .

Links are looked at exactly; random pairs stand for the pairs without a link. Two things differ
from the authors' code. The nodes of a batch share the partners that are drawn, which makes an
iteration two products of small matrices. And for theta at most 100,000 pairs are drawn where the
authors draw 1 % of the non-links, which grows with N^2: the same up to 4,472 nodes, and on Pubmed a
tenth of the time for the same beta to 0.2 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.operators import without_diagonal
from truegraph.errors import InputError
from truegraph.evaluation.samples import mean_of_samples
from truegraph.fit_log import FitLog
from truegraph.options import checked_options
from truegraph.paper.algorithm1 import BayesianGCN, snapshots
from truegraph.paper.training import Training, predict_proba
from truegraph.runtime.threads import one_blas_thread

Floats = NDArray[np.float64]

_FIT, _DRAW_STREAM = 2, 3  # streams of the seed
_DECAY = 0.001  # rho
_ACROSS = 1e-4  # delta
_BATCH = 500  # nodes that an iteration moves, and partners that are drawn for them
_DRAWN_SHARE, _MOST_DRAWN = 0.01, 100_000  # of the pairs, for theta
_SMALLEST = 1e-50  # of phi and theta, which must stay positive
_SMALLEST_EVIDENCE = 1e-25  # of Z

#: Options, by default those of the authors.
#:
#: gcn_options : mapping or None
#:     Of the GCN; its epochs are those on the observed graph before the block model.
#: sampled_epochs : int
#:     Epochs after them; all but the first are on drawn graphs.
#: samples : int
#:     How many of the last iterates are averaged.
#: refresh_every : int
#:     The block model is fitted again after each epoch that this divides.
#: start_iterations, fit_iterations : int
#:     Iterations of run A and of each run B.
PARAMETRIC_DEFAULTS: dict[str, Any] = {
    "gcn_options": None,
    "sampled_epochs": 100,
    "samples": 59,
    "refresh_every": 20,
    "start_iterations": 1000,
    "fit_iterations": 200,
}


def parametric_bgcn(task: Any, options: Mapping[str, Any] | None, log: FitLog) -> BayesianGCN:
    """Train on the observed graph, then on drawn ones."""
    o = SimpleNamespace(**checked_options(PARAMETRIC_DEFAULTS, options))
    if o.samples >= o.sampled_epochs:
        raise InputError(
            f"samples={o.samples} must be below sampled_epochs={o.sampled_epochs}; lower samples."
        )
    G_obs, X = task.graph, task.features
    gcn = Training("gcn", task, o.gcn_options)
    with log.stage("gcn"):
        gcn.run(G_obs, progress=log.progress)
    model = BlockModel(G_obs, task.classes, np.random.default_rng([task.seed, _FIT]))
    rng, first = np.random.default_rng([task.seed, _DRAW_STREAM]), gcn.epoch

    def graph(epoch: int) -> csr_array:
        """Return the graph of an epoch: observed in the first, then drawn."""
        if epoch == first:
            return G_obs
        if epoch == first + 1:
            model.fit_random(o.start_iterations)
        if epoch == first + 1 or (epoch - 1) % o.refresh_every == 0:
            model.fit_from(predict_proba(gcn.network, G_obs, X), o.fit_iterations)
        return model.draw(rng)

    with log.stage("weight samples"):
        W: list[dict[str, Any]] = []
        p = snapshots(gcn, graph, o.sampled_epochs, o.samples, W, None, X)
        return BayesianGCN(gcn.network, W, 0, *mean_of_samples(p))


class BlockModel:
    """Assortative mixed-membership stochastic block model of a graph (N, N), by stochastic MAP.

    Weights of the graph and its diagonal are ignored. `memberships` (N, K) is pi, `within` (K,) is
    beta.
    """

    def __init__(self, graph: csr_array, communities: int, rng: np.random.Generator) -> None:
        self._graph = without_diagonal(graph)
        self._graph.data[:] = 1.0
        self._n_nodes, self._communities, self._rng = graph.shape[0], communities, rng
        sources, targets = (ends.astype(np.int64) for ends in self._graph.nonzero())
        self._links = sources[sources < targets], targets[sources < targets]

    def fit_random(self, iterations: int = 1000) -> None:
        """Fit from a random start: run A of Zhang et al., with large steps."""
        shape = (self._n_nodes, self._communities)
        self._phi = np.maximum(self._rng.gamma(1.0 / self._communities, size=shape), _SMALLEST)
        self._theta = np.maximum(self._rng.gamma(1.0, size=(self._communities, 2)), _SMALLEST)
        self._ascend(iterations, first_step=0, scaler=0.1)

    def fit_from(self, probabilities: NDArray[Any], iterations: int = 200) -> None:
        """Fit from memberships (N, K): run B of Zhang et al., with small steps.

        beta_k begins as the density of links inside predicted class k. The row sums of phi and
        theta, which set the effective step of each node, stay those of the last fit.
        """
        pi = probabilities.astype(np.float64)
        pi /= pi.sum(axis=1, keepdims=True)
        labels, (sources, targets) = pi.argmax(axis=1), self._links
        inside = labels[sources[labels[sources] == labels[targets]]]
        sizes = np.bincount(labels, minlength=self._communities).astype(np.float64)
        beta = 2.0 * np.bincount(inside, minlength=self._communities) / (sizes**2 + 1.0)
        pair = np.stack([1.0 - beta, beta], axis=1)
        self._phi = np.maximum(pi * self._phi.sum(axis=1, keepdims=True), _SMALLEST)
        self._theta = np.maximum(pair * self._theta.sum(axis=1, keepdims=True), _SMALLEST)
        self._ascend(iterations, first_step=10_000, scaler=1.0)

    def draw(self, rng: np.random.Generator) -> csr_array:
        """Draw a graph given the most probable community of each node."""
        return draw_block_graph(self.memberships.argmax(axis=1), self.within, _ACROSS, rng)

    def _ascend(self, iterations: int, first_step: int, scaler: float) -> None:
        self._normalise()
        batch = min(_BATCH, self._n_nodes)
        with one_blas_thread():  # sums come in one order
            for t in range(first_step, first_step + iterations):
                half_step = 0.5 * (1024.0 + t) ** -0.5 / scaler
                nodes, partners = (
                    self._rng.choice(self._n_nodes, batch, replace=False) for _ in range(2)
                )
                slope = self.phi_gradient(nodes, partners)
                self._phi[nodes] = _moved(self._phi[nodes], slope, half_step)
                self._normalise()
                self._theta = _moved(self._theta, self.theta_gradient(), half_step)
                self._normalise()

    def _normalise(self) -> None:
        self.memberships = self._phi / self._phi.sum(axis=1, keepdims=True)
        self.within = self._theta[:, 1] / self._theta.sum(axis=1)

    def phi_gradient(self, nodes: NDArray[np.int64], partners: NDArray[np.int64]) -> Floats:
        """Return the slope of sum_b log Z_ab by phi_a of n nodes a, shape (n, K).

        All links of a count, and those of the partners (m,) that are not linked with a, weighted
        to stand for all such nodes.
        """
        pi, difference = self.memberships, self.within - _ACROSS
        rows = self._graph[nodes]
        degree = np.diff(rows.indptr)
        a = np.repeat(pi[nodes], degree, axis=0)
        inverse = _inverse(_ACROSS + (a * pi[rows.indices]) @ difference)
        by_link = csr_array((inverse, rows.indices, rows.indptr), shape=rows.shape)
        slope = _ACROSS * by_link.sum(axis=1)[:, None] + difference * (by_link @ pi)
        slope -= degree[:, None]
        apart = rows[:, partners].toarray() == 0.0
        apart &= nodes[:, None] != partners
        evidence = (pi[nodes] * -difference) @ pi[partners].T
        evidence += 1.0 - _ACROSS
        inverse = _inverse(evidence)
        inverse *= apart
        count = apart.sum(axis=1)
        by_non_link = (1.0 - _ACROSS) * inverse.sum(axis=1)[:, None] - count[:, None]
        by_non_link = by_non_link - difference * (inverse @ pi[partners])
        slope += ((self._n_nodes - 1 - degree) / np.maximum(count, 1))[:, None] * by_non_link
        found: Floats = slope / self._phi[nodes].sum(axis=1, keepdims=True)
        return found

    def theta_gradient(self) -> Floats:
        """Return the slope of sum log Z by theta, shape (K, 2), with drawn non-links.

        Random pairs estimate the sum over all pairs, from which the links are taken out exactly.
        """
        pairs = self._n_nodes * (self._n_nodes - 1) // 2
        drawn = min(_MOST_DRAWN, max(1, int(_DRAWN_SHARE * (pairs - len(self._links[0])))))
        sources = self._rng.integers(self._n_nodes, size=drawn)
        others = self._rng.integers(max(self._n_nodes - 1, 1), size=drawn)
        others += others >= sources  # two different nodes
        linked = self._products(*self._links)
        random = self._products(sources, np.minimum(others, self._n_nodes - 1))
        in_links = _shares(linked, self.within, _ACROSS)
        apart, across = 1.0 - self.within, 1.0 - _ACROSS
        in_all = (pairs / drawn) * _shares(random, apart, across)
        in_non_links = np.maximum(0.0, in_all - _shares(linked, apart, across))
        total = (in_links + in_non_links) / self._theta.sum(axis=1)
        slopes = [in_non_links, in_links] / self._theta.T - total
        return slopes.T

    def _products(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> Floats:
        found: Floats = self.memberships.take(sources, axis=0)
        found *= self.memberships.take(targets, axis=0)
        return found


def _shares(products: Floats, probability: Floats, base: float) -> Floats:
    """Return the sum over pairs of f_kk / Z = probability_k pi_ak pi_bk / Z_ab, shape (K,)."""
    found: Floats = probability * (_inverse(base + products @ (probability - base)) @ products)
    return found


def _inverse(evidence: Floats) -> Floats:
    """Return 1 / Z in place of Z."""
    np.maximum(evidence, _SMALLEST_EVIDENCE, out=evidence)
    return np.divide(1.0, evidence, out=evidence)


def _moved(value: Floats, slope: Floats, half_step: float) -> Floats:
    moved = np.abs(value + half_step * (slope * value - _DECAY * value))
    return np.maximum(moved, _SMALLEST)


def draw_block_graph(
    labels: NDArray[np.integer], within: Floats, across: float, rng: np.random.Generator
) -> csr_array:
    """Return a graph (N, N) with links of probability within[k] inside class k, and across.

    The number of links of a pair of classes is binomial and the links are then placed without
    replacement, which is the same distribution at a cost of O(links + K^2).
    """
    members = [np.flatnonzero(labels == k) for k in range(len(within))]
    ends = []
    for k, nodes in enumerate(members):
        picked = _distinct(len(nodes) * (len(nodes) - 1) // 2, float(within[k]), rng)
        high, low = _triangle(picked)
        ends.append((nodes[high], nodes[low]))
        for others in members[k + 1 :]:
            picked = _distinct(len(nodes) * len(others), across, rng)
            rows, columns = np.divmod(picked, max(len(others), 1))
            ends.append((nodes[rows], others[columns]))
    sources, targets = (np.concatenate(side) for side in zip(*ends, strict=True))
    both = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    graph = csr_array((np.ones(len(both[0])), both), shape=(len(labels), len(labels)))
    graph.sort_indices()
    return graph


def _distinct(pairs: int, probability: float, rng: np.random.Generator) -> NDArray[np.int64]:
    count = rng.binomial(pairs, probability)
    return rng.choice(pairs, count, replace=False, shuffle=False) if count else np.empty(0, int)


def _triangle(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Turn 0, 1, 2, ... into the pairs (1, 0), (2, 0), (2, 1), (3, 0), ... ."""
    high = np.floor((1.0 + np.sqrt(1.0 + 8.0 * numbers)) / 2.0).astype(np.int64)
    high -= high * (high - 1) // 2 > numbers  # the root may be rounded up
    return high, numbers - high * (high - 1) // 2
