"""What the learner returns: a graph that carries its certificate."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Iterable
from copy import copy
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from truegraph import gate, saving
from truegraph.data import adjacency as graphs
from truegraph.data.identifiers import check_names, unknown_id
from truegraph.data.storage import read_npz, write_npz
from truegraph.errors import InputError
from truegraph.faces import Explorable, Shown
from truegraph.saving import savable

if TYPE_CHECKING:
    from truegraph.data.column_plan import ColumnPlan
    from truegraph.learning.posterior.graph_posterior import GraphPosterior


# What scipy.sparse.load_npz looks for in a file.
_SCIPY = ("data", "indices", "indptr", "shape")
_ADJACENCY = "LearnedGraph.adjacency_"


@savable
@dataclass(frozen=True)
class Certificate(Shown):
    """How good a learned graph is, and how it was found.

    Attributes
    ----------
    relative_gap : float
        (primal - dual) / max(1, abs(primal)): the objective is within this of the best possible.
    scope : {"global", "candidates"}
        The pairs for which that holds: proved for all pairs, or for the candidate pairs only.
    converged : bool
        Whether the gap is within `tolerance`.
    theta : float
        Sparsity parameter of the one-parameter form.
    scale : float
        What the weights of the one-parameter form were multiplied by.
    degree, wanted_degree : float
        Mean number of edges per node reached, and asked for (None when theta was given).
    search, recall : str, float
        Engine of the neighbour search ("exact", "ivf", "sketch", or "given" for precomputed
        candidates), and the share of true neighbours it found on a sample; after
        `GraphLearner.update` the share that are candidates, of old and new nodes.
    axes : int or None
        Of a search in a sketch: the leading axes that it holds.
    low_recall, missed_objective : float or None
        Of an approximate search: the recall below which one node in twenty of a sample lies, and
        by how much, relative to the objective, the pairs that it missed might lower it (an
        estimate from the sample). None where the search is exact or it was not measured.
    solver, iterations, inner_iterations, stalled
        How the solving went, all solves of the density search together; stalled says that
        Newton's method had stalled, so that the nodes that caused it were solved apart.
    seconds : dict
        Seconds per stage: search, candidates, solve, total.
    added_edges : int
        Edges beyond the optimum, for `min_degree` and `connected`.
    gap_with_added : float or None
        Relative gap of the graph with them, where `relative_gap` is that without; None if none
        were added.
    """

    relative_gap: float
    scope: str
    converged: bool
    tolerance: float
    primal: float
    dual: float
    theta: float
    scale: float
    degree: float
    wanted_degree: float | None
    candidate_pairs: int
    search: str
    recall: float
    solver: str
    iterations: int
    inner_iterations: int
    stalled: bool
    seconds: dict[str, float] = field(default_factory=dict)
    added_edges: int = 0
    gap_with_added: float | None = None
    low_recall: float | None = None
    missed_objective: float | None = None
    axes: int | None = None

    _may_be_nan = ("relative_gap", "primal", "dual")

    def check(self) -> None:
        """Raise a ValueError where a number that was read cannot be one of a certificate."""
        positive = ("theta", "scale")
        for name in (*positive, "relative_gap", "tolerance", "primal", "dual", "degree", "recall"):
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not math.isnan(value)
            if not is_number or (name in positive and not 0.0 < value < math.inf):
                raise ValueError(f"{name} is {value!r}")

    _check_saved = check

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain numbers, strings and dicts."""
        return dataclasses.asdict(self)

    def shortfall(self) -> str:
        """Return the warning for a gap above the tolerance."""
        return (
            f"the {self.solver} solver stopped after {self.iterations} iterations at a relative "
            f"gap of {self.relative_gap:.1e}, above tol={self.tolerance:g}; the graph is feasible "
            "but not certified to tol. Raise max_iter or tol, or "
            + (
                "even out the distances: scale the columns, or use local_scaling=7"
                if self.solver == "newton"
                else "use solver='newton'"
            )
        )


@savable
@dataclass(frozen=True, repr=False)
class LearnedGraph(Explorable):
    """The most probable graph, with its certificate.

    Attributes
    ----------
    adjacency : csr_array of shape (n_nodes, n_nodes)
        Symmetric, zero diagonal, sorted indices, no stored zeros.
    certificate : Certificate
    multipliers : ndarray of shape (n_nodes,)
        Dual solution of the one-parameter form; 1 / degree at the optimum.
    candidates : csr_array of shape (n_nodes, n_nodes)
        Distances of the candidate pairs, stored zeros included.
    n_users : int or None
        For a graph between users and items: nodes 0 .. n_users - 1 are the users.
    names : tuple of n_nodes hashable, or None
        Names of the nodes, for instance the index of the table that the graph was learned from;
        tables, NetworkX graphs and files carry them. None: nodes go by their numbers.
    plan : ColumnPlan or None
        How the columns of a table became points; ``plan.transform`` does the same to new rows.
    """

    adjacency: csr_array
    certificate: Certificate
    multipliers: NDArray[np.float64]
    candidates: csr_array
    n_users: int | None = None
    names: tuple[Hashable, ...] | None = None
    plan: ColumnPlan | None = None

    def __post_init__(self) -> None:
        # Compiled loops trust these arrays, wherever they come from.
        nodes = gate.whole_number("nodes of adjacency", self.adjacency.shape[0], at_least=1)
        for name in ("adjacency", "candidates"):
            gate.sparse_matrix(name, getattr(self, name), shape=(nodes, nodes), nonnegative=True)
        gate.numbers("multipliers", self.multipliers, length=nodes, nonnegative=True)
        if self.n_users is not None:
            gate.whole_number("n_users", self.n_users, at_least=1, at_most=nodes - 1)

    def _check_saved(self) -> None:
        self.__post_init__()
        for name in ("adjacency", "candidates"):
            matrix = getattr(self, name)
            mirror = csr_array(matrix.T)
            if not (
                np.array_equal(mirror.indptr, matrix.indptr)
                and np.array_equal(mirror.indices, matrix.indices)
            ):
                raise ValueError(f"{name} does not store every pair in both directions")
        self.named(self.names)

    @classmethod
    def trusted(
        cls,
        adjacency: csr_array,
        certificate: Certificate,
        multipliers: NDArray[np.float64],
        candidates: csr_array,
        n_users: int | None = None,
    ) -> LearnedGraph:
        """Return a graph of arrays that the library made itself, without checking them again."""
        return _with(
            object.__new__(cls),
            adjacency=adjacency,
            certificate=certificate,
            multipliers=multipliers,
            candidates=candidates,
            n_users=n_users,
            names=None,
            plan=None,
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return int(self.adjacency.nnz // 2)

    @property
    def biadjacency(self) -> csr_array:
        """Weights between users (rows) and items (columns) of a bipartite graph."""
        if self.n_users is None:
            raise InputError("this graph is not bipartite; use adjacency.")
        return csr_array(self.adjacency[: self.n_users, self.n_users :])

    def __repr__(self) -> str:
        c = self.certificate
        return (
            f"LearnedGraph(nodes={self.n_nodes}, edges={self.n_edges}, degree={c.degree:.4g}, "
            f"relative_gap={c.relative_gap:.1e}, scope={c.scope!r}, converged={c.converged})"
        )

    def posterior(
        self,
        method: str = "mean-field",
        *,
        concentration: float | None = None,
        excess: float | None = None,
        samples: int = 400,
        chains: int = 4,
        burn_in: int = 100,
        thin: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> GraphPosterior:
        """Return the posterior of the graph on its candidate pairs, of which it is the mode.

        Parameters
        ----------
        method : {"mean-field", "gibbs"}, default="mean-field"
            "mean-field" is quick and nearly right; "gibbs" draws from the exact posterior.
        concentration : float, optional
            kappa, which decides the spread, for weights of the one-parameter form. Default:
            2 / m^2, m the mean weight of the edges.
        excess : float, optional
            Choose the concentration at which the mean weights add up to 1 + excess times the
            weights of this graph; makes up for the number of candidate pairs.
        samples, chains, burn_in, thin, random_state, n_jobs
            Of method "gibbs": draws to keep, and as in `GraphPosterior.sample`.
        progress : bool, default=False
            Whether to draw progress bars on standard error.
        """
        from truegraph.learning.posterior.graph_posterior import infer_posterior
        from truegraph.learning.posterior.samples import check_draws

        check_draws(samples, random_state, chains, burn_in, thin, n_jobs)
        return infer_posterior(
            self,
            method,
            concentration,
            excess,
            samples=samples,
            random_state=random_state,
            chains=chains,
            burn_in=burn_in,
            thin=thin,
            n_jobs=n_jobs,
            progress=progress,
        )

    def slack(self, pairs: ArrayLike, distances: Any = None) -> NDArray[np.float64]:
        """Return how far pairs are from having no edge, as a score of links.

        (l_i + l_j) / 2 - theta z, with l the multipliers and z the distance, in units of weight:
        the weight itself for an edge; negative for other pairs, and the more so the farther they
        are from having one.

        Parameters
        ----------
        pairs : array-like of int, shape (n_pairs, 2)
        distances : Distance or array-like of shape (n_pairs,), optional
            The distance that the graph was learned from, or its values; can be left out for
            candidate pairs.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        rows, columns = gate.pairs("pairs", pairs, self.n_nodes).T
        if distances is None:
            z = _candidate_distances(self.candidates, rows, columns)
        elif hasattr(distances, "pair_values"):
            z = distances.pair_values(rows, columns)
        else:
            z = gate.numbers("distances", distances, length=rows.size)
        multipliers = 0.5 * (self.multipliers[rows] + self.multipliers[columns])
        found: NDArray[np.float64] = multipliers - self.certificate.theta * z
        return self.certificate.scale * found

    def edge_distances(self) -> csr_array:
        """Return the distances of the edges, zeros stored, for metric="precomputed" elsewhere.

        Distances are those that the graph was learned from: squared ones for points, and scaled
        ones with `local_scaling`.

        Returns
        -------
        csr_array of shape (n_nodes, n_nodes)
        """
        edges = self.adjacency.tocoo()
        values = _candidate_distances(self.candidates, edges.row, edges.col)
        parts = (values, self.adjacency.indices.copy(), self.adjacency.indptr.copy())
        return csr_array(parts, shape=self.adjacency.shape)

    def neighbors(self, node: Hashable) -> Any:
        """Return the neighbours of a node, the strongest edges first.

        Parameters
        ----------
        node : hashable
            Name of the node, its number if nodes have no names.

        Returns
        -------
        DataFrame
            The columns node (names) and weight.
        """
        import pandas as pd

        names = range(self.n_nodes) if self.names is None else self.names
        if node not in names:
            raise unknown_id(node, names, "node")
        at = names.index(node)  # type: ignore[arg-type]
        span = slice(self.adjacency.indptr[at], self.adjacency.indptr[at + 1])
        order = np.argsort(-self.adjacency.data[span], kind="stable")
        near = self.adjacency.indices[span][order].tolist()
        weights = self.adjacency.data[span][order]
        return pd.DataFrame({"node": [names[other] for other in near], "weight": weights})

    def clusters(self, resolution: float = 1.0) -> NDArray[np.int64]:
        """Return the cluster of every node, numbered from 0 by falling size.

        The groups that hold together, as the explorer shows them: by Leiden's method where igraph
        is installed, else by Louvain's, on `memberships`.

        Parameters
        ----------
        resolution : float, default=1.0
            Larger values give more and smaller clusters.

        Returns
        -------
        ndarray of int64, shape (n_nodes,)
        """
        from truegraph.learning.clusters import clusters

        wanted = gate.numbers("resolution", [resolution], length=1)[0]
        if wanted <= 0.0:
            raise InputError(f"resolution={resolution!r} must be above 0; 1 is usual.")
        return clusters(self.memberships(), float(wanted))

    def memberships(self) -> csr_array:
        """Return the weights relative to the largest weights at both ends, in (0, 1].

        w_ij / sqrt(m_i m_j), m the largest weight at a node: comparable between dense and sparse
        regions, as UMAP and scanpy expect of a graph.

        Returns
        -------
        csr_array of shape (n_nodes, n_nodes)
        """
        edges = self.adjacency.tocoo()
        largest = self.adjacency.max(axis=1).toarray().ravel()
        values = edges.data / np.sqrt(largest[edges.row] * largest[edges.col])
        parts = (values, self.adjacency.indices.copy(), self.adjacency.indptr.copy())
        return csr_array(parts, shape=self.adjacency.shape)

    def named(self, names: Iterable[Hashable] | None) -> LearnedGraph:
        """Return the same graph with other names of its nodes, or with none.

        Parameters
        ----------
        names : iterable of n_nodes distinct hashable, or None
        """
        return _with(self, names=None if names is None else check_names(names, self.n_nodes))

    def planned(self, plan: ColumnPlan | None) -> LearnedGraph:
        """Return the same graph with the plan of the columns that it was learned from."""
        return _with(self, plan=plan)

    def to_networkx(self) -> Any:
        """Return a `networkx.Graph` of the nodes' names with edge attribute "weight"."""
        return graphs.to_networkx(self.adjacency, self.names)

    def to_igraph(self) -> Any:
        """Return an `igraph.Graph` with edge attribute "weight", as leidenalg takes it too."""
        return graphs.to_igraph(self.adjacency, self.names)

    def to_pyg(self, features: Any = None, labels: Any = None) -> Any:
        """Return a `torch_geometric.data.Data` with edge_index and edge_weight."""
        return graphs.to_pyg(self.adjacency, features, labels)

    def to_pandas(self) -> Any:
        """Return a DataFrame with source, target (names) and weight, each edge once."""
        return graphs.to_pandas(self.adjacency, self.names)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the graph to an .npz file, which `scipy.sparse.load_npz` reads as well."""
        write_npz(Path(path), self.to_arrays())

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `save` writes: arrays by name, without pickled objects."""
        arrays = saving.to_arrays(self)
        arrays |= {part: arrays.pop(_ADJACENCY + part) for part in _SCIPY}
        return {"format": np.array("csr"), **arrays}

    @classmethod
    def load(cls, path: str | PathLike[str]) -> LearnedGraph:
        """Read a graph written by `save`."""
        arrays = read_npz(Path(path), artefact=True)
        named = {_ADJACENCY + part: arrays.pop(part) for part in _SCIPY if part in arrays}
        return saving.from_arrays(cls, arrays | named, path)


def _with(graph: LearnedGraph, **parts: Any) -> LearnedGraph:
    """Return a graph with other parts; the arrays that it has were checked, or are our own."""
    made = copy(graph)
    made.__dict__.update(parts)
    return made


def _candidate_distances(
    candidates: csr_array, rows: NDArray[Any], columns: NDArray[Any]
) -> NDArray[np.float64]:
    """Look up distances, of which stored zeros must not be taken for missing entries."""
    place = csr_array(
        (np.arange(1, candidates.nnz + 1), candidates.indices, candidates.indptr),
        shape=candidates.shape,
    )
    found = np.asarray(place[rows, columns]).ravel() - 1
    if (found < 0).any():
        at = int(np.argmax(found < 0))
        raise InputError(
            f"the pair ({rows[at]}, {columns[at]}) is not a candidate, so its distance is not "
            "known; give distances."
        )
    values: NDArray[np.float64] = candidates.data[found]
    return values
