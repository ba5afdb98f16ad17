r"""The assortative mixed-membership block model behind the parametric Bayesian GCN.

Node a belongs to community k with probability pi_ak. Two nodes that pick the same community k are
linked with probability beta_k, two that do not with a small constant delta. With
B(p) = p for a linked pair and 1 - p for the others, and both memberships summed out,

    Z_ab = B(delta) + sum_k [B(beta_k) - B(delta)] pi_ak pi_bk .

Zhang et al. (AAAI 2019) look for the mode by stochastic ascent in phi and theta, where
pi_ak = phi_ak / sum_l phi_al and beta_k = theta_k1 / (theta_k0 + theta_k1):

    phi   <- | phi   + (eps/2) (-rho phi   + phi   o d log Z / d phi)   |
    theta <- | theta + (eps/2) (-rho theta + theta o d log Z / d theta) |

on small random sets of pairs: memory is linear in nodes and links, and one iteration costs
O(K (batch_nodes * batch_partners + links + drawn non-links)).

The authors draw 1 % of the non-links in each iteration, which grows with N^2. Here at most 100,000
are drawn, nearly three times as many as theirs on Cora: on graphs of up to 4,472 nodes nothing
changes, on Pubmed a fit takes a tenth of the time and finds the same beta to 0.2 %.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from truegraph.errors import InputError
from truegraph.nn.block_model.mmsbm_kernels import phi_gradient, shares_in_non_links, sum_of_shares

_DECAY = 0.001  # rho
_NON_LINK_FRACTION = 0.01
_MOST_NON_LINKS = 100_000  # drawn in one iteration; their sum is known to about 0.3 %
_SMALLEST = 1e-50  # of phi and theta, which must stay positive


class AssortativeMMSBM:
    """Assortative mixed-membership stochastic block model, fitted by stochastic MAP.

    Parameters
    ----------
    graph : sparse matrix, shape (N, N)
        Symmetric adjacency; weights and the diagonal are ignored.
    n_communities : int
        Number K of communities, for classification the number of classes.
    random_state : int or numpy Generator, default=0
        Source of the start and of every batch.
    across : float, default=1e-4
        Probability delta of a link between nodes of different communities.
    batch_nodes, batch_partners : int, default=500
        Nodes updated in one iteration, and pairs used for each: its links and as many random
        non-links as are missing, weighted to stand for all of them.

    Attributes
    ----------
    memberships_ : ndarray of float64, shape (N, K)
        pi, rows sum to 1.
    within_ : ndarray of float64, shape (K,)
        beta, the probability of a link inside each community.
    """

    def __init__(
        self,
        graph: sparse.csr_array,
        n_communities: int,
        *,
        random_state: int | np.random.Generator = 0,
        across: float = 1e-4,
        batch_nodes: int = 500,
        batch_partners: int = 500,
    ) -> None:
        if n_communities < 1:
            raise InputError(f"n_communities={n_communities} must be at least 1.")
        if not 0.0 < across < 1.0:
            raise InputError(f"across={across} must be a probability between 0 and 1.")
        self.indptr, self.indices = _neighbour_lists(graph)
        self.n_communities = n_communities
        self.across = across
        self.batch_nodes = min(batch_nodes, self.n_nodes)
        self.batch_partners = batch_partners
        self._rng = np.random.default_rng(random_state)
        self._links = _each_link_once(self.indptr, self.indices)

    @property
    def n_nodes(self) -> int:
        """Number of nodes N."""
        return len(self.indptr) - 1

    @property
    def labels_(self) -> NDArray[np.int64]:
        """The most probable community of every node, shape (N,)."""
        return self.memberships_.argmax(axis=1)

    def fit_random(self, iterations: int = 1000) -> AssortativeMMSBM:
        """Fit from a random start: run A of Zhang et al., with large steps.

        Returns
        -------
        self : AssortativeMMSBM
        """
        shape = (self.n_nodes, self.n_communities)
        self._phi = np.maximum(self._rng.gamma(1.0 / self.n_communities, size=shape), _SMALLEST)
        self._theta = np.maximum(self._rng.gamma(1.0, size=(self.n_communities, 2)), _SMALLEST)
        return self._ascend(iterations, first_step=0, scaler=0.1)

    def fit_from_probabilities(
        self, probabilities: NDArray[np.floating], iterations: int = 200
    ) -> AssortativeMMSBM:
        """Fit from given memberships: run B of Zhang et al., with small steps.

        The start is pi = `probabilities`, with beta_k the density of links inside predicted class
        k. The row sums of phi and theta, which set the effective step of each node, stay those of
        the last fit.

        Parameters
        ----------
        probabilities : ndarray of float, shape (N, K)
            Class probabilities of every node, for example of a classifier.
        iterations : int, default=200

        Returns
        -------
        self : AssortativeMMSBM
        """
        if not hasattr(self, "_phi"):
            raise InputError("no sums of phi and theta yet; call fit_random first.")
        pi = self._check_probabilities(probabilities)
        beta = self._link_density(pi.argmax(axis=1))
        beta_pair = np.stack([1.0 - beta, beta], axis=1)
        self._phi = np.maximum(pi * self._phi.sum(axis=1, keepdims=True), _SMALLEST)
        self._theta = np.maximum(beta_pair * self._theta.sum(axis=1, keepdims=True), _SMALLEST)
        return self._ascend(iterations, first_step=10_000, scaler=1.0)

    def sample_graph(self, rng: np.random.Generator) -> sparse.csr_array:
        """Draw a graph given the hard memberships `labels_`; see `sample_block_graph`."""
        return sample_block_graph(self.labels_, self.within_, self.across, rng)

    def _check_probabilities(self, probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
        pi = np.asarray(probabilities, dtype=np.float64)
        expected = (self.n_nodes, self.n_communities)
        if pi.shape != expected:
            raise InputError(
                f"probabilities have shape {pi.shape}; give one row per node and one column per "
                f"community: {expected}."
            )
        if not (pi >= 0.0).all() or not (pi.sum(axis=1) > 0.0).all():
            raise InputError("probabilities has a negative, NaN or all-zero row; give a softmax.")
        return pi / pi.sum(axis=1, keepdims=True)

    def _link_density(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """beta_k = (entries of A inside class k) / (n_k^2 + 1), as Zhang et al. start it."""
        sources, targets = self._links
        inside = labels[sources[labels[sources] == labels[targets]]]
        entries = 2.0 * np.bincount(inside, minlength=self.n_communities)
        sizes = np.bincount(labels, minlength=self.n_communities).astype(np.float64)
        density: NDArray[np.float64] = entries / (sizes**2 + 1.0)
        return density

    def _ascend(self, iterations: int, first_step: int, scaler: float) -> AssortativeMMSBM:
        self._normalise()
        for t in range(first_step, first_step + iterations):
            half_step = 0.5 * (1024.0 + t) ** -0.5 / scaler
            self._update_phi(half_step)
            self._normalise()
            self._update_theta(half_step)
            self._normalise()
        return self

    def _normalise(self) -> None:
        self.memberships_ = self._phi / self._phi.sum(axis=1, keepdims=True)
        self.within_ = self._theta[:, 1] / self._theta.sum(axis=1)

    def _update_phi(self, half_step: float) -> None:
        nodes = self._rng.choice(self.n_nodes, self.batch_nodes, replace=False)
        gradient = np.empty((len(nodes), self.n_communities))
        links, model = (self.indptr, self.indices), (self.memberships_, self.within_, self.across)
        phi_gradient(nodes, links, model, self.batch_partners, self._seed(), gradient)
        phi = self._phi[nodes]
        # The kernel leaves out the factor 1 / sum(phi) of the derivative.
        gradient /= phi.sum(axis=1, keepdims=True)
        self._phi[nodes] = _multiplicative_step(phi, gradient, half_step)

    def _update_theta(self, half_step: float) -> None:
        n_links = len(self._links[0])
        n_non_links = self.n_nodes * (self.n_nodes - 1) // 2 - n_links
        n_drawn = _drawn_non_links(n_non_links)
        links, model = (self.indptr, self.indices), (self.memberships_, self.within_, self.across)
        in_links = np.zeros(self.n_communities)
        sum_of_shares(*self._links, *model, in_links)
        in_non_links = shares_in_non_links(links, model, n_drawn, self._seed())
        in_non_links *= n_non_links / max(n_drawn, 1)
        gradient = theta_gradient(self._theta, in_links, in_non_links)
        self._theta = _multiplicative_step(self._theta, gradient, half_step)

    def _seed(self) -> np.uint64:
        return self._rng.integers(2**64, dtype=np.uint64)


def _drawn_non_links(n_non_links: int) -> int:
    """Return how many non-links stand for all of them in one iteration."""
    return min(n_non_links, _MOST_NON_LINKS, max(1, int(_NON_LINK_FRACTION * n_non_links)))


def _neighbour_lists(graph: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return CSR (indptr, indices) of the off-diagonal pattern, sorted, both directions."""
    entries = sparse.coo_array(graph)
    real = (entries.row != entries.col) & (entries.data != 0)
    coordinates = entries.row[real], entries.col[real]
    pattern = sparse.csr_array((np.ones(int(real.sum())), coordinates), shape=entries.shape)
    if entries.shape[0] != entries.shape[1] or abs(pattern - pattern.T).sum() > 0:
        raise InputError("graph is not symmetric; give an undirected graph.")
    pattern.sort_indices()
    return pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)


def _each_link_once(
    indptr: NDArray[np.int64], indices: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    upper = rows < indices
    return rows[upper], indices[upper]


def _multiplicative_step(
    value: NDArray[np.float64], gradient: NDArray[np.float64], half_step: float
) -> NDArray[np.float64]:
    moved = np.abs(value + half_step * (gradient * value - _DECAY * value))
    return np.maximum(moved, _SMALLEST)


def theta_gradient(
    theta: NDArray[np.float64],
    in_links: NDArray[np.float64],
    in_non_links: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the derivative of sum log Z by theta (K, 2), from the sums of f_kk / Z.

    Parameters
    ----------
    theta : ndarray of float64, shape (K, 2)
    in_links, in_non_links : ndarray of float64, shape (K,)
        Sums over the pairs of B(beta_k) pi_ak pi_bk / Z_ab, the share of community k in the
        evidence.

    Returns
    -------
    gradient : ndarray of float64, shape (K, 2)
    """
    total = theta.sum(axis=1)
    by_non_link = in_non_links / theta[:, 0] - (in_links + in_non_links) / total
    by_link = in_links / theta[:, 1] - (in_links + in_non_links) / total
    return np.stack([by_non_link, by_link], axis=1)


def sample_block_graph(
    labels: NDArray[np.integer],
    within: NDArray[np.floating],
    across: float,
    rng: np.random.Generator,
) -> sparse.csr_array:
    """Draw every pair independently: linked with within[k] inside class k, with across otherwise.

    The number of links of a pair of classes is binomial and the links are then placed without
    replacement, which is the same distribution at a cost of O(links + K^2).

    Parameters
    ----------
    labels : ndarray of int, shape (N,)
        Class of every node, below K.
    within : ndarray of float, shape (K,)
        Probability of a link inside each class.
    across : float
        Probability of a link between two classes.
    rng : numpy Generator

    Returns
    -------
    graph : csr_array of float64, shape (N, N)
        Symmetric, with ones at the links and a zero diagonal.
    """
    members = [np.flatnonzero(labels == k) for k in range(len(within))]
    ends = []
    for k, nodes in enumerate(members):
        picked = _distinct_pairs(len(nodes) * (len(nodes) - 1) // 2, float(within[k]), rng)
        high, low = _triangle(picked)
        ends.append((nodes[high], nodes[low]))
        for others in members[k + 1 :]:
            picked = _distinct_pairs(len(nodes) * len(others), across, rng)
            ends.append(
                (nodes[picked // max(len(others), 1)], others[picked % max(len(others), 1)])
            )
    sources = np.concatenate([source for source, _ in ends])
    targets = np.concatenate([target for _, target in ends])
    both = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    graph = sparse.csr_array((np.ones(len(both[0])), both), shape=(len(labels), len(labels)))
    graph.sort_indices()
    return graph


def _distinct_pairs(
    n_pairs: int, probability: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    count = rng.binomial(n_pairs, probability)
    return rng.choice(n_pairs, count, replace=False, shuffle=False) if count else np.empty(0, int)


def _triangle(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Turn 0, 1, 2, ... into the pairs (1, 0), (2, 0), (2, 1), (3, 0), ... ."""
    high = np.floor((1.0 + np.sqrt(1.0 + 8.0 * numbers)) / 2.0).astype(np.int64)
    high -= high * (high - 1) // 2 > numbers  # the root may be rounded up
    return high, numbers - high * (high - 1) // 2
