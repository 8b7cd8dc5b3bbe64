"""Attempts to get out of a box, and what is put outside of it for them to reach."""
