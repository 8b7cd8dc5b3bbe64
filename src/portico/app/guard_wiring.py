"""Use cases of the guard, built on ports: policy, approvals, logins, secrets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from portico.app.run_workers import Lasting
from portico.engine.ports import Bus
from portico.engine.runs import Kind
from portico.gateway.approved_calls import (
    APPROVED_CALL,
    ApprovedCall,
    AskFirst,
    AskInClient,
    Calling,
    Latest,
    ReadApproved,
    ReadOutcome,
    as_kept,
)
from portico.gateway.core.calls import UpstreamTarget
from portico.gateway.logins import (
    ConfigureLogin,
    ForgetLoginClient,
    LoggedInUpstreams,
    LogInToServer,
    LogOutOfServer,
    ShowLogin,
    place_of,
)
from portico.gateway.ports import CallHistory, Results, Servers, Upstreams
from portico.gateway.results import StoreResult
from portico.guard.approvals import (
    AnswerApproval,
    ApprovalEvents,
    ApprovalRuns,
    Approvals,
    ArgumentCheck,
    AskApproval,
    CountApprovals,
    ListApprovals,
    ResolveApproval,
    ShowApproval,
    TrustedClients,
    Waiters,
    WithdrawApproval,
)
from portico.guard.core.approvals import AnswerKind
from portico.guard.core.errors import InvalidAnswer
from portico.guard.key_trust import ShowTrust, TrustClient
from portico.guard.oauth_logins import (
    AuthorizationServers,
    BeginLogin,
    FinishLogin,
    FreshToken,
    LoginClients,
    Logins,
    LogOut,
    Reveal,
    ShowPendingLogin,
)
from portico.guard.policy import Decide, ExplainPolicy
from portico.guard.policy_gate import Gate
from portico.guard.ports import (
    Aims,
    Audit,
    CallLimits,
    Contexts,
    KeyRing,
    Keys,
    Principals,
    Rules,
    Secrets,
    SecretUses,
    UnitOfWork,
    Vault,
)
from portico.guard.rules import AddRule, ListRules, RemoveRule
from portico.guard.secrets import ListSecrets, SetSecret, UnsetSecret
from portico.interfaces.http.secrets import AHEAD, CALLBACK
from portico.interfaces.http.use_cases import (
    ApprovalUseCases,
    LoginUseCases,
    PolicyUseCases,
    SecretUseCases,
)
from portico.kernel.clock import Clock, Entropy
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.workflows.core.texts import unfinished


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDependencies:
    rules: Rules
    contexts: Contexts
    limits: CallLimits
    journal: Audit
    principals: Principals
    keys: Keys
    unit_of_work: UnitOfWork
    clock: Clock
    entropy: Entropy

    def gate(self) -> Gate:
        return Gate(
            decide=Decide(rules=self.rules, contexts=self.contexts, clock=self.clock),
            limits=self.limits,
            contexts=self.contexts,
            journal=self.journal,
        )

    def use_cases(self, aims: Aims) -> PolicyUseCases:
        rules, journal, together = self.rules, self.journal, self.unit_of_work
        return PolicyUseCases(
            add_rule=AddRule(
                rules=rules,
                journal=journal,
                unit_of_work=together,
                clock=self.clock,
                entropy=self.entropy,
            ),
            list_rules=ListRules(rules=rules),
            remove_rule=RemoveRule(rules=rules, journal=journal, unit_of_work=together),
            explain=ExplainPolicy(
                principals=self.principals,
                keys=self.keys,
                rules=rules,
                contexts=self.contexts,
                aims=aims,
                clock=self.clock,
            ),
        )


def assemble_secrets(
    secrets: Secrets, uses: SecretUses, audit: Audit, clock: Clock
) -> SecretUseCases:
    return SecretUseCases(
        set_secret=SetSecret(secrets=secrets, uses=uses, journal=audit, clock=clock),
        list_secrets=ListSecrets(secrets=secrets, uses=uses),
        unset_secret=UnsetSecret(secrets=secrets, journal=audit),
    )


@dataclass(frozen=True, kw_only=True)
class LoginDependencies:
    authorization: AuthorizationServers
    clients: LoginClients
    logins: Logins
    principals: Principals
    audit: Audit
    reveal: Reveal
    clock: Clock
    entropy: Entropy
    base_url: str

    @cached_property
    def start(self) -> BeginLogin:
        return BeginLogin(
            servers=self.authorization,
            clients=self.clients,
            logins=self.logins,
            principals=self.principals,
            audit=self.audit,
            reveal=self.reveal,
            clock=self.clock,
            entropy=self.entropy,
            callback_url=f"{self.base_url}{CALLBACK}",
            page_url=f"{self.base_url}{AHEAD}",
        )

    @cached_property
    def _fresh(self) -> FreshToken:
        return FreshToken(servers=self.authorization, logins=self.logins, clock=self.clock)

    async def token(self, target: UpstreamTarget, refused: str | None) -> str | None:
        """Of the person whose conversation it is."""
        place = place_of(target)
        return None if place is None else await self._fresh(place, refused=refused)

    def upstreams(self, inside: Upstreams) -> LoggedInUpstreams:
        return LoggedInUpstreams(inside=inside, clients=self.clients, begin_login=self.start)

    def over_http(self, servers: Servers) -> LoginUseCases:
        log_out = LogOut(servers=self.authorization, logins=self.logins, audit=self.audit)
        return LoginUseCases(
            start=LogInToServer(servers=servers, start=self.start),
            show=ShowLogin(servers=servers, logins=self.logins),
            end=LogOutOfServer(servers=servers, log_out=log_out),
            configure=ConfigureLogin(
                servers=servers,
                clients=self.clients,
                audit=self.audit,
                redirect_url=self.start.redirect_url,
            ),
            forget_client=ForgetLoginClient(
                servers=servers, clients=self.clients, audit=self.audit
            ),
            ahead=ShowPendingLogin(
                logins=self.logins, principals=self.principals, clock=self.clock
            ),
            finish=FinishLogin(
                servers=self.authorization,
                logins=self.logins,
                principals=self.principals,
                audit=self.audit,
                clock=self.clock,
            ),
        )


# Requests for approval, put on their doors: asking before there is a gateway, the rest after.


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDependencies:
    approvals: Approvals
    approval_runs: ApprovalRuns
    waiters: Waiters
    news: ApprovalEvents
    rules: Rules
    contexts: Contexts
    key_ring: KeyRing
    vault: Vault
    audit: Audit
    unit_of_work: UnitOfWork
    history: CallHistory
    results: Results
    keep_result: StoreResult
    keys: Keys
    principals: Principals
    trusted: TrustedClients
    bus: Bus
    clock: Clock
    entropy: Entropy
    hide: Callable[[JsonValue], JsonValue]
    """Without the very secrets that the house knows of, and with all else."""
    wait: timedelta = timedelta(seconds=20)
    expires: timedelta = timedelta(minutes=60)
    max_pending: int = 50
    latest: Latest = as_kept
    """How a workflow that was approved goes on."""
    lasting: Sequence[Lasting] = ()
    """What goes on for them in the background."""

    def ask_first(self) -> AskFirst:
        return AskFirst(
            ask=AskApproval(
                approvals=self.approvals,
                approval_runs=self.approval_runs,
                news=self.news,
                audit=self.audit,
                vault=self.vault,
                unit_of_work=self.unit_of_work,
                clock=self.clock,
                entropy=self.entropy,
                hide=self.hide,
                expires=self.expires,
                max_pending=self.max_pending,
            ),
            withdraw=self.withdraw(),
            approvals=self.approvals,
            contexts=self.contexts,
            history=self.history,
            read_outcome=self.read_outcome(),
            keep_result=self.keep_result,
            in_client=AskInClient(
                trusted=self.trusted,
                principals=self.principals,
                answer=self._answer(_no_others),
            ),
            bus=self.bus,
            clock=self.clock,
            unfinished=unfinished,
            wait=self.wait,
        )

    def read_outcome(self) -> ReadOutcome:
        return ReadOutcome(
            results=self.results, contexts=self.contexts, clock=self.clock, latest=self.latest
        )

    def withdraw(self) -> WithdrawApproval:
        return WithdrawApproval(
            approvals=self.approvals,
            approval_runs=self.approval_runs,
            news=self.news,
            audit=self.audit,
            unit_of_work=self.unit_of_work,
            clock=self.clock,
        )

    def resolve(self) -> ResolveApproval:
        return ResolveApproval(
            approvals=self.approvals,
            approval_runs=self.approval_runs,
            news=self.news,
            audit=self.audit,
            unit_of_work=self.unit_of_work,
            clock=self.clock,
        )

    def _answer(self, check: ArgumentCheck) -> AnswerApproval:
        return AnswerApproval(
            approvals=self.approvals,
            approval_runs=self.approval_runs,
            news=self.news,
            rules=self.rules,
            audit=self.audit,
            vault=self.vault,
            check=check,
            unit_of_work=self.unit_of_work,
            clock=self.clock,
            entropy=self.entropy,
            hide=self.hide,
            expires=self.expires,
        )

    def use_cases(self, check: ArgumentCheck) -> ApprovalUseCases:
        approvals = self.approvals
        return ApprovalUseCases(
            list_approvals=ListApprovals(
                approvals=approvals, contexts=self.contexts, clock=self.clock
            ),
            count_approvals=CountApprovals(
                approvals=approvals, contexts=self.contexts, clock=self.clock
            ),
            show_approval=ShowApproval(
                approvals=approvals, contexts=self.contexts, clock=self.clock
            ),
            answer_approval=self._answer(check),
            withdraw_approval=self.withdraw(),
            resolve_approval=self.resolve(),
            read_outcome=self.read_outcome(),
            read_approved=ReadApproved(
                ask_first=self.ask_first(), keep_result=self.keep_result, contexts=self.contexts
            ),
            show_trust=ShowTrust(keys=self.keys, trusted=self.trusted),
            trust_client=TrustClient(
                keys=self.keys,
                principals=self.principals,
                trusted=self.trusted,
                audit=self.audit,
                unit_of_work=self.unit_of_work,
            ),
        )

    def kind(self, call_tool: Calling) -> Kind:
        """Nobody starts one by its name: it begins with a request."""
        work = ApprovedCall(
            approvals=self.approvals,
            key_ring=self.key_ring,
            vault=self.vault,
            contexts=self.contexts,
            results=self.results,
            call_tool=call_tool,
            waiters=self.waiters,
            news=self.news,
            audit=self.audit,
            unit_of_work=self.unit_of_work,
            clock=self.clock,
            entropy=self.entropy,
        )
        return Kind(name=APPROVED_CALL, work=work)


async def _no_others(
    caller: Principal,  # noqa: ARG001 # as the port names them
    tool: str,
    arguments: JsonObject,  # noqa: ARG001 # likewise
) -> None:
    """In passing nobody writes other arguments."""
    raise InvalidAnswer(f"{tool} with other arguments", list(AnswerKind))
