"""Graph learning as a transform of PyTorch Geometric.

>>> import torch
>>> from torch_geometric.data import Data
>>> from truegraph.pyg import LearnGraph
>>> data = Data(x=torch.arange(12.0).reshape(12, 1) ** 2)
>>> LearnGraph(degree=2)(data).edge_index.shape[0]
2
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.graphs.adjacency import to_pyg
from truegraph.errors import InputError
from truegraph.learning import GraphLearner

try:
    import torch
    from torch_geometric.data import Data
    from torch_geometric.transforms import BaseTransform
except ModuleNotFoundError as error:
    raise ImportError(
        "truegraph.pyg needs PyTorch Geometric; install it with: pip install 'truegraph[pyg]'"
    ) from error


class LearnGraph(BaseTransform):
    """Replace the graph of a `Data` by the most probable one of its features.

    The result is a copy whose `edge_index` (both directions) and `edge_weight` are learned from
    `x`. Other attributes of the old edges are dropped, since they belong to no learned edge;
    attributes of the nodes stay. The input is not changed.

    Parameters
    ----------
    degree : float or "auto", optional
        Wanted average number of edges per node; default "auto", see `truegraph.GraphLearner`.
    theta, alpha, beta, metric, candidate_ratio, candidates, scope, solver, tol, max_iter, \
first_theta, mutual, local_scaling, min_degree, connected, random_state, n_jobs, progress
        As the parameters of `truegraph.GraphLearner`.

    Examples
    --------
    >>> LearnGraph(degree=5, metric="cosine")
    LearnGraph(degree=5, metric='cosine')
    """

    def __init__(
        self,
        degree: float | str | None = None,
        *,
        theta: float | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        metric: str = "sqeuclidean",
        candidate_ratio: float = 3.0,
        candidates: str = "auto",
        scope: str = "candidates",
        solver: str = "newton",
        tol: float = 1e-6,
        max_iter: int | None = None,
        first_theta: float | None = None,
        mutual: bool = False,
        local_scaling: int | str | None = "auto",
        min_degree: int = 1,
        connected: bool | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        options = dict(locals())  # the arguments, and nothing else as yet
        del options["self"]
        self.learner = GraphLearner(**options)

    def forward(self, data: Data) -> Data:
        """Put the learned graph into `data`, a copy that `__call__` has made."""
        x = getattr(data, "x", None)
        if x is None:
            raise InputError("data.x is None, and the graph is learned from it; set data.x.")
        learned = to_pyg(self.learner.fit(_points(x)).graph_.adjacency)
        for name in data.keys():  # noqa: SIM118 - iterating over data gives pairs
            if data.is_edge_attr(name) or name == "adj_t":
                del data[name]
        data.edge_index = learned.edge_index.to(x.device)
        data.edge_weight = learned.edge_weight.to(x.device)
        return data

    def __repr__(self) -> str:
        return repr(self.learner).replace(type(self.learner).__name__, type(self).__name__)


def _points(x: torch.Tensor) -> NDArray[Any] | csr_array:
    """Return a tensor (n_nodes, n_features), dense or sparse, without torch."""
    x = x.detach().cpu()
    if x.layout == torch.strided:
        return x.numpy()
    rows = x.to_sparse_csr()
    parts = (rows.values(), rows.col_indices(), rows.crow_indices())
    return csr_array(tuple(part.numpy() for part in parts), shape=(x.shape[0], x.shape[1]))
