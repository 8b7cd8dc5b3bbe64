"""Every use case on its real doors."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from portico.adapters.cross_domain.space_leavings import SpaceLeavings
from portico.adapters.crypto import AesSivSeal
from portico.adapters.dbos.late_line import LateLine
from portico.adapters.inline import InlineBus
from portico.adapters.postgres.checks import Readiness
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.engine.idempotency import PostgresReceipts
from portico.adapters.postgres.engine.runs import PostgresRunBook, PostgresRuns
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.keys import PostgresKeyRing, PostgresKeys, PostgresSessions
from portico.adapters.postgres.guard.principals import PostgresPrincipals
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.assemble import Doors, assemble, nothing_kept, nothing_measured, nothing_tried
from portico.app.audit import Auditing, open_audit
from portico.app.ground import Ground
from portico.app.oauth import token_doors
from portico.engine.ports import Bus, Line
from portico.engine.runs import Kinds
from portico.interfaces.http.use_cases import UseCases
from portico.kernel.ids import SpaceId
from portico.sandbox.core.probes import Report


async def nothing_there(_space: SpaceId) -> None:
    """Only a server runs programs, and is given secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the use cases have in common with what else goes on in the same process."""

    bus: Bus = field(default_factory=InlineBus)
    line: Line = field(default_factory=LateLine)
    """Until somebody brings a line, whoever joins is found in the store by those who have one."""
    kinds: Kinds = field(default_factory=lambda: Kinds([]))
    metrics_text: Callable[[], Awaitable[str]] = nothing_measured
    boxes: Callable[[], Sequence[Report] | None] = nothing_tried
    secrets_in: Callable[[], Awaitable[str | None]] = nothing_kept
    stop_space: Callable[[SpaceId], Awaitable[None]] = nothing_there
    forget_secrets: Callable[[SpaceId], Awaitable[None]] = nothing_there
    auditing: Auditing | None = None
    """A process that ends when it has done one thing has an audit of its own."""


def use_cases(ground: Ground, transactions: Transactions, shared: Shared | None = None) -> UseCases:
    clock, pepper, shared = SystemClock(), ground.pepper(), shared or Shared()
    bus, auditing = shared.bus, shared.auditing or open_audit(ground, transactions)
    log = PostgresEventLog(transactions, bus, clock, system_entropy)
    return assemble(
        Doors(
            key_ring=PostgresKeyRing(transactions),
            keys=PostgresKeys(transactions),
            sessions=PostgresSessions(transactions),
            principals=PostgresPrincipals(transactions),
            spaces=PostgresSpaces(transactions),
            receipts=PostgresReceipts(transactions),
            contexts=PostgresTaskContexts(transactions, clock),
            book=PostgresRunBook(transactions),
            runs=PostgresRuns(transactions, log, bus=bus, clock=clock, entropy=system_entropy),
            line=shared.line,
            kinds=shared.kinds,
            event_log=log,
            bus=bus,
            seal=AesSivSeal.from_pepper(pepper),
            together=transactions.begin,
            audit=auditing.audit,
            audit_log=auditing.log,
            audit_heads=auditing.heads,
            clock=clock,
            entropy=system_entropy,
            pepper=pepper,
            of_token=token_doors(ground, transactions),
            store_status=Readiness(ground.store, transactions),
            version=ground.version,
            base_url=ground.base_url,
            metrics_text=shared.metrics_text,
            boxes=shared.boxes,
            secrets_in=shared.secrets_in,
            leavings=SpaceLeavings(
                stop=shared.stop_space,
                forget_secrets=shared.forget_secrets,
                folders=ground.loaded.paths.of_spaces,
            ),
        )
    )
