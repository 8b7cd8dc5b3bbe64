"""Chat."""
