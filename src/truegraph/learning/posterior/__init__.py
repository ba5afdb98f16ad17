"""How certain a learned graph is: mean field, Gibbs sampling, diagnostics."""
