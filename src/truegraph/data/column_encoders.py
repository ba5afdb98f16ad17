"""How a column becomes numbers, as fitted: medians, scales, levels, axes of text.

Every column of a table counts about the same in distances: whatever number of columns it becomes,
their variances add up to about one. A missing or unknown value lies in the middle, equally far from
all others as far as is known.

skrub finds the axes of text; what it learned is kept as plain numbers and strings, so that a plan
can be saved without a pickle and gives the same bits after loading.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from truegraph.data.column_kinds import LONGEST_NAME, Column, categories, dates, numbers
from truegraph.data.quantities import NumberFormat
from truegraph.saving import savable
from truegraph.wording import counted

Block = NDArray[np.float64]

_BOUND = 2.0  # standard deviations at which values level off: lab/choose/column_scale.py
_FENCE = 6.0  # times the quartiles' distance; what is farther out does not count in the deviation
_HUGE = 1e100  # whose square is still a number
_LARGEST = float(np.finfo(np.float64).max)
_DAYS_A_YEAR = 365.2425
_SECONDS_A_DAY = 86400.0

_PROSE = 200, (4, 4)  # axes; letters in a group: lab/choose/text_axes.py
_NAMES = 30, (3, 4)  # as skrub's StringEncoder
_MOST_TERMS = 10_000  # groups of letters, the most frequent ones
_MOST_TO_FIT = 2_000  # different texts; more hardly change the axes
_LONGEST = 2_000  # letters of a text that are read
_AT_ONCE = 50_000


class Encoder(Protocol):
    """What has been learned of one column, and how that turns it into numbers."""

    kind: ClassVar[str]

    def transform(self, values: pd.Series) -> Block:
        """Return the numbers of a column, shape (n_rows, n_parts)."""

    def parts(self) -> list[str]:
        """Return what the columns of numbers are called after the name of the table's column."""

    def words(self) -> str:
        """Return what becomes of the column, for people."""


@savable
@dataclass(frozen=True)
class Numbers:
    """A column of numbers.

    Attributes
    ----------
    written : NumberFormat or None
        How its text is written.
    centre : float
        The mean, which also stands for missing values.
    spread : float
        The standard deviation, without outliers.
    scaled : bool
        False keeps the numbers as they are.
    """

    written: NumberFormat | None
    centre: float
    spread: float
    scaled: bool
    kind: ClassVar[str] = "number"

    @classmethod
    def fit(cls, values: pd.Series, scaled: bool, column: Column) -> Self:
        """Measure the known values."""
        written = column.written if isinstance(column.written, NumberFormat) else None
        return cls(written, *_measured(numbers(values, written)), scaled)

    def reads(self, values: pd.Series) -> NDArray[np.bool_]:
        """Return which cells are numbers."""
        return np.isfinite(numbers(values, self.written))

    def transform(self, values: pd.Series) -> Block:
        """Return the column, shape (n_rows, 1)."""
        found = numbers(values, self.written)
        filled = np.where(np.isnan(found), self.centre, found)
        return (_squashed(filled, self.centre, self.spread) if self.scaled else filled)[:, None]

    def parts(self) -> list[str]:
        """Return the one part."""
        return [""]

    def words(self) -> str:
        """Return what becomes of the column."""
        return "1 column, standardised" if self.scaled else "1 column as it is"


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


def _squashed(values: Block, centre: float, spread: float) -> Block:
    """Return scaled values, straight in the middle and level at the bound."""
    with np.errstate(over="ignore"):
        scaled = np.clip((values - centre) / spread, -_HUGE, _HUGE)
    return scaled / np.sqrt(1.0 + np.square(scaled / _BOUND))


@savable
@dataclass(frozen=True)
class Categories:
    """A column of categories: one 0/1 column each; two that differ are sqrt(2) apart."""

    levels: tuple[str, ...]
    kind: ClassVar[str] = "category"

    @classmethod
    def fit(cls, values: pd.Series, scaled: bool, column: Column) -> Self:
        """Collect the categories, in alphabetical order."""
        return cls(tuple(sorted(_different(values))))

    def transform(self, values: pd.Series) -> Block:
        """Return one column per category, all zero where it is missing or new."""
        codes = pd.Index(self.levels).get_indexer(pd.Index(categories(values)))
        block = np.zeros((len(codes), len(self.levels)))
        known = codes >= 0
        block[known, codes[known]] = 1.0
        return block

    def unknown(self, values: pd.Series) -> list[str]:
        """Return the categories that were not there at the fit."""
        return sorted(_different(values) - set(self.levels))

    def parts(self) -> list[str]:
        """Return one part per category."""
        return [f"={level}" for level in self.levels]

    def words(self) -> str:
        """Return what becomes of the column."""
        return f"{counted(len(self.levels), 'column')}: one per category"


def _different(values: pd.Series) -> set[str]:
    return {value for value in pd.unique(categories(values)) if isinstance(value, str)}


@savable
@dataclass(frozen=True)
class Dates:
    """A column of dates: the elapsed time, the season and, if given, the hour."""

    formats: tuple[str, ...] | None
    centre: float
    spread: float
    has_hours: bool
    scaled: bool
    kind: ClassVar[str] = "date"

    @classmethod
    def fit(cls, values: pd.Series, scaled: bool, column: Column) -> Self:
        """Measure the days, and see whether there are times of day."""
        formats = column.written if isinstance(column.written, tuple) else None
        days = _days(dates(values, formats))
        centre, spread = _measured(days)
        has_hours = bool((days[np.isfinite(days)] % 1.0 != 0.0).any())
        return cls(formats, centre, spread, has_hours, scaled)

    def reads(self, values: pd.Series) -> NDArray[np.bool_]:
        """Return which cells are dates."""
        return dates(values, self.formats).notna().to_numpy()

    def transform(self, values: pd.Series) -> Block:
        """Return days, the season as a point on a circle and, if given, the hour as another."""
        days = _days(dates(values, self.formats))
        turns = [days / _DAYS_A_YEAR] + ([days % 1.0] if self.has_hours else [])
        circles = [part(2.0 * np.pi * turn) for turn in turns for part in (np.sin, np.cos)]
        known = np.isfinite(days)
        circles = [np.where(known, circle, 0.0) for circle in circles]
        filled = np.where(known, days, self.centre)
        if not self.scaled:
            return np.column_stack([filled, *circles])
        elapsed = _squashed(filled, self.centre, self.spread)
        return np.column_stack([elapsed, *circles]) / np.sqrt(1 + len(turns))

    def parts(self) -> list[str]:
        """Return the parts: time, season, hour."""
        hours = [": hour sin", ": hour cos"] if self.has_hours else []
        return [": time", ": season sin", ": season cos", *hours]

    def words(self) -> str:
        """Return what becomes of the column."""
        return f"{counted(len(self.parts()), 'column')}: time and season"


def _days(values: pd.Series) -> Block:
    """Return days since 1970."""
    seconds = values.astype("datetime64[s]").astype("int64").to_numpy(np.float64)
    return np.where(values.notna(), seconds / _SECONDS_A_DAY, np.nan)


@savable
@dataclass(frozen=True, eq=False)
class Texts:
    """A column of text, or of more categories than get columns of their own.

    Groups of letters are counted and weighted by how rare they are (TF-IDF), the counts are
    condensed to axes, and every row is brought to length one: rows of like meaning, and names of
    like spelling, are near one another.

    Attributes
    ----------
    letters : tuple of two int
        Sizes of the groups.
    terms : ndarray of str, shape (n_terms,)
    rarity : ndarray of float64, shape (n_terms,)
    axes : ndarray of float32, shape (n_terms, n_axes)
    centre : ndarray of float64, shape (n_axes,)
        Mean of the rows, taken away from all; a missing text has the zero vector.
    """

    letters: tuple[int, int]
    terms: NDArray[np.str_]
    rarity: NDArray[np.float64]
    axes: NDArray[np.float32]
    centre: NDArray[np.float64]
    kind: ClassVar[str] = "text"

    @classmethod
    def fit(cls, values: pd.Series, scaled: bool, column: Column) -> Self:
        """Find the axes of the different values."""
        from skrub import StringEncoder
        from threadpoolctl import threadpool_limits

        unique = pd.Series(sorted(_different(values)), dtype="str", name="text")
        unique = unique.sample(min(len(unique), _MOST_TO_FIT), random_state=0).str[:_LONGEST]
        most, letters = _PROSE if unique.str.len().mean() > LONGEST_NAME else _NAMES
        terms = _terms(unique, letters)
        width = max(1, min(most, len(unique) - 1, len(terms) - 1))
        encoder = StringEncoder(
            width, ngram_range=letters, vocabulary=terms.tolist(), random_state=0
        )
        with threadpool_limits(1):  # the number of threads must not change the last bits
            rows = np.asarray(encoder.fit_transform(unique))
        axes = encoder.tsvd_.components_.T if hasattr(encoder, "tsvd_") else np.eye(len(terms))
        rarity = np.asarray(encoder.vectorizer_.idf_, dtype=np.float64)
        centre = _of_length_one(rows.astype(np.float64)).mean(axis=0)
        return cls(letters, terms, rarity, axes[:, :width].astype(np.float32), centre)

    def transform(self, values: pd.Series) -> Block:
        """Return one row per text; zero where it is missing."""
        vectoriser = _vectoriser(self.letters, vocabulary=self.terms.tolist())
        vectoriser.idf_ = self.rarity
        codes, unique = pd.factorize(categories(values), use_na_sentinel=True)
        rows = np.zeros((len(unique) + 1, len(self.centre)))
        for start in range(0, len(unique), _AT_ONCE):
            texts = [text[:_LONGEST] for text in unique[start : start + _AT_ONCE]]
            part = vectoriser.transform(texts).astype(np.float32) @ self.axes
            rows[start : start + len(texts)] = _of_length_one(part.astype(np.float64))
        rows[rows.any(axis=1)] -= self.centre
        return rows[codes]

    def parts(self) -> list[str]:
        """Return one part per axis."""
        return [f": text {number}" for number in range(1, len(self.centre) + 1)]

    def words(self) -> str:
        """Return what becomes of the column."""
        return f"{counted(len(self.centre), 'column')}: axes of its groups of letters (TF-IDF)"


def _of_length_one(rows: Block) -> Block:
    """Return rows of length one; zero stays zero."""
    length = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def _vectoriser(letters: tuple[int, int], **options: Any) -> Any:
    """Return the vectoriser of skrub's StringEncoder."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(analyzer="char_wb", ngram_range=letters, **options)


def _terms(texts: pd.Series, letters: tuple[int, int]) -> NDArray[np.str_]:
    """Return the groups of letters that occur most often, and in two texts if possible."""
    for fewest in (2, 1):
        try:
            found = _vectoriser(letters, min_df=fewest, max_features=_MOST_TERMS).fit(texts)
        except ValueError:  # no group is in so many texts
            continue
        return np.array(sorted(found.vocabulary_))
    return np.array([" "])


@savable
@dataclass(frozen=True, eq=False)
class Lists:
    """A column whose cells are lists of numbers, such as embeddings: one block of columns.

    Attributes
    ----------
    centre : ndarray of float64, shape (n_columns,)
        The mean, which also stands for missing lists.
    spread : float
        Root of the sum of the variances; all columns keep their share of it.
    scaled : bool
    """

    centre: NDArray[np.float64]
    spread: float
    scaled: bool
    kind: ClassVar[str] = "block"

    @classmethod
    def fit(cls, values: pd.Series, scaled: bool, column: Column) -> Self:
        """Measure the lists that are there."""
        rows = _stacked(values.dropna(), None)
        spread = float(np.sqrt(rows.var(axis=0).sum())) or 1.0
        return cls(rows.mean(axis=0), spread, scaled)

    def transform(self, values: pd.Series) -> Block:
        """Return the lists, shape (n_rows, n_columns)."""
        rows = np.tile(self.centre, (len(values), 1))
        known = values.notna().to_numpy()
        if known.any():
            rows[known] = _stacked(values[known], len(self.centre))
        return (rows - self.centre) / self.spread if self.scaled else rows

    def parts(self) -> list[str]:
        """Return one part per number of a list."""
        return [f"[{number}]" for number in range(len(self.centre))]

    def words(self) -> str:
        """Return what becomes of the column."""
        return f"{counted(len(self.centre), 'column')}: its numbers, with one scale"


def _stacked(values: pd.Series, width: int | None) -> Block:
    from truegraph import gate

    name = f"column {str(values.name)!r}"
    return np.asarray(gate.table(name, np.stack(values.tolist()), shape=(None, width)))


ENCODERS: dict[str, Any] = {
    encoder.kind: encoder for encoder in (Numbers, Categories, Dates, Texts, Lists)
}
