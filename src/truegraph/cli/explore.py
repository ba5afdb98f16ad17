"""``truegraph explore``: a learned graph as one page to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truegraph.cli.output import announce, check_target, tell
from truegraph.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def explore(
    graph: Path,
    predictions: Path | None = None,
    labels: Path | None = None,
    features: Path | None = None,
    edges: Path | None = None,
    centre: str | None = None,
    out: Path = Path("explorer.html"),
) -> None:
    """Write a page to look at a learned graph, walk along its edges and take nodes out of it.

    The page is one file and needs no network.
    """
    check_target("--out", out, (".html",), [graph])
    if graph.suffix.lower() != ".npz":
        raise InputError(
            f"GRAPH {str(graph)!r} must be the .npz file of a learned graph; learn it with: "
            "truegraph learn INPUT --out graph.npz"
        )
    announce(f"Reading {graph} ...")
    from truegraph.learning import LearnedGraph

    found = LearnedGraph.load(graph)
    names = [str(name) for name in (range(found.n_nodes) if found.names is None else found.names)]
    page = found.explore(
        labels=None if labels is None else _labels(labels, names),
        features=None if features is None else _features(features, names),
        predictions=None if predictions is None else _predictions(predictions),
        observed=None if edges is None else _edges(edges, names),
        centre=centre,
        title=f"{graph.name}: {found.n_nodes:,} nodes, {found.n_edges:,} edges",
    )
    page.save(out)
    tell(f"{found.n_nodes:,} nodes, {found.n_edges:,} edges. Page: {out}")


def _labels(path: Path, names: Sequence[str]) -> list[str | None]:
    from truegraph.data import read_labels

    class_of = read_labels(path)
    _check_known(path, class_of, names)
    return [None if class_of.get(name) == "-1" else class_of.get(name) for name in names]


def _features(path: Path, names: Sequence[str]) -> Any:
    from truegraph.data.feature_files import read_features

    found = read_features(path, known=set(names))
    values = found.values
    if found.plan is not None and found.plan.id_name is not None:
        values = values.drop(columns=found.plan.id_name, errors="ignore")
    if found.names is None:
        return values
    place = {name: row for row, name in enumerate(found.names.tolist())}
    _check_known(path, names, place)
    order = [place[name] for name in names]
    return values.iloc[order] if found.plan is not None else values[order]


def _predictions(path: Path) -> Any:
    from truegraph.data.tables import open_table

    table = open_table(path)
    frame = table.frame()
    for name in ("node", "label"):
        if name in frame.columns:
            place = list(frame.columns).index(name)
            frame[name] = table.columns([place])[place]
    return frame


def _edges(path: Path, names: Sequence[str]) -> csr_array:
    from truegraph.data.adjacency import as_adjacency
    from truegraph.data.edge_files import read_edge_table

    frame = read_edge_table(path, nodes=set(names))[0]
    for column in ("source", "target"):
        _check_known(path, frame[column], names)
    return as_adjacency(frame, node_names=names)


def _check_known(path: Path, wanted: Any, known: Any) -> None:
    from truegraph.data.identifiers import unknown_id

    has = set(known)
    lost = next((name for name in wanted if name not in has), None)
    if lost is not None:
        raise unknown_id(lost, has, f"node in {path}")
