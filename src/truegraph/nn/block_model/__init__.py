"""The block model behind the parametric Bayesian GCN."""
