"""Cursors as readers hold them: sealed, so that they tell nothing and cannot be made up."""

import base64
import binascii
from collections.abc import Collection
from dataclasses import dataclass

from portico.bridge.core.conversation import ConversationId
from portico.bridge.core.cursor import (
    Direction,
    Places,
    Standing,
    content_of,
    good_for,
    standing_of,
)
from portico.engine.core.errors import BadCursor
from portico.engine.ports import Seal
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Cursors:
    """Each for one reader, and for as much as they could see then."""

    seal: Seal
    direction: Direction = Direction.ON

    def text(self, caller: Principal, places: Places) -> str:
        context = good_for(caller, places, self.direction)
        sealed = self.seal.seal(content_of(places, caller.clearance), context)
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def standing(
        self, caller: Principal, conversations: Collection[ConversationId], text: str | None
    ) -> Standing:
        """Without a cursor, at the first. Raises `BadCursor`."""
        if text is None:
            return Standing(dict.fromkeys(conversations, 0))
        try:
            padded = text.encode("ascii") + b"=" * (-len(text) % 4)
            sealed = base64.b64decode(padded, altchars=b"-_", validate=True)
        except (binascii.Error, UnicodeError) as error:
            raise BadCursor from error
        content = self.seal.unseal(sealed, good_for(caller, conversations, self.direction))
        if content is None:
            raise BadCursor
        return standing_of(conversations, caller.clearance, content)
