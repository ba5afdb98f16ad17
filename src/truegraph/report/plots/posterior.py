"""Pictures of a graph's posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from truegraph.learning.posterior.graph_posterior import GraphPosterior
from truegraph.report.plots.style import LIGHT, house_style, one_panel
from truegraph.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BINS = 20


@house_style()
def inclusion_histogram(posterior: GraphPosterior, *, title: str | None = None) -> Figure:
    """Draw a histogram of the candidate pairs by the probability of an edge.

    Parameters
    ----------
    posterior : GraphPosterior
    title : str, optional
        By default the expected number of edges.

    Returns
    -------
    figure : matplotlib.figure.Figure
        Bars of the pairs that are edges of the learned graph, and beside them of the other
        candidate pairs, on a logarithmic scale. Below, what the probabilities depend on.
    """
    table = posterior.to_pandas()
    is_edge = table["weight"].to_numpy() > 0.0
    probability = table["inclusion"].to_numpy()
    figure, axes = one_panel(5.2, 3.6)
    axes.hist(
        [probability[is_edge], probability[~is_edge]],
        bins=np.linspace(0.0, 1.0, _BINS + 1).tolist(),
        color=[LIGHT["blue"], LIGHT["grey"]],
        label=["edges of the learned graph", "other candidate pairs"],
    )
    axes.set_yscale("log")
    above = f"probability of a weight above {posterior.threshold:.3g}"
    axes.set(xlim=(0.0, 1.0), xlabel=above, ylabel="pairs")
    axes.legend(loc="upper center")
    axes.set_title(title or f"{probability.sum():,.0f} edges expected")
    figure.supxlabel(given(posterior), fontsize=8, color=LIGHT["faint"])
    return figure


def given(posterior: GraphPosterior) -> str:
    """Return what the probabilities of a posterior depend on, in words."""
    pairs = posterior.graph.candidates.nnz // 2
    method = posterior.method.replace("mean-field", "mean field").replace("gibbs", "Gibbs sampling")
    return (
        f"{method}, concentration {posterior.concentration:.4g}, {counted(pairs, 'candidate pair')}"
    )
