"""Fitted node classifiers on disk: JSON, npz and safetensors in one folder."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph import gate
from truegraph.data.columns.plan import ColumnPlan
from truegraph.data.nodes.containers import UNLABELLED
from truegraph.data.storage import (
    PathLike,
    csr_from_arrays,
    csr_to_arrays,
    read_npz,
    read_safetensors,
    write_npz,
    write_safetensors,
)
from truegraph.errors import InputError
from truegraph.learning.learned import LearnedGraph
from truegraph.nn.classifiers.registry import find_classifier
from truegraph.nn.graph_operators import normalise_features
from truegraph.nn.training.trained import restore_classifier
from truegraph.tasks.classify.committee.fitted import FittedCommittee
from truegraph.tasks.classify.committee.saving import committee_from_arrays, committee_to_arrays
from truegraph.tasks.classify.feature_baselines import FittedLogistic
from truegraph.tasks.classify.inputs import NodeInputs
from truegraph.tasks.classify.recipes.ensemble import Ensemble, Member
from truegraph.tasks.classify.recipes.weight_samples import WeightSamples
from truegraph.tasks.classify.trust.left_out import LeftOutLabels
from truegraph.tasks.classify.trust.temperatures import NodeTemperatures
from truegraph.tasks.saved_folder import ARRAYS, GRAPH, WEIGHTS, Files, SavedFolder, Write

if TYPE_CHECKING:
    from truegraph.tasks.classify.fitting import NodeEstimator

_FOLDER = SavedFolder("truegraph node classifier", "classifier", "classifier.json")
_MOST_SAMPLES = 10_000  # passes with dropout, which are drawn anew and not stored
_INPUT_FIELDS = ("features_from", "graph_from", "normalised_by")
_LEFT_OUT = ("nodes", "labels", "probabilities", "weights")
_LOGISTIC = ("shift", "scale", "coefficients", "intercept")

Estimator = TypeVar("Estimator", bound="NodeEstimator")


def save_estimator(estimator: NodeEstimator, folder: PathLike) -> None:
    """Write a fitted classifier."""
    arrays: dict[str, NDArray[Any]] = {}
    params = estimator.get_params(deep=False)
    params["random_state"], params["plan"] = estimator.seed_, None
    if params.get("cache") is not None:
        params["cache"] = str(params["cache"])
    weights = estimator._weights
    described = None
    if isinstance(weights, FittedCommittee):
        described, own = committee_to_arrays(weights)
        described["members"] = {
            name: _describe_weights(one) for name, (_, one) in weights.trained.items()
        }
        arrays |= own
    elif isinstance(weights, FittedLogistic):
        own = {name: getattr(weights, name) for name in _LOGISTIC}
        described = {"logistic": [name for name, array in own.items() if array is not None]}
        arrays |= {f"logistic.{name}": own[name] for name in described["logistic"]}
    else:
        described = _describe_weights(weights)
    document = {
        "params": _packed(params, "params", arrays),
        "model": estimator.model_,
        "seed": estimator.seed_,
        "notes": list(estimator.notes_),
        "seconds": estimator.seconds_,
        "inputs": {name: getattr(estimator._inputs, name) for name in _INPUT_FIELDS},
        "input_notes": list(estimator._inputs.notes),
        "weights": described,
        "plan": None if estimator.plan_ is None else estimator.plan_.to_document(arrays),
        "view_weights": estimator.view_weights_,
        "observed_graph_weight": estimator.observed_graph_weight_,
        "calibrations": [one.to_list() for one in estimator._calibrations],
    }
    arrays |= _fitted_arrays(estimator)
    writers: dict[str, Write] = {ARRAYS: lambda path: write_npz(path, arrays)}
    if weights is not None and not isinstance(weights, FittedLogistic):
        trained = weights
        writers[WEIGHTS] = lambda path: write_safetensors(path, _tensors(trained))
    if estimator.learned_graph_ is not None:
        writers[GRAPH] = estimator.learned_graph_.save
    _FOLDER.save(folder, estimator, document, writers)


def _fitted_arrays(estimator: NodeEstimator) -> dict[str, NDArray[Any]]:
    arrays = {
        "classes": estimator.classes_,
        "probabilities": estimator._probabilities,
        "labels": estimator._labels,
        "train": estimator._train,
        **csr_to_arrays(estimator._inputs.raw, "features"),
        **csr_to_arrays(estimator._inputs.graph, "graph"),
    }
    if estimator._expected_entropy is not None:
        arrays["expected_entropy"] = estimator._expected_entropy
    if estimator._left_out is not None:
        own = {name: getattr(estimator._left_out, name) for name in _LEFT_OUT}
        arrays |= {f"left_out.{name}": array for name, array in own.items() if array is not None}
    return arrays


def _describe_weights(weights: WeightSamples | Ensemble | None) -> dict[str, Any] | None:
    if weights is None:
        return None
    if isinstance(weights, Ensemble):
        members = [
            {
                "scaling": one.scaling,
                "temperature": one.temperature,
                "share": one.share,
                "samples": _described(one),
            }
            for one in weights.members
        ]
        return {
            "members": members,
            "temperature": weights.temperature,
            "on_neighbours": weights.on_neighbours,
        }
    return _described(weights)


def _described(given: WeightSamples | Member) -> dict[str, Any]:
    weights = given.weights if isinstance(given, Member) else given
    classifier = weights.classifier
    return {
        "model": classifier.model.name,
        "settings": asdict(classifier.model.settings),
        "seeds": [int(seed) for seed in classifier.seeds],
        "rule": weights.rule,
        "samples": weights.samples,
    }


def _tensors(weights: WeightSamples | Ensemble | FittedCommittee) -> dict[str, NDArray[Any]]:
    """Return all trained weights by name; those of members have numbers or names in front."""
    if isinstance(weights, FittedCommittee):
        return {
            f"{recipe}.{name}": tensor
            for recipe, (_, ensemble) in weights.trained.items()
            for name, tensor in _tensors(ensemble).items()
        }
    if isinstance(weights, WeightSamples):
        return {k: t.numpy() for k, t in weights.classifier.state_dict().items()}
    return {
        f"{number}.{name}": tensor
        for number, member in enumerate(weights.members)
        for name, tensor in _tensors(member.weights).items()
    }


def _packed(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a value as JSON; arrays in it are set aside under their names."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {key: getattr(value, key) for key in value.__dataclass_fields__}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list | tuple):
        return [_packed(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
    if hasattr(value, "items"):
        return {str(key): _packed(item, f"{name}.{key}", arrays) for key, item in value.items()}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise InputError(f"{name} has type {type(value).__name__}, which cannot be saved.")


def _unpacked(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, list):
        return tuple(_unpacked(item, arrays) for item in value)
    if not isinstance(value, dict):
        return value
    if set(value) == {"array"}:
        return arrays[value["array"]]
    return {key: _unpacked(item, arrays) for key, item in value.items()}


def load_estimator(kind: type[Estimator], folder: PathLike) -> Estimator:
    """Read a fitted classifier of a class."""
    return _FOLDER.load(kind, folder, _restored)


def _restored(kind: type[Estimator], document: dict[str, Any], files: Files) -> Estimator:
    arrays = read_npz(files[ARRAYS], artefact=True)
    _check_sizes(arrays)
    estimator = kind(**_unpacked(document["params"], arrays))
    raw = csr_from_arrays(arrays, "features")
    estimator._inputs = NodeInputs(
        raw=raw,
        features=normalise_features(raw, by=document["inputs"]["normalised_by"]),
        graph=csr_from_arrays(arrays, "graph"),
        notes=tuple(document["input_notes"]),
        **{name: str(document["inputs"][name]) for name in _INPUT_FIELDS},
    )
    estimator.classes_ = arrays["classes"]
    estimator.model_ = str(document["model"])
    estimator.seed_ = int(document["seed"])
    estimator.notes_ = tuple(document["notes"])
    estimator.seconds_ = dict(document["seconds"])
    estimator._probabilities = arrays["probabilities"]
    estimator._expected_entropy = arrays.get("expected_entropy")
    estimator._labels, estimator._train = arrays["labels"], arrays["train"]
    estimator._calibrations = tuple(
        NodeTemperatures.from_list(values, len(estimator.classes_))
        for values in document.get("calibrations", ())
    )
    estimator._left_out = None  # as in folders of older versions
    if "left_out.nodes" in arrays:
        own = {name: arrays.get(f"left_out.{name}") for name in _LEFT_OUT}
        estimator._left_out = LeftOutLabels(**own)  # type: ignore[arg-type]  # sizes are checked
    estimator._weights = _restored_weights(document["weights"], estimator, arrays, files)
    plan = document.get("plan")  # absent in folders of older versions
    estimator.plan_ = None if plan is None else ColumnPlan.from_document(plan, arrays)
    estimator.view_weights_ = document["view_weights"]
    estimator.observed_graph_weight_ = document["observed_graph_weight"]
    graph = LearnedGraph.load(files[GRAPH]) if GRAPH in files else None
    if graph is not None and graph.n_nodes != raw.shape[0]:
        raise InputError(f"the learned graph has {graph.n_nodes} nodes, the data {raw.shape[0]}")
    estimator.learned_graph_ = graph
    return estimator


def _check_sizes(arrays: dict[str, NDArray[Any]]) -> None:
    """Raise unless the arrays are of the same nodes and classes, and their numbers in range."""
    nodes, classes = arrays["probabilities"].shape
    probabilities = gate.array("probabilities", arrays["probabilities"], (nodes, classes))
    if classes != len(arrays["classes"]) or probabilities.min(initial=0.0) < 0.0:
        raise InputError(f"probabilities are of {classes} classes, or negative.")
    if "expected_entropy" in arrays:
        gate.array("expected_entropy", arrays["expected_entropy"], (nodes,))
    labels = gate.whole_numbers("labels", arrays["labels"], length=nodes, at_least=UNLABELLED)
    gate.indices("labels", labels[labels != UNLABELLED], classes, what="class")
    gate.indices("train", arrays["train"], nodes)
    if "left_out.nodes" in arrays:
        left_out = gate.indices("left_out.nodes", arrays["left_out.nodes"], nodes)
        own = gate.indices("left_out.labels", arrays["left_out.labels"], classes, what="class")
        gate.array("left_out.labels", own, (len(left_out),))
        gate.array(
            "left_out.probabilities", arrays["left_out.probabilities"], (len(left_out), classes)
        )
        weights = arrays.get("left_out.weights", np.ones(len(left_out)))
        gate.numbers("left_out.weights", weights, length=len(left_out), nonnegative=True)
    for name, shape in (("features", (nodes, None)), ("graph", (nodes, nodes))):
        gate.sparse_matrix(name, csr_from_arrays(arrays, name), shape=shape)


def _restored_weights(
    described: dict[str, Any] | None,
    estimator: NodeEstimator,
    arrays: dict[str, NDArray[Any]],
    files: Files,
) -> WeightSamples | Ensemble | FittedCommittee | FittedLogistic | None:
    if described is None:
        return None
    if "logistic" in described:
        own: dict[str, Any] = {n: arrays[f"logistic.{n}"] for n in described["logistic"]}
        return FittedLogistic(**{**dict.fromkeys(_LOGISTIC), **own})
    tensors = read_safetensors(files[WEIGHTS])
    for name, tensor in tensors.items():
        gate.check_finite(name, tensor)
    if "voices" in described:
        trained = {
            name: _restored_ensemble(one, _below(tensors, name), estimator)
            for name, one in described["members"].items()
        }
        return committee_from_arrays(described, arrays, trained)
    if "members" in described:
        return _restored_ensemble(described, tensors, estimator)
    return _restored_samples(described, tensors, estimator, estimator._inputs.features)


def _below(tensors: dict[str, NDArray[Any]], start: str) -> dict[str, NDArray[Any]]:
    """Return the tensors whose names begin with something and a dot, without it."""
    prefix = f"{start}."
    return {k.removeprefix(prefix): t for k, t in tensors.items() if k.startswith(prefix)}


def _restored_ensemble(
    described: dict[str, Any], tensors: dict[str, NDArray[Any]], estimator: NodeEstimator
) -> Ensemble:
    members = []
    for number, one in enumerate(described["members"]):
        own = _below(tensors, str(number))
        features = normalise_features(estimator._inputs.features, by=one["scaling"])
        samples = _restored_samples(one["samples"], own, estimator, features)
        share = float(one.get("share", 1.0))  # absent in folders of older versions
        members.append(Member(samples, str(one["scaling"]), float(one["temperature"]), share))
    apart = bool(described.get("on_neighbours", False))  # absent in folders of older versions
    return Ensemble(tuple(members), float(described["temperature"]), apart)


def _restored_samples(
    described: dict[str, Any],
    tensors: dict[str, NDArray[Any]],
    estimator: NodeEstimator,
    features: csr_array,
) -> WeightSamples:
    settings = find_classifier(described["model"]).settings_type
    classifier = restore_classifier(
        described["model"],
        {name: torch.from_numpy(tensor) for name, tensor in tensors.items()},
        settings(**_unpacked(described["settings"], {})),
        described["seeds"],
        features,
        estimator._inputs.graph,
        len(estimator.classes_),
    )
    stored = max(len(described["seeds"]), _MOST_SAMPLES)
    samples = gate.whole_number("samples", described["samples"], at_least=1, at_most=stored)
    return WeightSamples(classifier, described["rule"], samples)
