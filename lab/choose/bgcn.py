"""Bayesian GCN: edges per node of the learned graph, which the paper leaves open."""

from lab.choose import nodes, sweep

if __name__ == "__main__":
    for labels in (5, 20):
        sweep(
            "degree",
            (10.0, 50.0, 100.0, 200.0),
            nodes("bgcn", labels),
            datasets=("cora", "citeseer"),
        )
