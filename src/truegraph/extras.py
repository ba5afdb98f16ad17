"""Optional packages, and the command that installs a missing one."""

from __future__ import annotations

import re
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

EXTRAS = {
    "anndata": "scanpy",
    "dask": "cluster",
    "distributed": "cluster",
    "igraph": "igraph",
    "networkx": "networkx",
    "openpyxl": "excel",
    "pyarrow": "parquet",
    "scanpy": "scanpy",
    "torch": "nn",
    "torch_geometric": "pyg",
    "umap": "umap",
    "zarr": "zarr",
}
_CLONE = Path(__file__).parents[2]


def import_extra(module: str) -> Any:
    """Import an optional module, or raise an error that says how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise with_remedy(error) from error


def with_remedy(error: ImportError) -> ImportError:
    """Return an error that says how to install the missing package; other errors unchanged."""
    package = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or package not in EXTRAS:
        return error
    return ModuleNotFoundError(
        f"{package} is not installed; install it with: {install_command(EXTRAS[package])}",
        name=error.name,
    )


def install_command(extra: str) -> str:
    """Return the command that installs an extra: from the clone, or else package by package.

    No package index has truegraph, so ``pip install 'truegraph[nn]'`` would fail.
    """
    if (_CLONE / "pyproject.toml").is_file():
        return f"pip install '.[{extra}]' (in the clone)"
    return f"pip install {' '.join(repr(package) for package in _packages(extra))}"


def _packages(extra: str) -> list[str]:
    """Return the requirements of an extra, those of the extras that it includes among them."""
    found: list[str] = []
    for line in metadata.requires("truegraph") or ():
        package, _, condition = (part.strip() for part in line.partition(";"))
        if re.search(rf"extra == ['\"]{extra}['\"]", condition):
            included = re.match(r"truegraph\[(\w+)\]", package)
            found += _packages(included[1]) if included else [package]
    return found
