"""The refined link predictor: walk, feature and graph scores in one logistic regression."""
