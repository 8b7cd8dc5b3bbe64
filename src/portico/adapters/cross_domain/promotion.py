"""Promote a debate: another person approves every word of a copy, as on the bridge."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC
from typing import Final, Self

from portico.adapters.postgres.debate.mapping import body_json, voice_json
from portico.adapters.postgres.debate.outcomes import PostgresPromotions, Promoted
from portico.adapters.postgres.mapping import strip_nul
from portico.bridge.core.declassification import (
    DECLASSIFY,
    DeclassificationId,
    check_lower,
    digest_of,
    pin_of,
    redacted,
)
from portico.bridge.core.errors import LoweredOtherwise
from portico.bridge.core.messages import label_of
from portico.bridge.declassification import CarryOutDeclassification, Scanner
from portico.bridge.ports import Projects
from portico.debate.core.debates import DebateId, Note, NoteKind, WholeDebate
from portico.debate.core.vote_weights import pair_name
from portico.debate.debaters import PAID
from portico.debate.ports import Blackboard
from portico.guard.approvals import AskApproval, about_end
from portico.guard.authentication import RevalidatePrincipal
from portico.guard.core.access_request import AccessRequest, Action, ActionTarget, NeedsApproval
from portico.guard.core.approvals import Approval, Outcome
from portico.guard.core.audit import AuditEntry
from portico.guard.core.principals import Scope
from portico.guard.ports import Contexts
from portico.guard.principals import require_scope
from portico.kernel.effect import Effect
from portico.kernel.ids import ApprovalId, SpaceId
from portico.kernel.json import JsonObject, JsonValue, canonical
from portico.kernel.label import PUBLIC, Label
from portico.kernel.principal import Principal

PROMOTION: Final = "debate_promotion"
"""The kind of the run behind a request."""
RULE: Final = "debate:promotion"
_LET_OUT: Final = frozenset(
    {
        NoteKind.SAID,
        NoteKind.SAME,
        NoteKind.JUDGED,
        NoteKind.SYNTHESIS,
        NoteKind.PLAN,
        NoteKind.DECISION,
    }
)
"""All that it is decided by, so that whoever replays the copy decides the same."""
_SEED: Final = 0
"""Of every copy: that of the debate itself is not let out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebatePromotion:
    """The debate room's `Promotion`."""

    projects: Projects
    contexts: Contexts
    scan: Scanner
    ask: AskApproval

    async def propose(self, caller: Principal, whole: WholeDebate, to: Label) -> ApprovalId:
        """Raises `NotLower`, `BelowContainer`, `TooManyPendingApprovals`."""
        debate = whole.debate
        check_lower(debate.label, to, await self._inside(caller, debate.project))
        task = await self.contexts.get(caller)
        label_of(None, inside=debate.label, mark=task.label, clearance=caller.clearance)
        out = await let_out(self.scan, whole)
        aim = ActionTarget(
            tool=DECLASSIFY,
            server="bridge",
            effect=Effect.IRREVERSIBLE,
            pin=pin_of(debate.id, debate.label, to, out.text),
        )
        shown: JsonObject = {
            "debate": str(debate.id),
            "from": str(debate.label),
            "to": str(to),
            "found": dict(Counter(out.rules)),
            "content": out.content,
        }
        asked = await self.ask(
            AccessRequest(caller=caller, action=Action.DECLASSIFY, target=aim, arguments=shown),
            task,
            NeedsApproval(RULE, f"A debate that is {debate.label} could then be read as {to}."),
        )
        return asked.id

    async def _inside(self, caller: Principal, project: str | None) -> Label:
        if project is None:
            return PUBLIC
        return (await self.projects.get(caller, project)).label


@dataclass(frozen=True, slots=True, kw_only=True)
class CarryOutPromotion(CarryOutDeclassification):
    """The run behind a request: as the bridge's, with a copy of a debate in place of a message."""

    blackboard: Blackboard
    promotions: PostgresPromotions

    @classmethod
    def beside(
        cls,
        lowering: CarryOutDeclassification,
        *,
        blackboard: Blackboard,
        promotions: PostgresPromotions,
    ) -> Self:
        same = {each.name: getattr(lowering, each.name) for each in fields(lowering)}
        return cls(**same, blackboard=blackboard, promotions=promotions)

    async def _carried_out(self, caller: Principal, approval: Approval) -> JsonValue:
        """As whoever asked, with what they may now. Raises `KeyEnded`, `NotPermitted`,
        `DebateNotFound`, `LoweredOtherwise`, `NotApproved`."""
        as_they_are = RevalidatePrincipal(key_ring=self.key_ring, clock=self.clock)
        asker = await as_they_are.no_more(
            caller, key=approval.requester.key, at=approval.requester.at
        )
        require_scope(asker, Scope.DEBATES_RUN)
        record, text = await self._copied(asker, approval)
        ended = replace(approval, outcome=Outcome.DONE, ended_at=record.at)
        async with self.unit_of_work(asker):
            if not await self.approvals.claim(asker, approval.id, self.clock.now()):
                return _told(await self.approvals.get(asker, approval.id))
            await self.promotions.add(asker, record, text)
            await self.approvals.end(asker, ended)
            await self.audit.note(asker, _entry(record), about_end("approval.used", ended))
            await self.news.publish(asker, "used", ended)
        return {**_told(ended), "debate": str(record.copy)}

    async def _copied(self, requester: Principal, approval: Approval) -> tuple[Promoted, str]:
        """From the debate as it is now, which has to be as it was. Raises `LoweredOtherwise`."""
        source = DebateId.parse(str(approval.arguments["debate"]))
        after = Label.parse(str(approval.arguments["to"]))
        whole = await self.blackboard.read(requester, source)
        out = await let_out(self.scan, whole)
        if pin_of(source, whole.debate.label, after, out.text) != approval.pin:
            raise LoweredOtherwise(str(source))
        now = self.clock.now()
        record = Promoted(
            id=DeclassificationId.mint(now, self.entropy),
            source=source,
            copy=DebateId.mint(now, self.entropy),
            before=whole.debate.label,
            after=after,
            rules=tuple(sorted(set(out.rules))),
            approval=approval.id,
            at=now,
            digest=digest_of(out.text),
        )
        signature = self.signing.sign(_signed(requester.space, record))
        return replace(record, signature=signature), out.text


@dataclass(slots=True)
class LetOut:
    """What of a debate would be read by others, without what looks like a secret."""

    scan: Scanner
    rules: list[str] = field(default_factory=list)
    content: JsonObject = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The one text that it has: what a yes is bound to."""
        return canonical(self.content).decode()

    def clean(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                text = strip_nul(value)
                findings = self.scan(text)
                self.rules += [each.rule for each in findings]
                return redacted(text, findings).text if findings else text
            case Mapping():
                return {strip_nul(name): self.clean(each) for name, each in value.items()}
            case list() | tuple():
                return [self.clean(each) for each in value]
            case _:
                return value


async def let_out(scan: Scanner, whole: WholeDebate) -> LetOut:
    """Beside whatever else is going on: a long debate takes a while to be looked through."""
    return await asyncio.to_thread(_let_out, scan, whole)


def _let_out(scan: Scanner, whole: WholeDebate) -> LetOut:
    """Without its material, which is somebody else's to promote, and without what it cost. Guests
    have no seats in a copy: they are among its voices."""
    debate, out = whole.debate, LetOut(scan)
    question = replace(debate.question, material="")
    body: JsonObject = {
        **body_json(replace(debate, question=question, start_label=None, seed=_SEED)),
        "voices": [voice_json(voice) for voice in debate.debaters],
    }
    decision = None if debate.decision is None else debate.decision.as_json()
    notes: dict[JsonValue, JsonObject] = {}
    for note in whole.notes:
        if note.kind in _LET_OUT or _gave_none(note):
            said = _note(out, note)
            notes.setdefault(said["name"], said)  # two may be one without what is blacked out
    out.content = {
        "body": out.clean(body),
        "decision": out.clean(decision),
        "notes": [*notes.values()],
    }
    return out


def _gave_none(note: Note) -> bool:
    """Whoever gave no answer was asked all the same."""
    return note.kind is NoteKind.FAILED and note.name.startswith(("said:", "judged:"))


def _note(out: LetOut, note: Note) -> JsonObject:
    body = {name: out.clean(each) for name, each in note.body.items() if name != PAID}
    if note.kind is NoteKind.FAILED:
        body = {name: body.get(name) for name in ("code", "why")}
    return {
        "name": _pair(note.name, body) if note.kind is NoteKind.SAME else out.clean(note.name),
        "kind": str(note.kind),
        "voice": out.clean(note.voice),
        "round": note.round,
        "body": body,
        "at": note.at.astimezone(UTC).isoformat(),
    }


def _pair(name: str, body: JsonObject) -> str:
    """What is said of two answers is named after them, as they are in the copy."""
    how = name.partition(":")[0]
    return f"{how}:{pair_name(str(body['one']), str(body['other']), _SEED)}"


def _told(approval: Approval) -> JsonObject:
    outcome = approval.outcome
    return {
        "status": str(approval.status),
        "outcome": None if outcome is None else str(outcome),
    }


def _signed(space: SpaceId, record: Promoted) -> bytes:
    """All of a record but its signature, in the one text that it has."""
    return canonical(
        {
            "space": str(space),
            "id": str(record.id),
            "source": str(record.source),
            "copy": str(record.copy),
            "before": str(record.before),
            "after": str(record.after),
            "rules": [*record.rules],
            "approval": str(record.approval),
            "at": record.at.astimezone(UTC).isoformat(),
            "digest": record.digest,
        }
    )


def _entry(record: Promoted) -> AuditEntry:
    return AuditEntry(
        action="debate.promoted",
        subject=str(record.source),
        details={
            "record": str(record.id),
            "copy": str(record.copy),
            "from": str(record.before),
            "to": str(record.after),
            "rules": [*record.rules],
            "approval": str(record.approval),
            "digest": record.digest,
            "signature": record.signature,
        },
    )
