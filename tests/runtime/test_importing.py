"""Importing changes nothing outside: numba, faiss, torch, hooks and variables stay."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import os, sys
import faiss, numba, sklearn, torch  # scikit-learn sets variables of OpenMP
import numba.core.caching as caching, numba.core.config as config

hooks = []
register = os.register_at_fork
def listening(**given):
    hooks.extend(hook.__module__ for hook in given.values())
    register(**given)
os.register_at_fork = listening

def state():
    maps = open("/proc/self/maps").read() if os.path.exists("/proc/self/maps") else ""
    return {
        "numba": {name: dict(vars(getattr(caching, name))) for name in dir(caching)
                  if isinstance(getattr(caching, name), type)},
        "config": {name: repr(value) for name, value in vars(config).items()},
        "faiss": (dict(vars(faiss)), faiss.omp_get_max_threads()),
        "threads": (torch.get_num_threads(), numba.get_num_threads()),
        "environment": dict(os.environ), "tbb": "libtbb" in maps,
    }

numba.get_num_threads()  # starts threads, which changes those of torch
before = state()
import truegraph, truegraph.learning, truegraph.distributed
for module in (truegraph, truegraph.learning):
    for name in module.__all__:
        getattr(module, name)
after = state()
changed = [name for name in before if before[name] != after[name]]
print(changed, [module for module in hooks if module.startswith("truegraph")])
"""


def test_importing_changes_nothing_outside() -> None:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "[] []"
