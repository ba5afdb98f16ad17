"""From candidate pairs to the most probable graph: solvers, and theta for a wanted degree."""
