"""Compiled loops run where their memory is."""

from __future__ import annotations

import torch

from truegraph.nn.device import uses_kernels


def test_only_the_cpu_uses_compiled_loops() -> None:
    assert uses_kernels(torch.zeros(2))
    assert not uses_kernels(torch.zeros(2, device="meta"))
