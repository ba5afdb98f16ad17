"""How metrics are shown, and how trials are summed up and compared."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from truegraph import gate
from truegraph.errors import InputError
from truegraph.evaluation.link_metrics import HITS


class Metric:
    """How a metric is shown.

    Parameters
    ----------
    heading : str
    better : {"higher", "lower", "neither"}
    percent : bool, default=False
        Whether it is a share, shown in per cent.
    digits : int, default=3
        After the point.
    """

    def __init__(self, heading: str, better: str, percent: bool = False, digits: int = 3) -> None:
        self.heading, self.better, self.percent, self.digits = heading, better, percent, digits

    def shown(self, value: float) -> str:
        """Return a value as text, a share in per cent but without the sign."""
        return f"{100 * value if self.percent else value:.{self.digits}f}"

    def signed(self, difference: float) -> str:
        """Return a difference as text, with its sign."""
        points = round(100 * difference if self.percent else difference, self.digits)
        return f"{points + 0.0:+.{self.digits}f}"  # + 0.0 turns -0.0 into 0.0


def _share(heading: str, better: str = "higher") -> Metric:
    return Metric(heading, better, percent=True, digits=1)


_CALIBRATION = {
    "negative_log_likelihood": Metric("NLL", "lower"),
    "brier_score": Metric("Brier", "lower"),
    "expected_calibration_error": _share("ECE %", "lower"),
}
METRICS = {
    "accuracy": _share("accuracy %"),
    "macro_f1": _share("macro-F1 %"),
    **_CALIBRATION,
    "error_detection_auroc": Metric("error AUROC", "higher"),
    "confidence_detection_auroc": Metric("error AUROC, 1 - max", "higher"),
}
COVERAGES = (0.8, 0.9, 0.95)  # of the prediction sets of a trial
SET_METRICS = {
    name: metric
    for percent in (round(100 * coverage) for coverage in COVERAGES)
    for name, metric in (
        (f"coverage_{percent}", _share(f"coverage % at {percent}", "neither")),
        (f"set_size_{percent}", Metric(f"set size at {percent}", "lower", digits=2)),
    )
}
LINK_METRICS = {
    "auc": _share("AUC %"),
    "ap": _share("AP %"),
    **{f"hits_{k}": _share(f"Hits@{k} %") for k in HITS},
    "mrr": _share("MRR %"),
    **_CALIBRATION,
}
_HEADINGS = {"recall": "R", "ndcg": "N", "hit": "hit", "mrr": "MRR", "map": "MAP"}
RANKING_METRICS = {
    **{f"{name}@{k}": _share(f"{of}@{k} %") for name, of in _HEADINGS.items() for k in (10, 20)},
    **{f"coverage@{k}": _share(f"coverage@{k} %", "neither") for k in (10, 20)},
}


class Summary(NamedTuple):
    """Mean, population standard deviation (as in the paper's tables) and number of trials."""

    mean: float
    std: float
    n: int


def mean_std(values: ArrayLike) -> Summary:
    """Return mean, population standard deviation and number of trials.

    Parameters
    ----------
    values : array-like of float, shape (n_trials,)
        One figure per trial.
    """
    array = gate.numbers("values", values)
    if len(array) == 0:
        raise InputError("values is empty; give one figure for each trial.")
    return Summary(float(array.mean()), float(array.std()), len(array))


class PairedTest(NamedTuple):
    """Mean of first minus second, two-sided p-value, and number of pairs."""

    mean_difference: float
    p_value: float
    n: int


def paired_wilcoxon(first: ArrayLike, second: ArrayLike) -> PairedTest:
    """Test with Wilcoxon's signed ranks whether two methods differ over the same trials.

    Two-sided, pairs without a difference left out, no continuity correction, as in the paper. When
    no pair differs the p-value is 1.

    Parameters
    ----------
    first, second : array-like of float, shape (n_trials,)
        A figure of each method, trial by trial on the same splits.
    """
    from scipy.stats import wilcoxon

    one, other = gate.numbers("first", first), gate.numbers("second", second)
    if len(one) != len(other) or len(one) == 0:
        raise InputError(
            f"first has shape {one.shape} and second {other.shape}; both need the same trials."
        )
    difference = one - other
    if not difference.any():
        return PairedTest(0.0, 1.0, len(one))
    result = wilcoxon(difference, zero_method="wilcox", correction=False, alternative="two-sided")
    return PairedTest(float(difference.mean()), float(result.pvalue), len(one))
