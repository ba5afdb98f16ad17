"""Options by name."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from truegraph import InputError
from truegraph.nn.options import options_from


@dataclass(frozen=True)
class Options:
    epochs: int = 10


def test_options_from_nothing_a_mapping_or_themselves() -> None:
    assert options_from(None, Options) == Options()
    assert options_from({"epochs": 3}, Options) == Options(3)
    own = Options(5)
    assert options_from(own, Options) is own
    with pytest.raises(InputError, match=r"'epoch'. Did you mean 'epochs'\?"):
        options_from({"epoch": 3}, Options)
    with pytest.raises(InputError, match="options has type int"):
        options_from(3, Options)
