"""Debate."""
