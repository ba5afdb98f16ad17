"""Do the bounds hold? Shares of false suggestions, and sets of items that hold the next one.

    python benchmarks/bounds.py                  # both parts, seeds 0 to 4
    python benchmarks/bounds.py links --seeds 0 1

Links: a tenth of the links of a graph is hidden, the predictor is fitted to the rest, and lists are
asked for of which at most a share may be false; a suggestion is right if it is a hidden link.
`missing` is 0.1, the default, and here the truth. Items: a tenth of each user's interactions is
hidden, at random or (ml100k) the latest, and sets are asked for that hold the next item of a share
of the users; counted is the mean over users of the share of their hidden items in the set.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the laboratory beside us

from lab.graphs import MADE_GRAPHS

from truegraph import LinkPredictor, Recommender
from truegraph.data import load_dataset, load_interactions, split_by_time, split_randomly
from truegraph.data.link_splits import split_links

GRAPHS = ("cora", "citeseer", "teams")
ALLOWED = (0.1, 0.2, 0.5, 0.8, 0.9)
SETS = ("ml100k", "ml100k by time", "amazon_cds")
COVERAGES = (0.5, 0.8, 0.9)
LONGEST = 5000


def links_of(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield for each allowed share how long the list is, and which share of it is false."""
    features = None
    if name in MADE_GRAPHS:
        graph = MADE_GRAPHS[name]()
    else:
        dataset = load_dataset(name, component="largest")
        graph, features = dataset.graph, dataset.features
    split = split_links(graph, validation=0.0, test=0.1, random_state=seed)
    predictor = LinkPredictor(random_state=seed).fit(split.train, features)
    for allowed in ALLOWED:
        table = predictor.suggest(LONGEST, false_share=allowed)
        realised = np.nan
        if len(table):
            found = graph[table["source"].to_numpy(), table["target"].to_numpy()]
            realised = float(np.mean(np.asarray(found).ravel() == 0.0))
        yield {"data": name, "asked": allowed, "size": len(table), "realised": realised}


def items_of(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield for each coverage how large the sets are, and which share of hidden items they hold."""
    data = load_interactions(name.split()[0])
    ratios = (0.9, 0.0, 0.1)
    is_timed = name.endswith("by time")
    split = (
        split_by_time(data, ratios) if is_timed else split_randomly(data, ratios, random_state=seed)
    )
    kept = Recommender(random_state=seed, validation_share=0.1)
    if is_timed:  # with the times, so that the latest interactions are held out here too
        rest = np.asarray(split.train[data.users, data.items]).ravel() != 0.0
        known = {name: getattr(data, name)[rest] for name in ("users", "items", "times")}
        kept.fit(replace(data, **known, ratings=None))
    else:
        kept.fit(split.train)
    asked = np.flatnonzero(np.diff(split.test.indptr))
    for coverage in COVERAGES:
        size = kept.set_size(coverage)
        lists = kept.rank_all(split.train, size)
        ends = split.test.indptr
        held = [np.isin(split.test.indices[ends[u] : ends[u + 1]], lists[u]).mean() for u in asked]
        yield {"data": name, "asked": coverage, "size": size, "realised": float(np.mean(held))}


def main() -> None:
    """Print one line per data and asked share, means over seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["links", "items"])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    given = parser.parse_args()
    for part in given.parts:
        names, run = {"links": (GRAPHS, links_of), "items": (SETS, items_of)}[part]
        rows = []
        for name in names:
            for seed in given.seeds[:1] if name.endswith("by time") else given.seeds:
                rows += [row | {"seed": seed} for row in run(name, seed)]
                print(name, seed, file=sys.stderr, flush=True)
        table = pd.DataFrame(rows)
        found = table.groupby(["data", "asked"], sort=False).agg(
            size=("size", "mean"),
            realised=("realised", "mean"),
            largest=("realised", "max"),
            smallest=("realised", "min"),
            lists=("realised", "count"),
        )
        print(f"{part}\n{found.round(3).to_string()}\n", flush=True)


if __name__ == "__main__":
    main()
