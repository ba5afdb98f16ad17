"""From data to candidate pairs: distances, neighbours, prior knowledge."""
