"""Where a computation runs: our own compiled loops on the CPU, torch operators elsewhere."""

from __future__ import annotations

import torch


def uses_kernels(tensor: torch.Tensor) -> bool:
    """Return whether the compiled loops can read this tensor's memory."""
    return tensor.device.type == "cpu"
