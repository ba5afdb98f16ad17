"""bgcn-refined: rounds of learning, and when a learned graph or the features alone are used."""

from lab.choose import nodes, sweep

SETS = ("cora", "citeseer", "cora+random-100")

if __name__ == "__main__":
    score = nodes("bgcn-refined")
    sweep("rounds", (0, 1, 2, 3), score, datasets=SETS)
    target = "truegraph.classify.propagation:_BETTER"
    sweep(target, (0.0, 2.0, 4.0), score, datasets=SETS)
