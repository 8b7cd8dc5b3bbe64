"""Agents as files."""
