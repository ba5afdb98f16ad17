"""Save and load fitted objects: one npz file in a folder, a JSON document and arrays in it.

A class is marked with `savable`. Its state is what ``vars`` gives: numbers, texts, lists, tuples,
dictionaries, NumPy arrays, CSR matrices, torch tensors and further savable objects, nested at will.
A class may define:

``_unsaved``
    Names of attributes that are left out, such as caches.
``_may_be_nan``
    Names of attributes whose arrays may hold NaN or infinity; in all others they are refused.
``_check_saved(self)``
    Called on a restored object. It raises an `InputError` where sizes or ranges do not fit
    together. The types of the fields of dataclasses are checked before.
``_after_load(self)``
    Called last, to rebuild what `_unsaved` left out.

Loading runs no code of the file: only marked classes are made, by name, without calling their
constructors. The file is written whole or not at all.
"""

from __future__ import annotations

import builtins
import dataclasses
import json
import math
import sys
import types
import typing
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from truegraph.data.storage import (
    PathLike,
    csr_from_arrays,
    csr_to_arrays,
    read_npz,
    write_npz,
)
from truegraph.errors import InputError

FILE = "model.npz"
_DOCUMENT = "document"  # name of the array that holds the JSON
# Savable classes of modules that their estimator imports only when it needs them.
_LATE = {
    "FittedNetwork": "truegraph.classify.networks",
    "LogisticModel": "truegraph.classify.baselines",
    "SpreadingModel": "truegraph.classify.baselines",
    "PropagationModel": "truegraph.classify.propagation",
    "ColumnPlan": "truegraph.data.column_plan",
}
_FORMAT, _VERSION = "truegraph model", 2
_DEEPEST = 50  # levels of nesting
_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError)

Saved = TypeVar("Saved")
Kind = TypeVar("Kind", bound=type)
_classes: dict[str, type] = {}


def savable(kind: Kind) -> Kind:
    """Mark a class as one that `save` writes and `load` restores; its name must be unique."""
    known = _classes.setdefault(kind.__name__, kind)
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise TypeError(f"two savable classes are called {kind.__name__}: rename one.")
    _classes[kind.__name__] = kind
    return kind


def save(thing: object, folder: PathLike) -> None:
    """Write an object of a savable class into a folder, in place of what was saved there before."""
    write_npz(Path(folder) / FILE, to_arrays(thing))


def load(kind: type[Saved] | tuple[type[Saved], ...], folder: PathLike) -> Saved:
    """Return the object of a savable class, or of one of several, that `save` wrote.

    Raises an `InputError` if the folder holds none, one of another class or version, or damage.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        raise InputError(
            f"{folder}: not a saved model: there is no {FILE}; give the folder of a save."
        )
    return from_arrays(kind, read_npz(path, artefact=True), folder)


def to_arrays(thing: object) -> dict[str, NDArray[Any]]:
    """Return an object of a savable class as named arrays, one of which is the JSON document."""
    writer = _Writer()
    name = type(thing).__name__
    content = writer.packed(thing, name)
    document = {"format": _FORMAT, "version": _VERSION, "kind": name, "content": content}
    text = json.dumps(document, allow_nan=False).encode()
    return {_DOCUMENT: np.frombuffer(text, np.uint8), **writer.arrays}


def from_arrays(
    kind: type[Saved] | tuple[type[Saved], ...], arrays: dict[str, NDArray[Any]], place: PathLike
) -> Saved:
    """Return the object that `to_arrays` took apart; `place` is where the arrays are from."""
    document = _document(arrays, place)
    own = str(document["kind"])
    kinds = {one.__name__: one for one in (kind if isinstance(kind, tuple) else (kind,))}
    if own not in kinds:
        raise InputError(f"{place} holds a {own}, not a {' or '.join(kinds)}; use {own}.load.")
    try:
        thing = _Reader(arrays).unpacked(document["content"], own)
        if not isinstance(thing, kinds[own]):
            raise ValueError(f"its content is not a {own}")
    except _DAMAGE as error:
        raise InputError(
            f"{place}: damaged, or saved by another version ({error}); save it again."
        ) from error
    return thing


def _document(arrays: dict[str, NDArray[Any]], place: PathLike) -> dict[str, Any]:
    try:
        document = json.loads(arrays[_DOCUMENT].tobytes())
    except (KeyError, ValueError, RecursionError) as error:
        raise InputError(f"{place}: not a saved model, or damaged; save it again.") from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise InputError(f"{place}: not a saved model; give the place of a save.")
    if document.get("version") != _VERSION:
        raise InputError(
            f"{place}: saved in version {document.get('version')!r} of the format, but this is "
            f"version {_VERSION}; load it with the truegraph that saved it."
        )
    if not isinstance(document.get("kind"), str) or "content" not in document:
        raise InputError(f"{place}: damaged: kind or content is missing; save the model again.")
    return document


class _Writer:
    """Turns objects into JSON; arrays are set aside under names, each once."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._names: dict[int, tuple[str, Any]] = {}  # the object is held, so that ids stay unique

    def packed(self, value: Any, name: str, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            raise InputError(f"{name[:80]} is nested too deeply to be saved.")
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, Path):
            return str(value)
        if isinstance(value, list):
            return [self.packed(item, f"{name}.{i}", depth + 1) for i, item in enumerate(value)]
        if isinstance(value, tuple):
            return {"tuple": self.packed(list(value), name, depth + 1)}
        if isinstance(value, dict | types.MappingProxyType):
            return self._packed_mapping(dict(value), name, depth)
        if isinstance(value, np.ndarray):
            return self._packed_array(value, name, depth)
        if isinstance(value, csr_array):
            return self._once(value, name, "csr", lambda own: csr_to_arrays(value, own))
        if type(value).__module__.split(".")[0] == "torch":
            plain = value.detach().cpu().numpy()
            return self._once(value, name, "tensor", lambda own: {own: plain})
        return self._packed_object(value, name, depth)

    def _packed_mapping(self, value: dict[Any, Any], name: str, depth: int) -> Any:
        if all(isinstance(key, str) for key in value):
            items = {key: self.packed(v, f"{name}.{key}", depth + 1) for key, v in value.items()}
            return {"dict": items}
        pairs = [[key, item] for key, item in value.items()]
        return {"pairs": self.packed(pairs, name, depth + 1)}

    def _packed_array(self, value: NDArray[Any], name: str, depth: int) -> Any:
        if value.dtype.hasobject:
            if value.ndim != 1:
                raise InputError(f"{name} is an array of objects, which cannot be saved.")
            return {"objects": self.packed(value.tolist(), name, depth + 1)}
        return self._once(value, name, "array", lambda own: {own: np.asarray(value)})

    def _once(self, value: Any, name: str, tag: str, parts: Any) -> dict[str, str]:
        if id(value) not in self._names:
            own = name.replace("/", "_")
            while own in self.arrays or f"{own}_shape" in self.arrays:
                own += "+"
            self._names[id(value)] = own, value
            self.arrays |= parts(own)
        return {tag: self._names[id(value)][0]}

    def _packed_object(self, value: Any, name: str, depth: int) -> Any:
        kind = type(value)
        if _classes.get(kind.__name__) is not kind:
            raise InputError(f"{name} has type {kind.__name__}, which cannot be saved.")
        unsaved = getattr(kind, "_unsaved", ())
        state = {
            key: self.packed(item, f"{name}.{key}", depth + 1)
            for key, item in vars(value).items()
            if key not in unsaved
        }
        return {"object": kind.__name__, "state": state}


class _Reader:
    """Restores objects from JSON and arrays, and checks them."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays = arrays
        self._made: dict[tuple[str, str], Any] = {}

    def unpacked(self, value: Any, name: str, may_be_nan: bool = False) -> Any:
        if isinstance(value, list):
            return [self.unpacked(item, name, may_be_nan) for item in value]
        if not isinstance(value, dict):
            return value
        if set(value) == {"object", "state"}:
            return self._object(value, name)
        ((tag, content),) = value.items()
        if tag in ("array", "csr", "tensor"):
            return self._stored(tag, str(content), name, may_be_nan)
        if tag == "float":
            if content not in ("nan", "inf", "-inf") or not may_be_nan:
                raise ValueError(f"{name} is {content!r}")
            return float(content)
        if tag == "dict":
            return {key: self.unpacked(item, name, may_be_nan) for key, item in content.items()}
        inside = self.unpacked(content, name, may_be_nan)
        if tag == "tuple":
            return tuple(inside)
        if tag == "pairs":
            return dict(inside)
        if tag == "objects":
            found = np.empty(len(inside), dtype=object)
            found[:] = inside
            return found
        raise ValueError(f"{name} has the unknown mark {tag!r}")

    def _stored(self, tag: str, own: str, name: str, may_be_nan: bool) -> Any:
        if (tag, own) not in self._made:
            self._made[tag, own] = self._matrix_or_array(tag, own)
        found = self._made[tag, own]
        values = found.data if tag == "csr" else self._arrays.get(own, np.empty(0))
        if not may_be_nan and values.dtype.kind in "fc" and not np.isfinite(values).all():
            raise ValueError(f"{name} has values that are not finite")
        return found

    def _matrix_or_array(self, tag: str, own: str) -> Any:
        if tag == "csr":
            return csr_from_arrays(self._arrays, own)
        if tag == "array":
            return self._arrays[own]
        import torch

        return torch.from_numpy(self._arrays[own])

    def _object(self, value: dict[str, Any], name: str) -> Any:
        kind = _class_called(str(value["object"]), name)
        nan_fields = getattr(kind, "_may_be_nan", ())
        state = {
            str(key): self.unpacked(item, f"{name}.{key}", key in nan_fields)
            for key, item in value["state"].items()
        }
        if dataclasses.is_dataclass(kind):
            _check_fields(kind, state, name)
        thing: Any = object.__new__(kind)
        for key, item in state.items():
            object.__setattr__(thing, key, item)
        for hook in ("_check_saved", "_after_load"):
            if hasattr(kind, hook):
                getattr(thing, hook)()
        return thing


def _class_called(own: str, name: str) -> type:
    """Return the savable class of a name, from its module if that is not imported yet."""
    if own in _LATE:
        import_module(_LATE[own])
    if own not in _classes:
        raise ValueError(f"{name} is of the unknown class {own!r}")
    return _classes[own]


def _check_fields(kind: type, state: dict[str, Any], name: str) -> None:
    """Raise unless the state has the fields of a dataclass, each of its annotated type."""
    known = vars(builtins) | vars(sys.modules[kind.__module__])
    hints = typing.get_type_hints(kind, localns=_Names(known))
    unsaved = getattr(kind, "_unsaved", ())
    for field in dataclasses.fields(kind):
        if field.name in unsaved:
            continue
        if field.name not in state:
            raise ValueError(f"{name} lacks {field.name}")
        value = state[field.name]
        if not _fits(value, hints.get(field.name, Any)):
            raise ValueError(f"{name}.{field.name} has type {type(value).__name__}")


class _Names(dict[str, Any]):
    """Names of types; one that only type checkers import stands for any type."""

    def __missing__(self, name: str) -> Any:
        if name.startswith("__"):  # what debuggers look for
            raise KeyError(name)
        return _AnyType


class _AnyType:
    def __class_getitem__(cls, _: Any) -> Any:
        return Any


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type, as far as that is quickly told."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, _AnyType):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin is typing.Annotated:
        return _fits(value, arguments[0])
    if hint in (int, float):
        wanted = int if hint is int else int | float
        return isinstance(value, wanted) and not isinstance(value, bool)
    if hint is None:
        return value is None
    kind = origin or hint
    if not isinstance(kind, type):  # type variables and the like
        return True
    if not isinstance(value, kind):
        return False
    return _items_fit(value, kind, arguments) if arguments else True


def _items_fit(value: Any, kind: type, arguments: tuple[Any, ...]) -> bool:
    if kind is dict:
        return all(_fits(k, arguments[0]) and _fits(v, arguments[1]) for k, v in value.items())
    if kind is tuple and arguments[-1] is not Ellipsis:
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    if kind in (list, tuple):
        return all(_fits(item, arguments[0]) for item in value)
    return True
