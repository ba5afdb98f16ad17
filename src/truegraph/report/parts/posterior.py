"""Parts of a page that show how certain a learned graph is.

>>> import numpy as np
>>> from truegraph import learn_graph
>>> from truegraph.report.parts.posterior import posterior_parts
>>> graph = learn_graph(np.random.default_rng(0).normal(size=(50, 3)), degree=6)
>>> picture, table = posterior_parts(graph.posterior(), nodes=[0])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from truegraph.errors import InputError
from truegraph.learning.posterior.graph_posterior import GraphPosterior
from truegraph.report.page import Panel, Part, Picture
from truegraph.report.plots.posterior import given, inclusion_histogram
from truegraph.report.tables import Table

_HEADINGS = ["neighbour", "certainty", "probability", "weight", "mean", "90 % interval"]


def posterior_parts(
    posterior: GraphPosterior,
    nodes: Mapping[int, str] | Sequence[int] = (),
    *,
    count: int = 5,
) -> Iterator[Part]:
    """Yield a histogram of the edges' probabilities, and a table of edges for each node.

    Parameters
    ----------
    posterior : GraphPosterior
    nodes : sequence of int, or dict of int to str
        Nodes whose most and least certain edges to list, perhaps with the reason.
    count : int
        How many edges of each kind to list.
    """
    inclusion = posterior.inclusion().data
    is_open = (inclusion >= 0.05) & (inclusion <= 0.95)
    yield Picture(
        heading="How certain the learned graph is",
        caption="Candidate pairs by the probability that they have an edge, that is, a weight "
        f"above {posterior.threshold:.3g}, half the mean weight of the learned edges "
        f"({given(posterior)}). The concentration is not calibrated to data.",
        panels=[
            Panel(
                inclusion_histogram(posterior),
                f"{inclusion.sum() / 2:,.0f} edges are expected; for {is_open.sum() // 2:,} pairs "
                "the probability lies between 0.05 and 0.95.",
            )
        ],
    )
    names = posterior.graph.names or range(posterior.graph.n_nodes)
    reasons = nodes if isinstance(nodes, Mapping) else dict.fromkeys(nodes, "")
    for node, reason in reasons.items():
        yield Table(
            heading=f"Edges of node {names[node]}" + (f", {reason}" if reason else ""),
            caption="The candidate pairs most likely to have an edge, and those with a "
            f"probability nearest to one half ({given(posterior)}). Every other node: open the "
            "graph with truegraph explore, or LearnedGraph.explore().",
            rows=edge_certainty(posterior, node, count=count),
        )


def telling_nodes(posterior: GraphPosterior) -> dict[int, str]:
    """Return a few nodes worth a look, each with the reason.

    Parameters
    ----------
    posterior : GraphPosterior
    """
    doubt = posterior.inclusion()
    doubt.data = np.minimum(doubt.data, 1.0 - doubt.data)
    open_ = np.asarray(doubt.sum(axis=1)).ravel()
    edges = np.diff(posterior.graph.adjacency.indptr)
    found = {int(open_.argmax()): "whose edges are the least certain"}
    found.setdefault(int(edges.argmax()), f"which has the most edges ({edges.max():,})")
    found.setdefault(int(open_.argmin()), "whose edges are the most certain")
    return found


def edge_certainty(
    posterior: GraphPosterior,
    node: int,
    *,
    count: int = 5,
) -> list[list[str]]:
    """Return the most and the least certain edges of a node, as rows under their headings.

    Parameters
    ----------
    posterior : GraphPosterior
    node : int
    count : int
        How many of each kind; a pair is listed once.

    Returns
    -------
    list of list of str
        Neighbour, "most" or "least" certain, probability of the edge, weight in the learned
        graph, mean weight, and the 90 % interval of the weight.
    """
    graph = posterior.graph
    if not 0 <= node < graph.n_nodes:
        raise InputError(f"node={node} must be a node number from 0 to {graph.n_nodes - 1}.")
    inclusion, (low, high) = posterior.inclusion(), posterior.interval(0.9)
    at = slice(inclusion.indptr[node], inclusion.indptr[node + 1])
    neighbours, probability = inclusion.indices[at], inclusion.data[at]
    most = np.lexsort((neighbours, -posterior.mean.data[at], -probability))[:count]
    by_doubt = np.lexsort((neighbours, np.abs(probability - 0.5)))
    least = by_doubt[~np.isin(by_doubt, most)][:count]
    names = graph.names or range(graph.n_nodes)
    rows = [list(_HEADINGS)]
    for kind, places in (("most", most), ("least", least)):
        for place in places:
            entry, neighbour = at.start + place, int(neighbours[place])
            rows.append(
                [
                    str(names[neighbour]),
                    kind,
                    f"{probability[place]:.3f}",
                    f"{graph.adjacency[node, neighbour]:.3g}",
                    f"{posterior.mean.data[entry]:.3g}",
                    f"{low.data[entry]:.3g} to {high.data[entry]:.3g}",
                ]
            )
    return rows
