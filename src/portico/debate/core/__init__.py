"""Nouns and arithmetic of debates: no I/O, no clock, no chance."""
