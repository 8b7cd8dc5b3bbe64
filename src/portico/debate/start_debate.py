"""Start a debate, or an analysis: as whoever asks for it, once however often it is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from portico.debate.choose_voices import LeftOut
from portico.debate.core.debate import Debate, DebateId
from portico.debate.core.errors import BudgetTooSmall, DebateNotFound
from portico.debate.core.estimate import least, least_named
from portico.debate.core.happening import Skipped
from portico.debate.core.note import Note, NoteKind
from portico.debate.core.spending import left_of
from portico.debate.core.table import skipped_name
from portico.debate.core.wish import DebateWish
from portico.debate.core.wish_checks import question_of
from portico.debate.places import at_debate
from portico.debate.ports import Blackboard, Talk, Tasks
from portico.debate.prepare_debate import Prepared, PrepareDebate, material_of, within_windows
from portico.debate.run_debate import DEBATE
from portico.debate.starter import asker_of
from portico.engine.core.errors import KeyReused, RunNotFound
from portico.engine.core.runs import Started
from portico.engine.ports import RunBook
from portico.engine.runs import RunWish
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Audit, Together
from portico.guard.principals import permit
from portico.kernel.budget import NOTHING
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import ContextId, RunId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.kernel.tokens import Tokenizer

ANALYSIS: Final = "analysis"
"""The kind of run of a debate that is cut into parts."""


@dataclass(frozen=True, slots=True)
class StartedDebate:
    debate: Debate
    replayed: bool


class Starting(Protocol):
    async def started(self, caller: Principal, wish: RunWish) -> Started:
        """Raises what starting a run raises."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StartDebate:
    prepare: PrepareDebate
    blackboard: Blackboard
    tasks: Tasks
    talk: Talk
    book: RunBook
    start_run: Starting
    audit: Audit
    together: Together
    tokenizer: Tokenizer
    clock: Clock
    entropy: Entropy

    async def __call__(self, caller: Principal, wish: DebateWish) -> StartedDebate:
        """Raises `NotPermitted`, what is wrong with the wish, `BudgetTooSmall`, `KeyReused`."""
        permit(caller, Scope.DEBATES_RUN)
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
        self, prepared: Prepared, wish: DebateWish, context: ContextId
    ) -> StartedDebate:
        caller, kind = prepared.caller, _kind(wish)
        debate = self._debate(prepared, wish, context)
        given: JsonObject = {
            "debate": str(debate.id),
            "asker": asker_of(caller),
            "wished": _wished(wish),
        }
        its = RunWish(kind=kind, input=given, key=_key(wish, debate.id), label=debate.label)
        async with self.together(caller):
            started = await self.start_run.started(caller, its)
            await self.blackboard.begin(caller, debate)
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
            await self.talk.tell(caller, debate.id, told, label=debate.label)

    def _debate(self, prepared: Prepared, wish: DebateWish, context: ContextId) -> Debate:
        caller, now = prepared.caller, self.clock.now()
        which = self._id(caller, wish)
        return Debate(
            id=which,
            question=prepared.question,
            rules=prepared.rules,
            voices=prepared.voices,
            guests=0 if wish.analyze else wish.guests,
            cap=prepared.cap,
            unbounded=wish.unbounded,
            deadline=now + prepared.deadline,
            label=prepared.label,
            began=prepared.label,
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

    def _id(self, caller: Principal, wish: DebateWish) -> DebateId:
        if wish.key is None:
            return DebateId.mint(self.clock.now(), self.entropy)
        return keyed_id(caller, wish)

    async def _there(self, caller: Principal, wish: DebateWish) -> StartedDebate | None:
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


def keyed_id(caller: Principal, wish: DebateWish) -> DebateId:
    return DebateId.of_digest(
        f"{_kind(wish)} {caller.space} {caller.id} {wish.key}".encode("utf-8", "replace")
    )


def _kind(wish: DebateWish) -> str:
    return ANALYSIS if wish.analyze else DEBATE


def _key(wish: DebateWish, which: DebateId) -> str:
    return str(which) if wish.key is None else wish.key


def _wished(wish: DebateWish) -> JsonObject:
    """Without a word of what it is about: whoever may see the run may not read that."""
    cap = wish.cap
    return {
        "kind": None if wish.kind is None else str(wish.kind),
        "voices": list(wish.voices),
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
        facts={
            "voices": [voice.name for voice in debate.voices],
            "preset": str(debate.rules.preset),
            "guests": debate.guests,
            "analysis": debate.analysis,
            "label": str(debate.label),
            "tokens": debate.cap.tokens,
        },
    )
