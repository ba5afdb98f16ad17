"""Track ratios of processor times over versions, to see which part became slower.

    python benchmarks/ratios.py            # measure, append to ratios.csv, print what changed
    python benchmarks/ratios.py --compare  # print what changed between the last two versions

A ratio of two times on one machine depends little on the machine, so versions can be compared that
were measured on different ones. Each time is the best of five, in processor seconds of all threads.
A version that is measured again replaces its lines.
"""

from __future__ import annotations

import argparse
import csv
import gc
import time
from collections.abc import Callable
from pathlib import Path

HISTORY = Path(__file__).parent / "ratios.csv"
FIELDS = ["version", "date", "name", "ratio"]
NOTABLE = 0.25  # changes below this may be chance
REPEATS = 5

Row = dict[str, str]


def best_time(call: Callable[[], object]) -> float:
    """Return the least processor time of a few calls, the compiling first one left out."""
    call()
    times = []
    for _ in range(REPEATS):
        gc.collect()
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)


def pairs() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Return by name what is timed, and what its time is divided by."""
    import numpy as np
    from sklearn.neighbors import kneighbors_graph

    from truegraph import LinkPredictor, NodeClassifier, Recommender, learn_graph, load_dataset
    from truegraph.data import load_interactions, random_split
    from truegraph.report.explorer.layout import layout

    digits, cora = load_dataset("digits"), load_dataset("cora")
    points = np.random.default_rng(0).normal(size=(8000, 8))
    graph = learn_graph(digits.features, graph_model="paper", degree=10)
    links = learn_graph(points[:600], graph_model="paper", degree=6).adjacency
    shop = load_interactions("planted")
    few = random_split(cora.labels, 5, random_state=0).train
    y = np.full(cora.n_nodes, -1)
    y[few] = cora.labels[few]

    def classify(model: object) -> Callable[[], object]:
        return lambda: model().fit(cora.features, y, graph=cora.graph)  # type: ignore[operator]

    def links_by(model: str) -> Callable[[], object]:
        return lambda: LinkPredictor(model, random_state=0).fit(links)

    def learned() -> object:
        return learn_graph(digits.features, graph_model="paper", degree=10)

    return {
        "learn_graph on digits / scikit-learn's 10 nearest neighbours": (
            learned,
            lambda: kneighbors_graph(digits.features, 10),
        ),
        "learn_graph of 8,000 points / of 4,000": (
            lambda: learn_graph(points, graph_model="paper", degree=10),
            lambda: learn_graph(points[:4000], graph_model="paper", degree=10),
        ),
        "scope='global' / scope='candidates', digits": (
            lambda: learn_graph(digits.features, graph_model="paper", degree=10, scope="global"),
            learned,
        ),
        "posterior with intervals / learn_graph, digits": (
            lambda: graph.posterior().interval(0.9),
            learned,
        ),
        "explorer's layout / learn_graph, digits": (lambda: layout(graph.memberships()), learned),
        "classifier 'auto' / APPNP, Cora": (
            classify(lambda: NodeClassifier(random_state=0)),
            classify(lambda: NodeClassifier("appnp", random_state=0)),
        ),
        "classifier 'bgcn-fast' / GCN, Cora": (
            classify(lambda: NodeClassifier("bgcn-fast", random_state=0)),
            classify(lambda: NodeClassifier("gcn", random_state=0)),
        ),
        "links 'auto' / Adamic-Adar, 600 nodes": (links_by("auto"), links_by("adamic-adar")),
        "recommender 'auto' / EASE, planted": (
            lambda: Recommender().fit(shop),
            lambda: Recommender("ease").fit(shop),
        ),
    }


def measured(version: str, date: str) -> list[Row]:
    """Measure all ratios."""
    rows = []
    for name, (call, reference) in pairs().items():
        ratio = best_time(call) / best_time(reference)
        rows.append({"version": version, "date": date, "name": name, "ratio": f"{ratio:.3g}"})
        print(f"{ratio:8.3g}  {name}", flush=True)
    return rows


def read(path: Path) -> list[Row]:
    """Return the history, oldest version first."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def write(path: Path, rows: list[Row]) -> None:
    """Add the ratios of one version to the history, in place of older ones of the same version."""
    new = {row["version"] for row in rows}
    kept = [row for row in read(path) if row["version"] not in new]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *rows])


def changes(rows: list[Row]) -> list[str]:
    """Return a line per ratio that changed notably between the last two versions."""
    versions = list(dict.fromkeys(row["version"] for row in rows))
    if len(versions) < 2:
        return ["There is no earlier version to compare with."]
    old, new = (
        {row["name"]: float(row["ratio"]) for row in rows if row["version"] == version}
        for version in versions[-2:]
    )
    lines = [
        f"{name}: {old[name]:.3g} in {versions[-2]}, {ratio:.3g} in {versions[-1]}"
        f" ({ratio / old[name] - 1:+.0%})"
        for name, ratio in new.items()
        if name in old and abs(ratio / old[name] - 1) >= NOTABLE
    ]
    return lines or [f"No ratio changed by {NOTABLE:.0%} from {versions[-2]} to {versions[-1]}."]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", action="store_true", help="measure nothing")
    parser.add_argument("--history", type=Path, default=HISTORY)
    options = parser.parse_args()
    if not options.compare:
        import truegraph

        write(options.history, measured(truegraph.__version__, time.strftime("%Y-%m-%d")))
    print("\n".join(changes(read(options.history))))


if __name__ == "__main__":
    main()
