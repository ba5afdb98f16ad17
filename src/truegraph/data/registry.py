"""The named data sets and what is known about each: sizes, origin, terms, checksums.

The data sets themselves are listed in ``registry.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal

_SIZES = ("nodes", "edges", "features", "classes")


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """What is known about a named set of nodes or of interactions without loading it.

    Attributes
    ----------
    name, description, origin, licence : str
    statistics : dict of str to int or None
        Nodes, edges (None without a graph), features and classes; or users, items and
        interactions that the filters keep.
    builtin : {"embedded", "scikit-learn", "generated"} or None
        The package that carries it.
    sha256 : mapping of str to str
        SHA-256 of each Planetoid file by its ending; empty when it cannot be downloaded.
    source : str or None
        Where it is found now (see `NodeDataset.source`), or None.
    class_names : sequence of str, or None
    status : {"exact", "stand-in", "benchmark", "made up"} or None
        Of interactions: whether these are the paper's data, other real data in their place, data
        that others publish figures on, or made up.
    paper : dict of str to int or float
        The paper's row for the data set: users, items, edges and density; empty without one.
    min_rating : float or None
        Lowest rating that is kept; None without ratings.
    min_per_user, min_per_item : int
        Fewest interactions of a user, then of an item; one pass.
    paper_thresholds : sequence of int, or None
        The same of the paper's data, if these stand in for them.
    has_split : bool
        Whether it brings its own training and test part.
    """

    name: str
    description: str
    statistics: Mapping[str, int | None]
    origin: str
    licence: str
    builtin: Literal["embedded", "scikit-learn", "generated"] | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)
    source: str | None = None
    class_names: Sequence[str] | None = None
    status: Literal["exact", "stand-in", "benchmark", "made up"] | None = None
    paper: Mapping[str, int | float] = field(default_factory=dict)
    min_rating: float | None = None
    min_per_user: int = 1
    min_per_item: int = 1
    paper_thresholds: Sequence[int] | None = None
    has_split: bool = False

    @property
    def can_fetch(self) -> bool:
        """Whether it can be downloaded."""
        return bool(self.sha256)

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be said wherever the data are used."""
        if self.paper_thresholds is None:
            return ()
        return (
            "a stand-in: real data of the same kind, not the paper's own file; thresholds "
            f"{(self.min_per_user, self.min_per_item)} for users and items instead of "
            f"{tuple(self.paper_thresholds)}, chosen so that the sizes come near the paper's",
        )


_LISTED = tomllib.loads(resources.files(__package__).joinpath("registry.toml").read_text("utf-8"))
for _facts in _LISTED["nodes"].values():
    _facts["statistics"] = {size: _facts["statistics"].get(size) for size in _SIZES}

REGISTRY, INTERACTION_SETS = (
    {name: DatasetInfo(name=name, **facts) for name, facts in _LISTED[kind].items()}
    for kind in ("nodes", "interactions")
)
