"""What an answer is counted as: equal keys for answers that mean the same. Pure, total, and in time
linear in the text, whatever it holds."""

from dataclasses import dataclass

from portico.debate.core.canonical_choices import chosen, yes_or_no
from portico.debate.core.canonical_cleaning import cleaned
from portico.debate.core.canonical_values import value_key
from portico.debate.core.question import Question, QuestionKind


@dataclass(frozen=True, slots=True)
class Canonical:
    key: str
    shown: str
    """In its plain form: what is given out if it wins."""


def canonical(question: Question, answer: str) -> Canonical | None:
    """None where it is no answer: empty, or none of the choices."""
    match question.kind:
        case QuestionKind.CHOICE:
            choice = chosen(answer, question.choices)
            return None if choice is None else Canonical(f"c:{choice}", question.choices[choice])
        case QuestionKind.YES_NO:
            word = yes_or_no(answer)
            return None if word is None else Canonical(f"c:{word}", word)
        case QuestionKind.NUMBER | QuestionKind.TEXT:
            return canonical_value(answer, question.text)
        case _:
            text = answer.strip()
            return Canonical(f"o:{text}", text) if text else None


def canonical_value(answer: str, question: str = "") -> Canonical | None:
    """A number, a formula, a set or a few words; units as the question's text names them."""
    plain = cleaned(answer)
    return Canonical(value_key(plain, question), plain) if plain else None
