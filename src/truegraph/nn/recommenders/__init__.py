"""The recommenders trained on triples; ``registry`` has them by name."""
