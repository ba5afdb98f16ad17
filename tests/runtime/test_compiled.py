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
              "all", "cumsum", "average", "nansum", "trace", "vdot"}  # fmt: skip


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


def _faults(function: ast.FunctionDef) -> Iterator[str]:
    """Yield what numba would make a parallel reduction of: array sums, and sums across a loop."""
    serial = {id(n) for loop in _loops(function) for part in loop.body for n in ast.walk(part)}
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield f"line {node.lineno}: a matrix product"
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in REDUCTIONS
            and id(node) not in serial
        ):
            yield f"line {node.lineno}: {ast.unparse(node)}"
    for loop in _loops(function):
        own = {
            name.id
            for part in loop.body
            for node in ast.walk(part)
            if isinstance(node, ast.Assign | ast.For)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            for name in ast.walk(target)
            if isinstance(name, ast.Name)
        }
        for node in ast.walk(loop):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name | ast.Tuple):
                yield from (f"line {node.lineno}" for _ in {ast.unparse(node.target)} - own)


def test_no_parallel_loop_reduces_an_array() -> None:
    """The last bits of numba's parallel reductions depend on the threads, even from run to run."""
    faults, functions = [], 0
    for path in SOURCES:
        for function in _parallel_functions(ast.parse(path.read_text())):
            functions += 1
            faults += [f"{path.name}, {function.name}, {fault}" for fault in _faults(function)]
    assert functions > 20
    assert not faults


def test_the_search_for_reductions_finds_them() -> None:
    code = """
@compiled(parallel=True)
def f(x, out):
    total = 0.0
    for i in prange(x.size):
        total += x[i]
    return total + x.sum()
"""
    (function,) = _parallel_functions(ast.parse(code))
    assert len(list(_faults(function))) == 2
