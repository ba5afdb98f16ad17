"""Paired tests and summaries against values by hand and SciPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats

from truegraph.errors import InputError
from truegraph.evaluation import mean_std, paired_wilcoxon


def test_summary_by_hand() -> None:
    summary = mean_std([1.0, 2.0, 3.0, 6.0])
    assert summary.mean == 3.0
    assert summary.std == pytest.approx(np.sqrt(3.5))  # population: (4 + 1 + 0 + 9) / 4
    assert summary.standard_error == pytest.approx(np.sqrt(3.5) / 2)
    assert summary.n == 4


def test_wilcoxon_by_hand() -> None:
    # Differences 1, 2, 3, 4, 5: all signs equal, so p = 2 / 2^5.
    test = paired_wilcoxon([2, 4, 6, 8, 10], [1, 2, 3, 4, 5])
    assert test.statistic == 0
    assert test.p_value == pytest.approx(2 / 32)
    assert test.mean_difference == 3.0
    assert test.n == 5


def test_wilcoxon_is_scipys_and_symmetric() -> None:
    rng = np.random.default_rng(0)
    first = rng.normal(0.7, 0.03, size=50).round(3)
    second = (first - rng.normal(0.01, 0.02, size=50)).round(3)
    second[:3] = first[:3]
    test = paired_wilcoxon(first, second)
    expected = stats.wilcoxon(first, second, zero_method="wilcox", correction=False)
    assert test.p_value == expected.pvalue
    assert test.statistic == expected.statistic
    assert paired_wilcoxon(second, first).p_value == test.p_value


def test_no_difference_at_all_gives_one_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paired_wilcoxon([0.5, 0.7], [0.5, 0.7]).p_value == 1.0


def test_input_that_does_not_fit() -> None:
    with pytest.raises(InputError, match=r"first has shape \(2,\) and second \(1,\)"):
        paired_wilcoxon([1, 2], [1])
    with pytest.raises(InputError, match="must be finite"):
        paired_wilcoxon([1, np.nan], [1, 2])
    with pytest.raises(InputError, match="values has shape"):
        mean_std([])
