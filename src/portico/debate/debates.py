"""Debates: start, list, share, wait, stop, remove."""

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Protocol

from portico.debate.activation import asker_of, at_debate, at_start, stop_topic
from portico.debate.conduct import DEBATE
from portico.debate.core.conduct import MATERIAL, skipped_name
from portico.debate.core.debaters import BUILT_IN, Debater, Persona, dealt
from portico.debate.core.debates import (
    LEAST,
    MOST,
    Count,
    Debate,
    DebateId,
    DebateSpec,
    DebateStatus,
    Note,
    NoteKind,
    Outcome,
    RemainingBudget,
    Usual,
    WholeDebate,
    cap_of,
    checked,
    deadline_of,
    left_of,
    question_of,
    rules_for,
)
from portico.debate.core.errors import (
    BudgetTooSmall,
    DebateNotFound,
    DebateOver,
    InvalidDebate,
    NoDebaters,
)
from portico.debate.core.estimates import Plan, least, least_named
from portico.debate.core.events import DebateEnded, DebateStreamItem, Skipped
from portico.debate.core.prompts import SHORTEST
from portico.debate.core.questions import Cap, Preset, Question, Rules
from portico.debate.debaters import ChooseDebaters, LeftOut
from portico.debate.ports import (
    Blackboard,
    BudgetLedger,
    DebateContexts,
    DebateEventSink,
    Logs,
    Material,
    Outcomes,
    Personas,
)
from portico.engine.core.errors import AlreadyAnswered, KeyReused, RunNotFound, RunOver
from portico.engine.core.runs import Started
from portico.engine.ports import Bus, RunQueries, RunQueue, Runs
from portico.engine.runs import RunSpec, control_topic
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, UnitOfWork
from portico.guard.principals import require_scope
from portico.kernel.budget import NOTHING, Tokenizer
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import ContextId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import PUBLIC, Label, join, meet
from portico.kernel.principal import Principal

# Find out how a debate would be held: what is asked of whom, how secret it is, within what bounds.
# Everything that can be refused cheaply is refused here, before anything is spent.


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    caller: Principal
    """Where they are when they begin it."""
    question: Question
    rules: Rules
    debaters: tuple[Debater, ...]
    personas: dict[str, Persona]
    cap: Cap
    left: RemainingBudget
    """Of the cap and of the project's, whichever is less."""
    deadline: timedelta
    label: Label
    untrusted: bool
    project: str | None
    left_out: tuple[LeftOut, ...]
    guests: int = 0
    parts: int = 0

    @property
    def plan(self) -> Plan:
        return Plan(
            question=self.question,
            rules=self.rules,
            debaters=self.debaters,
            personas=self.personas,
            cap=Cap(tokens=self.left.tokens, money=self.left.money),
            seconds=round(self.deadline.total_seconds()),
            parts=self.parts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareDebate:
    choose_voices: ChooseDebaters
    personas: Personas
    material: Material
    tasks: DebateContexts
    budget_ledger: BudgetLedger
    usual: Usual

    async def __call__(self, caller: Principal, wish: DebateSpec) -> Prepared:
        """Raises `InvalidDebate`, `ProjectNotFound`, `MemoryNotFound`, `DebaterNotFound`,
        `DebaterUnavailable`, `DebaterUnbounded`, `DebaterNotCleared`, `NoDebaters`,
        `PersonaNotFound`."""
        checked(wish)
        project, inside = await self._project(caller, wish)
        caller = at_start(caller, project)
        read, secret, strange = await self._read(caller, wish, project)
        task = await self.tasks.at(caller)
        label = join([task.label, inside, secret, wish.label or PUBLIC])
        if not caller.clearance.covers(label):
            raise InvalidDebate(
                f"A debate that is {label} is above your clearance, which is {caller.clearance}.",
                f"Label it {caller.clearance} at most, or have somebody start it who is cleared.",
            )
        question = question_of(wish, material_of(wish.material, read))
        rules = rules_for(wish, question.kind, self.usual)
        known = await self._known(caller)
        chosen = await self.choose_voices(caller, wish, label, rules)
        voices = dealt(chosen.debaters, wish.roles, known) if chosen.debaters else ()
        if len(voices) + wish.guests < LEAST:
            left_out = [*map(str, chosen.left_out)]
            raise NoDebaters(len(voices) + wish.guests, LEAST, left_out)
        if len(voices) > MOST:
            raise InvalidDebate(f"A debate has at most {MOST} voices.", "Name fewer roles.")
        _check_families(rules, voices, wish.guests)
        cap = cap_of(wish, self.usual)
        return Prepared(
            caller=caller,
            question=question,
            rules=rules,
            debaters=voices,
            personas=known,
            cap=cap,
            left=await self._left(caller, label, cap, project),
            deadline=deadline_of(wish, self.usual),
            label=label,
            untrusted=task.untrusted or strange,
            project=project,
            left_out=chosen.left_out,
            guests=wish.guests,
            parts=wish.parts_most if wish.analyze else 0,
        )

    async def _project(self, caller: Principal, wish: DebateSpec) -> tuple[str | None, Label]:
        if wish.project is None:
            return None, PUBLIC
        return await self.material.project(caller, wish.project)

    async def _read(
        self, caller: Principal, wish: DebateSpec, project: str | None
    ) -> tuple[str, Label, bool]:
        """What of the project's memory is read: whoever asks for it has read it."""
        if project is None or not wish.memory:
            return "", PUBLIC, False
        text, label, strange = await self.material.of(caller, project, wish.memory)
        await self.tasks.read(caller, label, untrusted=strange)
        return text, label, strange

    async def _known(self, caller: Principal) -> dict[str, Persona]:
        own = await self.personas.all(caller)
        return {**{each.name: each for each in own}, **BUILT_IN}

    async def _left(
        self, caller: Principal, label: Label, cap: Cap, project: str | None
    ) -> RemainingBudget:
        """With what those could know of the project's spending who may read the debate: else a
        refusal would tell of what is hidden from them."""
        own = left_of(cap, NOTHING)
        if project is None:
            return own
        looking = replace(caller, clearance=meet(caller.clearance, label))
        its_cap, spent, told = await self.budget_ledger.project(looking, project)
        least = own.least(left_of(its_cap, spent))
        if least != own:
            # Whoever starts it is told how much is left, and so what was spent.
            await self.tasks.read(caller, told, untrusted=False)
        return least


def within_windows(prepared: Prepared, count: Count) -> Prepared:
    """Without voices whose windows have no room for what is asked; of those that have room for the
    beginning of the material it is said. Raises `NoDebaters`, `InvalidDebate`."""
    desk, whole = prepared.plan.desk(count), len(prepared.question.material)
    voices, told = [], []
    for voice in prepared.debaters:
        shown, window = desk.shown_to(voice), f"its window of {voice.window or 0:,} tokens has"
        if desk.first(voice).beyond(voice, count) or shown < min(whole, SHORTEST):
            told.append(LeftOut(voice.name, f"{window} no room for what is asked."))
            continue
        voices.append(voice)
        if shown < whole:
            room = f"{window} room for {shown:,} of {whole:,} characters."
            told.append(LeftOut(voice.name, room, MATERIAL))
    left_out, seated = (*prepared.left_out, *told), len(voices) + prepared.guests
    if seated < LEAST:
        raise NoDebaters(seated, LEAST, [*map(str, left_out)])
    _check_families(prepared.rules, voices, prepared.guests)
    return replace(prepared, debaters=tuple(voices), left_out=left_out)


def _check_families(rules: Rules, voices: Sequence[Debater], guests: int) -> None:
    """Raises `InvalidDebate` for a quorum that could never come together."""
    families = {voice.family for voice in voices} | ({"guest"} if guests else set())
    if rules.preset is Preset.QUORUM and len(families) < rules.quorum_families:
        raise InvalidDebate(
            f"A quorum takes {rules.quorum_families} families of models, and all voices here are "
            f"of the family {', '.join(families)}.",
            "Name voices of another family, or choose the preset `vote`.",
        )


def material_of(*texts: str) -> str:
    """As it is kept."""
    parts: Sequence[str] = [text.replace("\x00", "").strip() for text in texts]
    whole = "\n\n".join(part for part in parts if part)
    return whole.encode("utf-8", "replace").decode("utf-8")


ANALYSIS: Final = "analysis"
"""The kind of run of a debate that is cut into parts."""


@dataclass(frozen=True, slots=True)
class StartedDebate:
    debate: Debate
    replayed: bool


class Starting(Protocol):
    async def started(self, caller: Principal, wish: RunSpec) -> Started:
        """Raises what starting a run raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StartDebate:
    prepare: PrepareDebate
    blackboard: Blackboard
    tasks: DebateContexts
    event_sink: DebateEventSink
    book: RunQueries
    start_run: Starting
    audit: Audit
    unit_of_work: UnitOfWork
    tokenizer: Tokenizer
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, wish: DebateSpec) -> StartedDebate:
        """Raises `NotPermitted`, what is wrong with the wish, `BudgetTooSmall`, `KeyReused`."""
        require_scope(caller, Scope.DEBATES_RUN)
        if (there := await self._there(caller, wish)) is not None:
            return there
        prepared = within_windows(await self.prepare(caller, wish), self.tokenizer.count)
        self._check_budget(prepared)
        context = await self.tasks.open(prepared.caller, "debate", prepared.label)
        try:
            started = await self._started(prepared, wish, context)
        except KeyReused:
            there = await self._there(caller, wish)
            if there is None:
                raise
            return there  # somebody else was faster with the same
        if not started.replayed:
            return started
        return await self._there(caller, wish) or started  # theirs, not as it was made up here

    def _check_budget(self, prepared: Prepared) -> None:
        """Raises `BudgetTooSmall`."""
        needed, fits = least(prepared.plan, self.tokenizer.count)
        if not fits:
            left, what = prepared.left, least_named(prepared.plan)
            own = left_of(prepared.cap, NOTHING).fits(needed)
            project = prepared.project if own else None
            if left.tokens is not None and needed.tokens > left.tokens:
                raise BudgetTooSmall(what, needed.tokens, left.tokens, project)
            raise BudgetTooSmall.of_money(what, needed.money, left.money, project)

    async def _started(
        self, prepared: Prepared, wish: DebateSpec, context: ContextId
    ) -> StartedDebate:
        caller, kind = prepared.caller, _kind(wish)
        debate = self._debate(prepared, wish, context)
        given: JsonObject = {
            "debate": str(debate.id),
            "asker": asker_of(caller),
            "wished": _wished(wish),
        }
        its = RunSpec(kind=kind, input=given, key=_key(wish, debate.id), label=debate.label)
        async with self.unit_of_work(caller):
            started = await self.start_run.started(caller, its)
            await self.blackboard.add(caller, debate)
            if not started.replayed:
                await self._leave_out(caller, debate, prepared.left_out)
            await self.audit.note(caller, _entry(debate))
        return StartedDebate(debate, started.replayed)

    async def _leave_out(
        self, caller: Principal, debate: Debate, left_out: Sequence[LeftOut]
    ) -> None:
        """It is said from the beginning who takes no part, and why; also to whoever follows."""
        for each in left_out:
            note = Note(
                name=skipped_name(each.what),
                kind=NoteKind.SKIPPED,
                body={"what": each.what, "why": each.why, "saved": 0},
                at=debate.started_at,
            )
            await self.blackboard.note(caller, debate.id, note, debate.label)
            told = Skipped(what=each.what, why=each.why, saved_tokens=0)
            await self.event_sink.publish(caller, debate.id, told, label=debate.label)

    def _debate(self, prepared: Prepared, wish: DebateSpec, context: ContextId) -> Debate:
        caller, now = prepared.caller, self.clock.now()
        which = self._id(caller, wish)
        return Debate(
            id=which,
            question=prepared.question,
            rules=prepared.rules,
            debaters=prepared.debaters,
            guests=0 if wish.analyze else wish.guests,
            cap=prepared.cap,
            unbounded=wish.unbounded,
            deadline=now + prepared.deadline,
            label=prepared.label,
            start_label=prepared.label,
            untrusted=prepared.untrusted,
            private=not wish.shared,
            project=prepared.project,
            analysis=wish.analyze,
            parts_most=wish.parts_most,
            seed=int.from_bytes(self.entropy(7)),
            started_by=caller.id,
            run=RunId.of_claim(caller.space, caller.id, _kind(wish), _key(wish, which)),
            context=context,
            started_at=now,
        )

    def _id(self, caller: Principal, wish: DebateSpec) -> DebateId:
        if wish.key is None:
            return DebateId.mint(self.clock.now(), self.entropy)
        return keyed_id(caller, wish)

    async def _there(self, caller: Principal, wish: DebateSpec) -> StartedDebate | None:
        """What was asked for before under the same key. Raises `KeyReused`."""
        if wish.key is None:
            return None
        which = keyed_id(caller, wish)
        caller = at_debate(caller, which)
        try:
            whole = await self.blackboard.read(caller, which)
        except DebateNotFound:
            return None
        await self.tasks.read(caller, whole.debate.label, untrusted=True)
        its = whole.debate
        asked = question_of(wish, its.question.material)
        same = (its.question.text, its.question.choices, its.question.topic) == (
            asked.text,
            asked.choices,
            asked.topic,
        ) and its.question.material.startswith(material_of(wish.material))
        if not same or await self._wished_before(caller, its.run) not in (None, _wished(wish)):
            raise KeyReused(wish.key)
        return StartedDebate(its, replayed=True)

    async def _wished_before(self, caller: Principal, run: RunId) -> JsonValue:
        """None of one that the engine does not keep any more, while the debate is still there."""
        try:
            return (await self.book.get(caller, run)).input.get("wished")
        except RunNotFound:
            return None


def keyed_id(caller: Principal, wish: DebateSpec) -> DebateId:
    return DebateId.of_digest(
        f"{_kind(wish)} {caller.space} {caller.id} {wish.key}".encode("utf-8", "replace")
    )


def _kind(wish: DebateSpec) -> str:
    return ANALYSIS if wish.analyze else DEBATE


def _key(wish: DebateSpec, which: DebateId) -> str:
    return str(which) if wish.key is None else wish.key


def _wished(wish: DebateSpec) -> JsonObject:
    """Without a word of what it is about: whoever may see the run may not read that."""
    cap = wish.cap
    return {
        "kind": None if wish.kind is None else str(wish.kind),
        "voices": list(wish.debaters),
        "roles": list(wish.roles),
        "preset": None if wish.preset is None else str(wish.preset),
        "thoroughness": wish.thoroughness,
        "tokens": None if cap is None else cap.tokens,
        "money": None if cap is None or cap.money is None else str(cap.money),
        "deadline": None if wish.deadline is None else wish.deadline.total_seconds(),
        "guests": wish.guests,
        "memory": len(wish.memory),
        "material": len(wish.material),
        "project": wish.project,
        "label": None if wish.label is None else str(wish.label),
        "shared": wish.shared,
        "unbounded": wish.unbounded,
        "parts": wish.parts_most,
    }


def _entry(debate: Debate) -> AuditEntry:
    return AuditEntry(
        action="debate.started",
        subject=str(debate.id),
        details={
            "voices": [voice.name for voice in debate.debaters],
            "preset": str(debate.rules.preset),
            "guests": debate.guests,
            "analysis": debate.analysis,
            "label": str(debate.label),
            "tokens": debate.cap.tokens,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateAccess:
    blackboard: Blackboard
    tasks: DebateContexts

    async def __call__(self, caller: Principal, which: DebateId) -> tuple[Principal, WholeDebate]:
        """With whoever asks, where they are then. Raises `DebateNotFound`."""
        caller = at_debate(caller, which)
        whole = await self.blackboard.read(caller, which)
        await self.tasks.read(caller, whole.debate.label, untrusted=True)
        return caller, whole

    async def own(self, caller: Principal, which: DebateId) -> tuple[Principal, WholeDebate]:
        """For whoever steps in: only its starter does. Nobody else is told that there is one which
        they may not lead. Raises `DebateNotFound`."""
        caller, whole = await self(caller, which)
        if whole.debate.started_by != caller.id:
            raise DebateNotFound(str(which))
        return caller, whole


def top(debate: Debate) -> DebateId:
    """A part is led with its analysis."""
    return debate.part_of or debate.id


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDebates:
    blackboard: Blackboard
    outcomes: Outcomes
    material: Material
    tasks: DebateContexts

    async def page(
        self,
        caller: Principal,
        *,
        project: str | None = None,
        status: DebateStatus | None = None,
        words: str | None = None,
        after: DebateId | None = None,
        limit: int = 50,
    ) -> Sequence[Debate]:
        """Newest first. Raises `NotPermitted`, `ProjectNotFound`."""
        require_scope(caller, Scope.DEBATES_READ)
        caller = at_debate(caller, None)
        which = None if project is None else (await self.material.project(caller, project))[0]
        found = await self.blackboard.page(
            caller, project=which, status=status, words=words, after=after, limit=limit
        )
        await self._read(caller, found)
        return found

    async def one(self, caller: Principal, which: DebateId) -> WholeDebate:
        """Raises `NotPermitted`, `DebateNotFound`."""
        require_scope(caller, Scope.DEBATES_READ)
        _, whole = await self._seen(caller, which)
        return whole

    async def parts(self, caller: Principal, which: DebateId) -> Sequence[Debate]:
        """In the order of its plan. Raises `NotPermitted`, `DebateNotFound`."""
        require_scope(caller, Scope.DEBATES_READ)
        caller, _ = await self._seen(caller, which)
        found = await self.blackboard.parts(caller, which)
        await self._read(caller, found)
        return found

    async def turned_out(self, caller: Principal, which: DebateId) -> Sequence[Outcome]:
        """Newest first. Raises `NotPermitted`, `DebateNotFound`."""
        require_scope(caller, Scope.DEBATES_READ)
        caller, _ = await self._seen(caller, which)
        return await self.outcomes.of(caller, which)

    async def _seen(self, caller: Principal, which: DebateId) -> tuple[Principal, WholeDebate]:
        return await DebateAccess(blackboard=self.blackboard, tasks=self.tasks)(caller, which)

    async def _read(self, caller: Principal, found: Sequence[Debate]) -> None:
        """Before any of it is handed out."""
        label = join(debate.label for debate in found)
        await self.tasks.read(caller, label, untrusted=bool(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDebate:
    blackboard: Blackboard
    tasks: DebateContexts
    logs: Logs
    audit: Audit
    unit_of_work: UnitOfWork

    async def __call__(self, caller: Principal, which: DebateId) -> None:
        """Raises `NotPermitted`, `DebateNotFound`, `InvalidDebate`."""
        require_scope(caller, Scope.DEBATES_RUN)
        see = DebateAccess(blackboard=self.blackboard, tasks=self.tasks)
        caller, whole = await see.own(caller, which)
        its = whole.debate
        if not its.status.over:
            raise InvalidDebate(f"{which} is not over yet.", "Stop it first.")
        if its.part_of is not None:
            raise InvalidDebate(
                f"{which} is a part of {its.part_of}.", "Remove the whole analysis."
            )
        parts = await self.blackboard.parts(caller, which) if its.analysis else ()
        async with self.unit_of_work(caller):
            await self.blackboard.remove(caller, which)
            await self.audit.note(caller, AuditEntry(action="debate.removed", subject=str(which)))
        for each in (which, *(part.id for part in parts)):
            await asyncio.to_thread(self.logs.remove, caller.space, each)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareDebate:
    blackboard: Blackboard
    tasks: DebateContexts
    audit: Audit
    unit_of_work: UnitOfWork

    async def __call__(self, caller: Principal, which: DebateId) -> Debate:
        """As secret as it is; nothing goes down by it. Raises `NotPermitted`, `DebateNotFound`,
        `InvalidDebate`."""
        require_scope(caller, Scope.DEBATES_RUN)
        see = DebateAccess(blackboard=self.blackboard, tasks=self.tasks)
        caller, whole = await see.own(caller, which)
        if whole.debate.project is None:
            raise InvalidDebate(
                "It belongs to no project that it could be shared with.",
                "Start it in a project, with `project`.",
            )
        async with self.unit_of_work(caller):
            shared = await self.blackboard.share(caller, which)
            await self.audit.note(caller, AuditEntry(action="debate.shared", subject=str(which)))
        return shared


# Stop a debate: whoever is being heard is hung up on, and it ends with the votes in hand.


@dataclass(frozen=True, slots=True, kw_only=True)
class StopDebate:
    blackboard: Blackboard
    tasks: DebateContexts
    book: RunQueries
    runs: Runs
    queue: RunQueue
    bus: Bus
    audit: Audit
    unit_of_work: UnitOfWork
    clock: Clock

    async def __call__(self, caller: Principal, which: DebateId) -> Debate:
        """As it is then: it ends by itself, a moment later. A part is stopped with its analysis.
        Raises `NotPermitted`, `DebateNotFound`, `DebateOver`."""
        require_scope(caller, Scope.DEBATES_RUN)
        see = DebateAccess(blackboard=self.blackboard, tasks=self.tasks)
        caller, whole = await see.own(caller, which)
        its = whole.debate
        if its.status.over:
            raise DebateOver(str(which))
        note = Note(name="stopped", kind=NoteKind.STOPPED, at=self.clock.now())
        label = join([its.label, (await self.tasks.at(caller)).label])
        async with self.unit_of_work(caller):
            await self.blackboard.note(caller, top(its), note, label)
            await self.audit.note(caller, AuditEntry(action="debate.stopped", subject=str(which)))
        self.bus.wake(caller.space, stop_topic(its.run))
        await self._woken(caller, its.run)
        return (await self.blackboard.read(caller, which)).debate

    async def _woken(self, caller: Principal, run: RunId) -> None:
        """One that waits for guests does not wait for them any more."""
        with suppress(RunNotFound, RunOver):
            for topic in (await self.book.get(caller, run)).waits_for:
                with suppress(AlreadyAnswered):
                    turn = await self.runs.signal(caller, run, topic, None)
                    if turn is not None:
                        await self.queue.join(turn)
            self.bus.wake(caller.space, control_topic(run))


Following = Callable[[Principal, DebateId], AsyncGenerator[DebateStreamItem, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForDebate:
    look: QueryDebates
    follow_debate: Following

    async def __call__(self, caller: Principal, debate: DebateId, *, patience: timedelta) -> Debate:
        """As it is once it is over, or once patience is. Whoever waits has read it. Raises
        `DebateNotFound`."""
        now = (await self.look.one(caller, debate)).debate
        if now.status.over or patience <= timedelta(0):
            return now
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(patience.total_seconds()),
                aclosing(self.follow_debate(caller, debate)) as telling,
            ):
                async for told in telling:
                    if isinstance(told.event, DebateEnded):
                        break
        return (await self.look.one(caller, debate)).debate


_REPEATS: Final = 8
"""How often the same question is looked for among what was asked before. Whoever asks it more
often than this hears a new answer each time, and finds no debate of theirs by it."""


class StartsDebates(Protocol):
    async def __call__(self, caller: Principal, wish: DebateSpec) -> StartedDebate: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AskInChat:
    start_debate: StartsDebates

    async def __call__(self, caller: Principal, wish: DebateSpec, *, again: bool) -> Debate:
        """`again`: the program repeats itself, since it did not hear the answer. What is over has
        been heard otherwise: whoever asks the same then wants it debated anew. A program that
        names a key says itself what is the same. Raises what starting a debate raises."""
        if wish.key is not None:
            return (await self.start_debate(caller, wish)).debate
        key = _chat_key(wish)
        for number in range(_REPEATS):
            try:
                started = await self.start_debate(caller, replace(wish, key=f"{key}-{number}"))
            except KeyReused:
                continue
            if not started.replayed or again or not started.debate.status.over:
                return started.debate
        return (await self.start_debate(caller, wish)).debate


def _chat_key(wish: DebateSpec) -> str:
    text = json.dumps([wish.preset, wish.question, wish.material])
    return f"chat-{hashlib.sha256(text.encode()).hexdigest()}"
