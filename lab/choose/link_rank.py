"""Links: dimensions of the reduced features, or of the vectors taken from a graph."""

from lab.choose import links, sweep

if __name__ == "__main__":
    sweep("rank", (32, 64, 128, 256), links(), datasets=("cora", "citeseer", "cora-links"))
