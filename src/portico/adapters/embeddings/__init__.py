"""Texts as vectors: a table of words, a sentence encoder, a server elsewhere."""
