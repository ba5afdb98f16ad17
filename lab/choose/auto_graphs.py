"""Classifier: degree of the learned graphs, and what they are learned from."""

from lab.choose import nodes, sweep

SETS = ("cora", "citeseer", "cora+random-100", "digits")

if __name__ == "__main__":
    module = "truegraph.classify.auto"
    for target, values in (
        (f"{module}:_DEGREE_OF_FEATURES", (10.0, 30.0, 80.0)),
        (f"{module}:_DEGREE_OF_BOTH", (30.0, 80.0, 160.0)),
        (f"{module}:_LOOK", (0.0, 0.02, 0.1)),
        ("truegraph.classify.spaces:_LEARNED_DIMENSION", (32, 64, 128)),
    ):
        sweep(target, values, nodes(), datasets=SETS, effort="low")
