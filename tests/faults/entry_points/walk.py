"""Every public callable that takes arrays, and every fault that an array can have.

Run as a program, it calls them all with faulty input and prints one line before and one after each
call, so that whoever started it learns which call ended the process.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from entries import entries

import truegraph

DOCUMENTS = Path(__file__).parents[3]
IMPORTED = re.compile(r"^\s*from truegraph\.([\w.]+) import ", re.MULTILINE)
# Rooms that nothing of the user enters by, and why; every other public module is walked.
CLOSED = {
    "gate": "what all input passes; tests/test_gate.py",
    "faces": "methods of learned graphs, tried there",
    "cli": "commands take files and words",
    "runner": "jobs of plain values; tests/test_runner.py",
    "trials": "one trial of a comparison; tests/test_comparison.py",
    "options": "mappings by name; tests/paper and tests/cli",
    "saving": "folders; test_hostile_artefacts.py",
}
# Rooms that use names of another, and what tells them.
SAME_NAMES = {"distributed": "distributed.", "report.plots": "plots."}
ARRAY = re.compile(
    r"NDArray|ArrayLike|csr_array|Features|IndexArray|Floats|Pairs|\bAny\b|\bData\b|AnnData|\bobject\b"
)
# Parameters whose type says Any, or something like it, and which are no arrays.
NO_ARRAYS = {
    "random_state", "options", "prior", "node_names", "names", "fit_params", "degree",
    "settings", "table", "progress", "client", "node",
}  # fmt: skip
# Classes that only hold results, and words.
RESULTS = {"InteractionSplit", "NodeSplit", "Task",
           "Comparison", "ConsoleProgress", "NodeFeatures",
           "distributed.Partition", "suggestion"}  # fmt: skip

UNTRIED = {
    # Tables of mixed columns, in which text, dates and gaps are data.
    "ColumnPlan.fit:X",
    "ColumnPlan.fit:y",
    "ColumnPlan.fit_transform:X",
    "ColumnPlan.get_feature_names_out:input_features",
    "ColumnPlan.ids:X",
    "ColumnPlan.names:X",
    "ColumnPlan.transform:X",
    "ColumnPlan.unknown_categories:X",
    # Classes of any kind: text, numbers, gaps.
    "LearnedGraph.explore:labels",
    # Arrays of the library's own.
    "LearnedGraph.trusted:adjacency",
    "LearnedGraph.trusted:candidates",
    "LearnedGraph.trusted:multipliers",
    # A name or a whole data set, which was checked when it was made.
    "compare:data",
    # One label per node, of any kind; tests/test_comparison.py.
    "compare:groups",
    "GraphLearner.get_feature_names_out:input_features",
    # Checked by scikit-learn.
    "GraphLabelSpreading.fit:X",
    "GraphLabelSpreading.predict:X",
    "GraphLabelSpreading.predict_proba:X",
    # y is ignored, as scikit-learn's pipelines want it.
    "GraphLearner.fit:y",
    "GraphLearner.fit_transform:y",
    # The facts of the list of named data sets, which is a file of the package.
    # Tables of mixed columns, one row per item or user.
    "Recommender.add_items:items",
    "Recommender.add_users:users",
    "Recommender.fit:items",
    "Recommender.fit:users",
    # Abstract, or tried through every class that has it.
    "Distance.pair_values:rows",
    "Distance.pair_values:columns",
    "Distance.values_from:others",
    "Distance.permuted:order",
}


def rooms() -> list[str]:
    """Return the modules that users may import from, found in the package and the documentation.

    These are the package itself, every module directly in it, every package below that lists its
    names in ``__all__``, and what snippets of the documentation import from.
    """
    found = {""}
    for module in pkgutil.walk_packages(truegraph.__path__, "truegraph."):
        name = module.name.removeprefix("truegraph.")
        if any(part.startswith("_") for part in name.split(".")):
            continue
        deep = "." in name
        if not deep or (
            module.ispkg and getattr(importlib.import_module(module.name), "__all__", None)
        ):
            found.add(name)
    for path in [DOCUMENTS / "README.md", *sorted((DOCUMENTS / "docs").glob("*.md"))]:
        found |= set(IMPORTED.findall(path.read_text()))
    return sorted(room for room in found if room.split(".")[0] not in CLOSED)


def public() -> Iterator[tuple[str, Any]]:
    """Yield the names and objects of everything callable that users may use."""
    for room in rooms():
        module = importlib.import_module(".".join(["truegraph", room]).rstrip("."))
        names = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]
        for plain in names:
            thing, name = getattr(module, plain), SAME_NAMES.get(room, "") + plain
            if not callable(thing) or (isinstance(thing, type) and issubclass(thing, Exception)):
                continue
            yield name, thing
            if isinstance(thing, type):
                for method in dir(thing):
                    found = getattr(thing, method)
                    if not method.startswith("_") and callable(found):
                        yield f"{name}.{method}", found


def array_parameters() -> set[str]:
    """Return "callable:parameter" for every parameter that may be an array."""
    found = set()
    for name, thing in public():
        if (
            name.split(".")[0] in RESULTS
            or name in RESULTS
            or not getattr(thing, "__module__", "").startswith("truegraph")
        ):
            continue
        for parameter in inspect.signature(thing).parameters.values():
            kinds = (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            if parameter.name in NO_ARRAYS or parameter.kind in kinds:
                continue
            if ARRAY.search(str(parameter.annotation)) and parameter.name != "self":
                found.add(f"{name}:{parameter.name}")
    return found


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield a name and a call, the sound one of every entry point first."""
    for entry, (call, faulty) in entries().items():
        for form, (sound, faults) in enumerate(faulty):
            yield f"{entry} / {form} / sound", lambda call=call, sound=sound: call(sound)
            for fault, broken in faults.items():
                yield (
                    f"{entry} / {form} / {fault}",
                    lambda call=call, sound=sound, broken=broken: call(broken(sound)),
                )


def outcome(call: Callable[[], Any]) -> str:
    """Return what became of a call, in one line."""
    try:
        call()
    except Exception as error:
        line = str(error).replace("\n", " ")
        return f"{type(error).__mro__[0].__name__}: {line}"
    return "result"


def main(start: int) -> None:
    """Run the cases from a number on."""
    warnings.simplefilter("ignore")
    for number, (name, call) in enumerate(cases()):
        if number >= start:
            print(f"{number}\t{name}\tbegins", flush=True)
            print(f"{number}\t{name}\t{outcome(call)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
