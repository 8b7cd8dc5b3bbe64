"""Reads that are made before they are asked for: predicted, made, kept apart, switched off."""
