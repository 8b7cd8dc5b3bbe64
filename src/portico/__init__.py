"""Portico: one door for AI agents, to tools, models, each other and their people."""
