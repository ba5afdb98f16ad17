"""What is shown of the results: pictures."""
