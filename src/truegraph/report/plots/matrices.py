"""Pictures of adjacency matrices, drawn as densities: edges are counted in a grid of cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
    """
    return _drawn({title: as_adjacency(matrix)}, labels, class_names, by_cluster)


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
    """
    graphs = [as_adjacency(observed), as_adjacency(learned)]
    if graphs[0].shape != graphs[1].shape:
        raise InputError(
            f"observed has {graphs[0].shape[0]} nodes and learned has {graphs[1].shape[0]}; "
            "give two graphs of the same nodes."
        )
    return _drawn(dict(zip(titles, graphs, strict=True)), labels, class_names)


@house_style()
def _drawn(
    graphs: dict[Any, sparse.csr_array],
    labels: ArrayLike | None,
    class_names: Sequence[str] | None,
    by_cluster: bool = False,
) -> Figure:
    """Draw graphs of the same nodes, a panel each, their nodes in the order of their groups."""
    nodes = next(iter(graphs.values())).shape[0]
    group, caption = np.zeros(nodes, dtype=np.int64), "in the order given"
    names: list[str] = []
    if labels is not None:
        group, names = _classes(labels, class_names, nodes)
        caption = "ordered by class, boundaries in red"
    elif by_cluster:
        group = clusters(next(iter(graphs.values())))
        caption = "ordered by cluster, boundaries in red"
    order, sizes = np.argsort(group, kind="stable"), np.bincount(group)
    ends = np.cumsum(sizes)
    margin = 0.4 + 0.08 * max(map(len, names), default=0)  # inches for the names
    figure = new_figure(figsize=(margin + _PANEL * len(graphs), _PANEL + 0.85), layout="compressed")
    axes = figure.subplots(1, len(graphs), sharey=True, squeeze=False)[0]
    for panel, (title, graph) in zip(axes, graphs.items(), strict=True):
        _draw(panel, graph, order, ends)
        told = counted(graph.nnz // 2, "edge")
        share = None if labels is None else homophily(graph, np.asarray(labels))
        told += "" if share is None else f", {share:.0%} within a class"
        panel.set_title(told if title is None else f"{title}\n{told}")
    named = np.flatnonzero((sizes >= _SMALLEST_NAMED * nodes) & bool(names)).tolist()
    places = [ends[block] - sizes[block] / 2 for block in named]
    axes[0].set_yticks(places, labels=[names[block] for block in named])
    about = f"{nodes:,} nodes {caption}; the darker, the more edges"
    figure.supxlabel(about, fontsize=8.5, color=LIGHT["faint"])
    return figure


def _classes(
    labels: ArrayLike, class_names: Sequence[str] | None, nodes: int
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the class of every node, those without a label last, and the names of the classes."""
    classes = gate.whole_numbers("labels", labels)
    if len(classes) != nodes:
        raise InputError(
            f"labels has shape {classes.shape}, but the graph has {nodes} nodes; "
            "give one class per node."
        )
    last = classes.max(initial=0)
    present, group = np.unique(
        np.where(classes == UNLABELLED, last + 1, classes), return_inverse=True
    )
    known = range(last + 1) if class_names is None else class_names
    names = ["no label" if one > last else str(known[one]).replace("_", " ") for one in present]
    return group, names


def _draw(axes: Axes, graph: sparse.csr_array, order: NDArray[Any], ends: NDArray[Any]) -> None:
    nodes = graph.shape[0]
    look: Any = {"cmap": "Greys", "vmin": 0.0, "vmax": 1.0, "interpolation": "nearest"}
    axes.imshow(_darkness(graph, order), extent=(0, nodes, nodes, 0), **look)
    width = min(0.7, 12.0 / len(ends))  # hundreds of boundaries must not hide the edges
    axes.hlines(ends[:-1], 0, nodes, colors=LIGHT["red"], linewidths=width)
    axes.vlines(ends[:-1], 0, nodes, colors=LIGHT["red"], linewidths=width)
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
    found = np.bincount(cell_of[ends.row] * cells + cell_of[ends.col], minlength=cells**2)
    counts = found.reshape(cells, cells)
    if not counts.any():
        return np.zeros((cells, cells))
    # The fullest cells of large graphs would leave the others pale: saturate above most of them.
    full = max(2.0, float(np.quantile(counts[counts > 0], 0.99)))
    darkness = _FAINTEST + (1.0 - _FAINTEST) * np.log(np.maximum(counts, 1)) / np.log(full)
    return np.where(counts > 0, np.minimum(darkness, 1.0), 0.0)
