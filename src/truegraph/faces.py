"""How results show themselves: a picture, a few lines in a notebook, a page to explore.

Results of learning come long before the room that draws them. This module is the one door between
the two, opened when somebody looks.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from truegraph.report.explorer.page import Explorer


class Shown:
    """A result that draws itself, and shows a few lines in a notebook."""

    def plot(self, **options: Any) -> Figure:
        """Return a picture as a matplotlib figure, which notebooks show as it is.

        Parameters
        ----------
        **options
            Of a graph: `labels`, `class_names` and `title` of `truegraph.report.plots.adjacency`;
            other results have only `title`.
        """
        from truegraph.report.faces import picture

        return picture(self, **options)

    def _repr_html_(self) -> str:
        from truegraph.report.faces import few_lines

        return few_lines(self)


class Explorable(Shown):
    """A learned graph, which can be explored."""

    def explore(
        self,
        labels: Any = None,
        names: Any = None,
        features: Any = None,
        predictions: Any = None,
        *,
        observed: Any = None,
        centre: Hashable | None = None,
        title: str | None = None,
    ) -> Explorer:
        """Return a page to look at the graph, walk along its edges and take nodes out of it.

        A notebook shows it in place; ``.save("explorer.html")`` writes one file that a browser
        opens offline. All edges are drawn up to 5,000 nodes and 50,000 edges, those of the
        selected node up to 50,000 nodes; beyond, every dot is a cluster, and `centre` shows the
        neighbourhood of one node.

        Parameters
        ----------
        labels : array-like of shape (n_nodes,), optional
            Classes of the nodes; None, NaN, "" and -1 stand for unknown ones.
        names : iterable of n_nodes distinct hashable, optional
            By default the names of the graph.
        features : DataFrame, array-like or sparse matrix of shape (n_nodes, n_features), optional
            To colour nodes by, and to say what the ends of an edge share.
        predictions : DataFrame or array-like of shape (n_nodes, n_classes), optional
            The table that ``truegraph classify`` writes, or probabilities of the classes.
        observed : graph of the same nodes, optional
            To compare with; anything that `truegraph.data.as_adjacency` takes.
        centre : name of a node, optional
            Show only the node, its neighbours and theirs.
        title : str, optional
        """
        from truegraph.report.explorer.page import explore

        return explore(
            self,  # type: ignore[arg-type]
            labels,
            names,
            features,
            predictions,
            observed=observed,
            centre=centre,
            title=title,
        )
