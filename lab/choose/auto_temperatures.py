"""Classifier: temperatures of views, of their mean and of nodes, judged by NLL and ECE."""

from lab.choose import nodes, sweep

if __name__ == "__main__":
    for target, values in (
        ("truegraph.classify.auto:_SHARPER", (1.0, 1.15, 1.3)),
        ("truegraph.classify.view_models:_USUAL_SHARPNESS", (1.0, 1.3, 1.6)),
        ("truegraph.classify.view_models:_DEVIATION_BELOW", (0.5, 2.0, 4.0)),
        ("truegraph.classify.view_models:_DEVIATION_ABOVE", (0.25, 0.5, 2.0)),
    ):
        for labels in (5, 20):
            sweep(target, values, nodes(labels=labels), datasets=("cora", "citeseer"), effort="low")
    for target, values in (  # learned from 100 left-out labels and more
        ("truegraph.classify.calibration:_DEVIATION", (0.25, 0.5, 1.0)),
        ("truegraph.classify.calibration:_USUAL_ENTROPY", (0.0, 0.3, 0.6)),
        ("truegraph.classify.calibration:_LARGEST", (0.75, 1.5, 3.0)),
    ):
        sweep(target, values, nodes(labels=20), datasets=("cora", "citeseer"), effort="low")
