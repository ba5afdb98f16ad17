"""Suggested links: how many suggestions a share of right ones is counted among."""

from lab.choose import suggestions, sweep

if __name__ == "__main__":
    sweep(
        "truegraph.links.suggestions:_BIN",
        (10.0, 25.0, 50.0, 100.0, 200.0),
        suggestions,
        datasets=("cora", "citeseer", "planted-groups"),
    )
