"""Suggested links: how many candidates per hidden link the second regression orders."""

from lab.choose import suggestions, sweep

if __name__ == "__main__":
    sweep(
        "truegraph.links.regression:_BEST",
        (1.0, 2.0, 3.0, 5.0, 10.0),
        suggestions,
        datasets=("cora", "citeseer", "teams"),
    )
