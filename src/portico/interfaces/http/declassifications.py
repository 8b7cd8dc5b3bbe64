"""Making messages less secret, over REST: ask for it, and see what was let out on whose word."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from portico.bridge.core.declassification import Declassification, Finding, FindingKind
from portico.bridge.core.messages import MessageId
from portico.interfaces.http.authentication import Caller
from portico.interfaces.http.bridge_use_cases import LettingOut
from portico.interfaces.http.paging import Page
from portico.interfaces.http.problems import documented
from portico.interfaces.http.words import Body, LabelText, MessageIdPath
from portico.kernel.label import Label


class LowerIn(Body, title="LowerIn"):
    to: LabelText
    """How secret the copy is to be."""


class FindingOut(BaseModel, title="FindingOut"):
    rule: str
    kind: FindingKind
    start: int
    end: int


class ProposalOut(BaseModel, title="ProposalOut"):
    approval: str
    """Of the request that somebody else has to say yes to."""
    text: str
    """What the copy would say."""
    findings: list[FindingOut]
    """What would be blacked out: where in the text as it is."""
    diff: list[str]


class DeclassificationOut(BaseModel, title="DeclassificationOut"):
    id: str
    source: str
    copy_: Annotated[str, Field(serialization_alias="copy")]
    before: str
    after: str
    rules: list[str]
    """That something was found by."""
    asked_by: str
    approved_by: str
    approval: str
    at: datetime
    digest: str
    """SHA-256 of the text that was let out."""
    signature: str
    sound: bool
    """The signature is of this very record, and ours."""


router = APIRouter(prefix="/messages/{message}", tags=["bridge"])


@router.post(
    "/declassification",
    name="propose_declassification",
    status_code=202,
    responses=documented(404, 429),
)
async def propose_declassification(
    letting_out: LettingOut, caller: Caller, message: MessageIdPath, body: LowerIn
) -> ProposalOut:
    """Ask for a copy that is less secret. It is said at the end of the conversation once somebody
    else has approved it, without what was found in it."""
    proposal = await letting_out.propose_declassification(
        caller, MessageId.parse(message), Label.parse(body.to)
    )
    return ProposalOut(
        approval=str(proposal.approval),
        text=proposal.redacted.text,
        findings=[_finding_out(each) for each in proposal.redacted.findings],
        diff=[*proposal.redacted.diff],
    )


@router.get("/declassifications", name="list_declassifications", responses=documented(404))
async def list_declassifications(
    letting_out: LettingOut, caller: Caller, message: MessageIdPath
) -> Page[DeclassificationOut]:
    """What was let out of it, oldest first."""
    found = await letting_out.list_declassifications(caller, MessageId.parse(message))
    return Page(data=[_out(each) for each in found], next=None)


def _finding_out(finding: Finding) -> FindingOut:
    return FindingOut(rule=finding.rule, kind=finding.kind, start=finding.start, end=finding.end)


def _out(record: Declassification) -> DeclassificationOut:
    return DeclassificationOut(
        id=str(record.id),
        source=str(record.source),
        copy_=str(record.copy),
        before=str(record.before),
        after=str(record.after),
        rules=[*record.rules],
        asked_by=str(record.asked_by),
        approved_by=str(record.approved_by),
        approval=str(record.approval),
        at=record.at,
        digest=record.digest,
        signature=record.signature,
        sound=record.sound,
    )
