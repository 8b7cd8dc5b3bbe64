"""Words and their stems."""
