"""Ask people whether something may be done, once however often it is asked for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from portico.guard.approval_ports import ApprovalNews, Approvals, Errands
from portico.guard.core.act import Act, NeedsApproval, TaskContext
from portico.guard.core.approval import Approval, Asker, Waiter
from portico.guard.core.audit_entry import AuditEntry
from portico.guard.core.danger import marked
from portico.guard.core.errors import AskedOtherwise, TooManyAsked
from portico.guard.ports import Audit, Together, Vault
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.label import PUBLIC


@dataclass(frozen=True, slots=True, kw_only=True)
class AskApproval:
    approvals: Approvals
    errands: Errands
    news: ApprovalNews
    audit: Audit
    vault: Vault
    together: Together
    clock: Clock
    entropy: Entropy
    hide: Callable[[JsonValue], JsonValue]
    """Without the very secrets that the house knows of, and with all else: whoever answers must
    see what will be done, also where it merely looks like a secret."""
    expires: timedelta
    most: int
    """That wait at a time, of one asker."""

    async def __call__(
        self,
        act: Act,
        context: TaskContext,
        needed: NeedsApproval,
        *,
        before: Sequence[JsonObject] = (),
        waiter: Waiter | None = None,
    ) -> Approval:
        """The request that answers for this act: an earlier one, or a new one. A waiter has one of
        its own. Raises `TooManyAsked`, `AskedOtherwise`."""
        now = self.clock.now()
        found = await self._earlier(act, context, waiter)
        if found is not None and (waiter is not None or found.answers_for(now)):
            return found
        new = replace(self._new(act, context, needed, before), waiter=waiter)
        sealed = self.vault.seal(canonical(act.arguments), sealed_for(new.id))
        async with self.together(act.caller):
            waiting = await self.approvals.waiting(act.caller, now)
            added = await self.approvals.add(act.caller, new, sealed)
            if added.id == new.id:
                if waiting >= self.most:
                    raise TooManyAsked(act.caller.name, self.most)
                await self.errands.begin(act.caller, new)
                await self.audit.note(act.caller, asked_entry(new))
                await self.news.tell(act.caller, "asked", new)
        return added

    async def _earlier(
        self, act: Act, context: TaskContext, waiter: Waiter | None
    ) -> Approval | None:
        """Raises `AskedOtherwise`: a yes to one thing is none to another."""
        if waiter is None:
            return await self.approvals.latest(act.caller, context.id, act.hash)
        found = await self.approvals.asked_by(act.caller, waiter)
        if found is not None and found.hash != act.hash:
            raise AskedOtherwise(act.aim.tool, str(found.id))
        return found

    def _new(
        self, act: Act, context: TaskContext, needed: NeedsApproval, before: Sequence[JsonObject]
    ) -> Approval:
        now = self.clock.now()
        caller, aim = act.caller, act.aim
        approval = ApprovalId.mint(now, self.entropy)
        shown = shown_of(self.hide(act.arguments))
        return Approval(
            id=approval,
            space=caller.space,
            asker=Asker(caller.id, caller.name, caller.kind, caller.key, caller.context),
            context=context.id,
            action=act.action,
            tool=aim.tool,
            server=aim.server,
            effect=aim.effect,
            pin=aim.pin,
            launch=aim.launch,
            hash=act.hash,
            label=context.label,
            tainted=context.untrusted or context.label != PUBLIC,
            arguments=shown,
            marks=marked(act.arguments, shown),
            before=tuple(before),
            rule=needed.rule,
            reason=needed.reason,
            asked_at=now,
            expires_at=now + self.expires,
            run=self.errands.run_of(caller, approval),
        )


def shown_of(cleaned: JsonValue) -> JsonObject:
    """Arguments are an object, and what is left of one without its secrets is too."""
    return cleaned if isinstance(cleaned, Mapping) else {}


def sealed_for(approval: ApprovalId) -> bytes:
    """What arguments are sealed together with: those of one request open in no other."""
    return f"approval {approval}".encode()


def asked_entry(approval: Approval) -> AuditEntry:
    return AuditEntry(
        action="approval.asked",
        subject=approval.tool,
        rule=approval.rule,
        reason=approval.reason,
        facts={
            "approval": str(approval.id),
            "hash": approval.hash,
            "effect": str(approval.effect),
            "replaces": None if approval.replaces is None else str(approval.replaces),
        },
    )
