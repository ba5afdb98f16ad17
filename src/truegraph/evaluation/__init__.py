"""How good predictions are: metrics, calibration, significance."""

from truegraph.evaluation.class_metrics import class_metrics, reliability_curve, set_metrics
from truegraph.evaluation.link_metrics import link_metrics
from truegraph.evaluation.ranking import ranking_metrics, score_rankings
from truegraph.evaluation.trials import (
    LINK_METRICS,
    METRICS,
    RANKING_METRICS,
    SET_METRICS,
    Metric,
    mean_std,
    paired_wilcoxon,
)

__all__ = [
    "LINK_METRICS",
    "METRICS",
    "RANKING_METRICS",
    "SET_METRICS",
    "Metric",
    "class_metrics",
    "link_metrics",
    "mean_std",
    "paired_wilcoxon",
    "ranking_metrics",
    "reliability_curve",
    "score_rankings",
    "set_metrics",
]
