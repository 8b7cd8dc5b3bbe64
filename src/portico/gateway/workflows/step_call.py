"""One call of a run, through the guard, once.

Its durable step gives where the answer is kept, or that somebody has to be asked first, or that
nobody knows whether it was made. Then the run waits, and holds nothing meanwhile: for the end of
the request, or for a person's word.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Final

from portico.engine.core.errors import StepFailed
from portico.engine.core.runs import Failure
from portico.gateway.core.call import ResultId
from portico.gateway.core.plan.waiting_topics import later_topic
from portico.gateway.core.saved_workflow import ADMITTED
from portico.gateway.workflows.acting import Acting
from portico.gateway.workflows.came import Came, Gave, LeftOut, Stopped, WentWrong
from portico.gateway.workflows.keep_answer import kept_unknown, noted_of
from portico.gateway.workflows.make_call import CallWish, MakeCall
from portico.gateway.workflows.needed import needed
from portico.gateway.workflows.read_end import ReadEnd
from portico.guard.core.approvals import Resolution
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue

_LATER: Final = timedelta(minutes=1)
"""It is told of the end of a request; should that be lost, it looks this much after it."""
_SELDOM: Final = timedelta(minutes=10)
"""What was approved may take long to be made: it looks twice as late each time, up to this."""


@dataclass(frozen=True, slots=True)
class _Asked:
    approval: ApprovalId
    topic: str
    left: timedelta


def uncertain_topic(step: str, number: int) -> str:
    return f"~uncertain:{step}:{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCall:
    make: MakeCall
    read_end: ReadEnd

    async def __call__(self, acting: Acting, wish: CallWish) -> Came:
        """What it came to; it raises nothing of that."""
        number = 1
        while True:
            name = wish.step if number == 1 else f"{wish.step}~{number}"
            try:
                noted = await acting.durable.step(name, self.make.action(acting, wish, name))
                came = await self._followed(acting, wish, number, noted)
            except StepFailed as failed:
                return WentWrong(failed.failure)
            except Stopped as stopped:
                return LeftOut(
                    f"the plan was stopped by {stopped.by!r}, which failed", stopped=True
                )
            if came is not None:
                return came
            number += 1

    async def _followed(
        self, acting: Acting, wish: CallWish, number: int, noted: JsonValue
    ) -> Came | None:
        """None if somebody wants it to be tried again. Raises `StepFailed`."""
        match noted:
            case {"approval": str(approval), "topic": str(topic), "left": int() | float() as left}:
                asked = _Asked(ApprovalId.parse(approval), topic, timedelta(seconds=left))
                return await self._approved(acting, wish, number, asked)
            case {"uncertain": str(why)}:
                return await self._uncertain(acting, wish, number, why)
            case _:
                return gave(noted)

    async def _approved(self, acting: Acting, wish: CallWish, number: int, asked: _Asked) -> Came:
        """Raises `StepFailed`."""
        name = wish.step if number == 1 else f"{wish.step}~{number}"
        durable, approval = acting.durable, asked.approval
        facts: JsonObject = {
            "step": wish.step,
            "tool": str(wish.tool),
            "approval": str(approval),
        }
        await durable.tell(f"{name}:waiting", "workflow.step_waiting", facts)
        patience: timedelta | None = asked.left + _LATER
        for look in count(1):
            topic = later_topic(asked.topic, look)
            told = await durable.wait_for_signal(topic, patience=patience)
            step = f"{name}~approved" if look == 1 else f"{name}~approved-{look}"
            noted = await durable.step(step, self.read_end.action(acting, approval))
            if noted is not None:
                return _left_out(noted) or gave(noted)
            patience = min(_LATER * 2**look, _SELDOM)
            if isinstance(told, Mapping) and told.get("uncertain") is True:
                unknown = {**facts, "attempt": number, "why": "approved_call_uncertain"}
                await durable.tell(f"{name}:uncertain:{look}+", "workflow.step_uncertain", unknown)
                patience = None
        raise AssertionError  # counting has no end

    async def _uncertain(
        self, acting: Acting, wish: CallWish, number: int, why: str
    ) -> Came | None:
        """Raises `StepFailed`."""
        durable = acting.durable
        topic = uncertain_topic(wish.step, number)
        facts: JsonObject = {
            "step": wish.step,
            "tool": str(wish.tool),
            "attempt": number,
            "why": why,
        }
        await durable.tell(f"{wish.step}:uncertain:{number}", "workflow.step_uncertain", facts)
        told = await durable.wait_for_signal(topic)
        by = told.get("by") if isinstance(told, Mapping) else None
        match told:
            case {"resolution": Resolution.DONE}:
                return await self._said_done(acting, wish, number)
            case {"resolution": Resolution.RETRY}:
                return None
            case _:
                return LeftOut(f"{by} says that it was not done, and shall not be")

    async def _said_done(self, acting: Acting, wish: CallWish, number: int) -> Came:
        async def action(_key: str) -> JsonValue:
            return noted_of(await needed(lambda: kept_unknown(acting)))

        return gave(await acting.durable.step(f"{wish.step}~said-{number}", action))


def gave(noted: JsonValue) -> Came:
    match noted:
        case {"result": str(result), "size": int(size), **more}:
            return Gave(ResultId.parse(result), size, more.get(ADMITTED) is True)
        case _:
            return WentWrong(Failure("BadJournal", "The journal does not say what it gave."))


def _left_out(noted: JsonValue) -> LeftOut | None:
    match noted:
        case {"left_out": str(why)}:
            return LeftOut(why)
        case _:
            return None
