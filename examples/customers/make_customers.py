"""Make the table of customers of the tutorial: invented people, the same at every run.

600 customers in three segments. Numbers on scales that differ by four orders of magnitude,
categories, a date, missing values and an id, as a data warehouse would give them. Segments overlap
in every single column. Friendships are mostly within a segment.

Run it to write customers.csv, segments.csv (30 labels), answers.csv (all of them) and friends.csv.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

SEGMENTS = np.array(["starter", "family", "business"])
PER_SEGMENT = 200
LABELS_PER_SEGMENT = 10
FRIENDSHIPS = 1500
SHARE_WITHIN = 0.8

# Share of each segment's customers by category.
PLANS = {"basic": (0.75, 0.3, 0.1), "plus": (0.2, 0.6, 0.2), "premium": (0.05, 0.1, 0.7)}
CHANNELS = {
    "app": (0.5, 0.2, 0.1),
    "web": (0.3, 0.4, 0.3),
    "shop": (0.15, 0.35, 0.1),
    "sales": (0.05, 0.05, 0.5),
}
REGIONS = ("north", "east", "south", "west")


def draw(shares: dict[str, tuple[float, ...]], segment: np.ndarray, rng: np.random.Generator):
    table = np.array(list(shares.values())).T
    return np.array([rng.choice(list(shares), p=row / row.sum()) for row in table[segment]])


def customers(seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Return the table and the segment of each customer."""
    rng = np.random.default_rng(seed)
    segment = rng.permutation(np.repeat(np.arange(3), PER_SEGMENT))
    n = len(segment)
    age = rng.normal(np.array([27, 43, 49])[segment], 8).round()
    income = np.exp(rng.normal(np.log([24_000, 46_000, 82_000])[segment], 0.35)).round(-2)
    visits = rng.poisson(np.array([14, 8, 4])[segment])
    basket = np.exp(rng.normal(np.log([18, 55, 140])[segment], 0.5)).round(2)
    first_day = np.datetime64("2019-01-01")
    days = rng.normal(np.array([1500, 900, 600])[segment], 350).clip(0, 2190).astype(int)
    table = pd.DataFrame(
        {
            "customer_id": rng.choice(np.arange(100_000, 999_999), n, replace=False),
            "age": age,
            "income": income,
            "visits_per_month": visits,
            "basket": basket,
            "plan": draw(PLANS, segment, rng),
            "channel": draw(CHANNELS, segment, rng),
            "region": rng.choice(REGIONS, n),
            "signup_date": (first_day + days).astype(str),
        }
    )
    for column, share in (("age", 0.05), ("income", 0.1), ("plan", 0.03), ("signup_date", 0.02)):
        table.loc[rng.random(n) < share, column] = None
    return table, pd.Series(SEGMENTS[segment], name="segment")


def labelled(segment: pd.Series, seed: int) -> np.ndarray:
    """Return the numbers of ten customers of each segment, ascending."""
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(segment == name) for name in SEGMENTS]
    chosen = [rng.choice(own, LABELS_PER_SEGMENT, replace=False) for own in members]
    return np.sort(np.concatenate(chosen))


def friendships(table: pd.DataFrame, segment: pd.Series, seed: int) -> pd.DataFrame:
    """Return pairs of customers that know each other."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, len(table), 3 * FRIENDSHIPS)
    within = rng.random(len(first)) < SHARE_WITHIN
    members = {name: np.flatnonzero(segment == name) for name in SEGMENTS}
    second = rng.integers(0, len(table), len(first))
    for name, own in members.items():
        here = within & (segment.to_numpy()[first] == name)
        second[here] = rng.choice(own, int(here.sum()))
    pairs = np.unique(np.sort(np.column_stack([first, second]), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pairs = pairs[np.sort(rng.permutation(len(pairs))[:FRIENDSHIPS])]
    names = table["customer_id"].to_numpy()
    return pd.DataFrame({"customer": names[pairs[:, 0]], "friend": names[pairs[:, 1]]})


def main(folder: Path) -> None:
    table, segment = customers()
    answers = pd.DataFrame({"customer_id": table["customer_id"], "segment": segment})
    table.to_csv(folder / "customers.csv", index=False)
    answers.to_csv(folder / "answers.csv", index=False)
    answers.iloc[labelled(segment, 0)].to_csv(folder / "segments.csv", index=False)
    friendships(table, segment, 0).to_csv(folder / "friends.csv", index=False)


if __name__ == "__main__":
    main(Path(__file__).parent)
