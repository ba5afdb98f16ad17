"""Interactions of users and items: container, readers, named sets, splits."""
