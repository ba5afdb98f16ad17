"""Classifier: how views are weighted, their prior weights and the gain by agreement of neighbours.

Judged on graphs as they are, with as many false edges as true ones, and on one that misleads.
"""

from lab.choose import nodes, sweep

SETS = ("cora", "citeseer", "cora+random-100", "texas")

if __name__ == "__main__":
    module = "truegraph.classify.averaging"
    for name, values in (
        ("_DISCOUNT", (0.25, 0.5, 1.0)),
        ("_PRIORS[raw features]", (1.0, 6.0, 12.0)),
        ("_PRIORS[class shares]", (1.0, 12.0, 24.0)),
        ("_GAIN_OF_AGREEMENT", (0.0, 5.0, 10.0, 20.0)),
        ("_ERRORS", (3.0, 5.0, 8.0)),
        ("_DROP", (0.1, 0.25, 0.5)),
    ):
        sweep(f"{module}:{name}", values, nodes(), datasets=SETS, effort="low")
