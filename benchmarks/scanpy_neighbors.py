"""Time of `truegraph.anndata.neighbors` against `scanpy.pp.neighbors` on made-up cells.

    python benchmarks/scanpy_neighbors.py --cells 100000

Both run once on the same cells after a small run that compiles the loops. Processor seconds tell
more than seconds on a machine that does other things, too.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import anndata
import numpy as np
import scanpy

from truegraph.anndata import neighbors


def made_up_cells(count: int, types: int = 20, columns: int = 50) -> anndata.AnnData:
    """Return cells of several types; the spread of columns falls like principal components'."""
    rng = np.random.default_rng(0)
    spread = np.arange(1, columns + 1) ** -0.5
    centres = 4.0 * rng.normal(size=(types, columns)) * spread
    kind = rng.integers(0, types, count)
    points = centres[kind] + rng.normal(size=(count, columns)) * spread
    return anndata.AnnData(points.astype(np.float32))


def timed(work: Callable[..., Any], cells: anndata.AnnData) -> tuple[float, float]:
    """Return seconds and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    work(cells, use_rep="X")
    return time.perf_counter() - wall, time.process_time() - processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=100_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    for count in (2_000, options.cells):  # the first compiles
        cells = made_up_cells(count)
        found["scanpy.pp.neighbors"] = timed(scanpy.pp.neighbors, cells)
        theirs = cells.obsp["connectivities"].nnz / count
        found["truegraph.anndata.neighbors"] = timed(neighbors, cells)
        ours = cells.obsp["connectivities"].nnz / count
    print(f"{options.cells:,} cells x 50; edges per cell {theirs:.1f} and {ours:.1f}")
    for name, (wall, processor) in found.items():
        print(f"{name:30} {wall:7.1f} s {processor:7.1f} processor s")
    first, second = found.values()
    print(f"ratio {second[0] / first[0]:.2f}, of processor seconds {second[1] / first[1]:.2f}")


if __name__ == "__main__":
    main()
