"""A debate decided again out of what was said then."""

from portico.debate.core.debate import WholeDebate
from portico.debate.core.decision import Verdict
from portico.debate.core.panel import panel_of
from portico.debate.core.personas import BUILT_IN
from portico.debate.core.replay import Rehearsal
from tests.debate.core.tables import TEXT, THREE, a_debate, said, words


def test_answers_that_nobody_compared_then_are_taken_as_they_are() -> None:
    debate = a_debate(TEXT, THREE[:2])
    whole = WholeDebate(debate, (said("a:1", "NYC"), said("b:1", "New York")))

    again = Rehearsal(
        whole=whole,
        rules=debate.rules,
        panel=panel_of(TEXT, debate.voices, ()),
        personas=BUILT_IN,
        count=words,
    )()

    assert again.decision.verdict is Verdict.NO_DECISION
    assert [option.shown for option in again.decision.options] == ["NYC", "New York"]
