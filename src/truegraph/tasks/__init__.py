"""The user's side: estimators, and many trials at once."""
