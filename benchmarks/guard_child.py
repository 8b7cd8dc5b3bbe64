"""The processes under measurement in `just bench guard`, one measurement each."""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Final, cast

from benchmarks.guard import ECHO
from benchmarks.guard_chain import ways_to_chain, written_and_verified
from benchmarks.guard_house import GuardHouse, guard_house
from portico.adapters.system.clock import SystemClock
from portico.app.app_context import AppContext
from portico.app.guard import open_policy
from portico.gateway.calls import CallTool
from portico.gateway.core.catalog_snapshot import ToolRef
from portico.guard.core.access_request import AccessRequest, Action, ActionTarget, Allowed
from portico.guard.core.approvals import ApprovalGrant
from portico.guard.core.audit import AuditEntry
from portico.guard.core.rules import Rule, RuleSource, Ruling
from portico.guard.policy import Decide
from portico.guard.policy_gate import Gate
from portico.kernel.effect import Effect
from portico.kernel.label import Label, Level
from portico.kernel.principal import Principal

TEAM: Final = Label(Level.TEAM)
_RULES: Final = 100
_BATCH: Final = 50
_BATCHES: Final = 200
_WARM: Final = 20
_READ: Final = ToolRef(ECHO, "echo")
_WRITE: Final = ToolRef(ECHO, "requests")
_TEXT: Final = {"text": "x" * 100}

Figures = dict[str, Any]


class OpenGate:
    """Allows whatever comes, and writes nothing down."""

    async def __call__(
        self,
        _act: AccessRequest,
        *,
        ticket: ApprovalGrant | None = None,  # noqa: ARG002 # the gate's own signature
    ) -> Allowed:
        return Allowed("open", "")

    async def taint_context(self, _caller: Principal, _aim: ActionTarget) -> None:
        return

    def in_front(
        self, _caller: Principal, _action: Action, _tool: str
    ) -> AbstractContextManager[None]:
        return nullcontext()


async def decisions() -> Figures:
    """As every call has it: the rules of the space at hand, and what the task has read asked for
    only where the decision turns on it, as it does for a write that leaves the house."""
    async with guard_house() as house:
        policy = open_policy(AppContext(), house.outside)
        decide = Decide(rules=policy.rules, contexts=policy.contexts, clock=policy.clock)
        read, local, write = [
            AccessRequest(caller=house.caller, target=_aim(effect), arguments=_TEXT)
            for effect in (Effect.EXTERNAL_READ, Effect.LOCAL_WRITE, Effect.EXTERNAL_WRITE)
        ]
        without = await _microseconds(decide, read)
        for number in range(_RULES):
            await policy.rules.add(house.caller, _rule(number))
        return {
            "rules": _RULES,
            "decisions": _BATCH * _BATCHES,
            "decide_us": max([await _microseconds(decide, act) for act in (read, local)]),
            "decide_by_task_us": await _microseconds(decide, write, batches=_BATCHES // 10),
            "without_rules_us": without,
        }


async def _microseconds(decide: Decide, act: AccessRequest, batches: int = _BATCHES) -> float:
    took = []
    for _ in range(batches):
        began = time.process_time_ns()
        for _ in range(_BATCH):
            await decide(act)
        took.append((time.process_time_ns() - began) / _BATCH / 1000)
    return round(median(took), 1)


def _aim(effect: Effect) -> ActionTarget:
    return ActionTarget(tool=str(_READ), server=ECHO, effect=effect, pin="p", clearance=TEAM)


def _rule(number: int) -> Rule:
    """None of them decides: each has to be looked at."""
    return Rule(
        name=f"rule-{number}",
        ruling=list(Ruling)[number % 3],
        tools=(f"server-{number}.*", f"*.delete_{number}"),
        who=("role:member", f"agent-{number}-*"),
        source=RuleSource.DATABASE,
        made_by="bench",
        made_at=SystemClock().now(),
    )


@dataclass(slots=True)
class _Way:
    call: Callable[[], Awaitable[object]]
    p50s: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    async def measure(self, house: GuardHouse, calls: int) -> None:
        took, cpu = [], house.cpu()
        for _ in range(calls):
            began = time.perf_counter()
            await self.call()
            took.append(time.perf_counter() - began)
        self.p50s.append(median(took))
        self.cpu.append((sum(house.cpu()) - sum(cpu)) / calls)


async def calls(rounds: int, count: int) -> Figures:
    async with guard_house() as house:
        guarded = house.opened.gateway.over_http.call_tool
        unguarded = replace(guarded, gate=cast("Gate", OpenGate()))
        return {
            name: await _beside(house, guarded, unguarded, ref, rounds, count)
            for name, ref in (("read", _READ), ("write", _WRITE))
        }


async def _beside(  # noqa: PLR0917 # one call of all
    house: GuardHouse,
    guarded: CallTool,
    unguarded: CallTool,
    ref: ToolRef,
    rounds: int,
    count: int,
) -> Figures:
    given = _TEXT if ref == _READ else {}
    ways = [_Way(lambda it=it: it(house.caller, ref, given)) for it in (guarded, unguarded)]  # type: ignore[misc] # bound here, not when called
    for way in ways:
        for _ in range(_WARM):
            await way.call()
    for number in range(rounds):
        for way in ways if number % 2 else ways[::-1]:
            await way.measure(house, count)
    ours, bare = ways
    ratios = [one / other for one, other in zip(ours.p50s, bare.p50s, strict=True)]
    return {
        "ratio": round(median(ratios), 2),
        "ratios": [round(each, 2) for each in ratios],
        "cpu_ratio": round(median(ours.cpu) / median(bare.cpu), 2),
        "guarded_ms": round(median(ours.p50s) * 1000, 2),
        "unguarded_ms": round(median(bare.p50s) * 1000, 2),
    }


async def audit(rounds: int, count: int) -> Figures:
    """What an entry costs beside the plainest statement that there is, each in its own trip."""
    entry = AuditEntry(
        action="call.allowed",
        subject="mail.send_message",
        rule="default:writes",
        reason="whoever may change things may do this",
        details={"server": "mail", "effect": "external_write", "pin": "p" * 64, "hash": "h" * 64},
    )
    async with guard_house() as house:
        noting, caller = house.auditing.audit, house.caller

        async def bare() -> None:
            await house.transactions.stroke(caller, ("SELECT 1 AS one", {}))

        async def behind() -> None:
            noting.note_behind(caller, entry)

        ways: Mapping[str, Callable[[], Awaitable[None]]] = {
            "audit": lambda: noting.note(caller, entry),
            "audit_behind": behind,
            "bare": bare,
        }
        figures: Figures = {}
        for name, act in ways.items():
            spent = [await _spent(house, act, 5 * count) for _ in range(rounds)]
            figures[f"{name}_cpu_ms"] = round(median(ours for ours, _ in spent), 3)
            figures[f"{name}_postgres_cpu_ms"] = round(median(theirs for _, theirs in spent), 3)
        return figures


async def _spent(
    house: GuardHouse, act: Callable[[], Awaitable[None]], count: int
) -> tuple[float, float]:
    """Milliseconds of CPU each, of this process and of the database."""
    ours, theirs = house.cpu()
    for _ in range(count):
        await act()
    await house.auditing.audit.flush()
    ours_now, theirs_now = house.cpu()
    return (ours_now - ours) / count * 1000, (theirs_now - theirs) / count * 1000


async def ways(rounds: int) -> Figures:
    async with guard_house() as house:
        return {"entries_per_s": await ways_to_chain(house, rounds)}


async def verification(entries: int) -> Figures:
    async with guard_house() as house:
        return await written_and_verified(house, entries)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    what, *sizes = sys.argv[1:]
    measurements: Mapping[str, Callable[..., Awaitable[Figures]]] = {
        "decide": decisions,
        "calls": calls,
        "audit": audit,
        "ways": ways,
        "verify": verification,
    }
    print(json.dumps(asyncio.run(measurements[what](*map(int, sizes)))))  # type: ignore[arg-type] # coroutines
