"""Options of the committee: refusals, and what other class frequencies do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truegraph import InputError
from truegraph.tasks.classify.committee.options import CommitteeOptions


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"effort": "max"}, "effort='max' must be one of low, normal, high"),
        ({"weights": "best"}, "must be one of left-out, equal"),
        ({"samples": 0}, "samples=0 must be at least 1"),
        ({"degree": -1.0}, "degree"),
        ({"class_prior": "test"}, "class_prior='test' must be"),
    ],
)
def test_bad_options_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CommitteeOptions(**changes)


def test_class_factors() -> None:
    labels = np.array([0, 0, 0, 1])
    assert CommitteeOptions().class_factors(labels, 2).tolist() == [1.0, 1.0]
    uniform = CommitteeOptions(class_prior="uniform").class_factors(labels, 2)
    np.testing.assert_allclose(uniform, [0.5 / 0.75, 0.5 / 0.25], rtol=1e-6)
    given = CommitteeOptions(class_prior=[3, 1]).class_factors(labels, 2)
    np.testing.assert_allclose(given, [1.0, 1.0], rtol=1e-6)
    for wrong in ([1.0], [1.0, -1.0], [0.0, 0.0]):
        with pytest.raises(InputError, match="give 2 shares >= 0"):
            CommitteeOptions(class_prior=wrong).class_factors(labels, 2)
