"""Every use case that needs no gateway, built on its adapters."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from portico.adapters.cross_domain.space_cleanup import SpaceLeavings
from portico.adapters.crypto import AesSivSeal
from portico.adapters.dbos.deferred_queue import DeferredQueue
from portico.adapters.inline import InlineBus
from portico.adapters.postgres.checks import Readiness
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.engine.idempotency import PostgresReceipts
from portico.adapters.postgres.engine.runs import PostgresRunQueries, PostgresRuns
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.keys import PostgresKeyRing, PostgresKeys, PostgresSessions
from portico.adapters.postgres.guard.principals import PostgresPrincipals
from portico.adapters.postgres.guard.spaces import PostgresSpaces
from portico.adapters.postgres.transaction import Transactions, open_pool
from portico.adapters.system.clock import SystemClock, system_entropy
from portico.app.app_context import AppContext
from portico.app.oauth import token_doors
from portico.app.run_workers import LED
from portico.app.secrets import Auditing, open_audit
from portico.engine.core.store import StoreStatus
from portico.engine.event_log import ReadRunEvents, Tails, WatchRun, WatchTopics
from portico.engine.idempotency import IdempotentWrite
from portico.engine.ports import Bus, EventLog, Receipts, RunQueries, RunQueue, Runs, Seal
from portico.engine.runs import (
    CancelRun,
    ForkRun,
    Kinds,
    ListRuns,
    ResumeRun,
    ShowRun,
    SignalRun,
    StartForPeople,
    StartRun,
    WaitForRun,
)
from portico.engine.store import ShowMetrics, ShowStatus
from portico.guard.audit import ExportAudit, ReadAudit, ShowAuditHead, VerifyAudit
from portico.guard.authentication import Authenticate
from portico.guard.contexts import CloseContext, EnterContext, ListContexts, OpenContext
from portico.guard.core.keys import KeyHolder
from portico.guard.invitations import AcceptInvitation, InviteAgain, InvitePerson
from portico.guard.keys import IssueAgentKey, IssueKey, ListKeys, RevokeKey, RotateKey, ShowKey
from portico.guard.ports import (
    Audit,
    AuditHeads,
    AuditLog,
    ContextRegistry,
    Contexts,
    KeyRing,
    Keys,
    Leavings,
    Principals,
    Sessions,
    Spaces,
    UnitOfWork,
)
from portico.guard.principals import AddPrincipal, ChangePrincipal, ListPrincipals, ShowPrincipal
from portico.guard.sessions import EndSession, LeaveSession, ListSessions, OpenSession, TakeSession
from portico.guard.spaces import DeleteSpace, ExportSpace, FoundSpace, RenameSpace, ShowSpace
from portico.interfaces.http.streaming import ServerSentEvents
from portico.interfaces.http.use_cases import UseCases
from portico.kernel.clock import Clock, Entropy
from portico.kernel.ids import SpaceId
from portico.kernel.principal import Principal
from portico.sandbox.core.probes import Report


async def nothing_measured() -> str:
    """Only a server measures."""
    return ""


async def nothing_kept() -> str | None:
    """Only a server is given secrets."""
    return None


def nothing_tried() -> Sequence[Report] | None:
    """Only a server runs what needs a box."""
    return ()


class AllContexts(ContextRegistry, Contexts, Protocol):
    """Who opened them, and what was read in each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """What all of them need from outside: given once, shared by all."""

    key_ring: KeyRing
    keys: Keys
    sessions: Sessions
    principals: Principals
    spaces: Spaces
    receipts: Receipts
    contexts: AllContexts
    book: RunQueries
    runs: Runs
    queue: RunQueue
    kinds: Kinds
    event_log: EventLog
    bus: Bus
    seal: Seal
    unit_of_work: UnitOfWork
    audit: Audit
    audit_log: AuditLog
    audit_heads: AuditHeads
    clock: Clock
    entropy: Entropy
    pepper: bytes
    of_token: Callable[[str], Awaitable[KeyHolder]] | None = None
    store_status: Callable[[], Awaitable[StoreStatus]]
    version: str
    base_url: str
    metrics_text: Callable[[], Awaitable[str]] = nothing_measured
    boxes: Callable[[], Sequence[Report] | None] = nothing_tried
    secrets_in: Callable[[], Awaitable[str | None]] = nothing_kept
    leavings: Leavings


def assemble(doors: Dependencies) -> UseCases:
    keys, principals, spaces = doors.keys, doors.principals, doors.spaces
    book, runs, line, bus = doors.book, doors.runs, doors.queue, doors.bus
    clock, entropy, pepper = doors.clock, doors.entropy, doors.pepper
    together, audit = doors.unit_of_work, doors.audit
    add_principal = AddPrincipal(
        principals=principals, unit_of_work=together, audit=audit, clock=clock, entropy=entropy
    )
    issue_key = IssueKey(
        keys=keys,
        principals=principals,
        unit_of_work=together,
        audit=audit,
        clock=clock,
        entropy=entropy,
        pepper=pepper,
    )
    authenticate = Authenticate(
        key_ring=doors.key_ring, clock=clock, pepper=pepper, of_token=doors.of_token
    )
    return UseCases(
        authenticate=authenticate,
        do_once=IdempotentWrite(receipts=doors.receipts),
        found_space=FoundSpace(
            spaces=spaces,
            unit_of_work=together,
            audit=audit,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        show_space=ShowSpace(spaces=spaces),
        rename_space=RenameSpace(spaces=spaces, unit_of_work=together, audit=audit),
        export_space=ExportSpace(spaces=spaces),
        delete_space=DeleteSpace(spaces=spaces, audit=audit, leavings=doors.leavings),
        add_principal=add_principal,
        list_principals=ListPrincipals(principals=principals),
        show_principal=ShowPrincipal(principals=principals),
        change_principal=ChangePrincipal(
            principals=principals, keys=keys, unit_of_work=together, audit=audit, clock=clock
        ),
        invite_person=InvitePerson(
            add_principal=add_principal,
            keys=keys,
            unit_of_work=together,
            audit=audit,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        invite_again=InviteAgain(
            principals=principals,
            keys=keys,
            unit_of_work=together,
            audit=audit,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        accept_invitation=AcceptInvitation(
            keys=keys,
            unit_of_work=together,
            audit=audit,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        issue_key=issue_key,
        issue_agent_key=IssueAgentKey(
            add_principal=add_principal, issue_key=issue_key, unit_of_work=doors.unit_of_work
        ),
        list_keys=ListKeys(keys=keys),
        show_key=ShowKey(keys=keys),
        rotate_key=RotateKey(
            keys=keys,
            principals=principals,
            unit_of_work=together,
            audit=audit,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        revoke_key=RevokeKey(
            keys=keys, principals=principals, unit_of_work=together, audit=audit, clock=clock
        ),
        open_session=OpenSession(
            authenticate=authenticate,
            sessions=doors.sessions,
            unit_of_work=together,
            audit=audit,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        take_session=TakeSession(
            authenticate=authenticate,
            sessions=doors.sessions,
            keys=keys,
            unit_of_work=together,
            audit=audit,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        leave_session=LeaveSession(keys=keys, unit_of_work=together, audit=audit, clock=clock),
        list_sessions=ListSessions(sessions=doors.sessions, clock=clock),
        end_session=EndSession(
            keys=keys, principals=principals, unit_of_work=together, audit=audit, clock=clock
        ),
        open_context=OpenContext(
            book=doors.contexts, unit_of_work=together, audit=audit, clock=clock, entropy=entropy
        ),
        list_contexts=ListContexts(book=doors.contexts),
        close_context=CloseContext(
            book=doors.contexts, unit_of_work=together, audit=audit, clock=clock
        ),
        enter_context=EnterContext(book=doors.contexts),
        show_status=ShowStatus(
            store_status=doors.store_status, boxes=doors.boxes, secrets_in=doors.secrets_in
        ),
        start_run=StartForPeople(
            start_run=StartRun(
                runs=runs, queue=line, kinds=doors.kinds, clock=clock, entropy=entropy
            ),
            contexts=doors.contexts,
        ),
        wait_for_run=WaitForRun(book=book, bus=bus),
        list_runs=ListRuns(book=book),
        show_run=ShowRun(book=book, contexts=doors.contexts),
        cancel_run=CancelRun(book=book, runs=runs, queue=line, bus=bus, led=LED),
        resume_run=ResumeRun(book=book, runs=runs, queue=line, led=LED),
        fork_run=ForkRun(book=book, runs=runs, queue=line, clock=clock, entropy=entropy, led=LED),
        signal_run=SignalRun(book=book, runs=runs, queue=line, bus=bus, contexts=doors.contexts),
        watch_run=WatchRun(log=doors.event_log, seal=doors.seal),
        watch_topics=WatchTopics(seal=doors.seal),
        read_run_events=ReadRunEvents(
            log=doors.event_log, seal=doors.seal, contexts=doors.contexts
        ),
        tails=Tails(
            log=doors.event_log, bus=doors.bus, seal=doors.seal, wording=ServerSentEvents()
        ),
        read_audit=ReadAudit(log=doors.audit_log),
        show_audit_head=ShowAuditHead(log=doors.audit_log),
        export_audit=ExportAudit(log=doors.audit_log, audit=audit),
        verify_audit=VerifyAudit(log=doors.audit_log, heads=doors.audit_heads, audit=audit),
        show_metrics=ShowMetrics(text=doors.metrics_text),
        version=doors.version,
        base_url=doors.base_url,
    )


async def nothing_there(_space: SpaceId) -> None:
    """Only a server runs programs, and is given secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What the use cases have in common with what else goes on in the same process."""

    bus: Bus = field(default_factory=InlineBus)
    queue: RunQueue = field(default_factory=DeferredQueue)
    """Until somebody brings a line, whoever joins is found in the store by those who have one."""
    kinds: Kinds = field(default_factory=lambda: Kinds([]))
    metrics_text: Callable[[], Awaitable[str]] = nothing_measured
    boxes: Callable[[], Sequence[Report] | None] = nothing_tried
    secrets_in: Callable[[], Awaitable[str | None]] = nothing_kept
    stop_space: Callable[[SpaceId], Awaitable[None]] = nothing_there
    forget_secrets: Callable[[SpaceId], Awaitable[None]] = nothing_there
    auditing: Auditing | None = None
    """A process that ends when it has done one thing has an audit of its own."""


def use_cases(
    ground: AppContext, transactions: Transactions, shared: Shared | None = None
) -> UseCases:
    clock, pepper, shared = SystemClock(), ground.pepper(), shared or Shared()
    bus, auditing = shared.bus, shared.auditing or open_audit(ground, transactions)
    log = PostgresEventLog(transactions, bus, clock, system_entropy)
    return assemble(
        Dependencies(
            key_ring=PostgresKeyRing(transactions),
            keys=PostgresKeys(transactions),
            sessions=PostgresSessions(transactions),
            principals=PostgresPrincipals(transactions),
            spaces=PostgresSpaces(transactions),
            receipts=PostgresReceipts(transactions),
            contexts=PostgresTaskContexts(transactions, clock),
            book=PostgresRunQueries(transactions),
            runs=PostgresRuns(transactions, log, bus=bus, clock=clock, entropy=system_entropy),
            queue=shared.queue,
            kinds=shared.kinds,
            event_log=log,
            bus=bus,
            seal=AesSivSeal.from_pepper(pepper),
            unit_of_work=transactions.begin,
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


@asynccontextmanager
async def entered(ground: AppContext) -> AsyncIterator[tuple[Transactions, Principal]]:
    """Raises `PorticoError` where there is no database of this version or the key opens nothing,
    `OSError` where there is no key."""
    key = ground.loaded.paths.key_file.read_text().strip()
    await ground.store.status()
    async with open_pool(ground.store.addresses.app, 2) as pool:
        transactions = Transactions(pool)
        yield transactions, (await use_cases(ground, transactions).authenticate(key)).principal
