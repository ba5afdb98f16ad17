"""How a column becomes numbers, as fitted: medians, scales, levels and vectors of text.

Every column of a table counts the same in distances: whatever number of columns it becomes, their
variances add up to about one. A missing or unknown value lies in the middle,
equally far from all others as far as is known.

All of it is plain numbers and strings, so that it can be saved without a pickle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from truegraph.data.columns.kinds import categories, dates, numbers
from truegraph.data.columns.text_vectors import TextVectors

Block = NDArray[np.float64]

_SPREAD_OF_NORMAL = 1.3489795  # distance of the quartiles of a normal distribution
_BOUND = 3.0  # scaled values level off here, so that a few outliers do not fill the distances
_HUGE = 1e100  # whose square is still a number
_DAYS_A_YEAR = 365.2425
_SECONDS_A_DAY = 86400.0


@dataclass(frozen=True)
class Scaling:
    """Median and spread of a column of numbers.

    Attributes
    ----------
    centre : float
        The median, which also stands for missing values.
    spread : float
        Standard deviation as read from the quartiles, or plainly where these coincide.
    bounded : bool
        False keeps the numbers as they are.
    """

    centre: float
    spread: float
    bounded: bool

    @classmethod
    def fit(cls, values: Block, scale: str) -> Self:
        """Measure the known values of a column."""
        known = values[np.isfinite(values)]
        low, centre, high = np.percentile(known, [25, 50, 75]) if known.size else (0.0,) * 3
        if scale == "none":
            return cls(float(centre), 1.0, False)
        spread = (high - low) / _SPREAD_OF_NORMAL or float(known.std()) or 1.0
        return cls(float(centre), float(spread), True)

    def apply(self, values: Block) -> Block:
        """Return scaled values, 0 (or, unscaled, the median) where they are missing."""
        filled = np.where(np.isfinite(values), values, self.centre)
        if not self.bounded:
            return filled
        with np.errstate(over="ignore"):
            scaled = np.clip((filled - self.centre) / self.spread, -_HUGE, _HUGE)
        # As skrub's SquashingScaler: straight in the middle, level at the bound.
        return scaled / np.sqrt(1.0 + np.square(scaled / _BOUND))


@dataclass(frozen=True)
class Numbers:
    """A column of numbers, scaled."""

    scaling: Scaling
    kind: ClassVar[str] = "number"

    @classmethod
    def fit(cls, values: pd.Series, scale: str, date_format: str | None) -> Self:
        """Fit the scaling."""
        return cls(Scaling.fit(numbers(values).to_numpy(), scale))

    def transform(self, values: pd.Series) -> Block:
        """Return the column, shape (n_rows, 1)."""
        return self.scaling.apply(numbers(values).to_numpy())[:, None]

    def parts(self) -> list[str]:
        """Return what the columns are called after the name of the table's column."""
        return [""]


@dataclass(frozen=True)
class Categories:
    """A column of categories: one 0/1 column each; two that differ are sqrt(2) apart."""

    levels: tuple[str, ...]
    kind: ClassVar[str] = "category"

    @classmethod
    def fit(cls, values: pd.Series, scale: str, date_format: str | None) -> Self:
        """Collect the categories, in alphabetical order."""
        found = {value for value in pd.unique(categories(values)) if isinstance(value, str)}
        return cls(tuple(sorted(found)))

    def transform(self, values: pd.Series) -> Block:
        """Return one column per category, all zero where it is missing or new."""
        codes = self._codes(values)
        block = np.zeros((len(codes), len(self.levels)))
        known = codes >= 0
        block[known, codes[known]] = 1.0
        return block

    def unknown(self, values: pd.Series) -> list[str]:
        """Return the categories that were not there at the fit."""
        found = {value for value in pd.unique(categories(values)) if isinstance(value, str)}
        return sorted(found - set(self.levels))

    def _codes(self, values: pd.Series) -> NDArray[np.int64]:
        return pd.Index(self.levels).get_indexer(pd.Index(categories(values))).astype(np.int64)

    def parts(self) -> list[str]:
        """Return what the columns are called after the name of the table's column."""
        return [f"={level}" for level in self.levels]


@dataclass(frozen=True)
class Dates:
    """A column of dates: the elapsed time, the season and, if given, the hour."""

    date_format: str | None
    elapsed: Scaling
    has_hours: bool
    kind: ClassVar[str] = "date"

    @classmethod
    def fit(cls, values: pd.Series, scale: str, date_format: str | None) -> Self:
        """Fit the scaling of the days, and see whether there are times of day."""
        days = _days(dates(values, date_format))
        known = days[np.isfinite(days)]
        return cls(date_format, Scaling.fit(days, scale), bool((known % 1.0 != 0.0).any()))

    def transform(self, values: pd.Series) -> Block:
        """Return days, the season as a point on a circle and, if given, the hour as another."""
        days = _days(dates(values, self.date_format))
        turns = [days / _DAYS_A_YEAR] + ([days % 1.0] if self.has_hours else [])
        circles = [part(2.0 * np.pi * turn) for turn in turns for part in (np.sin, np.cos)]
        known = np.isfinite(days)
        circles = [np.where(known, circle, 0.0) for circle in circles]
        block = np.column_stack([self.elapsed.apply(days), *circles])
        return block / np.sqrt(1 + len(turns)) if self.elapsed.bounded else block

    def parts(self) -> list[str]:
        """Return what the columns are called after the name of the table's column."""
        hours = [": hour sin", ": hour cos"] if self.has_hours else []
        return [": time", ": season sin", ": season cos", *hours]


def _days(values: pd.Series) -> Block:
    """Return days since 1970."""
    seconds = values.astype("datetime64[s]").astype("int64").to_numpy(np.float64)
    return np.where(values.notna(), seconds / _SECONDS_A_DAY, np.nan)


@dataclass(frozen=True)
class Texts:
    """A column of text, or of more categories than get columns of their own: string vectors."""

    vectors: TextVectors
    kind: ClassVar[str] = "text"

    @classmethod
    def fit(cls, values: pd.Series, scale: str, date_format: str | None) -> Self:
        """Fit the vectors to the different values."""
        return cls(TextVectors.fit(categories(values)))

    def transform(self, values: pd.Series) -> Block:
        """Return one vector per row; similar text has similar vectors."""
        return self.vectors.transform(categories(values))

    def parts(self) -> list[str]:
        """Return what the columns are called after the name of the table's column."""
        return [f": text {number}" for number in range(1, self.vectors.width + 1)]


Encoder = Numbers | Categories | Dates | Texts

ENCODERS: dict[str, type[Encoder]] = {
    "number": Numbers,
    "category": Categories,
    "date": Dates,
    "text": Texts,
}


def encoder_document(encoder: Encoder, name: str, arrays: dict[str, NDArray[Any]]) -> dict:
    """Return an encoder as JSON; its arrays are set aside under names that begin with `name`."""
    if isinstance(encoder, Numbers):
        return {"scaling": vars(encoder.scaling)}
    if isinstance(encoder, Categories):
        return {"levels": list(encoder.levels)}
    if isinstance(encoder, Dates):
        return {
            "date_format": encoder.date_format,
            "elapsed": vars(encoder.elapsed),
            "has_hours": encoder.has_hours,
        }
    arrays |= {f"{name}.{key}": array for key, array in encoder.vectors.arrays().items()}
    return {}


def encoder_from_document(
    kind: str, document: dict[str, Any], name: str, arrays: dict[str, NDArray[Any]]
) -> Encoder:
    """Return the encoder that `encoder_document` described."""
    if kind == "number":
        return Numbers(_scaling(document["scaling"]))
    if kind == "category":
        return Categories(tuple(str(level) for level in document["levels"]))
    if kind == "date":
        date_format = document["date_format"]
        return Dates(
            None if date_format is None else str(date_format),
            _scaling(document["elapsed"]),
            bool(document["has_hours"]),
        )
    return Texts(TextVectors(**{key: arrays[f"{name}.{key}"] for key in TextVectors.KEYS}))


def _scaling(document: dict[str, Any]) -> Scaling:
    return Scaling(float(document["centre"]), float(document["spread"]), bool(document["bounded"]))
