"""What the bridge needs to let something out: to look through it, say it again, sign for it."""

from collections.abc import Sequence
from typing import Protocol

from portico.bridge.core.declassification import Declassification, Finding, Lowered
from portico.bridge.core.message import MessageId
from portico.kernel.principal import Principal


class Scanner(Protocol):
    def __call__(self, text: str) -> Sequence[Finding]: ...


class Declassifications(Protocol):
    async def add(self, caller: Principal, record: Declassification, copy: Lowered) -> None:
        """The copy at the end of its conversation, sent by the caller, and the record of it; both
        or neither. The store looks by itself whether a person has said yes to exactly this.
        Raises `NotApproved`, `Archived`."""
        ...

    async def of(self, caller: Principal, message: MessageId) -> Sequence[Declassification]:
        """Of what was made of it, or what it was made of, for those who may know what it was made
        of; oldest first."""
        ...


class Signing(Protocol):
    def sign(self, content: bytes) -> str: ...

    def holds(self, content: bytes, signature: str) -> bool:
        """Whether it is our signature of this."""
        ...
