"""What a user meets: estimators, and many trials at once."""
