"""What the low-pass part adds to the refined recommender of large catalogues.

    python benchmarks/low_pass.py amazon_cds yelp2018 amazon_books

Interaction sets under TRUEGRAPH_DATA, without the filters of the paper's sizes: users with at least
5 and items with at least 2 interactions. Recall@20 and NDCG@20 on the validation part of the split
of seed 1000, with and without the part; the settings are fixed, nothing is chosen.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from truegraph.data import Interactions, split_randomly
from truegraph.nn.closed_form.base import Search
from truegraph.nn.closed_form.refined import Refined, RefinedSettings

SEED = 1000
SETTINGS = RefinedSettings(degree=20, strength=1.0, user_power=0.5, penalty=50.0, dense_items=0)


def whole_catalogue(name: str) -> Interactions:
    path = Path(os.environ["TRUEGRAPH_DATA"]) / name / f"{name}.npz"
    with np.load(path, allow_pickle=False) as arrays:
        table = pd.DataFrame(arrays["interactions"][:, :2], columns=["user", "item"])
    return Interactions.from_table(table, "user", "item").with_min_counts(per_user=5, per_item=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("names", nargs="+", metavar="NAME")
    for name in parser.parse_args().names:
        split = split_randomly(whole_catalogue(name), random_state=SEED)
        start = time.process_time()
        fitted = Refined.fit(SETTINGS, split.train, seed=SEED)
        seconds = time.process_time() - start
        search = Search(split.validation, split.train, SEED)
        users, items = split.train.shape
        print(f"{name}: {users} x {items}, fit {seconds:.0f} processor seconds")
        for label in ("with", "without"):
            recall, ndcg = search.measure(fitted)
            print(f"  {label:8} recall@20 {100 * recall:.2f} %, NDCG@20 {100 * ndcg:.2f} %")
            fitted.low_pass = None


if __name__ == "__main__":
    main()
