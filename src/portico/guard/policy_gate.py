"""The gate before every call: limits, policy, approval, audit."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from portico.guard.core.access_request import (
    AccessRequest,
    Action,
    ActionTarget,
    Allowed,
    Decision,
    Denied,
    NeedsApproval,
)
from portico.guard.core.approvals import ApprovalGrant
from portico.guard.core.audit import AuditEntry
from portico.guard.core.errors import LimitReached, NotPermitted, Refused
from portico.guard.core.rate_limits import FirstAMinute
from portico.guard.policy import Decide
from portico.guard.ports import Audit, CallLimits, Contexts
from portico.kernel.errors import Kind, PorticoError
from portico.kernel.json import JsonObject, NotCanonical
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal

_WORDS: Final[dict[type[Decision], str]] = {
    Allowed: "allowed",
    NeedsApproval: "asked",
    Denied: "denied",
}
_NAMES: Final = 20
_NAME_LENGTH: Final = 64
_SUBJECT_LENGTH: Final = 200
"""Names of arguments are the caller's own words: no more of them than helps whoever reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    decide: Decide
    limits: CallLimits
    contexts: Contexts
    journal: Audit
    first: FirstAMinute = field(default_factory=FirstAMinute)

    async def __call__(
        self, act: AccessRequest, *, ticket: ApprovalGrant | None = None
    ) -> Allowed | NeedsApproval:
        """A ticket for exactly this act is the approval that it needs, and lifts nothing else.

        What was decided is in the audit before anything that may change something is done, and
        soon after for a read. Raises `Refused`, `LimitReached`, `ContextNotFound`, and
        `NotCanonical` for arguments that are no JSON.
        """
        await self._taken(act, self.limits.take_own)
        hash_ = await self._hash(act)
        decision = await self.decide(act)
        if isinstance(decision, NeedsApproval) and ticket is not None and ticket.good_for(act):
            decision = Allowed(f"approval:{ticket.approval}", f"{ticket.by} has approved it")
        if isinstance(decision, Allowed):
            await self._taken(act, self.limits.take_shared)
        await self._write_down(act, hash_, decision)
        if isinstance(decision, Denied):
            caller = act.caller
            raise Refused(
                act.target.tool, decision.rule, decision.reason, who=caller.name, key=caller.key
            )
        return decision

    def made_ahead(self, act: AccessRequest, decision: Allowed) -> None:
        """A read that was allowed is made before it is asked for: it is in the audit as any other.
        Raises `NotCanonical` as above."""
        facts = {**_facts(act, act.hash), "ahead": True}
        self.journal.note_behind(act.caller, _entry(act, decision, facts))

    async def taint_context(self, caller: Principal, aim: ActionTarget) -> None:
        """The caller's task covers, from now on, what is about to be given to it."""
        if aim.label != PUBLIC or not aim.trusted:
            await self.contexts.raise_taint(caller, aim.label, untrusted=not aim.trusted)

    @contextmanager
    def in_front(self, caller: Principal, action: Action, tool: str) -> Iterator[None]:
        """Whoever is refused before it comes to a decision is in the audit too. Nothing limits how
        often somebody is: the same is written down once a minute, and without a right to call
        anything, whatever is named is the same."""
        try:
            yield
        except PorticoError as error:
            if error.kind is Kind.DENIED:
                named = "" if isinstance(error, NotPermitted) else tool
                entry = AuditEntry(
                    action=f"{action}.denied",
                    subject=_plain(tool[:_SUBJECT_LENGTH]),
                    rule=f"default:{error.code}",
                    reason=str(error),
                )
                self._once(caller, (error.code, named), entry)
            raise

    async def _taken(
        self, act: AccessRequest, take: Callable[[AccessRequest], Awaitable[None]]
    ) -> None:
        try:
            await take(act)
        except LimitReached as error:
            entry = AuditEntry(
                action=f"{act.action}.limited",
                subject=act.target.tool,
                reason=str(error),
                details={"server": act.target.server},
            )
            self._once(act.caller, (error.code, str(error)), entry)
            raise

    def _once(self, caller: Principal, what: tuple[str, str], entry: AuditEntry) -> None:
        if self.first((caller.space, caller.id, *what), self.decide.clock.now()):
            self.journal.note_behind(caller, entry)

    async def _hash(self, act: AccessRequest) -> str:
        """What has none could not be told from another act, by an approval or in the audit. Raises
        `NotCanonical`."""
        try:
            return act.hash
        except NotCanonical as error:
            await self._write_down(act, None, Denied("default:arguments", str(error)))
            raise

    async def _write_down(self, act: AccessRequest, hash_: str | None, decision: Decision) -> None:
        entry = _entry(act, decision, _facts(act, hash_))
        if isinstance(decision, Allowed) and act.target.effect.is_read_only:
            self.journal.note_behind(act.caller, entry)
        elif isinstance(decision, Allowed):
            await self.journal.note_ahead(act.caller, entry)
        else:
            await self.journal.note(act.caller, entry)


def _entry(act: AccessRequest, decision: Decision, facts: JsonObject) -> AuditEntry:
    return AuditEntry(
        action=f"{act.action}.{_WORDS[type(decision)]}",
        subject=act.target.tool,
        rule=decision.rule,
        reason=decision.reason,
        details=facts,
    )


def _facts(act: AccessRequest, hash_: str | None) -> JsonObject:
    names = sorted(act.arguments)[:_NAMES]
    return {
        "server": act.target.server,
        "effect": str(act.target.effect),
        "pin": act.target.pin,
        "hash": hash_,
        "arguments": [_plain(name[:_NAME_LENGTH]) for name in names],
    }


def _plain(text: str) -> str:
    """As it can be written: half of a surrogate pair is spelt out."""
    return text.encode(errors="backslashreplace").decode()
