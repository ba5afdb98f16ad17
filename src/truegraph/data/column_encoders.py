"""How a column becomes numbers, as fitted: means, scales, levels, axes of text.

Every column of a table counts about the same in distances: whatever number of columns it becomes,
their variances add up to about one. A missing or unknown value lies in the middle, equally far from
all others as far as is known.

What was learned is kept as plain numbers and texts, so that a plan can be saved without a pickle
and gives the same bits after loading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from truegraph.data.column_kinds import (
    LONGEST_NAME,
    Column,
    categories,
    check_cells,
    dates,
    numbers,
    present,
)
from truegraph.wording import counted

Block = NDArray[np.float64]

_BOUND = 2.0  # standard deviations at which values level off: lab/choose/column_scale.py
_FENCE = 6.0  # times the quartiles' distance; what is farther out does not count in the deviation
_HUGE = 1e100  # whose square is still a number
_LARGEST = float(np.finfo(np.float64).max)
_DAYS_A_YEAR = 365.2425
_SECONDS_A_DAY = 86400.0

# Axes, and letters in a group. Groups find more of a package's docstrings than words do, once
# condensed: benchmarks/text.py, lab/choose/text_axes.py.
_PROSE = 300, (4, 4)
_NAMES = 30, (3, 4)  # as skrub's StringEncoder
_MOST_TERMS = 20_000  # groups of letters, the most frequent ones; rarer ones join few texts
_MOST_TO_FIT = 5_000  # different texts whose terms are counted; more hardly change the axes
_FOR_AXES = 2_000  # of them, whose singular vectors are the axes
_LONGEST = 5_000  # letters of a text that are read; the beginning says what it is about
_ROUNDS = 1  # of the randomised singular vectors: lab/choose/text_axes.py
_AT_ONCE = 50_000  # texts, so that memory stays bounded


def fitted(column: Column, values: pd.Series, scaled: bool) -> Column:
    """Return a column with what turns it into numbers; values have the shape (n_rows,)."""
    learned, parts, becomes = _FITS[column.kind](values, column.written)
    learned["scaled"] = scaled
    return replace(column, learned=learned, parts=tuple(parts), becomes=becomes)


def encoded(column: Column, values: pd.Series) -> Block:
    """Return the numbers of a fitted column, shape (n_rows, n_parts)."""
    check_cells(values)
    return _ENCODES[column.kind](values, column.written, column.learned)


def unread(column: Column, values: pd.Series) -> NDArray[np.bool_]:
    """Return which cells are there, but do not read as the fitted ones did, shape (n_rows,)."""
    known = present(values, column.kind)
    if column.kind == "number":
        return known & np.isnan(numbers(values, column.written))
    if column.kind == "date":
        return known & dates(values, column.written).isna().to_numpy()
    if column.kind == "category":
        return known & ~pd.Index(categories(values)).isin(column.learned["levels"])
    return np.zeros(len(values), dtype=bool)


def unscaled(column: Column) -> Column:
    """Return a column of numbers that are taken as they are."""
    becomes = "1 column as it is" if column.kind == "number" else column.becomes
    return replace(column, learned={**column.learned, "scaled": False}, becomes=becomes)


def _fit_numbers(values: pd.Series, written: Any) -> Any:
    centre, spread = _measured(numbers(values, written))
    return {"centre": centre, "spread": spread}, [""], "1 column, standardised"


def _encode_numbers(values: pd.Series, written: Any, learned: dict[str, Any]) -> Block:
    found = numbers(values, written)
    filled = np.where(np.isnan(found), learned["centre"], found)
    return _scaled(filled, learned)[:, None]


def _measured(values: Block) -> tuple[float, float]:
    """Return mean and standard deviation of the known values, outliers moved to the fence."""
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    size = float(np.abs(known).max())
    size = size if size > _HUGE else 1.0
    known = known / size  # squares and spans of large numbers stay finite
    low, high = np.percentile(known, [25, 75])
    if high > low:
        known = known.clip(low - _FENCE * (high - low), high + _FENCE * (high - low))
    return float(known.mean()) * size, min(float(known.std()) * size, _LARGEST) or 1.0


def _scaled(values: Block, learned: dict[str, Any]) -> Block:
    """Return scaled values, straight in the middle and level at the bound."""
    if not learned["scaled"]:
        return values
    with np.errstate(over="ignore"):
        scaled = np.clip((values - learned["centre"]) / learned["spread"], -_HUGE, _HUGE)
    return scaled / np.sqrt(1.0 + np.square(scaled / _BOUND))


def _fit_categories(values: pd.Series, _: Any) -> Any:
    levels = sorted(different(values))
    becomes = f"{counted(len(levels), 'column')}: one per category"
    return {"levels": levels}, [f"={level}" for level in levels], becomes


def _encode_categories(values: pd.Series, _: Any, learned: dict[str, Any]) -> Block:
    """Return one 0/1 column per category, all zero where it is missing or new."""
    codes = pd.Index(learned["levels"]).get_indexer(pd.Index(categories(values)))
    block = np.zeros((len(codes), len(learned["levels"])))
    known = codes >= 0
    block[known, codes[known]] = 1.0
    return block


def different(values: pd.Series) -> set[str]:
    """Return the different categories or texts of a column."""
    return {value for value in pd.unique(categories(values)) if isinstance(value, str)}


def _fit_dates(values: pd.Series, written: Any) -> Any:
    days = _days(dates(values, written))
    centre, spread = _measured(days)
    has_hours = bool((days[np.isfinite(days)] % 1.0 != 0.0).any())
    parts = [": time", ": season sin", ": season cos"]
    parts += [": hour sin", ": hour cos"] if has_hours else []
    becomes = f"{counted(len(parts), 'column')}: time and season"
    return {"centre": centre, "spread": spread, "has_hours": has_hours}, parts, becomes


def _encode_dates(values: pd.Series, written: Any, learned: dict[str, Any]) -> Block:
    """Return days, the season as a point on a circle and, if given, the hour as another."""
    days = _days(dates(values, written))
    turns = [days / _DAYS_A_YEAR] + ([days % 1.0] if learned["has_hours"] else [])
    circles = [part(2.0 * np.pi * turn) for turn in turns for part in (np.sin, np.cos)]
    known = np.isfinite(days)
    circles = [np.where(known, circle, 0.0) for circle in circles]
    elapsed = _scaled(np.where(known, days, learned["centre"]), learned)
    block = np.column_stack([elapsed, *circles])
    return block / np.sqrt(1 + len(turns)) if learned["scaled"] else block


def _days(values: pd.Series) -> Block:
    """Return days since 1970."""
    seconds = values.astype("datetime64[s]").astype("int64").to_numpy(np.float64)
    return np.where(values.notna(), seconds / _SECONDS_A_DAY, np.nan)


def _fit_texts(values: pd.Series, _: Any) -> Any:
    """Find the axes of the different texts.

    Groups of letters are counted and weighted by how rare they are (TF-IDF), the counts are
    condensed to axes, and every row is brought to length one.
    """
    from sklearn.utils.extmath import randomized_svd

    from truegraph.runtime.threads import one_blas_thread

    texts = pd.Series(sorted(different(values)), dtype="str")
    texts = texts.sample(min(len(texts), _MOST_TO_FIT), random_state=0).str[:_LONGEST]
    most, letters = _PROSE if texts.str.len().mean() > LONGEST_NAME else _NAMES
    vectoriser, rows = _counted_terms(texts, letters)
    rows = rows[:_FOR_AXES].astype(np.float32)
    width = max(1, min(most, rows.shape[0] - 1, rows.shape[1] - 1))
    with one_blas_thread():  # the number of threads must not change the last bits
        axes = randomized_svd(rows, width, n_iter=_ROUNDS, random_state=0)[2].T
    learned = {
        "letters": letters,
        "terms": vectoriser.get_feature_names_out().astype(str),
        "rarity": vectoriser.idf_,
        "axes": axes.astype(np.float32),
        "centre": _of_length_one((rows @ axes).astype(np.float64)).mean(axis=0),
    }
    becomes = f"{counted(width, 'column')}: axes of its groups of letters (TF-IDF)"
    return learned, [f": text {number}" for number in range(1, width + 1)], becomes


def _encode_texts(values: pd.Series, _: Any, learned: dict[str, Any]) -> Block:
    """Return one row per text; zero where it is missing."""
    vectoriser = _vectoriser(learned["letters"], vocabulary=learned["terms"].tolist())
    vectoriser.idf_ = learned["rarity"]
    codes, unique = pd.factorize(categories(values), use_na_sentinel=True)
    rows = np.zeros((len(unique) + 1, len(learned["centre"])))
    for start in range(0, len(unique), _AT_ONCE):
        texts = [text[:_LONGEST] for text in unique[start : start + _AT_ONCE]]
        part = vectoriser.transform(texts).astype(np.float32) @ learned["axes"]
        rows[start : start + len(texts)] = _of_length_one(part.astype(np.float64))
    rows[rows.any(axis=1)] -= learned["centre"]
    return rows[codes]


def _of_length_one(rows: Block) -> Block:
    """Return rows of length one; zero stays zero."""
    length = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def _vectoriser(letters: tuple[int, int], **more: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    how: Any = {"analyzer": "char_wb", "ngram_range": letters, "sublinear_tf": True}
    return TfidfVectorizer(preprocessor=_lower, **how, **more)


def _lower(text: str) -> str:
    """Return a text in lower case; NumPy would drop a zero byte at the end of a group."""
    return text.lower().replace("\0", " ")


def _counted_terms(texts: pd.Series, letters: tuple[int, int]) -> tuple[Any, Any]:
    """Return a vectoriser of the groups of letters that occur most often, and the rows of texts.

    Groups occur in two texts if there are such.
    """
    for fewest in (2, 1):
        found = _vectoriser(letters, min_df=fewest, max_features=_MOST_TERMS)
        try:
            return found, found.fit_transform(texts)
        except ValueError:  # no group is in so many texts
            continue
    found = _vectoriser(letters, vocabulary=[" "])
    return found, found.fit_transform(texts)


def _fit_lists(values: pd.Series, _: Any) -> Any:
    rows = _stacked(values.dropna(), None)
    learned = {
        "centre": rows.mean(axis=0),
        "spread": float(np.sqrt(rows.var(axis=0).sum())) or 1.0,  # all columns keep their share
    }
    width = rows.shape[1]
    becomes = f"{counted(width, 'column')}: its numbers, with one scale"
    return learned, [f"[{number}]" for number in range(width)], becomes


def _encode_lists(values: pd.Series, _: Any, learned: dict[str, Any]) -> Block:
    centre = learned["centre"]
    rows = np.tile(centre, (len(values), 1))
    known = present(values, "block")
    if known.any():
        rows[known] = _stacked(values[known], len(centre))
    return (rows - centre) / learned["spread"] if learned["scaled"] else rows


def _stacked(values: pd.Series, width: int | None) -> Block:
    from truegraph import gate

    name = f"column {str(values.name)!r}"
    return np.asarray(gate.table(name, np.stack(values.tolist()), shape=(None, width)))


_FITS: dict[str, Callable[[pd.Series, Any], Any]] = {
    "number": _fit_numbers,
    "category": _fit_categories,
    "date": _fit_dates,
    "text": _fit_texts,
    "block": _fit_lists,
}
_ENCODES: dict[str, Callable[[pd.Series, Any, dict[str, Any]], Block]] = {
    "number": _encode_numbers,
    "category": _encode_categories,
    "date": _encode_dates,
    "text": _encode_texts,
    "block": _encode_lists,
}
