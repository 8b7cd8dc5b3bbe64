"""Portico's own entry in the file of a client: put there and taken out, and no byte beside it."""
