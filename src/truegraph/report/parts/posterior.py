"""Parts of a page that show how certain a learned graph is.

>>> import numpy as np
>>> from truegraph import learn_graph
>>> from truegraph.report.parts.posterior import posterior_parts
>>> graph = learn_graph(np.random.default_rng(0).normal(size=(50, 3)), degree=6)
>>> picture, table = posterior_parts(graph.posterior(), nodes=[0])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from truegraph.errors import InputError
from truegraph.learning.posterior.graph_posterior import GraphPosterior
from truegraph.report.page import Panel, Part, Picture
from truegraph.report.plots.posterior import given, inclusion_histogram
from truegraph.report.tables import Table

_HEADINGS = ["neighbour", "certainty", "probability", "weight", "mean", "90 % interval"]


def posterior_parts(
    posterior: GraphPosterior,
    nodes: Sequence[int] = (),
    *,
    count: int = 5,
) -> Iterator[Part]:
    """Yield a histogram of the edges' probabilities, and a table of edges for each node.

    Parameters
    ----------
    posterior : GraphPosterior
    nodes : sequence of int
        Nodes whose most and least certain edges to list.
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
    for node in nodes:
        yield Table(
            heading=f"Edges of node {names[node]}",
            caption="The candidate pairs most likely to have an edge, and those with a "
            f"probability nearest to one half ({given(posterior)}).",
            rows=edge_certainty(posterior, node, count=count),
        )


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
        raise InputError(f"node is {node}. Give a number from 0 to {graph.n_nodes - 1}.")
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
