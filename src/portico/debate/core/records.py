"""From a debate that turned out somehow to what weights are learnt from."""

from collections.abc import Sequence

from portico.debate.core.canonical import canonical
from portico.debate.core.debate import WholeDebate
from portico.debate.core.merging import matched
from portico.debate.core.note import NoteKind
from portico.debate.core.outcome import Ballot, Known, Outcome
from portico.debate.core.question import Question, QuestionKind
from portico.debate.core.said import Said


def known_of(whole: WholeDebate, outcome: Outcome) -> Known:
    """Each answer under the name of its voice's record, in the order in which they came."""
    targets = {voice.name: voice.target for voice in whole.debate.voices}
    every = [Said.from_json(note.body) for note in whole.notes if note.kind is NoteKind.SAID]
    said = matched(whole.debate, every, whole.notes)
    question, right = whole.debate.question, _right(whole, outcome)
    if right is None and not outcome.decided_right and outcome.right is None:
        # It was wrong, and nobody has said what is right: of the others nothing is known.
        said = tuple(each for each in said if each.key == _decided(whole))
    return Known(
        topic=question.topic,
        ballots=tuple(
            Ballot(
                voice=targets.get(each.voice, each.voice.rpartition("#")[0] or each.voice),
                key=each.key,
                confidence=each.confidence,
                round=each.round,
            )
            for each in said
        ),
        right=right,
        choices=2 if question.kind is QuestionKind.YES_NO else len(question.choices) or None,
        at=outcome.at,
    )


def _right(whole: WholeDebate, outcome: Outcome) -> str | None:
    """Who says that the decision was right need not say which it was; and who says that it was
    wrong has said what is right where there are only two answers."""
    if outcome.right is not None:
        return outcome.right
    decided = _decided(whole)
    if outcome.decided_right or decided is None:
        return decided
    others = [key for key in _answers(whole.debate.question) if key != decided]
    return others[0] if len(others) == 1 else None


def _decided(whole: WholeDebate) -> str | None:
    decision = whole.debate.decision
    given = None if decision is None else decision.given_out
    return None if given is None else given.key


def _answers(question: Question) -> Sequence[str]:
    """The keys of all that it can be answered with, where that is known."""
    texts = ("yes", "no") if question.kind is QuestionKind.YES_NO else question.choices
    return [its.key for text in texts if (its := canonical(question, text)) is not None]
