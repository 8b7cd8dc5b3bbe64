"""`tools/call` on debates: each name is a use case or two."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from portico.debate.core.debates import DebateId, DebateWish
from portico.guard.core.principals import Scope
from portico.guard.principals import permit
from portico.interfaces.mcp.answers import Result
from portico.interfaces.mcp.debate.errors import NoSuchDebateTool
from portico.interfaces.mcp.debate.facts import (
    debate_facts,
    estimate_facts,
    outcome_facts,
    replayed_facts,
    seat_facts,
    voice_facts,
    whole_facts,
)
from portico.interfaces.mcp.debate.given import Given
from portico.interfaces.mcp.debate.tools import BY_NAME
from portico.interfaces.mcp.debate.uses import DebateUses
from portico.interfaces.mcp.debate.words import (
    debate_line,
    debate_words,
    estimate_words,
    outcome_words,
    replayed_words,
    seat_words,
    voice_line,
)
from portico.interfaces.mcp.told import Told, lines
from portico.kernel.json import JsonObject
from portico.kernel.principal import Principal

Call = Callable[[Principal, Given], Awaitable[Told]]
_USUAL_WAIT: Final = timedelta(seconds=45)
_NO_WAIT: Final = timedelta(0)
_TO_STOP: Final = timedelta(seconds=10)
"""One that is stopped ends by itself, a moment later."""
_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class DebateCalls:
    use: DebateUses

    async def __call__(self, caller: Principal, name: str, given: JsonObject) -> Result:
        """Raises `PorticoError`."""
        by_name: Mapping[str, Call] = {
            "debate": self.debate,
            "analyze": self.analyze,
            "join_debate": self.join_debate,
            "outcome": self.outcome,
            "replay": self.replay,
            "debate_status": self.debate_status,
        }
        if name not in by_name:
            raise NoSuchDebateTool(name)
        told = await by_name[name](caller, Given.read(BY_NAME[name], given))
        return told.as_result()

    async def debate(self, caller: Principal, given: Given) -> Told:
        return await self._held(caller, given, given.wish("question", self.use.debates.usual_cap))

    async def analyze(self, caller: Principal, given: Given) -> Told:
        wish = given.wish("task", self.use.debates.usual_cap, analyze=True)
        return await self._held(caller, given, wish)

    async def join_debate(self, caller: Principal, given: Given) -> Told:
        debates, its = self.use.debates, given.debate()
        patience = given.patience(_NO_WAIT)
        if "answer" in given:
            seat = await debates.answer_as_guest(caller, its, given.answered)
        if "answer" not in given or patience:
            seat = await debates.wait_at_seat(caller, its, patience=patience)
        facts = seat_facts(seat)
        return Told(seat_words(facts), facts)

    async def outcome(self, caller: Principal, given: Given) -> Told:
        facts = outcome_facts(
            await self.use.debates.mark_outcome(caller, given.debate(), given.outcome)
        )
        return Told(outcome_words(facts), facts)

    async def replay(self, caller: Principal, given: Given) -> Told:
        facts = replayed_facts(
            await self.use.debates.replay_debate(caller, given.debate(), given.replay)
        )
        return Told(replayed_words(facts), facts)

    async def debate_status(self, caller: Principal, given: Given) -> Told:
        stop = given.switch("stop")
        if "debate" not in given and not stop:
            return await self._all(caller, given)
        its = given.debate()
        if stop:
            permit(caller, Scope.DEBATES_READ)  # before, since it is told how it ended
            await self.use.debates.stop_debate(caller, its)
        return await self._waited(caller, its, given.patience(_TO_STOP if stop else _NO_WAIT))

    async def _held(self, caller: Principal, given: Given, wish: DebateWish) -> Told:
        """What comes of it is told, so that whoever may not read is told no before it begins. One
        with guests is told at once: they need its id."""
        permit(caller, Scope.DEBATES_READ)
        debates = self.use.debates
        if given.switch("estimate_only"):
            facts = estimate_facts(await debates.estimate_debate(caller, wish))
            return Told(estimate_words(facts), facts)
        started = (await debates.start_debate(caller, wish)).debate
        patience = given.patience(_NO_WAIT if wish.guests else _USUAL_WAIT)
        return await self._waited(caller, started.id, patience)

    async def _waited(self, caller: Principal, its: DebateId, patience: timedelta) -> Told:
        debates = self.use.debates
        await debates.wait_for_debate(caller, its, patience=patience)
        whole = await debates.look.one(caller, its)
        parts = await debates.look.parts(caller, its) if whole.debate.analysis else ()
        facts = whole_facts(whole, parts)
        return Told(debate_words(facts), facts)

    async def _all(self, caller: Principal, given: Given) -> Told:
        debates, after = self.use.debates, given.text("after")
        found = await debates.look.page(
            caller,
            project=given.text("project"),
            status=None,
            words=given.text("words"),
            after=None if after is None else DebateId.parse(after),
            limit=_LISTED,
        )
        every = [debate_facts(each) for each in found]
        voices = [voice_facts(each) for each in await debates.list_voices(caller)]
        personas = [each.name for each in await debates.personas.all(caller)]
        text = lines(
            [debate_line(each) for each in every] or "No debates that you may read.",
            "Voices:" if voices else "Nobody can be asked here.",
            [voice_line(each) for each in voices],
            f"Personas: {', '.join(personas)}.",
        )
        return Told(text, {"debates": every, "voices": voices, "personas": personas})
