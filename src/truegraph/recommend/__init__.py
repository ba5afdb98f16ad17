"""Recommendation: closed-form models without torch, the choice among them, and networks."""
