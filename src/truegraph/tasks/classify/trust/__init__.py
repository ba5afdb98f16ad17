"""How far a classifier's answers can be trusted: sets of classes, calibrated probabilities."""
