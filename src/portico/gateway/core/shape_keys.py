"""Which keys of a result are names of fields, and which are data that stands where names do."""

import re
from typing import Final

from portico.gateway.core.client_files.secrecy import looks_secret

_LONGEST: Final = 40
_FIELD: Final = re.compile(r"[^\W\d][\w$-]{0,39}|[_$@][\w$-]{1,39}")
_MANY_DIGITS: Final = re.compile(r"[0-9]{4}|[0-9a-fA-F]{12}")
_WORD: Final = re.compile(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+|[0-9]+")
_WORDS_ALONE: Final = re.compile(r"[_$]?[A-Za-z]{1,20}(?:[_-][A-Za-z]{1,20}){0,4}")
"""Most are: no secret is recognized by its form without a number in it."""
_MOST_WORDS: Final = 6
"""A server could write a sentence to whoever reads them; a name of a field is not as long."""


def names_a_field(key: str) -> bool:
    """Short, a few words, no numbers of things, no addresses, nothing that could be a secret. What
    is let go by mistake only makes a shape poorer."""
    if _WORDS_ALONE.fullmatch(key) and len(key) <= _LONGEST and key.islower():
        return True
    return (
        _FIELD.fullmatch(key) is not None
        and _MANY_DIGITS.search(key) is None
        and len(_WORD.findall(key)) <= _MOST_WORDS
        and not looks_secret(key)
    )
