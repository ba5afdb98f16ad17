"""A column of text: docstrings of the installed packages, and the edges that stay in a package.

    python benchmarks/text.py            # 5,000 docstrings
    python benchmarks/text.py --rows 2000

The graph of `learn_graph` on the table with the one column beside the k nearest neighbours by the
cosine of TF-IDF, the same number of edges each: share of edges within a package, and seconds.
"""

from __future__ import annotations

import argparse
import ast
import sysconfig
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

PACKAGES = (
    *("numpy", "scipy", "sklearn", "pandas", "networkx", "torch", "matplotlib", "polars"),
    *("skrub", "dask", "distributed", "igraph", "narwhals", "jinja2", "rich", "typer"),
    *("cvxpy", "zarr", "anndata", "scanpy", "hypothesis", "joblib", "numba", "requests"),
)


def docstrings(rows: int) -> pd.DataFrame:
    """Return docstrings of functions and classes, and the package of each; no code is run."""
    folder = Path(sysconfig.get_paths()["purelib"])
    found: dict[str, str] = {}
    for package in PACKAGES:
        for file in sorted((folder / package).rglob("*.py")):
            if "test" in str(file.relative_to(folder)):
                continue
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    doc = ast.get_docstring(node) or ""
                    if len(doc) > 40:
                        found.setdefault(doc, package)
    table = pd.DataFrame({"doc": found.keys(), "package": found.values()})
    return table.sample(min(rows, len(table)), random_state=0).reset_index(drop=True)


def nearest(texts: pd.Series, edges: int) -> sparse.csr_array:
    """Return the k-NN graph of TF-IDF by cosine, k as large as the number of edges allows."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.neighbors import kneighbors_graph

    rows = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    k = 1
    while True:
        graph = kneighbors_graph(rows, k, metric="cosine")
        graph = sparse.csr_array(graph.maximum(graph.T))
        if graph.nnz // 2 >= edges:
            return graph
        k += 1


def within(graph: sparse.csr_array, packages: np.ndarray) -> float:
    """Return the share of the edges whose ends are of one package."""
    entries = graph.tocoo()
    return float((packages[entries.row] == packages[entries.col]).mean())


def main() -> None:
    """Print both figures and both times."""
    from truegraph import learn_graph

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5000)
    table = docstrings(parser.parse_args().rows)
    packages = table["package"].to_numpy(str)
    learn_graph(table[["doc"]].head(100))  # compiles
    start = time.perf_counter(), time.process_time()
    graph = learn_graph(table[["doc"]])
    taken = time.perf_counter() - start[0], time.process_time() - start[1]
    print(
        f"learn_graph: {within(graph.adjacency, packages):.1%} of {graph.n_edges:,} edges within a "
        f"package, {taken[0]:.1f} s, {taken[1]:.1f} of the processor"
    )
    start = time.perf_counter(), time.process_time()
    near = nearest(table["doc"], graph.n_edges)
    taken = time.perf_counter() - start[0], time.process_time() - start[1]
    print(
        f"TF-IDF and k-NN: {within(near, packages):.1%} of {near.nnz // 2:,} edges within a "
        f"package, {taken[0]:.1f} s, {taken[1]:.1f} of the processor"
    )


if __name__ == "__main__":
    main()
