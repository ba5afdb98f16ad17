"""A table as people send it: 2,000 customers whose columns are written in every way, and its truth.

Three segments of uneven size. Money is in euros, dollars and pounds, with the sign before or after
the number; shares have a percent sign, weights a unit, distances k; dates come in two formats;
there are a zip code that says nothing, clock times, free text, and gaps that are "", "NA" or "-".
"""

from __future__ import annotations

import numpy as np
import pandas as pd

ROWS = 2_000
SEGMENTS = ("household", "shop", "office")
_SHARES = (0.72, 0.2, 0.08)
_GAPS = ("", "NA", "-")
_SHARE_OF_GAPS = 0.08
_EUROS = {"EUR": 1.0, "$": 0.92, "GBP": 1.17}  # of one unit
_CHANNELS = {"web": (0.5, 0.35, 0.2), "phone": (0.2, 0.25, 0.5), "store": (0.3, 0.4, 0.3)}
_WORDS = tuple(  # of the segments
    line.split()
    for line in (
        "kitchen gift garden colour family birthday toys small repair weekend",
        "shelf wholesale window counter season stock pallet brand repair display",
        "invoice printer desk licence paper contract monthly department repair toner",
    )
)
_FILLER = ("please", "order", "again", "deliver", "before", "noon", "thank", "call", "about")


def mixed_table(seed: int) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Return the table as it is, the same after cleaning by hand, and the segments (n,).

    Both tables have a column for each other's; the first holds nothing but text.
    """
    rng = np.random.default_rng(seed)
    segment = rng.choice(3, ROWS, p=_SHARES)
    spent = np.exp(rng.normal(np.array([4.1, 5.0, 5.6])[segment], 0.8)).round(2)
    discount = rng.normal(np.array([4.0, 9.0, 12.0])[segment], 4.0).clip(0, 40).round(1)
    weight = np.exp(rng.normal(np.array([1.0, 1.7, 1.2])[segment], 0.6)).round(2)
    distance = np.exp(rng.normal(np.array([2.2, 3.0, 3.2])[segment], 0.9)).round(1)
    hour = rng.normal(np.array([17.5, 11.0, 10.0])[segment], 3.0).clip(0.1, 23.8)
    days = rng.normal(np.array([900, 600, 400])[segment], 300).clip(0, 1400).astype(int)
    table = {
        "customer": [f"C{number:06d}" for number in rng.permutation(ROWS) + 100_000],
        "spent": _money(spent, rng),
        "discount": [f"{one:g}%" for one in discount],
        "weight": [_weight(one, rng.random() < 0.3) for one in weight],
        "distance": [f"{one:g} km" for one in distance],
        "ordered at": [_clock(one) for one in hour],
        "since": _dates(days, rng),
        "channel": _channels(segment, rng),
        "zip": [f"{number:05d}" for number in rng.integers(1_000, 99_999, ROWS)],
        "note": [_note(one, rng) for one in segment],
    }
    clean = pd.DataFrame(
        {
            "spent": spent,
            "discount": discount,
            "weight": weight,
            "distance": distance,
            "ordered at": hour,
            "since": pd.Timestamp("2021-01-01") + pd.to_timedelta(days, "D"),
            "channel": table["channel"],
            "note": table["note"],
        }
    )
    raw = pd.DataFrame(table)
    for name in clean:
        lost = rng.random(ROWS) < _SHARE_OF_GAPS
        raw.loc[lost, name] = rng.choice(_GAPS, int(lost.sum()))
        clean.loc[lost, name] = None
    return raw, clean, np.array(SEGMENTS)[segment]


def _money(euros: np.ndarray, rng: np.random.Generator) -> list[str]:
    signs = rng.choice(list(_EUROS), len(euros), p=(0.7, 0.2, 0.1))
    amounts = [value / _EUROS[sign] for value, sign in zip(euros, signs, strict=True)]
    found = [f"{sign}{value:,.2f}" if sign == "$" else f"{value:,.2f} {sign}"
             for value, sign in zip(amounts, signs, strict=True)]  # fmt: skip
    return found


def _weight(kilograms: float, in_grams: bool) -> str:
    return f"{1000 * kilograms:.0f} g" if in_grams else f"{kilograms:g} kg"


def _clock(hour: float) -> str:
    return f"{int(hour):02d}:{int(60 * (hour % 1)):02d}"


def _dates(days: np.ndarray, rng: np.random.Generator) -> list[str]:
    stamps = pd.Timestamp("2021-01-01") + pd.to_timedelta(days, "D")
    pointed = rng.random(len(days)) < 0.4
    return [f"{one:%d.%m.%Y}" if is_pointed else f"{one:%Y-%m-%d}"
            for one, is_pointed in zip(stamps, pointed, strict=True)]  # fmt: skip


def _channels(segment: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shares = np.array(list(_CHANNELS.values())).T[segment]
    places = (rng.random((len(segment), 1)) > shares.cumsum(axis=1)).sum(axis=1)
    return np.array(list(_CHANNELS))[places.clip(max=len(_CHANNELS) - 1)]


def _note(segment: int, rng: np.random.Generator) -> str:
    own = rng.choice(_WORDS[segment if rng.random() < 0.7 else rng.integers(3)], rng.integers(1, 3))
    words = [*rng.choice(_FILLER, rng.integers(3, 8)), *own]
    return " ".join(rng.permutation(words))
