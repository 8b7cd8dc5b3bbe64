"""The guard on its adapters: limits, policy, approvals."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import httpx2

from portico.adapters.cross_domain.approval_runs import (
    EngineApprovalEvents,
    EngineApprovalRuns,
    RunsThatWait,
)
from portico.adapters.cross_domain.event_sinks import LoggedApprovalEvents
from portico.adapters.egress.approval_webhook import ApprovalWebhook, WebhookApprovalEvents
from portico.adapters.egress.client import Bounds, guarded_client, written
from portico.adapters.postgres.engine.event_log import PostgresEventLog
from portico.adapters.postgres.engine.runs import PostgresRunQueries, PostgresRuns
from portico.adapters.postgres.guard.approvals import PostgresApprovals
from portico.adapters.postgres.guard.contexts import PostgresTaskContexts
from portico.adapters.postgres.guard.keys import (
    PostgresKeyRing,
    PostgresKeys,
    PostgresTrustedClients,
)
from portico.adapters.postgres.guard.principals import PostgresPrincipals
from portico.adapters.postgres.guard.rules import PostgresCallLimits, PostgresRules
from portico.adapters.postgres.transaction import (
    BusAfterCommit,
    EnqueueAfterCommit,
)
from portico.adapters.secrets import (
    References,
)
from portico.app.app_context import AppContext
from portico.app.guard_wiring import ApprovalDependencies, PolicyDependencies
from portico.app.run_workers import starting
from portico.app.shared_dependencies import SharedDependencies
from portico.gateway.approved_calls import APPROVED_CALL
from portico.gateway.ports import CallHistory, Results
from portico.gateway.results import StoreResult
from portico.guard.approvals import Approvals
from portico.guard.core.secrets import parse_ref
from portico.guard.ports import Contexts, Rules
from portico.kernel.clock import Clock
from portico.settings.guard import ApprovalsSettings
from portico.settings.load import process_environment


def call_limits(ground: AppContext, outside: SharedDependencies) -> PostgresCallLimits:
    return PostgresCallLimits(outside.transactions, ground.loaded.settings.limits.rates)


def open_policy(ground: AppContext, outside: SharedDependencies) -> PolicyDependencies:
    """One for a process: it holds the rules of every space that asks."""
    transactions, clock = outside.transactions, outside.clock
    of_the_file = ground.loaded.settings.policy.made
    return PolicyDependencies(
        rules=PostgresRules(transactions, outside.bus, clock, of_the_file),
        contexts=PostgresTaskContexts(transactions, clock),
        limits=call_limits(ground, outside),
        journal=outside.audit,
        principals=PostgresPrincipals(transactions),
        keys=PostgresKeys(transactions),
        unit_of_work=transactions.begin,
        clock=clock,
        entropy=outside.entropy,
    )


_BRIEFLY: Final = Bounds(seconds=10.0, largest=100_000, redirects=0)
_HEADERS: Final = {"accept": "*/*"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySide:
    """What requests need of the gateway, and it has before it is put together."""

    rules: Rules
    contexts: Contexts
    history: CallHistory
    results: Results
    keep_result: StoreResult


def open_approvals(
    settings: ApprovalsSettings,
    outside: SharedDependencies,
    line: EnqueueAfterCommit,
    side: GatewaySide,
    base_url: str,
) -> ApprovalDependencies:
    transactions, clock, entropy = outside.transactions, outside.clock, outside.entropy
    log = PostgresEventLog(transactions, outside.bus, clock, entropy)
    bus = BusAfterCommit(outside.bus, transactions)
    runs = PostgresRuns(transactions, log, bus=outside.bus, clock=clock, entropy=entropy)
    start_run = starting(runs, line, clock, entropy, APPROVED_CALL)
    approvals = PostgresApprovals(transactions)
    logged = LoggedApprovalEvents(log=log, bus=bus)
    news = EngineApprovalEvents(news=logged, runs=runs, queue=line, bus=bus, clock=clock)
    webhook = webhook_to(settings, approvals, clock, base_url)
    return ApprovalDependencies(
        approvals=approvals,
        approval_runs=EngineApprovalRuns(start_run=start_run, runs=runs, queue=line, bus=bus),
        waiters=RunsThatWait(PostgresRunQueries(transactions)),
        news=news if webhook is None else WebhookApprovalEvents(news, webhook),
        rules=side.rules,
        contexts=side.contexts,
        key_ring=PostgresKeyRing(transactions),
        vault=outside.vault,
        audit=outside.audit,
        unit_of_work=transactions.begin,
        history=side.history,
        results=side.results,
        keep_result=side.keep_result,
        keys=PostgresKeys(transactions),
        principals=PostgresPrincipals(transactions),
        trusted=PostgresTrustedClients(transactions),
        bus=bus,
        clock=clock,
        entropy=entropy,
        hide=outside.hide,
        wait=timedelta(seconds=settings.wait_seconds),
        expires=timedelta(minutes=settings.expires_minutes),
        max_pending=settings.most_waiting,
        lasting=() if webhook is None else (webhook.run,),
    )


def webhook_to(
    settings: ApprovalsSettings, approvals: Approvals, clock: Clock, base_url: str
) -> ApprovalWebhook | None:
    url, ref = settings.webhook, parse_ref(settings.webhook_secret or "")
    if url is None or ref is None:
        return None
    references = References(process_environment(), _of_no_space)
    place = written(url)
    return ApprovalWebhook(
        url=url,
        secret=lambda: references.value("", ref),
        look=approvals.get,
        client=lambda: guarded_client(
            allow=[place], bounds=_BRIEFLY, proxied=httpx2.URL(url), headers=_HEADERS
        ),
        clock=clock,
        base_url=base_url,
    )


def _of_no_space(_space: str, _name: str) -> None:
    """What is told of all spaces is signed with no space's secret."""
