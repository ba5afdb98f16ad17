"""The data of a cell: named sets, files of one's own, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from truegraph.errors import DataError, InputError
from truegraph.experiments.tasks.base import Cell, Context
from truegraph.experiments.tasks.opened_data import (
    open_interactions,
    open_nodes,
    read_own_interactions,
    same_data,
)


def nodes_cell(dataset: str, component: str = "full", **files: Any) -> Cell:
    own = {name: str(path) for name, path in files.items()}
    return Cell("classification", dataset, "gcn", "gcn", {}, {"component": component}, own)


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("source,target\na,b\nb,c\nc,a\nx,y\n")
    return path


def test_a_named_set_is_read_once() -> None:
    first, second = (open_nodes(nodes_cell("cora")) for _ in range(2))
    assert first is second
    assert open_nodes(nodes_cell("cora", "largest")).n_nodes == 2485


def test_files_and_their_largest_component(edges: Path) -> None:
    assert open_nodes(nodes_cell("mine", edges=edges)).n_nodes == 5
    assert open_nodes(nodes_cell("mine", "largest", edges=edges)).n_nodes == 3


def test_a_changed_file_is_read_again(edges: Path) -> None:
    cell = nodes_cell("mine", edges=edges)
    before = open_nodes(cell)
    edges.write_text("source,target\na,b\n")
    os.utime(edges, (1e9, 1e9))
    after = open_nodes(cell)
    assert (before.n_nodes, after.n_nodes) == (5, 2)
    with pytest.raises(DataError, match="differs from the one that the run was started with"):
        same_data(after, cell, Context(edges.parent, before.fingerprint))
    assert same_data(after, cell, Context(edges.parent, after.fingerprint)) is after


def test_where_files_lie_does_not_tell_cells_apart(edges: Path) -> None:
    assert nodes_cell("mine", edges=edges).key == nodes_cell("mine", edges="elsewhere.csv").key


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean 'cora'"):
        open_nodes(nodes_cell("corra"))
    cell = Cell("recommendation", "plantd", "ease", "ease", {}, {})
    with pytest.raises(InputError, match="Did you mean 'planted'"):
        open_interactions(cell)


def test_thresholds_of_interactions(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    rows = {"who": ["a", "a", "b", "b"], "what": ["x", "y", "x", "z"], "stars": [5, 4, 5, 1]}
    pd.DataFrame(rows).to_csv(path, index=False)
    columns = {"user": "who", "item": "what", "rating": "stars"}
    assert len(read_own_interactions(path, columns)) == 4
    assert len(read_own_interactions(path, columns, min_rating=4)) == 3
    assert len(read_own_interactions(path, columns, min_rating=4, min_per_user=2)) == 2
    with pytest.raises(InputError, match="no interactions are left"):
        read_own_interactions(path, columns, min_rating=6)
