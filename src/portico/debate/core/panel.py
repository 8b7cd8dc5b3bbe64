"""What is known of the voices of one debate, and what their answers come to: the one place where
the arithmetic of the other modules is put together. The session asks this, and nothing below."""

from collections.abc import Sequence

from portico.debate.core.choosing import Next, critique_worth, next_voice, settled
from portico.debate.core.counting import Panel, counted
from portico.debate.core.deciding import decide, decide_open, pairs_to_judge
from portico.debate.core.learning import Learnt, learnt_of
from portico.debate.core.outcome import Known
from portico.debate.core.question import Question, QuestionKind
from portico.debate.core.said import Said
from portico.debate.core.voice import Voice

__all__ = [
    "Next",
    "Panel",
    "critique_worth",
    "decide",
    "decide_open",
    "next_voice",
    "pairs_to_judge",
    "panel_of",
    "seated",
    "settled",
    "standing",
]


def panel_of(question: Question, voices: Sequence[Voice], known: Sequence[Known]) -> Panel:
    """The most that it takes is to learn: half a second of 500 outcomes. `seated` seats voices for
    another question with what is learnt."""
    return seated(question, voices, learnt_of(known, [each.target for each in voices]))


def seated(question: Question, voices: Sequence[Voice], learnt: Learnt) -> Panel:
    return Panel(
        voices=tuple(voices),
        scales=learnt.scales([each.target for each in voices], question.topic),
        choices=_choices(question),
        topic=question.topic,
        lesson=learnt.lesson,
    )


def _choices(question: Question) -> int | None:
    match question.kind:
        case QuestionKind.CHOICE:
            return len(question.choices)
        case QuestionKind.YES_NO:
            return 2
        case _:
            return None


def standing(panel: Panel, said: Sequence[Said]) -> tuple[tuple[str, float], ...]:
    """Answers (as shown) and their probabilities, likeliest first; what is left is for an answer
    that nobody gave."""
    shown = {each.key: each.shown for each in reversed(said)}
    return tuple(
        (shown[key], chance) for key, chance in counted(panel, said).posterior.likely.items()
    )
