"""Cursors as readers hold them: sealed, so that they tell nothing and cannot be made up."""

import base64
import binascii
from collections.abc import Collection
from dataclasses import dataclass

from portico.engine.core.cursor import Positions, bound_to, packed, unpacked
from portico.engine.core.errors import BadCursor
from portico.engine.ports import Seal
from portico.kernel.ids import SpaceId


@dataclass(frozen=True, slots=True)
class Cursors:
    """Of the readers of these topics in this space."""

    seal: Seal
    topics: Collection[str]
    context: bytes

    @classmethod
    def of(cls, seal: Seal, space: SpaceId, topics: Collection[str]) -> "Cursors":
        return cls(seal, topics, bound_to(space, topics))

    def text(self, positions: Positions) -> str:
        sealed = self.seal.seal(packed(positions), self.context)
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def positions(self, text: str) -> dict[str, int]:
        """Raises `BadCursor`."""
        try:
            padded = text.encode("ascii") + b"=" * (-len(text) % 4)
            sealed = base64.b64decode(padded, altchars=b"-_", validate=True)
        except (binascii.Error, UnicodeError) as error:
            raise BadCursor from error
        content = self.seal.unseal(sealed, self.context)
        if content is None:
            raise BadCursor
        return unpacked(self.topics, content)
