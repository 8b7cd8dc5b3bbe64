"""Sessions gone through again as the gateway would see them: it learns from some, and foretells
others, of which it then learns nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from benchmarks.ahead_foretold import Foretold, Replayed, Words
from benchmarks.ahead_sessions import Made, Session
from benchmarks.ahead_truth import LetIn
from portico.gateway.core.calls import ToolResult
from portico.gateway.core.inferred_schema import ToolPlace
from portico.kernel.label import PUBLIC
from portico.learning.core.observation import LabelModel
from portico.learning.core.observed_calls import (
    ObservedCall,
    Predicted,
    ReadRequest,
    call_key,
    seen_call,
)
from portico.learning.core.observed_values import own_values, parameters_of
from portico.learning.core.prefetch_predictor import ContextHistory, Trust

_BEGAN: Final = datetime(2026, 1, 5, tzinfo=UTC)
_BETWEEN: Final = timedelta(hours=1)
_CALL: Final = timedelta(seconds=2)
PRINCIPALS: Final = 12
"""Who do the sessions, in turn."""


class Gateway:
    """The parts of it that learn and foretell, as they are put together in the product."""

    def __init__(
        self,
        tools: Mapping[str, LetIn],
        words: Words,
        *,
        only_reads: bool = True,
        strangers: bool = False,
    ) -> None:
        """Without `only_reads` everything is asked for, and for everybody: the gates alone keep
        writes out. `strangers` are foretold something, and others have taught."""
        self._tools = tools
        self._words = words
        self._only_reads = only_reads
        self._strangers = strangers
        self._trust = _nobody_known()
        self._at = {each.place: each for each in tools.values()}
        self._own = {name: own_values(each.definition.input_schema) for name, each in tools.items()}
        self.layer = LabelModel(PUBLIC)

    def learn(self, sessions: Iterable[Session]) -> None:
        for number, session in enumerate(sessions):
            self._through(session, number, self.layer)

    def foretell(self, sessions: Iterable[Session]) -> list[Replayed]:
        """What is seen meanwhile goes into a layer that nobody asks."""
        if self._strangers:
            self._trust = _nobody_known()
        return [
            Replayed(session, self._through(session, number, LabelModel(PUBLIC)))
            for number, session in enumerate(sessions)
        ]

    def _through(
        self, session: Session, number: int, learns: LabelModel
    ) -> Sequence[Sequence[Foretold]]:
        course, now = ContextHistory(), _BEGAN + number * _BETWEEN
        trust = self._trust[number % PRINCIPALS]
        foretold = []
        for place, call in enumerate(session.calls):
            said = self._said(session, place)
            for text in said:
                course.told(text)
            foretold.append(self._ahead(course, trust) if place or said else [])
            now += _CALL
            seen = self._seen(call, now)
            trust.saw(None, seen.key, reads=seen.reads)
            course.saw(seen, learns)
        foretold.append(self._ahead(course, trust))
        trust.ended(None)
        course.end(learns)
        return foretold

    def _said(self, session: Session, place: int) -> Sequence[str]:
        searched = session.searches if place == 0 else session.later.get(place, ())
        match self._words:
            case Words.NONE:
                return ()
            case Words.SEARCHES:
                return searched
            case Words.INTENT:
                return (session.intent, *searched) if place == 0 else searched

    def _ahead(self, course: ContextHistory, trust: Trust) -> Sequence[Foretold]:
        found, good = course.ahead([self.layer], self._among), trust.good
        trust.note_predictions(
            None, [call_key(it.form.tool, it.arguments) for it in found if it.live]
        )
        may = good or not self._only_reads
        return [self._told(replace(each, live=each.live and may)) for each in found]

    def _told(self, each: Predicted) -> Foretold:
        tool = self._at[each.form.tool]
        wanted = ReadRequest.of(each, tool.ref, tool.pin)
        return Foretold(wanted, str(tool.ref), each.confidence, each.edge.band, each.live)

    def _among(self, place: ToolPlace) -> bool:
        return not self._only_reads or self._at[place].effect.is_read_only

    def _seen(self, call: Made, now: datetime) -> ObservedCall:
        tool = self._tools[call.name]
        return seen_call(
            tool.place,
            call.arguments,
            answer_of(call),
            ended=now,
            reads=tool.effect.is_read_only,
            own=self._own[call.name],
            parameters=parameters_of(tool.definition.input_schema),
        )


def _nobody_known() -> Sequence[Trust]:
    return [Trust() for _ in range(PRINCIPALS)]


def answer_of(call: Made) -> ToolResult:
    return ToolResult([{"type": "text", "text": call.text}], call.structured, failed=call.failed)
