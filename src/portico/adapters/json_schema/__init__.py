"""Schemas of strangers, and arguments held against them, by jsonschema-rs."""
