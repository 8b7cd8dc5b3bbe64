"""Suggest a plan for what somebody wants, and learn from what becomes of it."""
