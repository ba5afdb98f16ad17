"""Classifier: doubt that makes sets of classes larger, judged by coverage and size at 90 %."""

from lab.choose import nodes, sweep

if __name__ == "__main__":
    for labels in (5, 20):
        for target, values in (
            ("truegraph.classify.prediction_sets:_DOUBT", (0.0, 250.0, 500.0, 1000.0)),
            ("truegraph.classify.prediction_sets:_AT_LEAST", (50.0, 100.0, 200.0)),
            ("truegraph.classify.prediction_sets:PSEUDO_LABELS", (0.0, 100.0, 400.0)),
        ):
            score = nodes(labels=labels)
            sweep(target, values, score, datasets=("cora", "citeseer", "texas"), effort="low")
