"""The recommended recipe: an average over what the true graph may be."""
