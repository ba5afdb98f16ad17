"""Compiled loops: shared caches, folders that cannot be written to, and no sums in parallel."""

from __future__ import annotations

import ast
import multiprocessing
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import truegraph
from truegraph.runtime.compiled import CacheFile

PROCESSES, ROUNDS = 4, 25
SOURCES = sorted(Path(truegraph.__file__).parent.rglob("*.py"))
REDUCTIONS = {"sum", "mean", "prod", "min", "max", "argmin", "argmax", "std", "var", "dot", "any",
              "all", "cumsum", "average", "nansum", "trace", "vdot", "norm", "reduce"}  # fmt: skip


def _cache(folder: Path, number: int) -> Any:
    return CacheFile(str(folder), f"function{number}", ("stamp", 1))


def _save(folder: Path, process: int, barrier: Any) -> None:
    for number in range(ROUNDS):
        barrier.wait()  # all at once
        _cache(folder, number).save(("signature", process), f"code of {process}")


def test_no_signature_gets_the_code_of_another(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(PROCESSES)
    workers = [
        context.Process(target=_save, args=(tmp_path, process, barrier))
        for process in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for number in range(ROUNDS):
        found = [_cache(tmp_path, number).load(("signature", p)) for p in range(PROCESSES)]
        assert any(found)
        assert all(code in (None, f"code of {p}") for p, code in enumerate(found))


@pytest.mark.parametrize("name", ["function0.nbi", "*.nbc"])
@pytest.mark.parametrize("content", [b"", b"\x80\x04garbage"])
def test_a_damaged_cache_is_compiled_anew(tmp_path: Path, name: str, content: bytes) -> None:
    _cache(tmp_path, 0).save("key", "code")
    for path in tmp_path.glob(name):
        path.write_bytes(content)
    assert _cache(tmp_path, 0).load("key") is None
    _cache(tmp_path, 0).save("key", "code")
    assert _cache(tmp_path, 0).load("key") == "code"


LONELY = """
import scipy.sparse, truegraph
eye = scipy.sparse.eye_array(12, format="csr")
print(truegraph.Recommender("ials").fit(eye).rank_all(eye, 2).shape)
"""


def test_compiled_code_needs_no_folder_to_write_to(tmp_path: Path) -> None:
    """Neither by root: the folders of caches are files."""
    package = tmp_path / "site" / "truegraph"
    ignored = shutil.ignore_patterns("__pycache__", "*.npz")
    shutil.copytree(Path(truegraph.__file__).parent, package, ignore=ignored)
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("no folder")
    (tmp_path / "home").write_text("no folder")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_CACHE", "XDG"))}
    run = subprocess.run(
        [sys.executable, "-c", LONELY],
        capture_output=True,
        text=True,
        env=kept | {"PYTHONPATH": str(package.parent), "HOME": str(tmp_path / "home")},
    )
    assert run.stdout.strip() == "(12, 2)", run.stderr


def test_only_runtime_compiles() -> None:
    """Loops that numba's own decorators compile have neither the shared cache nor the lock."""
    faults = [
        f"{path.name}: {alias.name}"
        for path in SOURCES
        if "runtime" not in path.parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).startswith("numba")
        if alias.name != "prange"
    ]
    assert not faults


def _is_parallel(node: ast.expr, aliases: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in aliases
    return isinstance(node, ast.Call) and any(
        word.arg == "parallel" and isinstance(word.value, ast.Constant) and bool(word.value.value)
        for word in node.keywords
    )


def _parallel_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    aliases = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_parallel(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(
            _is_parallel(one, aliases) for one in node.decorator_list
        ):
            yield node


def _loops(node: ast.AST) -> Iterator[ast.For]:
    for inside in ast.walk(node):
        if isinstance(inside, ast.For) and "prange" in ast.dump(inside.iter):
            yield inside


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    inside = ast.walk(node)
    return {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _read_early(body: list[ast.stmt], known: set[str], stored: set[str]) -> Iterator[str]:
    """Yield where a name that the body assigns is read though `known` does not hold it yet.

    Adds to `known` what is surely assigned; numba takes such a name for a reduction.
    """
    for node in body:
        inner = [part for name in ("body", "orelse") for part in getattr(node, name, [])]
        covered = {id(n) for part in inner for n in ast.walk(part)}
        own = [n for n in ast.walk(node) if isinstance(n, ast.Name) and id(n) not in covered]
        reads = {n.id for n in own if isinstance(n.ctx, ast.Load)}
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            reads.add(node.target.id)
        yield from (f"line {node.lineno}: {name}" for name in reads & stored - known)
        assigned = {n.id for n in own if isinstance(n.ctx, ast.Store)}
        if not inner:
            known |= assigned
            continue
        branches = []
        for name in ("body", "orelse"):
            branches.append(known | assigned)
            yield from _read_early(getattr(node, name, []), branches[-1], stored)
        if isinstance(node, ast.If):
            known |= branches[0] & branches[1]


def _shared_places(loop: ast.For) -> Iterator[str]:
    """Yield the entries of arrays from outside that every turn of the loop writes to."""
    body = [node for part in loop.body for node in ast.walk(part)]
    own, before = _names(loop.target, ast.Store), -1
    while len(own) != before:  # what follows from the number of the turn
        before = len(own)
        for node in body:
            value = getattr(node, "iter", getattr(node, "value", None))
            if isinstance(node, ast.Assign | ast.AugAssign | ast.For) and value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if own & _names(value, ast.Load):
                    own |= {n for target in targets for n in _names(target, ast.Store)}
    local = {n for part in loop.body for n in _names(part, ast.Store)}
    for node in body:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            array, places = node.value, _names(node.slice, ast.Load)
            while isinstance(array, ast.Subscript):
                places |= _names(array.slice, ast.Load)
                array = array.value
            if not (places & own or _names(array, ast.Load) & local):
                yield f"line {node.lineno}: {ast.unparse(node)}"


def _reductions(tree: ast.AST) -> set[str]:
    """Return the names by which a module has imported reductions."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numpy")
        for alias in node.names
        if alias.name in REDUCTIONS
    }


def _faults(function: ast.FunctionDef, imported: set[str]) -> Iterator[str]:
    """Yield what numba would make a parallel reduction of, and what turns of a loop share."""
    serial = {id(n) for loop in _loops(function) for part in loop.body for n in ast.walk(part)}
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield f"line {node.lineno}: a matrix product"
        if isinstance(node, ast.Call) and id(node) not in serial:
            called = node.func
            if (isinstance(called, ast.Attribute) and called.attr in REDUCTIONS) or (
                isinstance(called, ast.Name) and called.id in imported | {"sum"}
            ):
                yield f"line {node.lineno}: {ast.unparse(node)}"
    for loop in _loops(function):
        stored = {n for part in loop.body for n in _names(part, ast.Store)}
        yield from _read_early(loop.body, _names(loop.target, ast.Store), stored)
        yield from _shared_places(loop)


def test_no_parallel_loop_reduces_an_array() -> None:
    """The last bits of numba's parallel reductions depend on the threads, even from run to run."""
    faults, functions = [], 0
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        for function in _parallel_functions(tree):
            functions += 1
            found = _faults(function, _reductions(tree))
            faults += [f"{path.name}, {function.name}, {fault}" for fault in found]
    assert functions > 20
    assert not faults


@pytest.mark.parametrize(
    ("inside", "after"),
    [
        ("s += x[i]", "s"),
        ("s = s + x[i]", "s"),
        ("s = max(s, x[i])", "s"),
        ("s += x[i]; s = s * 1.0", "s"),
        ("if x[i] > 0: s = 1.0\n        out[i] = s", "s"),
        ("o[0] += x[i]", "0.0"),
        ("o[0] = o[0] + x[i]", "0.0"),
        ("k = 2\n        o[k] += x[i]", "0.0"),
        ("for b in range(3): o[b] += x[i]", "0.0"),
        ("out[i] = x[i]", "x.sum()"),
        ("out[i] = x[i]", "np.linalg.norm(x)"),
        ("out[i] = x[i]", "np.add.reduce(x)"),
        ("out[i] = x[i]", "total(x)"),
        ("out[i] = x[i]", "x @ x"),
    ],
)
def test_the_search_for_reductions_finds_them(inside: str, after: str) -> None:
    code = f"""
from numpy import sum as total
_quick = compiled(parallel=True)
@_quick
def f(x, out, o):
    s = 0.0
    for i in prange(x.size):
        {inside}
    return {after}
"""
    tree = ast.parse(code)
    (function,) = _parallel_functions(tree)
    assert list(_faults(function, _reductions(tree)))


def test_the_search_for_reductions_leaves_sums_of_a_row_alone() -> None:
    code = """
@compiled(parallel=True)
def f(start, x, out):
    for i in prange(out.size):
        s, at = 0.0, start[i]
        row = np.sort(x[at : start[i + 1]])
        for e in range(row.size):
            s = max(s + row[e], 0.0)
            x[at] = row[e].sum()
            at += 1
        out[i] = s
"""
    (function,) = _parallel_functions(ast.parse(code))
    assert not list(_faults(function, set()))


def test_a_full_disk_of_the_cache_only_costs_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    _cache(tmp_path, 0).save("key", "code")
    monkeypatch.setattr(CacheFile, "_save_data", full)
    _cache(tmp_path, 0).save("other", "code")
    assert _cache(tmp_path, 0).load("other") is None
    assert _cache(tmp_path, 0).load("key") == "code"
