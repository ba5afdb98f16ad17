"""
Digits without a graph
======================

1,797 images of digits; the learned graph joins 98 % of its edges within a digit.
"""

from truegraph import learn_graph, load_dataset

digits = load_dataset("digits")
graph = learn_graph(digits.features, degree=10)
figure = graph.plot(labels=digits.labels)
