"""Graphs of more points than fit into memory, or than one machine should work on.

>>> import numpy as np
>>> from truegraph.distributed import learn_graph
>>> points = np.random.default_rng(0).normal(size=(3000, 5))
>>> graph = learn_graph(points, degree=8, memory="1GB", random_state=0)
>>> graph.certificate.converged
True

Without a client, one partition after another is worked on in this process; with a Dask client, on
its workers. The result is the same to the last bit.
"""

from __future__ import annotations

from truegraph.learning.partitioned.graph import Partition, PartitionedGraph
from truegraph.learning.partitioned.learn import learn_bipartite_graph, learn_graph

__all__ = ["Partition", "PartitionedGraph", "learn_bipartite_graph", "learn_graph"]
