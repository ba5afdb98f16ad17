"""bgcn-refined: rounds of learning, and when a learned graph or the features alone are used."""

from lab.choose import nodes, sweep

SETS = ("cora", "citeseer", "cora+random-100")

if __name__ == "__main__":
    score = nodes("bgcn-refined")
    sweep("rounds", (0, 1, 2, 3), score, datasets=SETS)
    for name, values in (
        ("_WORSE", ((-2.0, 0.0), (-4.0, -2.0), (-6.0, -4.0))),
        ("_BETTER", (0.0, 2.0, 4.0)),
    ):
        sweep(f"truegraph.classify.propagation:{name}", values, score, datasets=SETS)
