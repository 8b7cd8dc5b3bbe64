"""Tool graph."""
