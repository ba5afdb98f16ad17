"""Numbers as people write them: currencies, per cent, units, k and M, durations, clock times.

How a column writes its numbers is found once, for the whole column: the decimal sign, and the unit
that most cells have. Cells in other units of the same kind are converted to it; amounts of
different currencies are taken as they stand.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Decimal sign, "" as Python writes numbers; what the unit measures, such as "time", or a rare
# unit's name, "" for plain numbers; size of the unit that most cells have, in which cells without
# a unit are, too.
NumberFormat = tuple[str, str, float]
PLAIN: NumberFormat = ("", "", 1.0)

_CURRENCY = r"(?:[$€£¥₹]|\b(?:USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK)\b)"
_SPACE = r"[ '’\u00a0\u202f]"
_DIGITS = rf"(?:\d{{1,3}}(?:{_SPACE}\d{{3}})+(?:[.,]\d+)?|[\d.,]*\d[.,]?)(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(
    rf"^(?P<paren>\()?(?P<sign>[-+−])?\s*(?P<before>{_CURRENCY})?\s*(?P<later>[-−])?"
    rf"(?P<digits>{_DIGITS})\s*(?P<unit>(?:[^\W\d_]|[%‰°$€£¥₹²³/ ])*\.?)\)?$"
)
_CLOCK = r"(?P<clock>\d{1,3}:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?)\s*(?P<half>[aApP]\.?[mM]\.?)?"
_PART = r"\d+(?:\.\d+)?\s*(?:d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)"
_DURATION = rf"(?i:P[\dDTHMS.]+|(?:{_PART}[\s,]*){{2,}})"  # ISO 8601, or two parts or more
_STYLES = {  # decimal sign: how numbers with it, and perhaps groups of thousands, are written
    ".": r"(?:\d{1,3}(?:,\d{3})+|\d*)(?:\.\d*)?(?:[eE][+-]?\d+)?",
    ",": r"(?:\d{1,3}(?:\.\d{3})+|\d*)(?:,\d*)?(?:[eE][+-]?\d+)?",
}
_MULTIPLES = {"k": 1e3, "K": 1e3, "M": 1e6, "Mio": 1e6, "million": 1e6, "bn": 1e9, "B": 1e9}
_UNITS = {
    "time": {
        **dict.fromkeys(("ms",), 1e-3),
        **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
        **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
        **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
        **dict.fromkeys(("d", "day", "days"), 86400.0),
        **dict.fromkeys(("week", "weeks"), 604800.0),
        **dict.fromkeys(("year", "years", "yr", "yrs"), 31556952.0),
    },
    "mass": {"mg": 1e-6, "g": 1e-3, "kg": 1.0, "t": 1e3, "lb": 0.45359237, "lbs": 0.45359237},
    "length": {"mm": 1e-3, "cm": 1e-2, "m": 1.0, "km": 1e3, "ft": 0.3048, "mi": 1609.344},
    "volume": {"ml": 1e-3, "cl": 1e-2, "l": 1.0},
    "data": {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
}
_FEWEST = 0.95  # share of the cells that must read as numbers: a few gaps have other words
_LONGEST = 60  # letters of a number; patterns take their time over long cells
_SAMPLE = 1_000  # cells, the most frequent ones, that are tried first


def number_format(cells: pd.Series, counts: NDArray[np.int64]) -> NumberFormat | None:
    """Return how cells write numbers, or None if too few of them are numbers."""
    if len(cells) > _SAMPLE and number_format(cells[:_SAMPLE], counts[:_SAMPLE]) is None:
        return None  # prose is not taken apart text by text
    needed = _FEWEST * counts.sum()
    plain = pd.to_numeric(cells, errors="coerce").notna().to_numpy()
    if counts[plain].sum() >= needed:
        return PLAIN
    parts = _parts(cells)
    given = parts["value"].notna() | parts["digits"].notna()
    if counts[given.to_numpy()].sum() < needed:
        return None
    decimal = max(_STYLES, key=lambda sign: counts[_fits(parts, sign)].sum())
    fits = _fits(parts, decimal) | parts["value"].notna().to_numpy()
    weight = pd.Series(counts * fits).groupby([parts["kind"], parts["size"]]).sum()
    named = weight.drop("", level=0, errors="ignore")
    most: Any = named.idxmax() if named.sum() > 0 else ("", 1.0)
    written = decimal, str(most[0]), float(most[1])
    return written if counts[np.isfinite(_values(parts, written))].sum() >= needed else None


def read_numbers(cells: pd.Series, written: NumberFormat) -> NDArray[np.float64]:
    """Return cells as numbers in one unit, NaN where one is not written so."""
    if written == PLAIN:
        return pd.to_numeric(cells, errors="coerce").to_numpy(np.float64)
    return _values(_parts(cells), written)


def format_words(cells: pd.Series, written: NumberFormat) -> str:
    """Return how numbers are written, for people; "" for plain ones."""
    if written == PLAIN:
        return ""
    parts, (decimal, kind, _) = _parts(cells), written
    found = []
    signs = (parts["before"].fillna("") + parts["unit"].fillna("")).str.findall(_CURRENCY)
    currencies = sorted({sign for cell in signs for sign in cell})
    if currencies:
        found.append(f"amounts in {' and '.join(currencies)}")
    if kind:
        found.append(f"numbers with units of {kind}" if kind in _UNITS else f"numbers in {kind}")
    if decimal == ",":
        found.append("decimal commas")
    elif parts["digits"].str.contains(",", regex=False).any():
        found.append("commas between thousands")
    elif parts["digits"].str.contains(_SPACE, regex=True).any():
        found.append("spaces between thousands")
    return ", ".join(found) or "numbers with k or M"


def _parts(cells: pd.Series) -> pd.DataFrame:
    """Take cells apart: digits with a unit, or a time that is a value at once."""
    text = cells.str.strip()
    text = text.where(text.str.len() <= _LONGEST, "")
    parts = text.str.extract(_QUANTITY)
    units = {unit: _unit(unit) for unit in parts["unit"].dropna().unique()}
    parts["kind"] = [units[u][0] if isinstance(u, str) else "" for u in parts["unit"]]
    parts["size"] = [units[u][1] if isinstance(u, str) else 1.0 for u in parts["unit"]]
    parts["value"] = _seconds(text.where(parts["digits"].isna(), ""))
    parts["kind"] = parts["kind"].mask(parts["value"].notna(), "time")
    return parts


def _unit(written: str) -> tuple[str, float]:
    """Return what a unit measures and its size; a multiple such as k has no kind."""
    unit = re.sub(_CURRENCY, "", written).strip(" .")
    if unit in _MULTIPLES:
        return "", _MULTIPLES[unit]
    for kind, sizes in _UNITS.items():
        if unit.lower() in sizes:
            return kind, sizes[unit.lower()]
    return unit.lower().removesuffix("s"), 1.0


def _seconds(cells: pd.Series) -> NDArray[np.float64]:
    """Return clock times, and durations of several parts, in seconds; NaN for other cells."""
    clock = cells.str.extract(f"^{_CLOCK}$")
    has_hours = clock["clock"].str.count(":") == 1
    spelt = clock["clock"].mask(has_hours, clock["clock"] + ":00")
    short = cells.str.lower().str.replace(r"([dhms])[a-z]*,?", r"\1", regex=True)
    short = cells.where(cells.str.startswith("P"), short).where(cells.str.fullmatch(_DURATION))
    found = pd.to_timedelta(spelt.fillna(short), errors="coerce").dt.total_seconds()
    half = clock["half"].str[0].str.lower()
    found = found.mask(half.notna(), found % 43200.0)
    return np.asarray(found + 43200.0 * (half == "p"), dtype=np.float64)


def _fits(parts: pd.DataFrame, decimal: str) -> NDArray[np.bool_]:
    digits = parts["digits"].str.replace(_SPACE, "", regex=True)
    return digits.str.fullmatch(_STYLES[decimal]).fillna(False).to_numpy(dtype=bool)


def _values(parts: pd.DataFrame, written: NumberFormat) -> NDArray[np.float64]:
    """Return the numbers in one unit; NaN for other kinds and other ways of writing."""
    decimal, kind, factor = written
    thousands = "," if decimal == "." else "."
    digits = parts["digits"].where(_fits(parts, decimal)).str.replace(_SPACE, "", regex=True)
    digits = digits.str.replace(thousands, "", regex=False).str.replace(decimal, ".", regex=False)
    values = pd.to_numeric(digits, errors="coerce").to_numpy(np.float64)
    negative = parts[["paren", "sign", "later"]].isin(["(", "-", "−"]).any(axis=1).to_numpy()
    values = np.where(negative, -values, values)
    values = np.where(parts["value"].notna(), parts["value"], values)
    values = values * parts["size"].to_numpy(np.float64)
    is_bare = (parts["kind"] == "").to_numpy()  # k and M are multiples of the column's unit
    same = (parts["kind"] == kind).to_numpy() & ~is_bare
    return np.where(same, values / factor, np.where(is_bare, values, np.nan))
