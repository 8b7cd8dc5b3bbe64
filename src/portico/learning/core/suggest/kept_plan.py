"""A plan that went well, as it is kept: whose it was, for which words, and no value of anybody."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from portico.kernel.ids import Id, PrincipalId, SpaceId
from portico.kernel.json import JsonValue, canonical
from portico.kernel.label import Label
from portico.learning.core.suggest.intent import in_general

MOST_OF_STEPS: Final = 60_000
"""Characters of the steps of a plan, as they are written down."""


class PastPlanId(Id):
    __slots__ = ()
    prefix = "pln"

    @classmethod
    def of(
        cls, space: SpaceId, who: PrincipalId, label: Label, intent: str, steps: JsonValue = None
    ) -> Self:
        """The same for the same words of the same person that came to the same plan, whichever
        values stand among them."""
        words = in_general(intent).casefold()
        whole = canonical([str(space), str(who), str(label), words, steps])
        return cls.of_digest(b"past plan " + whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPlan:
    id: PastPlanId
    principal: PrincipalId
    label: Label
    """Of the run that it comes from: it covers whatever its tools know."""
    intent: str
    """With a kind in the place of each value; empty for everybody but its author."""
    vector: bytes
    """Of the intent without its values: little-endian float32, of length one; none if there was
    nothing to embed."""
    steps: JsonValue
    """As `skeleton_document` writes them, each tool by the id of its server."""
    runs: int = 1
    accepted: int = 0
    rejected: int = 0
    modified: int = 0
    last_at: datetime
