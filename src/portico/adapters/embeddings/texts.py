"""A text as every model can take it."""


def readable(text: str, most: int) -> str:
    """At most so many characters, nothing at all if there is no word in it, and with a mark in
    place of half a character, which JSON lets through and no tokenizer takes."""
    return text[:most].strip().encode("utf-8", "replace").decode()
