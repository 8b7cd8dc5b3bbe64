"""Debates."""
