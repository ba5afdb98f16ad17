"""Pictures of graphs and of results; every function returns a matplotlib figure.

>>> from truegraph import load_dataset
>>> from truegraph.report.plots import adjacency
>>> cora = load_dataset("cora")
>>> figure = adjacency(cora.graph, cora.labels, class_names=cora.class_names)
"""

from truegraph.report.plots.calibration import reliability, reliability_lines
from truegraph.report.plots.comparisons import accuracy_by_labels, paired_differences
from truegraph.report.plots.corrections import correction_boxplots, correction_counts
from truegraph.report.plots.matrices import adjacency, side_by_side
from truegraph.report.plots.posterior import inclusion_histogram
from truegraph.report.plots.style import save_figure

__all__ = [
    "accuracy_by_labels",
    "adjacency",
    "correction_boxplots",
    "correction_counts",
    "inclusion_histogram",
    "paired_differences",
    "reliability",
    "reliability_lines",
    "save_figure",
    "side_by_side",
]
