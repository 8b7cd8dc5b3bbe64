"""Calls that are made before they are asked for: watched, tried, kept apart, switched off."""
