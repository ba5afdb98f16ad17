"""The posterior of the graph: how certain every weight, edge and degree is.

On the candidate pairs the most probable graph is the mode of a log-concave posterior::

    p(w)  ~  exp(-kappa [2 theta z'w + |w|^2 - sum_i log d_i]),      w >= 0

The mode does not depend on the concentration kappa, the spread does: kappa is a hyperparameter,
for the model leaves the unit of its distances free. By default kappa = 2 / m^2, m the mean weight
of the edges, which makes half of m the standard deviation of an edge. Neither this nor `excess` is
calibrated to data: a probability is meant given kappa and the candidate pairs.

>>> import numpy as np
>>> from truegraph import learn_graph
>>> graph = learn_graph(np.random.default_rng(0).normal(size=(50, 3)), degree=6)
>>> posterior = graph.posterior()
>>> posterior.inclusion().shape
(50, 50)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaincinv

from truegraph.data import adjacency as graphs
from truegraph.errors import InputError
from truegraph.faces import Shown
from truegraph.learning import inputs
from truegraph.learning.posterior import mean_field as truncated_normal
from truegraph.learning.posterior.chains import Target
from truegraph.learning.posterior.mean_field import MeanField, MeanFieldPoint
from truegraph.learning.posterior.samples import Diagnostics, GraphSamples
from truegraph.learning.search.pairs import PairList
from truegraph.progress import console_progress

if TYPE_CHECKING:
    from truegraph.learning.learned import LearnedGraph

Floats = NDArray[np.float64]

METHODS = ("mean-field", "gibbs")
_COLUMNS_AT_ONCE = 20_000
_MOST_BYTES = 4e9  # of kept draws
_LEAST_EXCESS = 1e-4  # below, rounding and the solver's tolerance show


class GraphPosterior(Shown, ABC):
    """The posterior of a learned graph; made by `LearnedGraph.posterior`.

    Matrices are symmetric (n_nodes, n_nodes), with an entry for every candidate pair, in the
    units of the learned graph's weights. All pairs that are not candidates have weight zero.

    Attributes
    ----------
    graph : LearnedGraph
        The mode.
    method : {"mean-field", "gibbs"}
    concentration : float
        kappa.
    threshold : float
        Half the mean weight of the learned graph's edges. A weight is never exactly zero under
        the posterior, so that an edge counts as present when its weight is above a threshold.
    mean, std : csr_array of shape (n_nodes, n_nodes)
    degree_mean, degree_std : ndarray of shape (n_nodes,)
    """

    method: str

    def __init__(self, graph: LearnedGraph, pairs: PairList, point: MeanFieldPoint) -> None:
        self.graph = graph
        self.concentration = point.concentration
        self.threshold = 0.5 * float(graph.adjacency.data.mean())
        self._pairs = pairs
        self._scale = graph.certificate.scale
        self._location = point.locations()[pairs.entry]
        self._target_degree = point.degree

    @abstractmethod
    def _weights(self) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the pairs' weights (n_pairs,)."""

    @abstractmethod
    def _degrees(self) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of the degrees (n_nodes,)."""

    @abstractmethod
    def _above(self, threshold: float) -> Floats:
        """Return the probabilities of weights above a threshold (n_pairs,)."""

    @abstractmethod
    def _weight_quantile(self, share: float) -> Floats:
        """Return a quantile of every weight (n_pairs,)."""

    @abstractmethod
    def _degree_quantile(self, share: float) -> Floats:
        """Return a quantile of every degree (n_nodes,)."""

    @cached_property
    def mean(self) -> csr_array:
        """Mean weights."""
        return self._pairs.symmetric(self._weights()[0])

    @cached_property
    def std(self) -> csr_array:
        """Standard deviations of the weights."""
        return self._pairs.symmetric(self._weights()[1])

    @property
    def degree_mean(self) -> Floats:
        """Mean degrees."""
        return self._degrees()[0]

    @property
    def degree_std(self) -> Floats:
        """Standard deviations of the degrees."""
        return self._degrees()[1]

    def inclusion(self, threshold: float | None = None) -> csr_array:
        """Return the probability of every edge: that its weight is above the threshold.

        Parameters
        ----------
        threshold : float, optional
            By default `threshold`, half the mean weight of the learned graph's edges.
        """
        return self._pairs.symmetric(self._above(self._checked_threshold(threshold)))

    def interval(self, level: float = 0.9) -> tuple[csr_array, csr_array]:
        """Return the lower and upper ends of the central interval of every weight.

        The learned graph is the mode of all weights together, not the middle of each: a few of
        its weights, some 2 % at level 0.9, lie outside their own intervals.

        Parameters
        ----------
        level : float
            Probability of the interval, between 0 and 1.
        """
        low, high = (self._weight_quantile(share) for share in _tails(level))
        return self._pairs.symmetric(low), self._pairs.symmetric(high)

    def degree_interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return the lower and upper ends of the central interval of every degree (n_nodes,)."""
        low, high = (self._degree_quantile(share) for share in _tails(level))
        return low, high

    def sample(
        self,
        samples: int,
        random_state: Any = None,
        *,
        chains: int = 4,
        burn_in: int = 100,
        thin: int | None = None,
        n_jobs: int | None = None,
    ) -> GraphSamples:
        """Draw graphs from the exact posterior by Gibbs sampling, whatever the method.

        Parameters
        ----------
        samples : int
            Graphs to draw, all chains together.
        random_state : int, RandomState instance or None, default=None
        chains : int, default=4
            Independent chains, each begun at a draw of the mean field.
        burn_in : int, default=100
            Sweeps over all pairs before the first draw of a chain.
        thin : int, optional
            Sweeps from one draw of a chain to its next; by default as many as make 200 in all.
        n_jobs : int, optional
            Threads; -1 means all cores. Never changes the draws.

        Returns
        -------
        GraphSamples
            An iterator over matrices, with `diagnostics`. Ctrl-C ends it early.
        """
        how: Any = {"chains": chains, "burn_in": burn_in, "thin": thin, "n_jobs": n_jobs}
        return GraphSamples(self._target(), samples, random_state, **how)

    def _target(self) -> Target:
        return Target(
            self._pairs,
            self.graph.certificate.theta,
            self._location,
            self._target_degree,
            self.concentration,
            self._scale,
        )

    @property
    def biadjacency(self) -> csr_array:
        """Mean weights between users (rows) and items (columns) of a bipartite graph."""
        if self.graph.n_users is None:
            raise InputError("this graph is not bipartite; use mean.")
        return csr_array(self.mean[: self.graph.n_users, self.graph.n_users :])

    def to_pandas(self, level: float = 0.9) -> Any:
        """Return a table with a row for every candidate pair.

        Parameters
        ----------
        level : float
            Probability of the intervals.

        Returns
        -------
        DataFrame
            source, target; weight (of the learned graph, 0 for a pair that is no edge of it);
            mean, std, inclusion, and lower and upper end of the interval.
        """
        rows, columns = self._pairs.first, self._pairs.second
        mode = np.asarray(self.graph.adjacency[rows, columns]).ravel()
        table = graphs.to_pandas(self._pairs.symmetric(mode), self.graph.names)
        table["mean"], table["std"] = self._weights()
        table["inclusion"] = self._above(self.threshold)
        low, high = _tails(level)
        table["lower"], table["upper"] = self._weight_quantile(low), self._weight_quantile(high)
        return table

    def __repr__(self) -> str:
        return (
            f"GraphPosterior(method={self.method!r}, concentration={self.concentration:.4g}, "
            f"nodes={self.graph.n_nodes}, candidate_pairs={len(self._pairs)})"
        )

    def _checked_threshold(self, threshold: float | None) -> float:
        if threshold is None:
            return self.threshold
        return inputs.check_number("threshold", threshold, at_least=0.0)


class MeanFieldPosterior(GraphPosterior):
    """Weights as independent normal distributions cut off at zero: quick, and nearly right.

    Weights and their spread differ little from the exact posterior's, except at a few pairs of
    nodes with very small degree. The spread of the degrees allows for the weights' dependence.
    """

    method = "mean-field"

    @cached_property
    def _spread(self) -> float:
        return math.sqrt(0.5 / self.concentration)

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        mean, variance = truncated_normal.mean_and_variance(self._location / self._spread)
        return self._spread * mean, self._spread**2 * variance

    def _weights(self) -> tuple[Floats, Floats]:
        mean, variance = self._moments
        return self._scale * mean, self._scale * np.sqrt(variance)

    def _degrees(self) -> tuple[Floats, Floats]:
        mean, variance = (self._pairs.degrees(values) for values in self._moments)
        # -kappa log d curves the density of a degree beyond what independent weights give it.
        coupled = 1.0 / (1.0 / variance + self.concentration / mean**2)
        return self._scale * mean, self._scale * np.sqrt(coupled)

    def _above(self, threshold: float) -> Floats:
        z = np.asarray(threshold / (self._scale * self._spread))
        return truncated_normal.survival(z, self._location / self._spread)

    def _weight_quantile(self, share: float) -> Floats:
        u = self._location / self._spread
        return self._scale * self._spread * truncated_normal.quantile(share, u)

    def _degree_quantile(self, share: float) -> Floats:
        # Positive and nearly a sum: a gamma distribution of the same mean and variance.
        mean, std = self._degrees()
        shape = (mean / std) ** 2
        return gammaincinv(shape, share) * mean / shape


class GibbsPosterior(GraphPosterior):
    """The exact posterior, estimated from draws.

    Attributes
    ----------
    diagnostics : Diagnostics
        Effective sample size, R-hat, sweeps and seconds.
    """

    method = "gibbs"

    def __init__(
        self,
        graph: LearnedGraph,
        pairs: PairList,
        point: MeanFieldPoint,
        samples: int,
        random_state: Any,
        progress: bool,
        **how: Any,
    ) -> None:
        super().__init__(graph, pairs, point)
        needed = 4.0 * len(pairs) * samples
        if needed > _MOST_BYTES:
            raise InputError(
                f"samples={samples} draws of {len(pairs)} pairs take {needed / 1e9:.1f} GB; "
                f"ask for at most {int(_MOST_BYTES / (4.0 * len(pairs)))}, or go through "
                "posterior().sample(...) one by one."
            )
        with console_progress(progress) as shown:
            drawn = GraphSamples(self._target(), samples, random_state, progress=shown, **how)
            self._draws = np.empty((samples, len(pairs)), dtype=np.float32)
            count = 0
            for count, weights in enumerate(drawn.weights, start=1):
                self._draws[count - 1] = weights
        self._draws = self._draws[:count]  # fewer after an interrupt
        self.diagnostics: Diagnostics = drawn.diagnostics
        self._weight_moments, self._degree_moments = drawn.moments()

    def _weights(self) -> tuple[Floats, Floats]:
        return self._weight_moments

    def _degrees(self) -> tuple[Floats, Floats]:
        return self._degree_moments

    def _above(self, threshold: float) -> Floats:
        return _by_columns(self._draws, lambda draws: (draws > threshold).mean(axis=0))

    def _weight_quantile(self, share: float) -> Floats:
        return _by_columns(self._draws, lambda draws: np.quantile(draws, share, axis=0))

    @cached_property
    def _degree_draws(self) -> NDArray[np.float32]:
        return np.stack([self._pairs.degrees(draw).astype(np.float32) for draw in self._draws])

    def _degree_quantile(self, share: float) -> Floats:
        return _by_columns(self._degree_draws, lambda draws: np.quantile(draws, share, axis=0))


def infer_posterior(
    graph: LearnedGraph,
    method: str,
    concentration: float | None,
    excess: float | None,
    **run: Any,
) -> GraphPosterior:
    """Return the posterior of a graph; the arguments are those of `LearnedGraph.posterior`."""
    inputs.check_choice("method", method, METHODS)
    if graph.candidates.nnz == 0:
        raise InputError("the candidate pairs of this graph were not kept; learn the graph again.")
    if concentration is not None and excess is not None:
        raise InputError("concentration and excess are both given; either decides the spread.")
    field = MeanField(graph.candidates, graph.certificate.theta, graph.multipliers)
    usual = usual_concentration(graph)
    if excess is not None:
        wanted = inputs.check_number("excess", excess, at_least=_LEAST_EXCESS)
        least = float(graph.adjacency.sum()) / graph.certificate.scale
        concentration = field.concentration_of(wanted, least, usual)
    elif concentration is None:
        concentration = usual
    else:
        concentration = inputs.check_number("concentration", concentration, above=0.0)
    point, pairs = field.solve(concentration), PairList.of(graph.candidates)
    if method == "mean-field":
        return MeanFieldPosterior(graph, pairs, point)
    return GibbsPosterior(graph, pairs, point, **run)


def usual_concentration(graph: LearnedGraph) -> float:
    """Return kappa = 2 / m^2, m the mean weight of the edges in the one-parameter form.

    The standard deviation 1 / sqrt(2 kappa) of an edge far from zero is then m / 2.
    """
    mean = float(graph.adjacency.data.mean()) / graph.certificate.scale
    return 2.0 / mean**2


def _tails(level: float) -> tuple[float, float]:
    checked = inputs.check_number("level", level, above=0.0)
    if checked >= 1.0:
        raise InputError(f"level={level!r} must be below 1.")
    return 0.5 * (1.0 - checked), 0.5 * (1.0 + checked)


def _by_columns(draws: NDArray[np.float32], statistic: Callable[[Any], Any]) -> Floats:
    """Return a statistic of every column, computed in portions that spare the memory."""
    columns = draws.shape[1]
    parts = [
        np.asarray(statistic(draws[:, at : at + _COLUMNS_AT_ONCE]), dtype=np.float64)
        for at in range(0, columns, _COLUMNS_AT_ONCE)
    ]
    return np.concatenate(parts)
