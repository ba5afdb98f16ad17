"""Whether a difference over trials is more than chance, and how trials are summed up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from truegraph import gate
from truegraph.errors import InputError


@dataclass(frozen=True)
class Summary:
    """Mean and spread of a figure over trials.

    Attributes
    ----------
    mean : float
    std : float
        Population standard deviation (divided by n), which the paper's tables print after "±".
    standard_error : float
        `std` divided by the square root of n.
    n : int
        Number of trials.
    """

    mean: float
    std: float
    standard_error: float
    n: int


def mean_std(values: ArrayLike) -> Summary:
    """Return mean, population standard deviation and standard error over trials.

    Parameters
    ----------
    values : array-like of float, shape (n_trials,)
        One figure per trial.
    """
    array = gate.as_floats("values", values)
    if array.ndim != 1 or len(array) == 0:
        raise InputError(f"values has shape {array.shape}; give one figure for each trial.")
    std = float(array.std())
    return Summary(float(array.mean()), std, std / float(np.sqrt(len(array))), len(array))


@dataclass(frozen=True)
class PairedTest:
    """Result of a paired test.

    Attributes
    ----------
    statistic : float
        The smaller one of the two rank sums.
    p_value : float
        Two-sided.
    mean_difference : float
        Mean of first minus second.
    n : int
        Number of pairs.
    """

    statistic: float
    p_value: float
    mean_difference: float
    n: int


def paired_wilcoxon(first: ArrayLike, second: ArrayLike) -> PairedTest:
    """Test with Wilcoxon's signed ranks whether two methods differ over the same trials.

    Two-sided, pairs without a difference left out, no continuity correction, as in the paper. When
    no pair differs the p-value is 1.

    Parameters
    ----------
    first, second : array-like of float, shape (n_trials,)
        A figure of each method, trial by trial on the same splits.

    Returns
    -------
    test : PairedTest
    """
    from scipy.stats import wilcoxon

    one, two = gate.as_floats("first", first), gate.as_floats("second", second)
    if one.ndim != 1 or one.shape != two.shape or len(one) == 0:
        raise InputError(
            f"first has shape {one.shape} and second {two.shape}; both need the same trials."
        )
    if not (np.isfinite(one).all() and np.isfinite(two).all()):
        raise InputError("first and second must be finite; leave failed trials out of both.")
    difference = one - two
    if not difference.any():
        return PairedTest(statistic=0.0, p_value=1.0, mean_difference=0.0, n=len(one))
    result = wilcoxon(difference, zero_method="wilcox", correction=False, alternative="two-sided")
    return PairedTest(
        float(result.statistic), float(result.pvalue), float(difference.mean()), len(one)
    )
