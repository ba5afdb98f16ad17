"""A graph that lies in a storage folder, partition by partition."""

from __future__ import annotations

import json
import re
import shutil
import weakref
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.data.storage import read_json, write_json
from truegraph.errors import DataError, InputError
from truegraph.extras import import_extra
from truegraph.learning.learned import Certificate, LearnedGraph
from truegraph.learning.partitioned.block_tasks import (
    joined_blocks,
    load_block,
    multipliers,
    positions_of,
)
from truegraph.learning.partitioned.folder import Folder, check_range, damaged
from truegraph.learning.partitioned.plan import Plan
from truegraph.learning.partitioned.searching import Layout
from truegraph.learning.search.pairs import restored_matrix
from truegraph.learning.solve import kernels
from truegraph.runtime.memory import physical_memory

_GRAPH = "graph.json"
_CERTIFICATE = "_certificate.json"  # readers of Parquet folders pass over such names
_MULTIPLIERS = re.compile(r"solve-\d+/multipliers-\d+")
_LOADED_ENTRY = 40.0  # bytes of a candidate entry of a loaded graph


@dataclass(frozen=True)
class Partition:
    """Some nodes of a graph with all their edges.

    Attributes
    ----------
    nodes : ndarray of int64, shape (n,)
        Their numbers: rows of the input; of users and items, items follow the users.
    adjacency : csr_array of shape (n, n_nodes)
        Weights of their edges to all nodes.
    """

    nodes: NDArray[np.int64]
    adjacency: csr_array

    def edges(self) -> Any:
        """Return a DataFrame with source < target and weight: edges of which it has the source."""
        import pandas as pd

        entries = self.adjacency.tocoo()
        source, target = self.nodes[entries.row], entries.col.astype(np.int64)
        kept = source < target
        return pd.DataFrame(
            {"source": source[kept], "target": target[kept], "weight": entries.data[kept]}
        )


class PartitionedGraph:
    """A learned graph in a storage folder, of which one partition at a time is in memory.

    Iterating over it gives its partitions.

    Attributes
    ----------
    certificate : Certificate
        Over all partitions.
    storage : Path
    """

    def __init__(self, storage: Path, *, is_temporary: bool = False) -> None:
        folder = Folder(storage)
        if not folder.has(_GRAPH):
            raise InputError(
                f"{storage}: no finished graph. Learn it with the same storage, which continues."
            )
        try:
            document = read_json(storage / _GRAPH)
            self._plan = _plan(document["plan"], storage)
            self._k = gate.whole_number("k", document["k"], at_least=1)
            self._edges = gate.whole_number("edges", document["edges"])
            self._multipliers = document["multipliers"]
            if not _MULTIPLIERS.fullmatch(self._multipliers):
                raise ValueError(f"multipliers is {self._multipliers!r}")
            self.certificate = _certificate(document["certificate"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(storage / _GRAPH, error) from error
        self.storage = storage
        self._layout = Layout.load(folder)
        if self._layout.starts[-1] != self._plan.n_nodes:
            raise damaged(storage / "layout.npz", f"it has not {self._plan.n_nodes} nodes")
        if is_temporary:
            weakref.finalize(self, shutil.rmtree, storage, True)

    @classmethod
    def open(cls, storage: str | Path) -> PartitionedGraph:
        """Open the graph of a finished run by its storage folder."""
        return cls(Path(storage))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self._plan.n_nodes

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return self._edges

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return len(self._layout)

    @property
    def n_users(self) -> int | None:
        """For a graph between users and items: nodes 0 .. n_users - 1 are the users."""
        return self._plan.n_users

    def __len__(self) -> int:
        return self.n_partitions

    def __iter__(self) -> Iterator[Partition]:
        return (self.partition(number) for number in range(self.n_partitions))

    def __repr__(self) -> str:
        c = self.certificate
        return (
            f"PartitionedGraph(nodes={self.n_nodes}, edges={self.n_edges}, "
            f"partitions={self.n_partitions}, degree={c.degree:.4g}, "
            f"relative_gap={c.relative_gap:.1e}, converged={c.converged})"
        )

    def partition(self, number: int) -> Partition:
        """Return one partition."""
        if not 0 <= number < self.n_partitions:
            raise InputError(f"partition {number} does not exist; there are {self.n_partitions}.")
        candidates, halo = load_block(self._plan, number, self._k)
        own = np.arange(*self._layout.starts[number : number + 2])
        columns = positions_of(candidates.indices, own.size, halo, int(own[0]))
        weights, _ = self._weights(candidates, np.concatenate([own, halo]))
        kept = weights > 0.0
        indptr = np.concatenate([[0], np.cumsum(kept)])[candidates.indptr]
        nodes = self._ids(own)
        adjacency = csr_array(
            (weights[kept], self._ids_of(columns[kept]), indptr),
            shape=(candidates.shape[0], self.n_nodes),
        )
        adjacency.sort_indices()
        return Partition(nodes, adjacency)

    def to_dask_dataframe(self) -> Any:
        """Return a Dask DataFrame of the edges, each once, with one part per partition."""
        import_extra("dask")
        frames = import_extra("dask.dataframe")
        storage = str(self.storage.resolve())
        return frames.from_map(
            _edges_of,
            range(self.n_partitions),
            storage=storage,
            meta=_edges_of(0, storage).iloc[:0],
        )

    def write_parquet(self, path: str | Path) -> None:
        """Write the edges to a folder of Parquet files, one per partition, with the certificate.

        Columns are source < target (numbers of nodes) and weight; every edge stands once.
        """
        folder = Path(path)
        if folder.is_file():
            raise InputError(f"{path} is a file; give the name of a folder.")
        import_extra("pyarrow")
        from truegraph.data.storage import atomic_write

        for number, partition in enumerate(self):
            with atomic_write(folder / f"part-{number:05d}.parquet") as temporary:
                partition.edges().to_parquet(temporary, index=False)
        write_json(folder / _CERTIFICATE, json.loads(_finite(self.certificate)))

    def load(self) -> LearnedGraph:
        """Return the whole graph in memory, with its candidate pairs, if it fits."""
        entries = 2 * self.certificate.candidate_pairs
        needed = 2.0 * _LOADED_ENTRY * entries
        memory = physical_memory()
        if memory is not None and needed > memory:
            raise DataError(
                f"the graph needs about {needed / 1e9:.1f} GB in memory, more than the "
                f"{memory / 1e9:.1f} GB there are; go through its partitions."
            )
        candidates = joined_blocks(self._plan, self._k)
        weights, lam = self._weights(candidates, np.arange(self.n_nodes))
        adjacency = csr_array(
            (weights, candidates.indices.copy(), candidates.indptr.copy()),
            shape=candidates.shape,
        )
        adjacency.eliminate_zeros()
        ids = self._ids(np.arange(self.n_nodes))
        if (np.bincount(ids, minlength=self.n_nodes) != 1).any():
            raise damaged(self.storage, "its numbers of nodes are not all different")
        own = np.empty(self.n_nodes)
        own[ids] = lam[:, 0]
        adjacency, candidates = (restored_matrix(matrix, ids) for matrix in (adjacency, candidates))
        return LearnedGraph(adjacency, self.certificate, own, candidates, self.n_users)

    def _weights(self, candidates: csr_array, nodes: NDArray[np.int64]) -> tuple[Any, Any]:
        """Return the weights of candidate pairs (entries,), and the multipliers of their nodes."""
        lam = multipliers(self._plan, self._multipliers, nodes)
        out = np.empty(candidates.nnz)
        kernels.weights(kernels.state_of(candidates, self.certificate.theta, lam), out)
        return self.certificate.scale * out, lam

    def _ids(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the nodes at ascending positions."""
        found = self._layout.rows(Folder(self.storage), "ids", positions)
        partitions = np.searchsorted(self._layout.starts, positions, side="right") - 1
        side = self._layout.sides[partitions]
        ids = np.asarray(found, dtype=np.int64) + np.where(side == 1, self._plan.counts[0], 0)
        check_range(self.storage, ids, 0, self.n_nodes)
        return ids

    def _ids_of(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the nodes at any positions."""
        distinct, places = np.unique(positions, return_inverse=True)
        return self._ids(distinct)[places]


def _edges_of(number: int, storage: str) -> Any:
    return PartitionedGraph.open(storage).partition(number).edges()


def _plan(document: dict[str, Any], storage: Path) -> Plan:
    """Return the plan of a document, after checking its numbers."""
    counts = tuple(gate.whole_number("counts", n, at_least=1) for n in document["counts"])
    if len(counts) not in (1, 2):
        raise ValueError(f"counts is {document['counts']!r}")
    for name in ("columns", "k", "partition_points", "together_points"):
        gate.whole_number(name, document[name], at_least=1)
    large, small = (gate.whole_number("sizes", size, at_least=1) for size in document["sizes"])
    return Plan(**{**document, "folder": str(storage), "counts": counts, "sizes": (large, small)})


def _certificate(document: dict[str, Any]) -> Certificate:
    """Return the certificate of a document in which null stands for infinity."""
    infinite = ("relative_gap", "primal")
    lifted = {key: np.inf for key in infinite if document[key] is None}
    made = Certificate(**{**document, **lifted})
    made.check()
    return made


def _finite(certificate: Certificate) -> str:
    """Return the certificate as JSON, infinity as null."""
    document = certificate.as_dict()
    for name, value in document.items():
        if isinstance(value, float) and not np.isfinite(value):
            document[name] = None
    return json.dumps(document)


def write_graph(plan: Plan, k: int, multipliers: str, certificate: Certificate, edges: int) -> None:
    """Store what makes a finished run a graph."""
    document = {
        "plan": {name: value for name, value in asdict(plan).items() if name != "folder"},
        "k": k,
        "multipliers": multipliers,
        "edges": edges,
        "certificate": json.loads(_finite(certificate)),
    }
    write_json(Path(plan.folder) / _GRAPH, document)
