"""Every use case, put on its doors."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from portico.box.core.report import Report
from portico.engine.control_run import CancelRun, ForkRun, ResumeRun, SignalRun
from portico.engine.core.store import StoreStatus
from portico.engine.do_once import DoOnce
from portico.engine.kinds import Kinds
from portico.engine.look_at_runs import ListRuns, ShowRun
from portico.engine.ports import Bus, EventLog, Line, Receipts, RunBook, Runs, Seal
from portico.engine.read_events import ReadRunEvents
from portico.engine.show_metrics import ShowMetrics
from portico.engine.show_status import ShowStatus
from portico.engine.start_run import StartRun
from portico.engine.tails import Tails
from portico.engine.wait_for_run import WaitForRun
from portico.engine.watch import WatchRun, WatchTopics
from portico.faces.http.sse import ServerSentEvents
from portico.faces.http.use_cases import UseCases
from portico.guard.authenticate import Authenticate
from portico.guard.change_keys import ListKeys, RevokeKey, RotateKey, ShowKey
from portico.guard.invite import AcceptInvitation, InviteAgain, InvitePerson
from portico.guard.issue_key import IssueKey
from portico.guard.manage_principals import (
    AddPrincipal,
    ChangePrincipal,
    ListPrincipals,
    ShowPrincipal,
)
from portico.guard.manage_spaces import (
    DeleteSpace,
    ExportSpace,
    FoundSpace,
    RenameSpace,
    ShowSpace,
)
from portico.guard.ports import KeyRing, Keys, Principals, Spaces, Together
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy


async def nothing_measured() -> str:
    """Only a server measures."""
    return ""


def nothing_tried() -> Sequence[Report] | None:
    """Only a server runs what needs a box."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What all of them need from outside: given once, shared by all."""

    key_ring: KeyRing
    keys: Keys
    principals: Principals
    spaces: Spaces
    receipts: Receipts
    book: RunBook
    runs: Runs
    line: Line
    kinds: Kinds
    event_log: EventLog
    bus: Bus
    seal: Seal
    together: Together
    clock: Clock
    entropy: Entropy
    pepper: bytes
    store_status: Callable[[], Awaitable[StoreStatus]]
    version: str
    base_url: str
    metrics_text: Callable[[], Awaitable[str]] = nothing_measured
    boxes: Callable[[], Sequence[Report] | None] = nothing_tried


def assemble(doors: Doors) -> UseCases:
    keys, principals, spaces = doors.keys, doors.principals, doors.spaces
    book, runs, line, bus = doors.book, doors.runs, doors.line, doors.bus
    clock, entropy, pepper = doors.clock, doors.entropy, doors.pepper
    add_principal = AddPrincipal(principals=principals, clock=clock, entropy=entropy)
    return UseCases(
        authenticate=Authenticate(key_ring=doors.key_ring, clock=clock, pepper=pepper),
        do_once=DoOnce(receipts=doors.receipts),
        found_space=FoundSpace(spaces=spaces, clock=clock, entropy=entropy, pepper=pepper),
        show_space=ShowSpace(spaces=spaces),
        rename_space=RenameSpace(spaces=spaces),
        export_space=ExportSpace(spaces=spaces),
        delete_space=DeleteSpace(spaces=spaces),
        add_principal=add_principal,
        list_principals=ListPrincipals(principals=principals),
        show_principal=ShowPrincipal(principals=principals),
        change_principal=ChangePrincipal(
            principals=principals, keys=keys, together=doors.together, clock=clock
        ),
        invite_person=InvitePerson(
            add_principal=add_principal,
            keys=keys,
            together=doors.together,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        invite_again=InviteAgain(
            principals=principals,
            keys=keys,
            together=doors.together,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        accept_invitation=AcceptInvitation(
            keys=keys, together=doors.together, clock=clock, entropy=entropy, pepper=pepper
        ),
        issue_key=IssueKey(
            keys=keys, principals=principals, clock=clock, entropy=entropy, pepper=pepper
        ),
        list_keys=ListKeys(keys=keys),
        show_key=ShowKey(keys=keys),
        rotate_key=RotateKey(
            keys=keys,
            principals=principals,
            together=doors.together,
            clock=clock,
            entropy=entropy,
            pepper=pepper,
        ),
        revoke_key=RevokeKey(keys=keys, principals=principals, clock=clock),
        show_status=ShowStatus(store_status=doors.store_status, boxes=doors.boxes),
        start_run=StartRun(runs=runs, line=line, kinds=doors.kinds, clock=clock, entropy=entropy),
        wait_for_run=WaitForRun(book=book, bus=bus),
        list_runs=ListRuns(book=book),
        show_run=ShowRun(book=book),
        cancel_run=CancelRun(book=book, runs=runs, line=line, bus=bus),
        resume_run=ResumeRun(book=book, runs=runs, line=line),
        fork_run=ForkRun(book=book, runs=runs, line=line, clock=clock, entropy=entropy),
        signal_run=SignalRun(book=book, runs=runs, line=line, bus=bus),
        watch_run=WatchRun(log=doors.event_log, seal=doors.seal),
        watch_topics=WatchTopics(seal=doors.seal),
        read_run_events=ReadRunEvents(log=doors.event_log, seal=doors.seal),
        tails=Tails(
            log=doors.event_log, bus=doors.bus, seal=doors.seal, wording=ServerSentEvents()
        ),
        show_metrics=ShowMetrics(text=doors.metrics_text),
        version=doors.version,
        base_url=doors.base_url,
    )
