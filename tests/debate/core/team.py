"""Voices, answers and past debates of a few letters."""

from collections.abc import Sequence

from portico.debate.core.debaters import Debater, DebaterKind
from portico.debate.core.debates import Ballot, DebaterAnswer, KnownOutcome
from portico.debate.core.questions import Question, QuestionKind
from portico.kernel.label import PUBLIC
from portico.testing.memory_store import BEGINNING

NUMBER = Question(text="How many?", kind=QuestionKind.NUMBER)
CHOICE = Question(text="Which?", kind=QuestionKind.CHOICE, choices=("one", "two", "three", "four"))


def voices(
    count: int, families: str = "abcdefghi", *, specialist: int | None = None
) -> list[Debater]:
    return [
        Debater(
            name=f"v{at}",
            kind=DebaterKind.MODEL,
            target=f"v{at}",
            family=families[at],
            specialist=at == specialist,
            clearance=PUBLIC,
        )
        for at in range(count)
    ]


def said(keys: str, confidence: float | None = None) -> list[DebaterAnswer]:
    """`112`: the first two say 1, the third says 2."""
    return [
        DebaterAnswer(
            voice=f"v{at}", round=1, answer=key, key=key, shown=key, confidence=confidence
        )
        for at, key in enumerate(keys)
    ]


def again(voice: int, key: str, because: str | None) -> DebaterAnswer:
    return DebaterAnswer(
        voice=f"v{voice}", round=2, answer=key, key=key, shown=key, changed_because=because
    )


def known(
    keys: str | Sequence[str],
    right: str | None,
    *,
    sure: Sequence[float | None] = (),
    choices: int | None = 4,
    topic: str = "general",
) -> KnownOutcome:
    return KnownOutcome(
        topic=topic,
        ballots=tuple(
            Ballot(f"v{at}", key, sure[at] if sure else None) for at, key in enumerate(keys)
        ),
        right=right,
        choices=choices,
        at=BEGINNING,
    )
