"""Propose where the arguments that a plan leaves out could come from."""
