"""Node classification and regression."""
