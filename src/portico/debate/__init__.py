"""Structured disagreement: voices, aggregation, stopping, budgets (to come)."""
