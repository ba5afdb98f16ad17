"""How results show themselves: a picture, a few lines in a notebook, a page to explore.

The code that draws them is imported only when it is needed.
"""

from __future__ import annotations

from collections.abc import Hashable
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from truegraph.report.explorer.page import Explorer


class Shown:
    """A result with a picture and a few lines for notebooks."""

    _drawn_by: ClassVar[str] = "truegraph.report.faces"

    def plot(self, **options: Any) -> Figure:
        """Return a picture as a matplotlib figure, which notebooks display.

        Parameters
        ----------
        **options
            Of a graph: `labels`, `class_names` and `title` of `truegraph.report.plots.adjacency`;
            other results have only `title`.
        """
        found: Figure = import_module(self._drawn_by).draw(self, **options)
        return found

    def _repr_html_(self) -> str:
        return str(import_module(self._drawn_by).few_lines(self))


class Explorable(Shown):
    """A graph that can be explored."""

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
        """Return an interactive page of the graph, to search, follow edges and select nodes.

        A notebook displays it; ``.save("explorer.html")`` writes one file that a browser opens
        offline. All edges are drawn up to 5,000 nodes and 50,000 edges, those of the selected node
        up to 50,000 nodes. In larger graphs every dot is a cluster, and `centre` shows the
        neighbourhood of one node.

        Parameters
        ----------
        labels : array-like of shape (n_nodes,), optional
            Classes of the nodes; None, NaN, "" and -1 mean unknown.
        names : iterable of n_nodes distinct hashable, optional
            By default the names of the graph.
        features : DataFrame, array-like or sparse matrix of shape (n_nodes, n_features), optional
            Columns to colour nodes by; edges show the features that their ends share.
        predictions : DataFrame or array-like of shape (n_nodes, n_classes), optional
            The table that ``truegraph classify`` writes, or probabilities of the classes.
        observed : graph of the same nodes, optional
            Graph to compare with, in any form that `truegraph.data.as_adjacency` takes.
        centre : name of a node, optional
            Show only this node, its neighbours and theirs.
        title : str, optional
        """
        from truegraph.report.explorer.page import explore

        known = {"labels": labels, "names": names, "features": features, "observed": observed}
        shown: Any = self
        return explore(shown, centre, title, predictions=predictions, **known)
