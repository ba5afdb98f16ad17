"""Nodes: data sets, readers for users' files, splits, noise."""
