"""What a tool of ours says of what it does."""

from enum import Enum

from portico.kernel.json import JsonObject


class Effect(Enum):
    """What a client's own permission screen is told; that it does not only read is what a client
    takes for granted of a tool that says nothing of it."""

    READS = "readOnlyHint", True
    WRITES = "destructiveHint", False
    MAY_DESTROY = "destructiveHint", True

    @property
    def hints(self) -> JsonObject:
        hint, holds = self.value
        return {hint: holds}
