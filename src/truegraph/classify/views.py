"""Views of the nodes, each what a classifier would see if the true graph were of one kind.

A view is a table of coordinates (N, d) for a linear classifier, or an operator along which labels
are spread. No label is needed to make them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from truegraph.classify.edges import EdgeModel
from truegraph.classify.inputs import NodeInputs
from truegraph.classify.spaces import (
    FeatureSpace,
    Matrix,
    PointGraph,
    pagerank,
    row_operator,
    structure_rows,
    unit_rows,
    walk_operator,
)
from truegraph.data.operators import normalised_adjacency
from truegraph.saving import savable

# Which hypothesis about the true graph each view belongs to.
KINDS = {
    "features": "none",
    "raw features": "none",
    "forest": "none",
    "observed": "observed",
    "observed, two steps": "observed",
    "labels on observed": "observed",
    "links, spread": "observed",
    "cleaned": "cleaned",
    "labels on cleaned": "cleaned",
    "neighbours apart": "links",
    "links": "links",
    "learned": "learned",
    "labels on learned": "learned",
    "labels on nearest": "learned",
    "learned, then observed": "both",
    "learned from both": "both",
    "learned from both, two steps": "both",
    "learned from both, then observed": "both",
}
GRAPH_OF = {  # views that rest on a learned graph
    **dict.fromkeys(("learned", "labels on learned", "learned, then observed"), "learned"),
    **{name: "learned from both" for name in KINDS if name.startswith("learned from both")},
}
SPREADING = {  # restart and steps: the farther, the fewer nodes labels reach otherwise
    "labels on observed": (0.1, 20),
    "labels on cleaned": (0.1, 20),
    "labels on learned": (0.02, 60),
    "labels on nearest": (0.01, 100),
}


@savable
@dataclass(frozen=True, eq=False)
class ViewSources:
    """What views are made of, found without labels and kept for new nodes."""

    space: FeatureSpace
    has_graph: bool
    structure: Matrix | None = None  # (N, k), directions of the rows of the adjacency matrix
    learned: PointGraph | None = None  # from features
    learned_from_both: PointGraph | None = None  # from features spread over the observed graph
    nearest: PointGraph | None = None  # neighbours
    edge_model: EdgeModel | None = None  # where the observed graph has many false edges

    @property
    def names(self) -> list[str]:
        """Names of the views that can be made; forests are grown only where they may matter."""
        has_features = self.space.dimension > 0
        there = {
            "none": has_features,
            "observed": has_features and self.has_graph,
            "labels on observed": self.has_graph,
            "cleaned": self.edge_model is not None,
            "neighbours apart": has_features and self.has_graph,
            "links": self.structure is not None,
            "links, spread": self.structure is not None and not has_features,
            "learned": self.learned is not None,
            "labels on nearest": self.nearest is not None,
            "learned, then observed": self.learned is not None and self.has_graph,
            "both": self.learned_from_both is not None,
        }
        return [n for n, kind in KINDS.items() if there.get(n, there[kind]) and n != "forest"]


class Views:
    """The views of some nodes: those of the fit, or these with new ones after them."""

    def __init__(self, sources: ViewSources, inputs: NodeInputs) -> None:
        self._sources = sources
        self._inputs = inputs
        self.n_nodes = inputs.n_nodes
        self.of_table = sources.space.is_table

    def table(self, name: str) -> Any:
        """Return the coordinates (N', d) of a view, an array or a sparse matrix."""
        if name == "forest":
            return self._inputs.raw
        if name == "raw features":
            return self._sources.space.columns(self._inputs.raw)
        if name == "links":
            return np.hstack([self._links, self.coordinates])
        if name == "links, spread":
            return unit_rows(pagerank(self._observed, self._links))
        if name == "neighbours apart":
            around = row_operator(self._inputs.graph)
            near = around @ self.coordinates
            return np.hstack([self.coordinates, unit_rows(near), unit_rows(around @ near)])
        first, _, then = name.partition(", ")
        if name == "observed, two steps":
            return self._observed @ (self._observed @ self.coordinates)
        walk = {
            "observed": lambda: self._observed,
            "cleaned": lambda: self._trusted,
            "learned": lambda: self._learned,
            "learned from both": lambda: self._both,
        }
        found = self.twice if then == "two steps" else self.coordinates
        if first in walk:
            found = pagerank(walk[first](), found)
        return pagerank(self._trusted, found) if then == "then observed" else found

    def operator(self, name: str) -> csr_array:
        """Return the matrix (N', N') along which a view spreads labels."""
        if name == "labels on observed":
            return self._observed
        if name == "labels on cleaned":
            return self._trusted
        if name == "labels on learned":
            return self._learned
        assert self._sources.nearest is not None
        graph = self._sources.nearest.joined(self.coordinates)
        return csr_array(normalised_adjacency(graph, self_loops=False).astype(np.float32))

    @cached_property
    def coordinates(self) -> Matrix:
        """Coordinates (N', d) of the features."""
        return self._sources.space.coordinates(self._inputs.raw)

    @cached_property
    def twice(self) -> Matrix:
        """Coordinates averaged twice over the neighbourhoods of the trusted graph."""
        found: Matrix = self._trusted @ (self._trusted @ self.coordinates)
        return found

    @property
    def false_share(self) -> float:
        """Share of the observed edges that look random; 0 where it is small."""
        model = self._sources.edge_model
        return 0.0 if model is None else model.false_share

    @cached_property
    def trusted_graph(self) -> csr_array:
        """The observed graph, without its false edges where it has many."""
        model = self._sources.edge_model
        graph = self._inputs.graph
        return graph if model is None else model.cleaned(graph, self.coordinates)

    @cached_property
    def _links(self) -> Matrix:
        """Coordinates (N', k) of whom each node is linked with."""
        assert self._sources.structure is not None
        rows = structure_rows(self._inputs.graph, len(self._sources.structure))
        return np.asarray(rows @ self._sources.structure)

    @cached_property
    def _observed(self) -> csr_array:
        return walk_operator(self._inputs.graph)

    @cached_property
    def _trusted(self) -> csr_array:
        has_model = self._sources.edge_model is not None
        return walk_operator(self.trusted_graph) if has_model else self._observed

    @cached_property
    def _learned(self) -> csr_array:
        assert self._sources.learned is not None
        return walk_operator(self._sources.learned.joined(self.coordinates))

    @cached_property
    def _both(self) -> csr_array:
        assert self._sources.learned_from_both is not None
        return walk_operator(self._sources.learned_from_both.joined(self.twice))
