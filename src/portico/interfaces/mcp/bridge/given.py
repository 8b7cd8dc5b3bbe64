"""What a model sends to a tool of the bridge: read leniently, and nothing of it is passed over."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from portico.bridge.core.attachments import Digest
from portico.bridge.core.conversations import ConversationId
from portico.bridge.core.errors import BadBridgeInput
from portico.bridge.core.messages import MessageId
from portico.interfaces.mcp.bridge.tools import BridgeTool
from portico.interfaces.mcp.fields import flaws_of, lenient
from portico.kernel.errors import Flaw
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.label import Label


@dataclass(frozen=True, slots=True)
class Given:
    """Fits what its tool says that it takes; what was left out, or is null, is not there."""

    fields: Mapping[str, Any]

    @classmethod
    def read(cls, tool: BridgeTool, given: JsonObject) -> "Given":
        """Raises `BadBridgeInput`: also of a field that is not known, which may have been a label
        that was meant to hold."""
        fields = lenient(tool, given)
        if flaws := [*flaws_of(tool, fields)]:
            raise BadBridgeInput(flaws)
        return cls(fields)

    def __contains__(self, field: str) -> bool:
        return field in self.fields

    def text(self, field: str) -> str | None:
        found: str | None = self.fields.get(field)
        return found

    def needed(self, field: str, why: str = "is needed") -> str:
        """Raises `BadBridgeInput`."""
        if (found := self.text(field)) is None:
            raise BadBridgeInput([Flaw(field, why)])
        return found

    def texts(self, field: str) -> Sequence[str]:
        """Each once."""
        return list(dict.fromkeys(self.fields.get(field, ())))

    def number(self, field: str) -> int | None:
        found: int | None = self.fields.get(field)
        return found

    def token(self) -> int:
        """Raises `BadBridgeInput`."""
        if (found := self.number("token")) is None:
            raise BadBridgeInput([Flaw("token", "is needed: the one that you were given")])
        return found

    def seconds(self, field: str) -> timedelta | None:
        """Raises `BadBridgeInput`."""
        found = self.number(field)
        try:
            return None if found is None else timedelta(seconds=found)
        except OverflowError as error:
            raise BadBridgeInput([Flaw(field, "is too long a time")]) from error

    def switch(self, field: str) -> bool | None:
        found: bool | None = self.fields.get(field)
        return found

    def value(self, field: str) -> JsonValue:
        found: JsonValue = self.fields.get(field)
        return found

    def label(self, field: str = "label") -> Label | None:
        """Raises `BadLabel`."""
        found = self.text(field)
        return None if found is None else Label.parse(found)

    @property
    def upto(self) -> Label | None:
        """Raises `BadLabel`."""
        return self.label("upto")

    def conversation(self) -> ConversationId:
        """Raises `BadBridgeInput`, `BadId`."""
        return ConversationId.parse(self.needed("conversation"))

    def message(self, field: str) -> MessageId | None:
        """Raises `BadId`."""
        found = self.text(field)
        return None if found is None else MessageId.parse(found)

    def digests(self) -> tuple[Digest, ...]:
        """Raises `AttachmentNotFound` of what is none."""
        return tuple(map(Digest.parse, self.texts("attachments")))

    def content(self) -> bytes:
        """Of a file, which comes as text or in base 64. Raises `BadBridgeInput`."""
        try:
            if (found := self.text("text")) is not None:
                return found.encode()
            return base64.b64decode(self.needed("base64", "or text is needed"), validate=True)
        except (UnicodeEncodeError, binascii.Error) as error:
            field = "base64" if found is None else "text"
            raise BadBridgeInput([Flaw(field, "cannot be read as what it should be")]) from error
