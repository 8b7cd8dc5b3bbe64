"""What makes no sense in a wish, told before anything is spent."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from math import isfinite
from typing import Final

from portico.debate.core.canonical_choices import folded
from portico.debate.core.errors import BadDebate
from portico.debate.core.question import Question, QuestionKind, kind_of
from portico.debate.core.rules import Cap, Preset, Rules, rules_of
from portico.debate.core.wish import DebateWish, Usual

MOST: Final = 26
"""Choices, voices and guests of one debate: each has a letter."""
LEAST: Final = 2
"""Voices: one is no debate."""
LONGEST_DEADLINE: Final = timedelta(days=7)
_QUESTION: Final = 20_000
_MATERIAL: Final = 400_000
"""Characters."""


def checked(wish: DebateWish) -> None:
    """Raises `BadDebate`."""
    _check_words(wish)
    _check_choices(wish)
    _check_numbers(wish)
    if wish.shared and wish.project is None:
        raise BadDebate(
            "Only a debate of a project can be shared with it.",
            "Name the project, or leave `shared`.",
        )
    if wish.analyze and wish.guests:
        raise BadDebate("An analysis has no guests.", "Leave out `guests`, or ask one question.")
    if wish.memory and wish.project is None:
        raise BadDebate("Memory belongs to a project.", "Name the project that remembers this.")


def question_of(wish: DebateWish, material: str) -> Question:
    kind = QuestionKind.OPEN if wish.analyze else wish.kind
    return Question(
        text=_clean(wish.question),
        kind=kind_of(wish.question, wish.choices) if kind is None else kind,
        choices=tuple(_clean(choice) for choice in wish.choices),
        topic=_clean(wish.topic) or "general",
        material=material,
    )


def rules_for(wish: DebateWish, kind: QuestionKind, usual: Usual) -> Rules:
    """Closed questions are voted on, open ones debated, unless it is said otherwise."""
    preset = wish.preset or (Preset.VOTE if kind.closed else Preset.DEBATE)
    return rules_of(preset, thoroughness_of(wish.thoroughness, usual))


def thoroughness_of(wished: float | None, usual: Usual) -> float:
    """Raises `BadDebate`."""
    value = usual.thoroughness if wished is None else wished
    if not isfinite(value) or not 0 <= value <= 1:
        raise BadDebate(
            f"A thoroughness of {value:g} is not between 0 and 1.",
            "0 is quick and cheap, 1 asks everybody; 0.5 is usual.",
        )
    return value


def cap_of(wish: DebateWish, usual: Usual) -> Cap:
    """Where only dollars are said, tokens stay as usual: not everybody's price is known."""
    if wish.cap is None:
        return usual.cap
    return wish.cap if wish.cap.tokens is not None else replace(wish.cap, tokens=usual.cap.tokens)


def deadline_of(wish: DebateWish, usual: Usual) -> timedelta:
    return usual.deadline if wish.deadline is None else wish.deadline


def _check_words(wish: DebateWish) -> None:
    if not _clean(wish.question):
        raise BadDebate("There is no question.", "Say what is to be debated.")
    if len(wish.question) > _QUESTION:
        raise BadDebate(
            f"A question has at most {_QUESTION:,} characters.", "Give the rest as material."
        )
    if len(wish.material) > _MATERIAL:
        raise BadDebate(
            f"Material has at most {_MATERIAL:,} characters.", "Give the part that matters."
        )


def _check_choices(wish: DebateWish) -> None:
    if wish.choices and wish.kind not in (None, QuestionKind.CHOICE):
        raise BadDebate(
            f"A question of the kind {wish.kind} has no choices.",
            "Leave the choices out, or the kind.",
        )
    if wish.analyze and (wish.choices or wish.kind not in (None, QuestionKind.OPEN)):
        raise BadDebate(
            "What is analysed is cut into questions of its own.",
            "Leave out kind and choices, or ask it without `analyze`.",
        )
    if wish.kind is QuestionKind.CHOICE or wish.choices:
        _check_each_choice(wish.choices)


def _check_each_choice(choices: tuple[str, ...]) -> None:
    if not 2 <= len(choices) <= MOST:
        raise BadDebate(f"A choice is among 2 to {MOST}.", "Give each choice once.")
    if not all(map(_clean, choices)):
        raise BadDebate("One of the choices is empty.", "Give each choice a text.")
    seen: dict[str, str] = {}
    for choice in choices:
        alike = seen.setdefault(folded(choice), choice)
        if alike is not choice:
            raise BadDebate(
                f"The choices {alike[:80]!r} and {choice[:80]!r} are the same.",
                "Give each choice once; case and punctuation do not tell them apart.",
            )


def _check_numbers(wish: DebateWish) -> None:
    if wish.deadline is not None and not timedelta(0) < wish.deadline <= LONGEST_DEADLINE:
        raise BadDebate(
            "A deadline is more than 0 seconds and at most 7 days away.",
            "Leave it out for the usual one, or give it a minute or more.",
        )
    if not 0 <= wish.guests <= MOST:
        raise BadDebate(f"A debate has 0 to {MOST} guests.", "Say how many may join.")
    if len(wish.voices) > MOST or len(wish.roles) > MOST:
        raise BadDebate(f"A debate has at most {MOST} voices.", "Name fewer.")
    if not 1 <= wish.parts_most <= 12:
        raise BadDebate("An analysis has 1 to 12 parts.", "Leave it out for the usual number.")
    if wish.cap is not None:
        _check_cap(wish.cap)


def _check_cap(cap: Cap) -> None:
    if cap.tokens is not None and cap.tokens <= 0:
        raise BadDebate("A budget is more than 0 tokens.", "Ask for an estimate to see how many.")
    if cap.money is not None and not (cap.money.is_finite() and cap.money > Decimal(0)):
        raise BadDebate("A budget is more than 0 dollars.", "Ask for an estimate to see how much.")


def _clean(text: str) -> str:
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8").strip()
