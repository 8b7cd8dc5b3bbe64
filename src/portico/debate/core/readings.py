"""From what a voice said to the body of its note, each by what it was asked."""

from collections.abc import Callable, Sequence
from typing import Final

from portico.debate.core.question import Question
from portico.debate.core.reply_text import (
    Unusable,
    cleaned,
    read_field,
    read_said,
    read_text_field,
)
from portico.debate.core.said import Said
from portico.kernel.json import JsonObject

Reading = Callable[[str], JsonObject | Unusable]
_DISSENT: Final = 400
"""Characters of each answer that is kept beside a text out of several."""
_JUDGED: Final = Unusable("unreadable", "it did not say which.")


def reading_said(question: Question, voice: str, round_: int, first: Said | None) -> Reading:
    def read(text: str) -> JsonObject | Unusable:
        said = read_said(text, question, voice, round_, first=first)
        return said if isinstance(said, Unusable) else said.as_json()

    return read


def reading_same(one: Said, other: Said) -> Reading:
    def read(text: str) -> JsonObject | Unusable:
        same = read_field(text, "same")
        if not isinstance(same, bool):
            return _JUDGED
        return {"one": one.key, "other": other.key, "same": same}

    return read


def reading_better(one: Said, other: Said) -> Reading:
    def read(text: str) -> JsonObject | Unusable:
        said = read_field(text, "better")
        which = {"a": one.voice, "b": other.voice, "tie": None}
        word = said.strip().casefold() if isinstance(said, str) else ""
        if word not in which:
            return _JUDGED
        why = read_field(text, "why")
        told = cleaned(why)[:_DISSENT] if isinstance(why, str) else ""
        return {"one": one.voice, "other": other.voice, "better": which[word], "why": told}

    return read


def reading_synthesis(by: str, said: Sequence[Said]) -> Reading:
    """With what the others said, in short and in their own words: whoever wrote it may have left
    out what did not fit."""

    def read(text: str) -> JsonObject | Unusable:
        whole = read_text_field(text, "text")
        if not whole:
            return Unusable("unreadable", "it wrote no text.")
        dissent = [f"- {_short(each.answer)}" for each in said[1:]]
        told = "\n".join([whole, "", "What others answered:", *dissent]) if dissent else whole
        return {"text": told, "by": by}

    return read


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _DISSENT else f"{line[: _DISSENT - 1]}…"
