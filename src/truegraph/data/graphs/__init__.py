"""Graphs: the one form that every room understands, files, splits of links."""
