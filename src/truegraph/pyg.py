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

from truegraph.data.adjacency import to_pyg
from truegraph.errors import InputError
from truegraph.extras import install_command
from truegraph.learning import GraphLearner

try:
    import torch
    from torch_geometric.data import Data
    from torch_geometric.transforms import BaseTransform
except ModuleNotFoundError as error:
    raise ImportError(
        f"truegraph.pyg needs PyTorch Geometric; install it with: {install_command('pyg')}"
    ) from error


class LearnGraph(BaseTransform):
    """Replace the graph of a `Data` by the most probable one of its features.

    The result is a copy whose `edge_index` (both directions) and `edge_weight` are learned from
    `x`. Other attributes of the old edges are dropped, since they belong to no learned edge;
    attributes of the nodes stay. The input is not changed.

    Parameters
    ----------
    degree : float or "auto", default="auto"
        Wanted average number of edges per node.
    **parameters
        The other parameters of `truegraph.GraphLearner`.

    Examples
    --------
    >>> LearnGraph(degree=5, metric="cosine")
    LearnGraph(degree=5, metric='cosine')
    """

    def __init__(self, degree: float | str = "auto", **parameters: Any) -> None:
        self.learner = GraphLearner(degree, **parameters)

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
