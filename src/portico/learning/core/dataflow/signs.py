"""What speaks for an edge and what against it: the numbers that are weighed."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Sign(StrEnum):
    WORDS = "words"
    """The share of their names' words that field and parameter have in common."""
    NAME_MEANING = "name_meaning"
    MEANING = "meaning"
    """How near the names are, and all that is said about them, by vectors."""
    SAME_TYPE = "same_type"
    ABOUT = "about"
    """The parameter's name speaks of what the producer is called after."""
    TURN = "turn"
    """One tool called twice, two parameters of a kind: the first for the first. Below nought for
    the other way round."""
    OPEN = "open"
    """The parameter takes whatever there is: a text, a message, an amount."""
    IDENTIFIER = "identifier"
    SEEN = "seen"
    """How often this very thing was seen."""
    RIVAL = "rival"
    """Another parameter of the same step would fit the field better, or nearly so well."""
    ECHO = "echo"
    """The producer was told this itself: whoever told it can say it again."""
    SAME_TOOL = "same_tool"
    CONTROL = "control"
    CHOICE = "choice"
    DEFAULT = "default"


AGAINST: Final = frozenset(
    {Sign.RIVAL, Sign.ECHO, Sign.SAME_TOOL, Sign.CONTROL, Sign.CHOICE, Sign.DEFAULT}
)

Signs = Mapping[Sign, float]
