"""The graph auto-encoders, their losses, and embeddings of nodes."""
