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

# Axes, and what is counted: words of prose, groups of letters of names.
_PROSE: tuple[int, dict[str, Any]] = 200, {"analyzer": "word"}  # lab/choose/text_axes.py
_NAMES: tuple[int, dict[str, Any]] = 30, {"analyzer": "char_wb", "ngram_range": (3, 4)}  # as skrub
_MOST_TERMS = 20_000  # the most frequent ones; rarer ones join few texts
_MOST_TO_FIT = 10_000  # different texts; more hardly change the axes
_LONGEST = 2_000  # letters of a text that are read; the beginning says what it is about
_ROUNDS = 4  # of the randomised singular vectors: lab/choose/text_axes.py
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
        return known & ~np.isin(categories(values).astype(str), column.learned["levels"])
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

    Words, or groups of letters, are counted and weighted by how rare they are (TF-IDF), the counts
    are condensed to axes, and every row is brought to length one.
    """
    from sklearn.decomposition import TruncatedSVD
    from threadpoolctl import threadpool_limits

    texts = pd.Series(sorted(different(values)), dtype="str")
    texts = texts.sample(min(len(texts), _MOST_TO_FIT), random_state=0).str[:_LONGEST]
    most, options = _PROSE if texts.str.len().mean() > LONGEST_NAME else _NAMES
    vectoriser = _counted_terms(texts, options)
    rows = vectoriser.transform(texts)
    width = max(1, min(most, rows.shape[0] - 1, rows.shape[1] - 1))
    axes = np.eye(rows.shape[1])
    if rows.shape[1] > width:
        with threadpool_limits(1):  # the number of threads must not change the last bits
            axes = TruncatedSVD(width, n_iter=_ROUNDS, random_state=0).fit(rows).components_.T
    learned = {
        "options": options,
        "terms": vectoriser.get_feature_names_out().astype(str),
        "rarity": vectoriser.idf_,
        "axes": axes[:, :width].astype(np.float32),
    }
    learned["centre"] = _of_length_one(_on_axes(vectoriser, texts, learned["axes"])).mean(axis=0)
    what = "words" if options["analyzer"] == "word" else "groups of letters"
    becomes = f"{counted(width, 'column')}: axes of its {what} (TF-IDF)"
    return learned, [f": text {number}" for number in range(1, width + 1)], becomes


def _encode_texts(values: pd.Series, _: Any, learned: dict[str, Any]) -> Block:
    """Return one row per text; zero where it is missing."""
    vectoriser = _vectoriser(learned["options"], vocabulary=learned["terms"].tolist())
    vectoriser.idf_ = learned["rarity"]
    codes, unique = pd.factorize(categories(values), use_na_sentinel=True)
    rows = np.zeros((len(unique) + 1, len(learned["centre"])))
    for start in range(0, len(unique), _AT_ONCE):
        texts = [text[:_LONGEST] for text in unique[start : start + _AT_ONCE]]
        part = _on_axes(vectoriser, texts, learned["axes"])
        rows[start : start + len(texts)] = _of_length_one(part)
    rows[rows.any(axis=1)] -= learned["centre"]
    return rows[codes]


def _on_axes(vectoriser: Any, texts: Any, axes: NDArray[np.float32]) -> Block:
    found: Block = (vectoriser.transform(texts).astype(np.float32) @ axes).astype(np.float64)
    return found


def _of_length_one(rows: Block) -> Block:
    """Return rows of length one; zero stays zero."""
    length = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def _vectoriser(options: dict[str, Any], **more: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, **options, **more)


def _counted_terms(texts: pd.Series, options: dict[str, Any]) -> Any:
    """Return a vectoriser of the terms that occur most often, and in two texts if possible."""
    for fewest in (2, 1):
        try:
            return _vectoriser(options, min_df=fewest, max_features=_MOST_TERMS).fit(texts)
        except ValueError:  # no term is in so many texts
            continue
    return _vectoriser(options, vocabulary=[" "]).fit(texts)


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
