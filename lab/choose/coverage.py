"""Ensemble: how much of the propagated weight training keeps, the rest is cut off."""

from lab.choose import nodes, sweep

if __name__ == "__main__":
    for labels in (5, 20):
        sweep(
            "truegraph.paper.ensemble:_COVERAGE",
            (0.9, 0.95, 0.99, 1.0),
            nodes("bgcn-fast", labels),
            datasets=("cora", "citeseer"),
        )
