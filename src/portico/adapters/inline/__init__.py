"""Runs in this process alone: nothing outlives it. For tests, and for what need not survive."""
