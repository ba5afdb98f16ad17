"""Pictures of adjacency matrices, drawn as densities: edges are counted in a grid of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from truegraph import gate
from truegraph.data.adjacency import as_adjacency
from truegraph.data.containers import UNLABELLED, homophily
from truegraph.errors import InputError
from truegraph.learning.clusters import clusters
from truegraph.report.plots.style import LIGHT, house_style, new_figure
from truegraph.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CELLS = 320  # per side: cells with one edge stay visible on paper and on screen
_FAINTEST = 0.3  # darkness of a cell with a single edge
_SMALLEST_NAMED = 0.03  # share of the nodes from which on a class has room for its name
_PANEL = 4.6  # inches per side


class _Blocks(NamedTuple):
    """Nodes in the order of their classes or clusters."""

    order: NDArray[np.intp]  # (n_nodes,)
    ends: NDArray[np.intp]  # position after the last node of each block, (n_blocks,)
    names: list[str]  # of the blocks; clusters have none
    caption: str


@house_style()
def adjacency(
    matrix: Any,
    labels: ArrayLike | None = None,
    *,
    class_names: Sequence[str] | None = None,
    title: str | None = None,
    by_cluster: bool = False,
) -> Figure:
    """Draw an adjacency matrix, the nodes ordered by class and the class boundaries in red.

    Parameters
    ----------
    matrix : sparse matrix, NetworkX graph or PyG Data, with n_nodes nodes
        The graph; the darker a cell, the more edges it holds. Weights are not shown.
    labels : array-like of int, shape (n_nodes,), optional
        Class of every node, -1 where it is not known; by default nodes keep their order.
    class_names : sequence of str, optional
        Names of the classes; by default their numbers.
    title : str, optional
        By default the number of edges, and with labels the share of them within a class.
    by_cluster : bool, default=False
        Without labels, order the nodes by cluster, the largest first.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    graph = as_adjacency(matrix)
    is_clustered = by_cluster and labels is None
    blocks = _clusters(graph) if is_clustered else _blocks(graph.shape[0], labels, class_names)
    return _panels({title: graph}, labels, blocks)


@house_style()
def side_by_side(
    observed: Any,
    learned: Any,
    labels: ArrayLike | None = None,
    *,
    class_names: Sequence[str] | None = None,
    titles: tuple[str, str] = ("Observed graph", "Learned graph"),
) -> Figure:
    """Draw two graphs of the same nodes beside each other, as in the paper's Figure 2.

    Parameters
    ----------
    observed, learned : sparse matrix, NetworkX graph or PyG Data, with n_nodes nodes
    labels, class_names
        As of `adjacency`.
    titles : tuple of two str

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    graphs = [as_adjacency(observed), as_adjacency(learned)]
    if graphs[0].shape != graphs[1].shape:
        raise InputError(
            f"observed has {graphs[0].shape[0]} nodes and learned has {graphs[1].shape[0]}; "
            "give two graphs of the same nodes."
        )
    blocks = _blocks(graphs[0].shape[0], labels, class_names)
    return _panels(dict(zip(titles, graphs, strict=True)), labels, blocks)


def _panels(graphs: dict[Any, sparse.csr_array], labels: Any, blocks: _Blocks) -> Figure:
    margin = 0.4 + 0.08 * max(map(len, blocks.names), default=0)  # inches for the names
    figure = new_figure(figsize=(margin + _PANEL * len(graphs), _PANEL + 0.85), layout="compressed")
    axes = figure.subplots(1, len(graphs), sharey=True, squeeze=False)[0]
    for panel, (title, graph) in zip(axes, graphs.items(), strict=True):
        _draw(panel, graph, blocks)
        told = counted(graph.nnz // 2, "edge")
        share = None if labels is None else homophily(graph, np.asarray(labels))
        told += "" if share is None else f", {share:.0%} within a class"
        panel.set_title(told if title is None else f"{title}\n{told}")
    sizes = np.diff(blocks.ends, prepend=0)
    is_named = (sizes >= _SMALLEST_NAMED * blocks.order.size) & bool(blocks.names)
    named = np.flatnonzero(is_named).tolist()
    places = [blocks.ends[block] - sizes[block] / 2 for block in named]
    axes[0].set_yticks(places, labels=[blocks.names[block] for block in named])
    figure.supxlabel(
        f"{blocks.order.size:,} nodes {blocks.caption}; the darker, the more edges",
        fontsize=8.5,
        color=LIGHT["faint"],
    )
    return figure


def _blocks(n_nodes: int, labels: ArrayLike | None, class_names: Sequence[str] | None) -> _Blocks:
    if labels is None:
        return _Blocks(np.arange(n_nodes), np.array([n_nodes]), [], "in the order given")
    classes = gate.whole_numbers("labels", labels)
    if len(classes) != n_nodes:
        raise InputError(
            f"labels has shape {classes.shape}, but the graph has {n_nodes} nodes; "
            "give one class per node."
        )
    last = classes.max(initial=0)
    group = np.where(classes == UNLABELLED, last + 1, classes)  # unlabelled nodes stand last
    present, counts = np.unique(group, return_counts=True)
    known = range(last + 1) if class_names is None else class_names
    names = ["no label" if one > last else str(known[one]).replace("_", " ") for one in present]
    caption = "ordered by class, boundaries in red"
    return _Blocks(np.argsort(group, kind="stable"), np.cumsum(counts), names, caption)


def _clusters(graph: sparse.csr_array) -> _Blocks:
    group = clusters(graph)
    ends = np.cumsum(np.bincount(group))
    caption = "ordered by cluster, boundaries in red"
    return _Blocks(np.argsort(group, kind="stable"), ends, [], caption)


def _draw(axes: Axes, graph: sparse.csr_array, blocks: _Blocks) -> None:
    nodes = graph.shape[0]
    axes.imshow(
        _darkness(graph, blocks.order),
        cmap="Greys",
        vmin=0.0,
        vmax=1.0,
        extent=(0, nodes, nodes, 0),
        interpolation="nearest",
    )
    width = min(0.7, 12.0 / len(blocks.ends))  # hundreds of boundaries must not hide the edges
    axes.hlines(blocks.ends[:-1], 0, nodes, colors=LIGHT["red"], linewidths=width)
    axes.vlines(blocks.ends[:-1], 0, nodes, colors=LIGHT["red"], linewidths=width)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right"]].set_visible(True)


def _darkness(graph: sparse.csr_array, order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the darkness of each cell of the grid, from 0 to 1, on a logarithmic scale."""
    nodes = graph.shape[0]
    cells = min(nodes, _CELLS)
    cell_of = np.empty(nodes, dtype=np.int64)
    cell_of[order] = np.arange(nodes) * cells // max(nodes, 1)
    ends = sparse.coo_array(graph)
    counts = np.bincount(
        cell_of[ends.row] * cells + cell_of[ends.col], minlength=cells * cells
    ).reshape(cells, cells)
    if not counts.any():
        return np.zeros((cells, cells))
    # The fullest cells of large graphs would leave the others pale: saturate above most of them.
    full = max(2.0, float(np.quantile(counts[counts > 0], 0.99)))
    darkness = _FAINTEST + (1.0 - _FAINTEST) * np.log(np.maximum(counts, 1)) / np.log(full)
    return np.where(counts > 0, np.minimum(darkness, 1.0), 0.0)
