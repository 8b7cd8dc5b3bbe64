"""Do something once, however often it is asked for."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from portico.engine.core.idempotency import Claim, StoredResponse, WriteOutcome
from portico.engine.ports import Receipts
from portico.kernel.json import JsonValue
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A write as it was asked for; without a key it is done each time it is asked."""

    operation: str
    request: JsonValue
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotentWrite:
    receipts: Receipts

    async def __call__(
        self, caller: Principal, ask: WriteRequest, action: Callable[[], Awaitable[StoredResponse]]
    ) -> WriteOutcome:
        """Raises `KeyReused`, and whatever `action` raises."""
        if ask.key is None:
            return WriteOutcome((await action()).first(), replayed=False)
        claim = Claim.of(ask.operation, ask.key, ask.request)
        return await self.receipts.once(caller, claim, action)
