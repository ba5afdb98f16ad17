"""Classifier: how frequent classes are taken to be, judged where they are uneven and where not."""

from lab.choose import nodes, sweep

if __name__ == "__main__":
    for target, values in (
        ("truegraph.classify.calibration:_PRIOR", (1.0, 3.0, 10.0)),
        ("truegraph.classify.calibration:_CLEAR", (0.0, 0.1, 0.3)),
    ):
        sweep(target, values, nodes(), datasets=("texas", "wisconsin", "cora"), effort="low")
