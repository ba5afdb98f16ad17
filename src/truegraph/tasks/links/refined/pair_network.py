"""A small network that scores pairs of nodes by their vectors; its training is apart, with torch.

h = LayerNorm([R, SR, S^2 R] W),    logit_ij = MLP(h_i * h_j)
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from truegraph import gate
from truegraph.data.graphs.link_splits import Pairs

_BLOCK = 1 << 15  # pairs scored at a time


@dataclass(frozen=True, eq=False)
class PairNetwork:
    """A trained network with the vectors of the nodes.

    Attributes
    ----------
    vectors : ndarray of float32, shape (N, 128)
        h of every node.
    inner, outer : ndarray of float32, shapes (128, 128) and (128,)
        Weights of the two layers of the MLP.
    inner_bias, outer_bias : ndarray of float32, shapes (128,) and (1,)
    """

    vectors: NDArray[np.float32]
    inner: NDArray[np.float32]
    inner_bias: NDArray[np.float32]
    outer: NDArray[np.float32]
    outer_bias: NDArray[np.float32]

    def logits(self, pairs: Pairs) -> NDArray[np.float64]:
        """Return the logit of each pair (n, 2), (n,)."""
        found = np.empty(len(pairs))
        with threadpool_limits(1):  # sums of several threads would come in another order
            for begin in range(0, len(pairs), _BLOCK):
                ends = pairs[begin : begin + _BLOCK]
                both = self.vectors[ends[:, 0]] * self.vectors[ends[:, 1]]
                hidden = np.maximum(both @ self.inner.T + self.inner_bias, 0.0)
                logits = np.einsum("ij,j->i", hidden, self.outer, dtype=np.float64)
                found[begin : begin + _BLOCK] = logits + self.outer_bias
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name, to be saved."""
        return {f"network_{entry.name}": getattr(self, entry.name) for entry in fields(self)}


def restored_network(arrays: dict[str, NDArray[Any]], n_nodes: int) -> PairNetwork | None:
    """Return the network that `PairNetwork.arrays` was of; None if there was none."""
    if "network_vectors" not in arrays:
        return None
    width = gate.array("network_vectors", arrays["network_vectors"], (n_nodes, None)).shape[1]
    shapes = ((n_nodes, width), (width, width), (width,), (width,), (1,))
    names = [f"network_{entry.name}" for entry in fields(PairNetwork)]
    return PairNetwork(
        *(gate.array(name, arrays[name], shape) for name, shape in zip(names, shapes, strict=True))
    )
