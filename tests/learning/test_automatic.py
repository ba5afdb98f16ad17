"""What "auto" stands for."""

from __future__ import annotations

import pytest

from truegraph.learning.automatic import chosen_options, plain_options

OPTIONS = {
    **dict.fromkeys(("degree", "theta", "alpha", "beta")),
    "local_scaling": "auto",
    "connected": "auto",
    "scope": "candidates",
    "metric": "sqeuclidean",
}


@pytest.mark.parametrize(
    ("given", "may_join", "expected"),
    [
        ({}, True, (7, True)),
        ({"degree": "auto"}, True, (7, True)),
        ({"degree": 8.0}, True, (None, False)),
        ({"theta": 0.5}, True, (None, False)),
        ({"scope": "global"}, True, (None, True)),
        ({"metric": "precomputed"}, True, (7, False)),
        ({}, False, (7, False)),
        ({"local_scaling": None, "connected": False}, True, (None, False)),
        ({"degree": 8.0, "local_scaling": 5, "connected": True}, True, (5, True)),
    ],
)
def test_choices(given: dict, may_join: bool, expected: tuple) -> None:
    chosen, is_auto = chosen_options(OPTIONS | given, may_join)
    assert (chosen["local_scaling"], chosen["connected"]) == expected
    assert is_auto == (given.get("degree", "auto") == "auto" and "theta" not in given)


def test_plain_choices() -> None:
    plain = plain_options(OPTIONS)
    assert (plain["degree"], plain["local_scaling"], plain["connected"]) == (10.0, None, False)
    assert plain_options(OPTIONS | {"theta": 0.5})["degree"] is None
    assert plain_options(OPTIONS | {"degree": "auto"})["degree"] == "auto"
