"""The process and its machine: threads, memory, locks and compiled loops."""
