"""Classifier: when a trained network and a forest are tried, and how much weight they take over."""

from lab.choose import nodes, sweep

if __name__ == "__main__":
    module = "truegraph.classify.auto"
    for name, values in (
        ("_TAKEN", (0.3, 0.6, 0.9)),
        ("_LEAST", (0.0, 0.05, 0.2)),
        ("_GAIN", (0.0, 0.1, 0.3)),
        ("_WORSE", ((-2.0, 0.0), (-3.0, -1.0), (-4.0, -2.0))),
        ("_FALSE", (0.05, 0.1, 0.2)),
    ):
        sweep(f"{module}:{name}", values, nodes(), datasets=("cora", "citeseer", "cora+random-50"))
    sweep(f"{module}:_TAKEN_BY_FOREST", (0.0, 0.5, 0.9), nodes(), datasets=("texas", "wisconsin"))
