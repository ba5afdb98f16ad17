"""A fitted committee as a document and arrays; trained members are kept by the caller."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from truegraph.data.storage import csr_from_arrays, csr_to_arrays
from truegraph.tasks.classify.committee.classifiers import Linear
from truegraph.tasks.classify.committee.cleaning import EdgeJudge
from truegraph.tasks.classify.committee.features import FeatureSpace
from truegraph.tasks.classify.committee.fitted import FittedCommittee, Voice
from truegraph.tasks.classify.committee.forest import Forest
from truegraph.tasks.classify.committee.graphs import PointGraph
from truegraph.tasks.classify.committee.views import Grounds
from truegraph.tasks.classify.committee.weights import Sharpness
from truegraph.tasks.classify.recipes.ensemble import Ensemble
from truegraph.tasks.classify.trust.temperatures import NodeTemperatures

Arrays = dict[str, NDArray[Any]]
_START = "committee."
_GRAPHS = ("learned", "learned_from_both", "nearest")
_JUDGE = ("shift", "scale", "coefficients")
_LINEAR = ("weights", "intercept")
_FOREST = ("roots", "column", "bound", "left", "right", "shares")


def committee_to_arrays(committee: FittedCommittee) -> tuple[dict[str, Any], Arrays]:
    """Return a committee without its trained members as JSON and arrays."""
    grounds = committee.grounds
    arrays: Arrays = {
        "train": committee.train,
        "labels": committee.labels,
        "class_factors": committee.class_factors,
        "shift": grounds.space.shift,
        "scale": grounds.space.scale,
        "components": grounds.space.components,
    }
    if grounds.structure is not None:
        arrays["structure"] = grounds.structure
    judge, temperatures = grounds.judge, committee.temperatures
    if judge is not None:
        arrays |= {f"judge.{name}": getattr(judge, name) for name in _JUDGE}
    there = {}
    for name in _GRAPHS:
        graph: PointGraph | None = getattr(grounds, name)
        if graph is not None:
            there[name] = graph.has_directions
            arrays[f"{name}.axes"] = graph.axes
            arrays |= csr_to_arrays(graph.adjacency, name)
    voices = []
    for number, voice in enumerate(committee.voices):
        voices.append([voice.name, voice.weight, voice.sharpness.factor])
        if voice.classifier is not None:
            names = _LINEAR if isinstance(voice.classifier, Linear) else _FOREST
            arrays |= {f"{number}.{name}": getattr(voice.classifier, name) for name in names}
    document = {
        "has_directions": grounds.space.has_directions,
        "has_graph": grounds.has_graph,
        "judge": None if judge is None else [judge.intercept, judge.false_share],
        "graphs": there,
        "voices": voices,
        "trained": {name: weight for name, (weight, _) in committee.trained.items()},
        "temperatures": None if temperatures is None else temperatures.to_list(),
    }
    return document, {f"{_START}{name}": array for name, array in arrays.items()}


def committee_from_arrays(
    document: dict[str, Any], arrays: Arrays, trained: dict[str, Ensemble]
) -> FittedCommittee:
    """Return the committee that `committee_to_arrays` took apart."""
    own = {name.removeprefix(_START): a for name, a in arrays.items() if name.startswith(_START)}
    space = FeatureSpace(
        own["shift"], own["scale"], bool(document["has_directions"]), own["components"]
    )
    graphs = {
        name: PointGraph(csr_from_arrays(own, name), None, own[f"{name}.axes"], bool(directed))
        for name, directed in document["graphs"].items()
        if name in _GRAPHS
    }
    judge = None
    if document["judge"] is not None:
        intercept, false_share = (float(value) for value in document["judge"])
        shift, scale, coefficients = (own[f"judge.{name}"] for name in _JUDGE)
        judge = EdgeJudge(shift, scale, coefficients, intercept, false_share)
    grounds = Grounds(
        space, bool(document["has_graph"]), own.get("structure"), **graphs, judge=judge
    )
    voices = []
    for number, (name, weight, factor) in enumerate(document["voices"]):
        classifier: Linear | Forest | None = None
        if f"{number}.weights" in own:
            classifier = Linear(*(own[f"{number}.{part}"] for part in _LINEAR))
        elif f"{number}.roots" in own:
            classifier = Forest(*(own[f"{number}.{part}"] for part in _FOREST))
        voices.append(Voice(str(name), float(weight), Sharpness(float(factor)), classifier))
    members = {name: (float(w), trained[name]) for name, w in document["trained"].items()}
    values = document.get("temperatures")  # absent in folders of older versions
    factors = own["class_factors"]
    temperatures = None if values is None else NodeTemperatures.from_list(values, len(factors))
    given = (own["train"], own["labels"], factors, temperatures)
    return FittedCommittee(grounds, tuple(voices), members, *given)
