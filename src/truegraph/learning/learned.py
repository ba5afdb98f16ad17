"""What the learner returns: a graph that carries its certificate."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data import graphs
from truegraph.data.storage import read_npz, write_npz
from truegraph.errors import InputError


@dataclass(frozen=True)
class Certificate:
    """How good a learned graph is, and how it was found.

    Attributes
    ----------
    relative_gap : float
        (primal - dual) / max(1, |primal|): the objective is within this of the best possible.
    scope : {"global", "candidates"}
        Over which pairs that holds: proved for all pairs, or for the candidate pairs only.
    converged : bool
        Whether the gap is within `tolerance`.
    theta : float
        Sparsity parameter of the one-parameter form.
    scale : float
        What the weights of the one-parameter form were multiplied by.
    degree, wanted_degree : float
        Mean number of edges per node reached, and asked for (None when theta was given).
    search, recall : str, float
        Engine of the neighbour search ("exact", "ivf", "hnsw", or "given" for precomputed
        candidates), and the share of true neighbours it found on a sample.
    solver, iterations, inner_iterations, smoothed
        How the solving went, all solves of the density search together; smoothed says that plain
        Newton had stalled.
    seconds : dict
        Seconds per stage: search, candidates, solve, total.
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
    smoothed: bool
    seconds: dict[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain numbers, strings and dicts."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, repr=False)
class LearnedGraph:
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
    """

    adjacency: csr_array
    certificate: Certificate
    multipliers: NDArray[np.float64]
    candidates: csr_array
    n_users: int | None = None

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
            raise InputError("this graph is not bipartite; use adjacency")
        return csr_array(self.adjacency[: self.n_users, self.n_users :])

    def __repr__(self) -> str:
        c = self.certificate
        return (
            f"LearnedGraph(nodes={self.n_nodes}, edges={self.n_edges}, degree={c.degree:.4g}, "
            f"relative_gap={c.relative_gap:.1e}, scope={c.scope!r}, converged={c.converged})"
        )

    def to_networkx(self, node_names: Any = None) -> Any:
        """Return a `networkx.Graph` with edge attribute "weight"."""
        return graphs.to_networkx(self.adjacency, node_names)

    def to_pyg(self, features: Any = None, labels: Any = None) -> Any:
        """Return a `torch_geometric.data.Data` with edge_index and edge_weight."""
        return graphs.to_pyg(self.adjacency, features, labels)

    def to_pandas(self, node_names: Any = None) -> Any:
        """Return a DataFrame with source, target and weight, each edge once."""
        return graphs.to_pandas(self.adjacency, node_names)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the graph to an .npz file, which `scipy.sparse.load_npz` reads as well."""
        arrays = {
            "format": np.array("csr"),
            "shape": np.array(self.adjacency.shape),
            **_parts(self.adjacency, ""),
            **_parts(self.candidates, "candidates_"),
            "multipliers": self.multipliers,
            "certificate": np.array(json.dumps(self.certificate.as_dict())),
            "n_users": np.array(-1 if self.n_users is None else self.n_users),
        }
        write_npz(Path(path), arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> LearnedGraph:
        """Read a graph written by `save`."""
        arrays = read_npz(Path(path))
        try:
            n_users = int(arrays["n_users"])
            return cls(
                adjacency=_matrix(arrays, ""),
                certificate=_certificate(str(arrays["certificate"])),
                multipliers=arrays["multipliers"],
                candidates=_matrix(arrays, "candidates_"),
                n_users=None if n_users < 0 else n_users,
            )
        except KeyError as error:
            raise InputError(
                f"{path} is not a learned graph: it lacks {error}; "
                "expected a file of LearnedGraph.save"
            ) from error
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{path} is a damaged learned graph, or of another version: {error}; save it again"
            ) from error


def _parts(matrix: csr_array, prefix: str) -> dict[str, NDArray[Any]]:
    return {prefix + name: getattr(matrix, name) for name in ("data", "indices", "indptr")}


def _matrix(arrays: Mapping[str, NDArray[Any]], prefix: str) -> csr_array:
    """Return the matrix stored under a prefix, after checking that its indices are in range."""
    parts = tuple(arrays[prefix + name] for name in ("data", "indices", "indptr"))
    rows, columns = arrays["shape"]
    matrix = csr_array(parts, shape=(int(rows), int(columns)))
    matrix.check_format(full_check=True)
    return matrix


def _certificate(text: str) -> Certificate:
    try:
        return Certificate(**json.loads(text))
    except (TypeError, ValueError) as error:
        raise ValueError(f"its certificate cannot be read ({error})") from error
