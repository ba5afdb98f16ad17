"""The explorer: a learned graph as one page to look at, walk through and take nodes out of."""
