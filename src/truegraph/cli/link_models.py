"""The names of link prediction's models, readable without loading the experiments."""

from __future__ import annotations

# The names of truegraph.experiments.tasks.link_names, whose package takes a while to import.
AUTO_ENCODERS = ("gae", "vgae", "graphite-ae", "graphite-vae", "dglfrm")
BAYESIAN = tuple(f"b{name}" for name in AUTO_ENCODERS)
RIVALS = ("common-neighbours", "adamic-adar", "pagerank", "learned-graph")
