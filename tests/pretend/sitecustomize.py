"""Make the pretend task known to every process that starts with this folder on its path."""

from truegraph.experiments.tasks.base import TASKS

TASKS["pretend"] = "pretend_task:PretendTask"
