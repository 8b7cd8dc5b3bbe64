"""A small program that calls tools: what it may name and use, and what came of it so far."""
