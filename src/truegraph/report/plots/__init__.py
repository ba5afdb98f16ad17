"""Pictures of graphs and of results, as matplotlib figures.

>>> from truegraph import load_dataset
>>> from truegraph.report.plots import adjacency
>>> cora = load_dataset("cora")
>>> figure = adjacency(cora.graph, cora.labels, class_names=cora.class_names)
"""

from truegraph.report.plots.comparisons import paired_differences, reliability
from truegraph.report.plots.matrices import adjacency, side_by_side
from truegraph.report.plots.style import save_figure

__all__ = [
    "adjacency",
    "paired_differences",
    "reliability",
    "save_figure",
    "side_by_side",
]
