"""
Graphs drawn from the posterior
===============================

Four chains that tell the same story.
"""

import numpy as np

from truegraph import learn_graph

points = np.random.default_rng(0).normal(size=(150, 3))
drawn = learn_graph(points, degree=6).posterior().sample(20, random_state=0)
graphs = list(drawn)
figure = drawn.plot()
