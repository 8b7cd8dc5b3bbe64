"""Figures in sentences."""


def many(count: int, word: str) -> str:
    """`1 tool`, `1,200 tools`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
