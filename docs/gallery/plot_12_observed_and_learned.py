"""
Citations and what lies behind them
===================================

Cora's citations, and the graph of its words.
"""

from truegraph import learn_graph, load_dataset
from truegraph.report.plots import side_by_side

cora = load_dataset("cora")
learned = learn_graph(cora.features, degree=10, metric="cosine")
figure = side_by_side(cora.graph, learned.adjacency, cora.labels, class_names=cora.class_names)
