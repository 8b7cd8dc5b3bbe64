"""Tokens, as the vendors of models count them."""
