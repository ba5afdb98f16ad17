"""Recommenders without gradient descent."""
