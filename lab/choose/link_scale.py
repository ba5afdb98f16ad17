"""Links: neighbours of the local scale of distances, and dimensions of its points."""

from lab.choose import links, sweep

if __name__ == "__main__":
    for target, values in (
        ("truegraph.links.columns:DEGREE", (5, 10, 20)),
        ("truegraph.links.columns:_POINTS", (32, 64, 128)),
    ):
        sweep(target, values, links(), datasets=("cora", "citeseer"))
