"""The tables of debates, behind whose walls nobody looks."""

from typing import Final

DEBATE_TABLES: Final = [
    "debate",
    "debate_note",
    "debate_seat",
    "debate_question",
    "debate_outcome",
    "debate_persona",
    "debate_reservation",
    "debate_cap",
    "debate_spending",
]
