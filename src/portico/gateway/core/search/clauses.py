"""A question of several parts, cut into them by its punctuation, its connectives and its verbs."""

import re
from collections.abc import Iterator
from typing import Final

LONGEST_QUERY: Final = 2_000
_LONGEST_CUT: Final = 1_500
MOST_CLAUSES: Final = 8
_FEWEST_WORDS: Final = 2

_VERB_LIST: Final = """
add analyse analyze apply arrange ask assign book build buy calculate call cancel change check
choose classify close collect compare compile compose compress compute convert copy count create
crop decrypt delete deliver deploy describe design detect determine develop disable download
draft draw edit email enable encrypt estimate evaluate explain export extract fetch fill find
format generate get give identify implement import include insert inspect install invite launch
list load locate look make manage map measure merge modify monitor move notify obtain open
optimize order organize pay perform pick place plan play plot post predict prepare present print
process provide purchase query rate read recommend record register remind remove rename rent
repair replace reply report request reschedule reserve resize retrieve return review run save
scan schedule search select sell send set share show sign simulate sort split start stop store
submit subscribe suggest summarise summarize take tell test track train transfer translate turn
unsubscribe update upload use validate verify view visualize withdraw write
"""
_VERBS: Final = frozenset(_VERB_LIST.split())
_SENTENCE: Final = re.compile(r"(?<=[.!?;\u3002\uff01\uff1f\uff1b])\s+|\n+")
_CONNECTIVE: Final = re.compile(
    r",?\s+(?:and then|then|and also|as well as|after that|afterwards|followed by|before"
    r"|after which|along with|plus|while)\s+"
    r"|;\s*"
    r"|,\s+(?:and\s+)?(?=(?:then|also|finally|next|lastly)\b)",
    re.IGNORECASE,
)
_AND: Final = re.compile(r"(?:,\s*(?:and\s+)?|\s+and\s+)(?=([a-z]+)\b)", re.IGNORECASE)
_COURTESY: Final = re.compile(
    r"^(?:\W*(?:please|kindly|hi|hello|hey|ok|okay|also|then|next|first(?:ly)?|second(?:ly)?"
    r"|third(?:ly)?|finally|lastly|additionally|moreover|furthermore|after that|afterwards|besides"
    r"|in addition|and|so|now|can you|could you|would you|will you|can i|could i"
    r"|i(?: would|'d) like (?:you )?to|i(?: would|'d) like|i want (?:you )?to|i need (?:you )?to"
    r"|i need(?: your)? (?:help|assistance)(?: with| in)?|i need|i want"
    r"|i also (?:need|want)(?: to)?|i am looking for|i'm looking for|i was wondering if"
    r"|help me(?: to)?|help|assist me(?: in| with)?|let me know|tell me|show me|give me"
    r"|provide me with|do you know|i'd love to|we need to|let's|my goal is to|i'm planning to"
    r"|i plan to)\b[\s,:]*)+",
    re.IGNORECASE,
)
_BLANKS: Final = re.compile(r"[^\S\n]+")
_LINES: Final = re.compile(r"\s*\n\s*")


def whole(query: str) -> str:
    """As much of a query as is looked at. A long run of blanks would cost the patterns below
    the square of its length."""
    return _LINES.sub("\n", _BLANKS.sub(" ", query[:LONGEST_QUERY])).strip()


def clauses(query: str) -> list[str]:
    """At least one, at most eight."""
    text = whole(query)[:_LONGEST_CUT]
    found: list[str] = []
    for part in _parts(text):
        clause = _without_courtesy(part.strip(" ,.;:!?"))
        if len(re.findall(r"\w+", clause)) >= _FEWEST_WORDS:
            found.append(clause)
        elif found and clause:
            found[-1] += f" {clause}"
    return found[:MOST_CLAUSES] or [text]


def _parts(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        for piece in _CONNECTIVE.split(sentence):
            yield from _before_verbs(piece)


def _before_verbs(piece: str) -> Iterator[str]:
    """`find a hotel and book it` in two; `bed and breakfast` in one."""
    start = 0
    for joint in _AND.finditer(piece):
        before = piece[start : joint.start()]
        if joint[1].lower() in _VERBS and len(before.split()) >= _FEWEST_WORDS:
            yield before
            start = joint.end()
    yield piece[start:]


def _without_courtesy(clause: str) -> str:
    rest = _COURTESY.sub("", clause).strip()
    return rest if len(rest) > 3 else clause
