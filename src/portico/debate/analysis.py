"""Analyse a question in parts."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from portico.debate.activation import Activation
from portico.debate.conduct import HoldDebate, TakeUp, ended_of, result_of
from portico.debate.core.analysis import (
    PLAN,
    across_sheet,
    analysis_decision,
    listed,
    part_of,
    plan_of,
    plan_sheet,
    reading_across,
    reading_plan,
)
from portico.debate.core.conduct import BUDGET, SYNTHESIS, Table, best_judge, noted, skipped_name
from portico.debate.core.debaters import Debater
from portico.debate.core.debates import (
    Debate,
    DebateStatus,
    Decision,
    Note,
    NoteKind,
    RemainingBudget,
    Why,
    left_of,
    share_of,
)
from portico.debate.core.estimates import Plan, first_pair, text_cost
from portico.debate.core.events import PartStarted, Skipped
from portico.debate.core.prompts import Reading, Sheet
from portico.debate.core.questions import Cap
from portico.debate.debaters import DebaterQuestion
from portico.engine.execution import retry_while_unavailable
from portico.kernel.durable import Durable
from portico.kernel.json import JsonObject, JsonValue

# Carry out an analysis: a plan, its parts at once, and one text out of them. All of it is in one
# run, so that whoever carries it on after a crash has the plan, the parts and what they came to.


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAnalysis:
    resume: TakeUp
    hold: HoldDebate

    async def __call__(self, durable: Durable, given: JsonObject) -> JsonValue:
        """Which debate it was: what came of it is there. Raises `Discreet` where it failed."""
        starter, whole = await self.resume.whole(durable, given)
        caller, its = starter.worker, whole.debate
        if its.status.over:
            await retry_while_unavailable(
                lambda: self.resume.event_sink.publish(
                    caller, its.id, ended_of(its), label=its.label
                )
            )
            return result_of(its)
        watch = self.resume.watch(caller, its.id)
        async with watch.watching(self.resume.bus, caller.space, durable.run):
            try:
                leg = await self.resume.leg(durable, starter, whole, watch)
                ended = await self._carried_out(leg)
            except Exception as error:  # whatever it was, it ends
                raise await self.resume.failed(caller, its, error) from error
        await self.resume.written(caller, its.id)
        return result_of(ended)

    async def _carried_out(self, leg: Activation) -> Debate:
        await self.hold.look(leg)
        decided = noted(leg.notes)
        if decided is not None:
            return await self.hold.end(leg, decided)
        plan = await self._planned(leg)
        parts = await self._parts(leg, plan)
        await self._debated(leg, parts)
        await self.hold.look(leg)
        over = await retry_while_unavailable(
            lambda: self.resume.blackboard.parts(leg.caller, leg.debate.id)
        )
        body = await self._across(leg, over)
        table = await self._table(leg)
        why = table.ended_by or (Why.BUDGET if table.short_of_budget else Why.ALL_ASKED)
        decision = analysis_decision(over, body, why)
        note = await self.hold.note(leg, "decision", NoteKind.DECISION, decision.as_json())
        return await self.hold.end(leg, Decision.from_json(note.body))

    async def _table(self, leg: Activation) -> Table:
        spent = await retry_while_unavailable(
            lambda: self.resume.budget_ledger.committed(leg.caller, leg.debate.id)
        )
        return leg.table(left_of(leg.debate.cap, spent), self.resume.clock.now())

    async def _planned(self, leg: Activation) -> Note:
        """By whoever is best at it; where nobody can, the task is one question."""
        table = await self._table(leg)
        found = [note for note in leg.notes if note.name == PLAN]
        if not found and table.ended_by is None:
            most = leg.debate.parts_most
            longest = max(table.own_debaters, key=lambda voice: voice.max_output_tokens)
            voice = best_judge(table, plan_sheet(table.prompt_inputs, longest, most))
            if voice is not None:
                sheet = plan_sheet(table.prompt_inputs, voice, most)
                read = reading_plan(voice.name, most)
                await self.hold.asked(leg, [_asked(PLAN, NoteKind.PLAN, voice, sheet, read)])
                await self.hold.look(leg)
                found = [note for note in leg.notes if note.name == PLAN]
        return found[0] if found else Note(name=PLAN, kind=NoteKind.PLAN, at=leg.debate.started_at)

    async def _parts(self, leg: Activation, plan: Note) -> Sequence[Debate]:
        """Begun all together, each with its share: what is left does not change meanwhile."""
        table = await self._table(leg)
        if table.ended_by is None:
            await leg.durable.step("parts", partial(self._begun, leg, plan))
        return await retry_while_unavailable(
            lambda: self.resume.blackboard.parts(leg.caller, leg.debate.id)
        )

    async def _begun(self, leg: Activation, plan: Note, _key: str) -> JsonValue:
        its, now = leg.debate, self.resume.clock.now()
        table = await self._table(leg)
        subs = plan_of(its, plan)
        wished = [
            part_of(its, sub, leg.personas, place=place, cap=its.cap, now=now)
            for place, sub in enumerate(subs)
        ]
        free = _without_text(table)
        fitting = _fitting(wished, leg, free)
        share = share_of(free, max(len(fitting), 1))
        for part in fitting:
            begun = replace(part, cap=share, label=leg.label, start_label=leg.label)
            await retry_while_unavailable(
                lambda begun=begun: self.resume.blackboard.add(leg.caller, begun)  # type: ignore[misc] # bound now
            )
            await self.hold.tell(leg, PartStarted(debate=str(part.id), question=part.question.text))
        for part in wished[len(fitting) :]:
            await self._left_out(leg, part)
        return {"parts": [str(part.id) for part in fitting]}

    async def _left_out(self, leg: Activation, part: Debate) -> None:
        body: JsonObject = {"what": part.question.text, "why": BUDGET}
        await self.hold.note(leg, skipped_name(f"part:{part.id}"), NoteKind.SKIPPED, body)
        await self.hold.tell(leg, Skipped(what=part.question.text, why=BUDGET, saved_tokens=0))

    async def _debated(self, leg: Activation, parts: Sequence[Debate]) -> None:
        async with asyncio.TaskGroup() as group:
            for part in parts:
                if not part.status.over:
                    group.create_task(self._part(leg, part))

    async def _part(self, leg: Activation, part: Debate) -> None:
        """One that cannot go on is one part less, no more."""
        whole = await retry_while_unavailable(
            lambda: self.resume.blackboard.read(leg.caller, part.id)
        )
        try:
            its = await self.resume.leg(leg.durable, leg.initiator, whole, leg.watch, leg.secrecy)
            await self.hold(its)
        except Exception as error:  # noqa: BLE001 # the others go on
            await self.resume.failed(leg.caller, part, error)
        await self.resume.written(leg.caller, part.id)

    async def _across(self, leg: Activation, parts: Sequence[Debate]) -> JsonObject:
        """By whoever is best at it; where nobody can, what they came to is listed."""
        over = [part for part in parts if part.status is not DebateStatus.RUNNING]
        if not over:
            return {}
        table = await self._table(leg)
        if not table.done(SYNTHESIS) and table.ended_by is None:
            longest = max(table.own_debaters, key=lambda voice: voice.max_output_tokens)
            voice = best_judge(table, across_sheet(table.prompt_inputs, longest, over))
            if voice is None:
                body: JsonObject = {"what": SYNTHESIS, "why": BUDGET}
                await self.hold.note(leg, skipped_name(SYNTHESIS), NoteKind.SKIPPED, body)
            else:
                sheet = across_sheet(table.prompt_inputs, voice, over)
                read = reading_across(voice.name, over)
                asked = _asked(SYNTHESIS, NoteKind.SYNTHESIS, voice, sheet, read)
                await self.hold.asked(leg, [replace(asked, last=True)])
        await self.hold.look(leg)
        texts = [note.body for note in leg.notes if note.kind is NoteKind.SYNTHESIS]
        return texts[0] if texts else listed(over)


def _asked(
    name: str, kind: NoteKind, voice: Debater, sheet: Sheet, read: Reading
) -> DebaterQuestion:
    why = "to cut it into questions" if kind is NoteKind.PLAN else "one answer out of all parts"
    return DebaterQuestion(name=name, kind=kind, debater=voice, sheet=sheet, read=read, why=why)


def _without_text(table: Table) -> RemainingBudget:
    """What is left for the parts: the text out of them is kept free."""
    left = table.left
    return left_of(Cap(tokens=left.tokens, money=left.money), text_cost(table.own_debaters))


def _fitting(wished: Sequence[Debate], leg: Activation, free: RemainingBudget) -> Sequence[Debate]:
    """As many of the first ones as a pair can be asked about."""
    for many in range(len(wished), 0, -1):
        share = share_of(free, many)
        if all(_fits(part, share, leg) for part in wished[:many]):
            return wished[:many]
    return ()


def _fits(part: Debate, share: Cap, leg: Activation) -> bool:
    plan = Plan(
        question=part.question,
        rules=part.rules,
        debaters=part.debaters,
        personas=leg.personas,
        cap=share,
        seconds=0,
    )
    return first_pair(plan, leg.count)[1]
