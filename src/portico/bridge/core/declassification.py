"""Making something less secret: what is found in it, what goes, who said yes."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.errors import BelowContainer, NotLower
from portico.bridge.core.message import MessageId
from portico.kernel.ids import ApprovalId, Id, PrincipalId, SpaceId
from portico.kernel.json import canonical
from portico.kernel.label import Label

DECLASSIFY: Final = "bridge.declassify"
"""What it is called among requests, where most are for tools."""


class DeclassificationId(Id):
    __slots__ = ()
    prefix = "dcl"


class FindingKind(StrEnum):
    SECRET = "secret"  # noqa: S105 # a kind of finding
    PERSONAL = "personal"


@dataclass(frozen=True, slots=True)
class Finding:
    """A stretch of a text that should not be there for more people."""

    rule: str
    kind: FindingKind
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    text: str
    findings: tuple[Finding, ...]
    """In the text as it was."""
    diff: tuple[str, ...]
    """Line by line, what changes, for whoever has to say yes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What somebody wants to be less secret, as it would be read then. It waits for a person."""

    message: MessageId
    before: Label
    after: Label
    redacted: Redacted
    approval: ApprovalId


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """What is said again at the end of its conversation: these words and nothing besides. Who wrote
    them, whom they name and what was attached stays as secret as it was."""

    conversation: ConversationId
    text: str
    untrusted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Declassification:
    """Kept for ever, and signed: what was lowered, from where to where, and on whose word. So far
    that is always a message."""

    id: DeclassificationId
    source: MessageId
    copy: MessageId
    before: Label
    after: Label
    rules: tuple[str, ...]
    """That something was found by."""
    asked_by: PrincipalId
    approved_by: PrincipalId
    approval: ApprovalId
    at: datetime
    digest: str
    """SHA-256 of the text that was let out."""
    signature: str = ""
    sound: bool = True
    """The signature is of this very record, and ours."""


def check_lower(before: Label, after: Label, inside: Label) -> None:
    """Raises `NotLower`, `BelowContainer`."""
    if after == before or not before.covers(after):
        raise NotLower(after, before)
    if not after.covers(inside):
        raise BelowContainer(after, inside)


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def pin_of(source: Id, before: Label, after: Label, text: str) -> str:
    """What a yes is bound to: this message or debate, as secret as it is, these words, and for
    whom. The database puts the same together by itself."""
    return f"{source.value} {_spelt(before)} {_spelt(after)} {digest_of(text)}"


def signed_content(space: SpaceId, record: Declassification) -> bytes:
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
            "asked_by": str(record.asked_by),
            "approved_by": str(record.approved_by),
            "approval": str(record.approval),
            "at": record.at.astimezone(UTC).isoformat(),
            "digest": record.digest,
        }
    )


def _spelt(label: Label) -> str:
    return f"{int(label.level)}:{','.join(sorted(label.compartments))}"
