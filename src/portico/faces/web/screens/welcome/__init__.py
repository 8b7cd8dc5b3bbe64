"""Welcome."""
