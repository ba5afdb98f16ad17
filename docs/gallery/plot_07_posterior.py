"""
How certain are the edges?
==========================

Probabilities of all candidate pairs.
"""

from truegraph import learn_graph, load_dataset

posterior = learn_graph(load_dataset("digits").features, degree=10).posterior()
figure = posterior.plot()
