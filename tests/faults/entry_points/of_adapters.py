"""Entry points of the adapters to PyTorch Geometric, AnnData and UMAP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from faulty_values import DENSE, POINTS, Faulty, listed, only, points
from of_learning import learned


def _data(**parts: Any) -> Any:
    import torch
    from torch_geometric.data import Data

    return Data(**{name: torch.as_tensor(np.asarray(part)) for name, part in parts.items()})


def _cells(values: Any) -> Any:
    """Return AnnData whose points were replaced behind the back of its constructor."""
    import anndata

    found = anndata.AnnData(POINTS.copy())
    found._X = values
    return found


def entries() -> dict[str, tuple[Callable[[Any], Any], Faulty]]:
    """Return how to call each entry point with one value, and the faulty values."""
    from truegraph import anndata, pyg, umap

    numeric = only(DENSE, "text", "nothing")  # a tensor holds no others
    found: dict[str, tuple[Callable[[Any], Any], Faulty]] = {
        "LearnGraph.forward:data": (
            lambda v: pyg.LearnGraph(degree=3)(_data(x=v)),
            listed(POINTS, numeric),
        ),
        "neighbors:adata": (
            lambda v: anndata.neighbors(_cells(v), 3, use_rep="X"),
            points(),
        ),
        "embed:X": (lambda v: umap.embed(learned(), v, n_epochs=2), points(sized=True)),
        "embed:init": (
            lambda v: umap.embed(learned(), POINTS, n_epochs=2, init=v),
            listed(POINTS[:, :2], DENSE, sized=True),
        ),
    }
    return found
