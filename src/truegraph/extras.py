"""Packages that only parts of truegraph need, and the extra that installs each.

``pip install truegraph`` installs graph learning, its posterior, label spreading and the command
line; ``truegraph[nn]`` the networks.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

EXTRAS = {
    "anndata": "scanpy",
    "dask": "cluster",
    "distributed": "cluster",
    "igraph": "igraph",
    "networkx": "networkx",
    "pyarrow": "parquet",
    "safetensors": "nn",
    "scanpy": "scanpy",
    "torch": "nn",
    "torch_geometric": "pyg",
    "umap": "umap",
    "zarr": "zarr",
}


def import_extra(module: str) -> Any:
    """Import a module of an extra, or say what to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise with_remedy(error) from error


def with_remedy(error: ImportError) -> ImportError:
    """Return an error that says how to install what is missing; other errors pass unchanged."""
    package = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or package not in EXTRAS:
        return error
    return ModuleNotFoundError(
        f"{package} is not installed; install it with: pip install 'truegraph[{EXTRAS[package]}]'",
        name=error.name,
    )
