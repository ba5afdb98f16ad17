"""How good predictions are: metrics, calibration, significance."""

from truegraph.evaluation.calibration import (
    ReliabilityCurve,
    expected_calibration_error,
    reliability_curve,
)
from truegraph.evaluation.metrics import (
    accuracy,
    brier_score,
    error_detection_auroc,
    macro_f1,
    negative_log_likelihood,
)
from truegraph.evaluation.scores import (
    COVERAGES,
    METRICS,
    SET_METRICS,
    Metric,
    score_trial,
)
from truegraph.evaluation.significance import PairedTest, Summary, mean_std, paired_wilcoxon

__all__ = [
    "COVERAGES",
    "METRICS",
    "SET_METRICS",
    "Metric",
    "PairedTest",
    "ReliabilityCurve",
    "Summary",
    "accuracy",
    "brier_score",
    "error_detection_auroc",
    "expected_calibration_error",
    "macro_f1",
    "mean_std",
    "negative_log_likelihood",
    "paired_wilcoxon",
    "reliability_curve",
    "score_trial",
]
