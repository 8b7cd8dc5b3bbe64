"""Suggest."""
