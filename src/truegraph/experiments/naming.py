"""What the settings of an experiment are called: the data set, and the conditions that vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Placed(Protocol):
    """Anything with a data set and conditions, such as a trial or a cell."""

    @property
    def dataset(self) -> str:
        """Name of the data set."""

    @property
    def conditions(self) -> Mapping[str, Any]:
        """Conditions by name."""


class Naming:
    """Names for the settings of some trials or cells.

    Attributes
    ----------
    swept : list of str
        Conditions that vary.
    fixed : dict
        The others, with their values.
    """

    def __init__(self, items: Sequence[Placed]) -> None:
        values: dict[str, list[Any]] = {}
        for item in items:
            for name, value in item.conditions.items():
                known = values.setdefault(name, [])
                if value not in known:
                    known.append(value)
        self.swept = [name for name, found in values.items() if len(found) > 1]
        self.fixed = {name: found[0] for name, found in values.items() if len(found) == 1}

    def setting(self, item: Placed) -> str:
        """Return the setting as one text, such as "cora, labels 5"."""
        return ", ".join([item.dataset, *self.varied(item)])

    def heading(self, item: Placed) -> str:
        """Return the setting as the heading of a column, in two lines."""
        varied = ", ".join(self.varied(item))
        return f"{item.dataset}\n{varied}" if varied else item.dataset

    def varied(self, item: Placed) -> list[str]:
        """Return the varying conditions with their values."""
        return [f"{name} {item.conditions.get(name)}" for name in self.swept]

    def columns(self, item: Placed) -> list[str]:
        """Return the setting as entries of a table, one column each for what varies."""
        return [item.dataset, *(str(item.conditions.get(name, "")) for name in self.swept)]

    def fixed_text(self) -> str:
        """Return a sentence about what does not vary, with a leading space; "" if there is none."""
        if not self.fixed:
            return ""
        return f" Conditions: {', '.join(f'{n} {value}' for n, value in self.fixed.items())}."
