"""Options by name: what is refused, and how."""

from __future__ import annotations

from typing import Any

import pytest

from truegraph.errors import InputError
from truegraph.options import checked_options

DEFAULTS: dict[str, Any] = {
    "hidden": 16,
    "dropout": 0.5,
    "learning_rate": 0.01,
    "patience": 100,
    "temper": True,
    "base": "gcn",
    "degree": None,
}


def test_what_is_given_takes_the_place_of_defaults() -> None:
    assert checked_options(DEFAULTS, None) == DEFAULTS
    given = {"hidden": 8, "patience": None, "degree": 3.5, "temper": False}
    assert checked_options(DEFAULTS, given) == DEFAULTS | given


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"hiden": 8}, "unknown option 'hiden'.*hidden"),
        ({"hidden": 0}, "hidden=0 must be a whole number of at least 1"),
        ({"hidden": 2.5}, r"hidden=2\.5"),
        ({"hidden": True}, "hidden=True"),
        ({"hidden": None}, "hidden=None"),
        ({"dropout": 1.0}, r"dropout=1\.0 must be a number of at least 0 and below 1"),
        ({"learning_rate": -1}, "learning_rate=-1"),
        ({"learning_rate": float("nan")}, "learning_rate=nan"),
        ({"temper": 1}, "temper=1 must be True or False"),
        (["hidden"], "options has type list"),
    ],
)
def test_impossible_values_are_named(options: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        checked_options(DEFAULTS, options)
