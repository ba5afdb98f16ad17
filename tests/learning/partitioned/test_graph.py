"""What can be done with a graph that lies in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, vstack

from truegraph.data.storage import read_json
from truegraph.distributed import PartitionedGraph
from truegraph.errors import InputError

Prepared = Callable[..., Any]


@pytest.fixture(scope="module")
def graph(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> PartitionedGraph:
    points = np.random.default_rng(0).normal(size=(700, 3))
    return prepared(tmp_path_factory.mktemp("graph") / "s", points, degree=5, size=250).run()


def test_partitions_together_are_the_graph(graph: PartitionedGraph) -> None:
    parts = list(graph)
    assert len(parts) == len(graph) == graph.n_partitions > 1
    nodes = np.concatenate([part.nodes for part in parts])
    assert sorted(nodes) == list(range(700))
    rows = csr_array(vstack([part.adjacency for part in parts]))[np.argsort(nodes)]
    whole = graph.load()
    assert abs(rows - whole.adjacency).max() == 0
    assert rows.nnz == 2 * graph.n_edges == 2 * whole.n_edges
    assert (whole.adjacency != csr_array(whole.adjacency.T)).nnz == 0


def test_edges_as_tables(graph: PartitionedGraph, tmp_path: Path) -> None:
    expected = graph.load().to_pandas().sort_values(["source", "target"]).reset_index(drop=True)
    pytest.importorskip("dask.dataframe")
    frame = graph.to_dask_dataframe()
    assert frame.npartitions == graph.n_partitions
    computed = frame.compute(scheduler="synchronous").sort_values(["source", "target"])
    pd.testing.assert_frame_equal(computed.reset_index(drop=True), expected, check_dtype=False)
    graph.write_parquet(tmp_path / "graph.parquet")
    written = pd.read_parquet(tmp_path / "graph.parquet").sort_values(["source", "target"])
    pd.testing.assert_frame_equal(written.reset_index(drop=True), expected, check_dtype=False)
    assert read_json(tmp_path / "graph.parquet" / "_certificate.json")["converged"] is True


def test_repr_and_faults(graph: PartitionedGraph, tmp_path: Path) -> None:
    assert "nodes=700" in repr(graph)
    with pytest.raises(InputError, match="partition 99 does not exist"):
        graph.partition(99)
    with pytest.raises(InputError, match="no finished graph"):
        PartitionedGraph.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file"):
        graph.write_parquet(tmp_path / "file")
