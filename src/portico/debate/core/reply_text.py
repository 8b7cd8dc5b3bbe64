"""What a voice said, read as a vote. Whatever it is, reading it ends, in a time that grows with its
length alone, and gives a vote or says why it is none."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from portico.debate.core.canonical import canonical
from portico.debate.core.question import Question, QuestionKind
from portico.debate.core.said import Said

_LONGEST: Final = 200_000
"""Characters of a reply that are looked at."""
_ANSWER: Final = 20_000
"""Characters of an answer that are kept."""
_REASON: Final = 8_000
_EVIDENCE: Final = 20
"""Pieces of evidence that are kept, and the objects in a reply that are looked at."""
_SHORT: Final = 300
"""Characters of a reply without a form that is an answer as it stands."""
_FENCE: Final = "```"
_LINE: Final = re.compile(
    r"^[ \t>*#_]{0,10}(?:final )?answer[ \t*_]{0,4}[:=][ \t*_]{0,4}(.+)$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    answer: str
    rationale: str = ""
    evidence: tuple[str, ...] = ()
    confidence: float | None = None
    veto: str | None = None
    changed_because: str | None = None


@dataclass(frozen=True, slots=True)
class Unusable:
    code: str
    """`empty`, `unreadable`, `ambiguous`, `not_a_choice`, `not_a_number`, `not_yes_or_no`."""
    why: str


def read_said(
    text: str, question: Question, voice: str, round_: int, *, first: Said | None = None
) -> Said | Unusable:
    """As it is counted. In the critique round, an answer that was changed without naming an error
    counts as the `first` one."""
    vote = read_vote(text, question)
    if isinstance(vote, Unusable):
        return vote
    return said_of(vote, question, voice, round_, first=first)


def said_of(
    vote: Vote, question: Question, voice: str, round_: int, *, first: Said | None = None
) -> Said | Unusable:
    its = canonical(question, vote.answer)
    if its is None:
        return _none_of_them(vote.answer, question)
    key, shown = its.key, its.shown
    if question.kind is QuestionKind.OPEN:
        key, shown = voice, vote.answer
    elif first is not None and key != first.key and not vote.changed_because:
        key, shown = first.key, first.shown
    return Said(
        voice=voice,
        round=round_,
        answer=vote.answer,
        key=key,
        shown=shown,
        rationale=vote.rationale,
        evidence=vote.evidence,
        confidence=vote.confidence,
        veto=vote.veto,
        changed_because=vote.changed_because,
    )


def read_vote(text: str, question: Question) -> Vote | Unusable:
    text = cleaned(text)[:_LONGEST].strip()
    if not text:
        return Unusable("empty", "it said nothing.")
    found = [vote for each in objects_in(text) if (vote := _vote(each)) is not None]
    answers = {_told(vote.answer, question) for vote in found}
    if len(answers) > 1:
        return Unusable("ambiguous", "it gave several answers that differ.")
    if found:
        return found[-1]
    return _without_form(text, question)


def objects_in(text: str) -> Sequence[Mapping[str, object]]:
    """The JSON objects in a text that stand by themselves, not inside of another or of a string."""
    whole = _object(_unfenced(text))
    if whole is not None:
        return [whole]
    found = (_object(text[start:end]) for start, end in _spans(text))
    return [each for each in found if each is not None]


def _unfenced(text: str) -> str:
    """Without the marks of a block of code around it."""
    if not (text.startswith(_FENCE) and text.endswith(_FENCE)):
        return text
    _, _, inside = text.partition("\n")
    return inside.removesuffix(_FENCE)


def read_field(text: str, name: str) -> object:
    """Of the last object that has it; None where none has."""
    fields = [each[name] for each in objects_in(cleaned(text)[:_LONGEST].strip()) if name in each]
    return fields[-1] if fields else None


def read_text_field(text: str, name: str) -> str:
    """The same as a text, or all that was said where it has no form at all."""
    found = read_field(text, name)
    if isinstance(found, str) and found.strip():
        return found.strip()[:_ANSWER]
    plain = cleaned(text)[:_LONGEST].strip()
    return "" if plain.startswith("{") else plain[:_ANSWER]


def cleaned(text: str) -> str:
    """Without what cannot be written down: NUL, and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def _told(answer: str, question: Question) -> str:
    its = canonical(question, answer)
    return answer if its is None else its.key


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where outermost braces open and close, in one pass over the text. One that never closes hides
    what is inside of it: that is then read as a text."""
    depth, start, quoted, escaped, found = 0, 0, False, False, 0
    for place, letter in enumerate(text):
        if depth and quoted:
            quoted, escaped = (letter != '"' or escaped), (letter == "\\" and not escaped)
        elif depth and letter == '"':
            quoted = True
        elif letter == "{":
            start = start if depth else place
            depth += 1
        elif letter == "}" and depth:
            depth -= 1
            if depth == 0:
                yield start, place + 1
                found += 1
                if found == _EVIDENCE:
                    return


def _object(text: str) -> Mapping[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _vote(value: Mapping[str, object]) -> Vote | None:
    answer = _as_text(value.get("answer"))
    if answer is None:
        return None
    evidence = value.get("evidence")
    pieces = evidence if isinstance(evidence, list) else [evidence]
    told = [text for each in pieces[:_EVIDENCE] if (text := _as_text(each)) is not None]
    veto, because = _reason(value.get("veto")), _reason(value.get("changed_because"))
    return Vote(
        answer=answer[:_ANSWER],
        rationale=(_as_text(value.get("rationale")) or "")[:_REASON],
        evidence=tuple(text[:_REASON] for text in told),
        confidence=_confidence(value.get("confidence")),
        veto=veto,
        changed_because=because,
    )


def _as_text(value: object) -> str | None:
    """None for nothing, and for what is no text, no number and no truth."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, str) and value.strip():
        return cleaned(value).strip()
    return None


def _reason(value: object) -> str | None:
    """Some write `null` as a word."""
    text = _as_text(value) if isinstance(value, str) else None
    return None if text is None or text.casefold() in _NOTHING else text[:_REASON]


_NOTHING: Final = frozenset({"null", "none", "n/a"})


def _number(value: float) -> str | None:
    """Python reads no integer that it could not write."""
    return str(value) if isinstance(value, int) or isfinite(value) else None


def _confidence(value: object) -> float | None:
    """Between 0 and 1; a percentage is one too. What is neither was not said."""
    if isinstance(value, str):
        text = value.strip()
        percent = text.endswith("%")
        try:
            value = float(text.removesuffix("%")[:40]) / (100 if percent else 1)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _within(value)


def _within(value: float) -> float | None:
    try:
        said = float(value)
    except OverflowError:
        return None
    if 1 < said <= 100:
        said /= 100
    return said if 0 <= said <= 1 else None


def _without_form(text: str, question: Question) -> Vote | Unusable:
    """A reply in plain words: its last line that says `answer:`, or all of it if it is short."""
    if question.kind is QuestionKind.OPEN:
        if text.startswith("{"):
            return Unusable("unreadable", "its JSON broke off or was not well formed.")
        return Vote(answer=text[:_ANSWER])
    lines = _LINE.findall(text[-_ANSWER:])
    if lines:
        return Vote(answer=lines[-1].strip(' \t*_`."')[:_SHORT], rationale=text[:_REASON])
    if len(text) <= _SHORT and not text.startswith("{") and canonical(question, text) is not None:
        return Vote(answer=text)
    return Unusable("unreadable", "what it said was not of the form that was asked for.")


def _none_of_them(answer: str, question: Question) -> Unusable:
    said = " ".join(answer.split())[:80]
    code, what = _NOT[question.kind]
    return Unusable(code, f"answered {said!r}, which is {what}." if said else "it said nothing.")


_NOT: Final[Mapping[QuestionKind, tuple[str, str]]] = {
    QuestionKind.CHOICE: ("not_a_choice", "none of the choices"),
    QuestionKind.YES_NO: ("not_yes_or_no", "neither yes nor no"),
    QuestionKind.NUMBER: ("not_a_number", "no number"),
    QuestionKind.TEXT: ("empty", "empty"),
    QuestionKind.OPEN: ("empty", "empty"),
}
