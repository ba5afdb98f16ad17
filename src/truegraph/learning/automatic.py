"""What the learner chooses where it is not told: the graph to use in place of one of k neighbours.

The choices were made by benchmarks/graph_defaults.py on sets that no table of results shows.
"""

from __future__ import annotations

from typing import Any

AUTO_DEGREE = 8.0
_AUTO_SCALING = 7
_PLAIN_DEGREE = 10.0


def chosen_options(options: dict[str, Any], may_join: bool) -> tuple[dict[str, Any], bool]:
    """Return the arguments of `GraphLearner` without "auto", and whether the degree was that.

    Parameters
    ----------
    options : dict
    may_join : bool
        Whether components can be joined by pairs that are no candidates, so that
        connected="auto" may mean True.
    """
    is_degree_auto = _is_auto(options["degree"]) or not _is_density_given(options)
    chosen = dict(options)
    if _is_auto(options["local_scaling"]):
        is_scaled = is_degree_auto and options["scope"] == "candidates"
        chosen["local_scaling"] = _AUTO_SCALING if is_scaled else None
    if _is_auto(options["connected"]):
        chosen["connected"] = is_degree_auto and may_join and options["metric"] != "precomputed"
    return chosen, is_degree_auto


def plain_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `GraphLearner` with "auto" for plain distances.

    The choices that "auto" stands for were made for graphs of points in one process; graphs of
    users and items and graphs in partitions have the plain model's.
    """
    chosen = dict(options)
    if not _is_density_given(options):
        chosen["degree"] = _PLAIN_DEGREE
    if _is_auto(options["local_scaling"]):
        chosen["local_scaling"] = None
    if _is_auto(options["connected"]):
        chosen["connected"] = False
    return chosen


def _is_density_given(options: dict[str, Any]) -> bool:
    return any(options[name] is not None for name in ("degree", "theta", "alpha", "beta"))


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
