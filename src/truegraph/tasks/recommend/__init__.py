"""Recommendation."""
