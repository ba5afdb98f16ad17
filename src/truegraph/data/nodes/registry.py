"""The named data sets and what is known about each: sizes, origin, terms, checksums.

The data sets themselves are listed in ``registry.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class DatasetEntry:
    """One named data set.

    Attributes
    ----------
    name, description, origin, licence : str
    nodes, features, classes : int
        Sizes of the full data set.
    edges : int or None
        Undirected edges of the full graph; None without a graph.
    class_names : tuple of str, or None
    builtin : {"embedded", "scikit-learn"} or None
        The package that carries it.
    sha256 : mapping of str to str
        SHA-256 of each Planetoid file by its ending; empty when it cannot be downloaded.
    """

    name: str
    description: str
    nodes: int
    edges: int | None = None
    features: int
    classes: int
    class_names: tuple[str, ...] | None = None
    origin: str
    licence: str
    builtin: Literal["embedded", "scikit-learn"] | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.class_names is not None:  # lists come from files
            object.__setattr__(self, "class_names", tuple(self.class_names))

    @property
    def statistics(self) -> dict[str, int | None]:
        """Sizes as a dictionary."""
        return {name: getattr(self, name) for name in ("nodes", "edges", "features", "classes")}


@dataclass(frozen=True, kw_only=True)
class InteractionFacts:
    """What is known about a set of interactions without loading it.

    Attributes
    ----------
    name, description, origin, licence : str
    status : {"exact", "stand-in", "benchmark", "made up"}
        Whether these are the paper's data, other real data in their place, data that others
        publish figures on, or made up.
    statistics : dict of str to int
        users, items and interactions after the filters.
    paper : dict of str to int or float
        The paper's row for the data set: users, items, edges and density; empty without one.
    """

    name: str
    description: str
    status: Literal["exact", "stand-in", "benchmark", "made up"]
    statistics: dict[str, int]
    paper: dict[str, int | float] = field(default_factory=dict)
    origin: str
    licence: str


@dataclass(frozen=True, kw_only=True)
class InteractionEntry(InteractionFacts):
    """One named set of interactions between users and items.

    Attributes
    ----------
    min_rating : float or None
        Lowest rating that is kept; None without ratings.
    min_per_user, min_per_item : int
        Fewest interactions of a user, then of an item; one pass.
    paper_thresholds : sequence of int, or None
        The same of the paper's data, if these stand in for them.
    builtin : {"generated"} or None
        Whether it comes with the package.
    has_split : bool
        Whether it brings its own training and test part.
    """

    min_rating: float | None = None
    min_per_user: int = 1
    min_per_item: int = 1
    paper_thresholds: tuple[int, int] | None = None
    builtin: Literal["generated"] | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)
    has_split: bool = False

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

REGISTRY: dict[str, DatasetEntry] = {
    name: DatasetEntry(name=name, **facts) for name, facts in _LISTED["nodes"].items()
}
INTERACTION_SETS: dict[str, InteractionEntry] = {
    name: InteractionEntry(name=name, **facts) for name, facts in _LISTED["interactions"].items()
}
