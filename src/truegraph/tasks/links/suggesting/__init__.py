"""Suggested links: where to look, how sure to be, why."""
