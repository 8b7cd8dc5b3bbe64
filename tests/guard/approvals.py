"""Requests as tests make them."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from portico.guard.core.access_request import AccessRequest, ActionTarget
from portico.guard.core.approvals import (
    Answered,
    AnswerKind,
    Approval,
    ApprovalRequester,
    Via,
    answered,
)
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, ContextId, RunId, SpaceId
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.testing.memory_store import BEGINNING, SeededEntropy

HOUR = timedelta(hours=1)


def an_act(caller: Principal, *, tool: str = "files.delete", **arguments: Any) -> AccessRequest:
    aim = ActionTarget(
        tool=tool,
        server=tool.partition(".")[0],
        effect=Effect.IRREVERSIBLE,
        pin="pin",
        launch="launch",
    )
    return AccessRequest(caller=caller, target=aim, arguments=arguments or {"path": "/a"})


def an_approval(
    caller: Principal,
    name: str = "one",
    *,
    act: AccessRequest | None = None,
    at: datetime = BEGINNING,
    **changes: Any,
) -> Approval:
    act = act or an_act(caller)
    entropy = SeededEntropy(name)
    approval = ApprovalId.mint(at, entropy)
    made = Approval(
        id=approval,
        space=SpaceId(caller.space.value),
        requester=ApprovalRequester(
            caller.id, caller.name, caller.kind, caller.key, caller.context
        ),
        context=ContextId(caller.id.value),
        tool=act.target.tool,
        server=act.target.server,
        effect=act.target.effect,
        pin=act.target.pin,
        launch=act.target.launch,
        hash=act.hash,
        label=PUBLIC,
        tainted=False,
        arguments=act.arguments,
        rule="default:irreversible",
        reason="It cannot be undone.",
        asked_at=at,
        expires_at=at + HOUR,
        run=RunId.of_claim(caller.space, caller.id, "errand", str(approval)),
    )
    return replace(made, **changes)


def an_answer(
    by: Principal,
    kind: AnswerKind = AnswerKind.ONCE,
    *,
    at: datetime = BEGINNING,
    reason: str | None = None,
) -> Answered:
    return Answered(kind, by.id, by.name, Via.CLI, at, reason)


def approved(approval: Approval, by: Principal, *, at: datetime = BEGINNING) -> Approval:
    return answered(approval, an_answer(by, at=at), HOUR)
