"""Recommenders by name."""

from __future__ import annotations

import pytest

from truegraph.errors import InputError
from truegraph.nn.recommenders.registry import (
    find_recommender,
    recommender_settings,
)


def test_names_and_options_are_checked() -> None:
    with pytest.raises(InputError, match=r"model='svd' must be one of ngcf, mgccf"):
        find_recommender("svd")
    with pytest.raises(InputError, match="unknown option 'depth'"):
        recommender_settings("ngcf", {"depth": 3})
    with pytest.raises(InputError, match="give None, a dict or NGCFSettings"):
        recommender_settings("ngcf", 3)
    assert recommender_settings("ease", {"penalty": 3.0}).penalty == 3.0
