"""Debaters: list, choose, ask, personas."""

import asyncio
import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from portico.debate.activation import Activation, as_read, at_debate, at_start
from portico.debate.core.conduct import BUDGET, VOICE, skip_words, skipped_name
from portico.debate.core.debaters import (
    BUILT_IN,
    Debater,
    DebaterKind,
    DebaterReply,
    DebaterRequest,
    DebaterStatus,
    Persona,
)
from portico.debate.core.debates import (
    NOBODY,
    DebaterAnswer,
    DebateSpec,
    Note,
    NoteKind,
    RemainingBudget,
    Reserve,
    Usual,
    charged,
    charged_at_most,
)
from portico.debate.core.errors import (
    DebaterNotCleared,
    DebaterNotFound,
    DebaterSilent,
    DebaterUnavailable,
    DebaterUnbounded,
    InvalidDebate,
    PersonaExists,
)
from portico.debate.core.events import (
    DebateEvent,
    DebateProgress,
    DebaterAnswered,
    DebaterAsked,
    DebaterFailed,
    DebaterSpoke,
    Skipped,
)
from portico.debate.core.panel import standing
from portico.debate.core.prompts import Sheet, Unusable, cleaned
from portico.debate.core.questions import MOST_USUAL, Rules
from portico.debate.ports import (
    Blackboard,
    BudgetLedger,
    DebateContexts,
    DebateEventSink,
    Debaters,
    Personas,
)
from portico.engine.execution import retry_while_unavailable
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit
from portico.guard.principals import require_scope
from portico.kernel.budget import NOTHING, Cost, Tokenizer
from portico.kernel.clock import Clock
from portico.kernel.errors import PorticoError
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDebaters:
    debaters: Debaters

    async def __call__(self, caller: Principal, fresh: bool = False) -> Sequence[DebaterStatus]:  # noqa: FBT002 # as the faces ask
        """Raises `NotPermitted`."""
        require_scope(caller, Scope.DEBATES_READ)
        return await self.debaters.all(caller, fresh=fresh)


# Choose who is asked: those who are named, else those of the settings, else a few of different
# families that are there. Who is named and cannot be asked is refused; who is not named is left
# out, and it is said why.


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One that was not named and cannot be asked, or is told less than others."""

    voice: str
    why: str
    kind: str = VOICE

    @property
    def what(self) -> str:
        """As it is written down that it was not asked."""
        return f"{self.kind}:{self.voice}"

    def __str__(self) -> str:
        return skip_words(self.what, self.why)


@dataclass(frozen=True, slots=True)
class Chosen:
    debaters: tuple[Debater, ...]
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseDebaters:
    debaters: Debaters
    usual: Usual

    async def __call__(
        self, caller: Principal, wish: DebateSpec, label: Label, rules: Rules
    ) -> Chosen:
        """Raises `DebaterNotFound`, `DebaterUnavailable`, `DebaterUnbounded`,
        `DebaterNotCleared`."""
        if wish.debaters == NOBODY:
            chosen = Chosen(())
        elif wish.debaters:
            named = [await self._named(caller, target) for target in wish.debaters]
            for voice in named:
                check(voice, label, unbounded=wish.unbounded)
            chosen = Chosen(tuple(named))
        elif self.usual.debaters:
            chosen = await self._usual(caller, wish, label)
        else:
            chosen = await self._there(caller, wish, label, rules)
        return chosen

    async def _named(self, caller: Principal, target: str) -> Debater:
        try:
            return await self.debaters.named(caller, target)
        except DebaterNotFound as error:
            if error.near:
                raise
            known = [each.debater.name for each in await self.debaters.all(caller)]
            raise DebaterNotFound(target, difflib.get_close_matches(target, known, n=2)) from error

    async def _usual(self, caller: Principal, wish: DebateSpec, label: Label) -> Chosen:
        voices, left_out = [], []
        for target in self.usual.debaters:
            try:
                voice = await self.debaters.named(caller, target)
                check(voice, label, unbounded=wish.unbounded)
            except (
                DebaterNotFound,
                DebaterUnavailable,
                DebaterNotCleared,
                DebaterUnbounded,
            ) as error:
                left_out.append(LeftOut(target, str(error)))
            else:
                voices.append(voice)
        return Chosen(tuple(voices), tuple(left_out))

    async def _there(
        self, caller: Principal, wish: DebateSpec, label: Label, rules: Rules
    ) -> Chosen:
        """Models alone: agents and programs do more than answer, and are asked when named."""
        states = [
            each
            for each in await self.debaters.all(caller)
            if each.debater.kind is DebaterKind.MODEL
        ]
        able, left_out = [], []
        for state in states:
            why = _why_not(state, label, unbounded=wish.unbounded)
            if why is None:
                able.append(state.debater)
            else:
                left_out.append(LeftOut(state.debater.name, why))
        return Chosen(_mixed(able, min(rules.voices_most, MOST_USUAL)), tuple(left_out[:5]))


def check(voice: Debater, label: Label, *, unbounded: bool) -> None:
    """Raises `DebaterNotCleared`, `DebaterUnbounded`."""
    if not voice.clearance.covers(label):
        raise DebaterNotCleared(voice.name, label)
    if not voice.bounded and not unbounded:
        raise DebaterUnbounded(voice.name)


def _why_not(state: DebaterStatus, label: Label, *, unbounded: bool) -> str | None:
    if not state.available:
        return state.why or "it is not there."
    try:
        check(state.debater, label, unbounded=unbounded)
    except PorticoError as error:
        return str(error)
    return None


def _mixed(voices: Sequence[Debater], most: int) -> tuple[Debater, ...]:
    """One of each family, then a second one, as many as are asked at most."""
    turns: list[tuple[int, int, Debater]] = []
    seen: dict[str, int] = {}
    for place, voice in enumerate(voices):
        seen[voice.family] = seen.get(voice.family, 0) + 1
        turns.append((seen[voice.family], place, voice))
    ordered = [voice for _, _, voice in sorted(turns, key=lambda each: each[:2])]
    return tuple(ordered[:most])


# See the personas of a space, make one, take one away. Those that are built in stay.

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_LONGEST: Final = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagePersonas:
    personas: Personas
    audit: Audit
    clock: Clock

    async def all(self, caller: Principal) -> Sequence[Persona]:
        """The built-in ones first. Raises `NotPermitted`."""
        require_scope(caller, Scope.DEBATES_READ)
        return [*BUILT_IN.values(), *await self.personas.all(at_debate(caller, None))]

    async def put(
        self, caller: Principal, name: str, instructions: str, specialist: bool
    ) -> Persona:
        """A new one, or another text for one. Raises `NotPermitted`, `InvalidDebate`,
        `PersonaExists`, `WriteDown`."""
        require_scope(caller, Scope.DEBATES_RUN)
        _check(name, instructions)
        persona = Persona(
            name=name,
            instructions=instructions.strip(),
            specialist=specialist,
            made_by=caller.id,
            changed_at=self.clock.now(),
        )
        await self.personas.put(_apart(caller), persona)
        await self.audit.note(caller, AuditEntry(action="persona.put", subject=name))
        return persona

    async def remove(self, caller: Principal, name: str) -> None:
        """Raises `NotPermitted`, `PersonaExists`, `PersonaNotFound`, `WriteDown`."""
        require_scope(caller, Scope.DEBATES_RUN)
        if name in BUILT_IN:
            raise PersonaExists(name)
        await self.personas.remove(_apart(caller), name)
        await self.audit.note(caller, AuditEntry(action="persona.removed", subject=name))


def _apart(caller: Principal) -> Principal:
    """A person writes them apart from what they have read elsewhere: all of a space read them."""
    return at_start(caller, "personas")


def _check(name: str, instructions: str) -> None:
    """Raises `InvalidDebate`, `PersonaExists`."""
    if name in BUILT_IN:
        raise PersonaExists(name)
    if not _NAME.fullmatch(name):
        raise InvalidDebate(
            f"{name[:60]!r} is no name for a persona.",
            "Use small letters, digits, - and _, at most 40 of them.",
        )
    if not instructions.strip() or len(instructions) > _LONGEST or "\x00" in instructions:
        raise InvalidDebate(
            f"A persona has instructions of 1 to {_LONGEST:,} characters.",
            "Say what it looks at, in a few sentences.",
        )


_SHARE: Final = 0.5
"""Of the time that is left, for one answer: whoever stalls leaves as much to the others."""
_FOR_THE_END: Final = 0.05
"""Of it, that the last answers leave for the decision."""
_LEAST: Final = timedelta(seconds=20)
"""That an answer has at least, where as much is left."""

PAID: Final = "paid"
"""Under this a note says which reservation it was paid from."""

Reading = Callable[[str], JsonObject | Unusable]
"""From what was said to the body of its note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebaterQuestion:
    name: str
    """Of the note, the step and the reservation: after what it is about."""
    kind: NoteKind
    debater: Debater
    sheet: Sheet
    read: Reading
    why: str
    round: int = 1
    last: bool = False
    """Nobody is asked after it: it has nearly all the time that is left."""

    def body(self, text: str) -> JsonObject | Unusable:
        """Whatever was said, a note comes of it."""
        try:
            return self.read(text)
        except Exception:  # noqa: BLE001 # what cannot even be read is no answer
            return Unusable("unreadable", "what it said could not be read.")

    @property
    def told_round(self) -> int:
        """0 of what is no answer to the question."""
        return self.round if self.kind is NoteKind.SAID else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskDebater:
    debaters: Debaters
    blackboard: Blackboard
    budget_ledger: BudgetLedger
    tasks: DebateContexts
    event_sink: DebateEventSink
    clock: Clock

    async def __call__(self, leg: Activation, asked: DebaterQuestion) -> JsonValue:
        """Nothing of what came of it: that is in its note, for those who may read the debate."""
        reserve = asked.sheet.reserve(asked.debater, leg.count)
        name, debate = leg.reservation(asked.name), leg.debate.id
        passed = await retry_while_unavailable(
            lambda: self.budget_ledger.reserve(leg.caller, debate, name, reserve.cost)
        )
        if passed:
            return await self._skipped(leg, asked, reserve, passed)
        await self._tell(
            leg,
            DebaterAsked(
                voice=asked.debater.name,
                round=asked.told_round,
                reserved_tokens=reserve.cost.tokens,
                why=asked.why,
            ),
        )
        began = self.clock.now()
        note = await self._heard(leg, asked, reserve)
        paid = replace(note, body={**note.body, PAID: name})
        written = await as_read(
            leg, self.tasks, lambda label: self.blackboard.note(leg.caller, debate, paid, label)
        )
        await retry_while_unavailable(
            lambda: self.budget_ledger.settle(leg.caller, debate, name, written.cost)
        )
        await self.tell_note(leg, written, took=self.clock.now() - began)
        return None

    async def tell_note(self, leg: Activation, note: Note, *, took: timedelta) -> None:
        """And how it stands then."""
        happened = _happening(note, took)
        told = [] if happened is None else [happened]
        await self._tell(leg, *told, await self._standing(leg))

    async def _standing(self, leg: Activation) -> DebateProgress:
        whole = await retry_while_unavailable(
            lambda: self.blackboard.read(leg.caller, leg.debate.id)
        )
        open_ones = await retry_while_unavailable(
            lambda: self.budget_ledger.outstanding(leg.caller, leg.debate.id)
        )
        reserved = sum(open_ones.values(), start=NOTHING)
        spent = sum((note.cost for note in whole.notes), start=NOTHING)
        leg.debate, leg.notes = whole.debate, whole.notes
        said = leg.table(RemainingBudget(), self.clock.now()).said(1, 2)
        known = {voice.name for voice in leg.panel.debaters}
        closed = leg.debate.question.kind.closed
        countable = [each for each in said if each.voice in known] if closed else []
        return DebateProgress(
            options=standing(leg.panel, countable) if countable else (),
            spent_tokens=spent.tokens,
            reserved_tokens=reserved.tokens,
            cap_tokens=leg.debate.cap.tokens,
            spent_money=spent.money,
            cap_money=leg.debate.cap.money,
        )

    async def _skipped(
        self, leg: Activation, asked: DebaterQuestion, reserve: Reserve, passed: tuple[str, ...]
    ) -> JsonValue:
        body: JsonObject = {
            "what": asked.name,
            "why": BUDGET,
            "passed": list(passed),
            "saved": reserve.cost.tokens,
        }
        note = Note(
            name=skipped_name(asked.name),
            kind=NoteKind.SKIPPED,
            voice=asked.debater.name,
            round=asked.round,
            body=body,
            at=self.clock.now(),
        )
        debate = leg.debate.id
        await as_read(
            leg, self.tasks, lambda label: self.blackboard.note(leg.caller, debate, note, label)
        )
        why = f"it would have passed {', '.join(passed)}"
        told = Skipped(what=asked.debater.name, why=why, saved_tokens=reserve.cost.tokens)
        await self._tell(leg, told)
        return None

    async def _heard(self, leg: Activation, asked: DebaterQuestion, reserve: Reserve) -> Note:
        """Raises nothing that the voice is the cause of."""
        try:
            reply = await self._reply(leg, asked, reserve)
        except TimeoutError:
            code = "stopped" if leg.watch.asked else "voice_late"
            why = "it was stopped." if leg.watch.asked else "it gave no answer in time."
            return self._failed(asked, Unusable(code, why), charged_at_most(reserve, None))
        except DebaterSilent as error:
            cost = charged_at_most(reserve, error.cost, bounded=asked.debater.bounded)
            note = self._failed(asked, Unusable(error.code, error.why), cost)
            return replace(note, overrun=max(cost.tokens - reserve.cost.tokens, 0))
        except DebaterNotCleared as error:
            cost = charged_at_most(reserve, error.cost)
            return self._failed(asked, Unusable(error.code, str(error)), cost)
        except PorticoError as error:
            cost = charged_at_most(reserve, None)
            return self._failed(asked, Unusable(error.code, str(error)), cost)
        except Exception as error:  # noqa: BLE001 # a broken adapter is one voice less, no more
            broke = Unusable("voice_broke", f"it broke ({type(error).__name__}).")
            return self._failed(asked, broke, charged_at_most(reserve, None))
        await self._taken_in(leg, reply)
        return self._said(asked, reserve, reply)

    async def _reply(
        self, leg: Activation, asked: DebaterQuestion, reserve: Reserve
    ) -> DebaterReply:
        now, sheet, voice = self.clock.now(), asked.sheet, asked.debater
        patience = patience_for(leg.debate.deadline, now, last=asked.last)
        ask = DebaterRequest(
            debater=voice,
            system=sheet.system,
            prompt=sheet.prompt,
            schema=sheet.schema,
            prompt_tokens=reserve.counted,
            max_output_tokens=sheet.max_output_tokens,
            timeout=patience,
            label=leg.label,
            ceiling=leg.debate.label if leg.shared else None,
            key=f"{leg.debate.id}:{asked.name}",
        )

        def hear(piece: str) -> None:
            # An agent may have read more than the debate has: its words come with its answer.
            if voice.kind is not DebaterKind.AGENT:
                spoke = DebaterSpoke(voice=voice.name, round=asked.told_round, text=piece)
                self.event_sink.speak(leg.caller, leg.debate.id, spoke, label=leg.label)

        async with asyncio.timeout(patience.total_seconds()) as timeout:
            with leg.watch.over(timeout):
                return await self.debaters.ask(leg.initiator.now, ask, hear)

    async def _taken_in(self, leg: Activation, reply: DebaterReply) -> None:
        """What it has read besides what it was told is read in the debate, from now on."""
        if leg.label.covers(reply.label) and not reply.untrusted:
            return
        leg.risen(reply.label)
        await retry_while_unavailable(
            lambda: self.tasks.read(leg.caller, reply.label, untrusted=reply.untrusted)
        )

    def _said(self, asked: DebaterQuestion, reserve: Reserve, reply: DebaterReply) -> Note:
        charge = charged(asked.debater, reserve, reply)
        body = asked.body(reply.text)
        if isinstance(body, Unusable):
            why = "it was cut off before it had answered." if reply.cut else body.why
            failed = self._failed(asked, Unusable(body.code, why), charge.cost, reply.text)
            return replace(
                failed,
                prompt_tokens=charge.prompt,
                output_tokens=charge.output,
                overrun=charge.overrun,
            )
        return Note(
            name=asked.name,
            kind=asked.kind,
            voice=asked.debater.name,
            round=asked.round,
            body=body,
            cost=charge.cost,
            at=self.clock.now(),
            prompt_tokens=charge.prompt,
            output_tokens=charge.output,
            overrun=charge.overrun,
        )

    def _failed(self, asked: DebaterQuestion, why: Unusable, cost: Cost, text: str = "") -> Note:
        return failed_note(asked, why, cost, self.clock.now(), text)

    async def _tell(self, leg: Activation, *happenings: DebateEvent) -> None:
        debate = leg.debate.id
        await as_read(
            leg,
            self.tasks,
            lambda label: self.event_sink.publish(leg.caller, debate, *happenings, label=label),
        )


def failed_note(
    asked: DebaterQuestion, why: Unusable, cost: Cost, at: datetime, text: str = ""
) -> Note:
    """What it said is kept where it could not be used: for whoever wants to see why."""
    body: JsonObject = {"code": why.code, "why": why.why, "text": cleaned(text)[:2_000]}
    return Note(
        name=asked.name,
        kind=NoteKind.FAILED,
        voice=asked.debater.name,
        round=asked.round,
        body=body,
        cost=cost,
        at=at,
    )


def patience_for(deadline: datetime, now: datetime, *, last: bool) -> timedelta:
    """Never beyond the deadline."""
    left = max(deadline - now, timedelta(0))
    if last:
        return left * (1 - _FOR_THE_END)
    return min(left, max(left * _SHARE, _LEAST))


def _happening(note: Note, took: timedelta) -> DebaterAnswered | DebaterFailed | None:
    if note.kind is NoteKind.FAILED:
        return DebaterFailed(
            voice=note.voice or "",
            round=note.round if note.name.startswith("said:") else 0,
            code=str(note.body["code"]),
            why=str(note.body["why"]),
        )
    if note.kind is not NoteKind.SAID:
        return None
    said = DebaterAnswer.from_json(note.body)
    return DebaterAnswered(
        voice=said.voice,
        round=said.round,
        answer=said.shown,
        rationale=said.rationale,
        confidence=said.confidence,
        tokens=note.cost.tokens,
        money=note.cost.money,
        seconds=took.total_seconds(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortenAnswer:
    tokenizer: Tokenizer

    def __call__(self, text: str, most: int | None) -> str:
        """The longest beginning of it that has so many tokens at most."""
        count = self.tokenizer.count
        if most is None or count(text) <= most:
            return text
        fits, too_long = 0, len(text)
        while too_long - fits > 1:
            middle = (fits + too_long) // 2
            if count(text[:middle]) <= most:
                fits = middle
            else:
                too_long = middle
        return text[:fits]
