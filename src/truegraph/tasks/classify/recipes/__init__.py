"""The Bayesian recipes of node classification, and the steps that they share."""
