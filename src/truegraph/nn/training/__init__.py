"""Training many trials of a classifier at once, and what is kept of it."""
