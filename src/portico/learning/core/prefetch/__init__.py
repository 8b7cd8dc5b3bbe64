"""Prefetch."""
