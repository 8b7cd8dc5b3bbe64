"""Texts of strangers on their way into the database, which holds every letter but one."""


def storable(text: str) -> str:
    """With what PostgreSQL cannot hold, NUL and halves of surrogate pairs, marked as unknown."""
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")


def storable_or_none(text: str | None) -> str | None:
    return None if text is None else storable(text)
