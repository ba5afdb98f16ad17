"""Classifier: which network is the trained member of the average, the fast or the refined one."""

from lab.choose import nodes, sweep
from truegraph.classify.propagation import FAST_DEFAULTS, REFINED_DEFAULTS

if __name__ == "__main__":
    for labels in (5, 20):
        sweep(
            "truegraph.classify.propagation:FAST_DEFAULTS",
            {"fast": FAST_DEFAULTS, "refined": REFINED_DEFAULTS},
            nodes(labels=labels),
            datasets=("cora", "citeseer"),
        )
