"""Writers of graphs for other programs: CSV and Parquet edge lists, and GraphML.

All list each undirected edge once. A learned graph with its certificate is written to npz by
`LearnedGraph.save` instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
from scipy import sparse

from truegraph import gate
from truegraph.data.adjacency import NodeNames, to_pandas
from truegraph.data.storage import atomic_write
from truegraph.data.tables import write_csv
from truegraph.errors import InputError
from truegraph.extras import import_extra

PathLike = str | os.PathLike[str]

FORMATS = (".csv", ".parquet", ".graphml")

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LINES_AT_ONCE = 100_000  # some 10 MB of text
_GRAPHML_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="weight" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="undirected">
"""
_GRAPHML_END = "</graph>\n</graphml>\n"


def write_graph(
    path: PathLike,
    adjacency: sparse.csr_array,
    node_names: NodeNames | None = None,
    *,
    escape: bool = False,
) -> None:
    """Write a graph for other programs, atomically."""
    check_format(path, node_names)
    adjacency = gate.sparse_matrix("adjacency", adjacency)
    if node_names is not None and len(node_names) != adjacency.shape[0]:
        raise InputError(
            f"node_names has {len(node_names)} names, but the graph has {adjacency.shape[0]} "
            "nodes; give one name per node."
        )
    if Path(path).suffix.lower() == ".csv":
        write_csv(to_pandas(adjacency, node_names), path, escape=escape)
        return
    with atomic_write(path) as temporary:
        if temporary.suffix.lower() == ".parquet":
            import_extra("pyarrow")
            to_pandas(adjacency, node_names).to_parquet(temporary, index=False)
        else:
            _write_graphml(temporary, adjacency, node_names)


def check_format(path: PathLike, node_names: NodeNames | None = None) -> None:
    """Raise an InputError unless `write_graph` can write to `path` with these names."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(
            f"{path}: a graph cannot be written to {suffix or 'a file without an ending'}; "
            f"let the name end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}."
        )
    if node_names is None:
        return
    names = [str(name) for name in node_names]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"node_names holds {twice!r} more than once; give every node its own name."
        )
    forbidden = next((name for name in names if _NOT_IN_XML.search(name)), None)
    if suffix == ".graphml" and forbidden is not None:
        raise InputError(
            f"{path}: the node name {forbidden!r} holds a character that XML cannot hold; "
            "rename the node, or write .csv."
        )


def _write_graphml(path: Path, adjacency: sparse.csr_array, node_names: NodeNames | None) -> None:
    names = range(adjacency.shape[0]) if node_names is None else node_names
    quoted = np.array([quoteattr(str(name)) for name in names], dtype=object)
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(_GRAPHML_HEAD)
        stream.writelines(f"<node id={name}/>\n" for name in quoted)
        lines = _graphml_edges(sparse.triu(adjacency, k=1, format="coo"), quoted)
        while chunk := "".join(islice(lines, _LINES_AT_ONCE)):
            stream.write(chunk)
        stream.write(_GRAPHML_END)


def _graphml_edges(upper: Any, quoted: Any) -> Iterator[str]:
    for i, j, weight in zip(upper.row, upper.col, upper.data, strict=True):
        yield (
            f"<edge source={quoted[i]} target={quoted[j]}>"
            f'<data key="weight">{float(weight)!r}</data></edge>\n'
        )
