"""The words of a name, and which of them say something about what it holds."""

import re
from typing import Final

from portico.gateway.core.search_text import split_identifier

_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST: Final = 300
_KEPT_S: Final = ("ss", "us", "is")

_WEAK_LIST: Final = """
id name key code number uuid value identifier type list data result info information detail
"""
_VERB_LIST: Final = """
get search list find fetch calculate create generate analyze analyse retrieve check convert the a
of to for in by and or api
"""
_OPEN_LIST: Final = """
text message content body data input query amount number value note comment description string
document prompt
"""
_CONTROL_LIST: Final = """
limit offset page sort count language currency unit format size max min order zoom region country
timezone filter
"""
WEAK: Final = frozenset(_WEAK_LIST.split())
"""Every kind of thing has one."""
VERBS: Final = frozenset(_VERB_LIST.split())
"""And little words: what a tool does, not what it is about."""
OPEN: Final = frozenset(_OPEN_LIST.split())
"""A parameter called so takes whatever there is to be sent, counted or asked."""
CONTROL: Final = frozenset(_CONTROL_LIST.split())
"""How something is to be done: whoever asks says it, hardly another tool."""
IDENTIFIERS: Final = frozenset({"id", "key", "code", "uuid", "identifier", "token"})
"""Nobody has these in mind: they come from another call."""


def words(name: str) -> tuple[str, ...]:
    """`originSkyIds` as `("origin", "sky", "id")`."""
    return tuple(
        _singular(word) for word in _WORD.findall(split_identifier(name[:_LONGEST]).lower())
    )


def spelled(name: str) -> str:
    """The same for `userId`, `user_id` and `USER-ID`."""
    return "".join(_WORD.findall(name[:_LONGEST].lower()))


def share(some: frozenset[str], others: frozenset[str]) -> float:
    """How many of all their words they have in common."""
    common = len(some & others)
    return common / (len(some) + len(others) - common) if common else 0.0


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    several = word == "ids" or (len(word) > 3 and word[-1] == "s" and word[-2:] not in _KEPT_S)
    return word[:-1] if several else word
