"""What there is in this process beside the doors of a house, and who is at home there."""

from dataclasses import replace
from datetime import timedelta

from portico.adapters.inline.bus import InlineBus
from portico.adapters.inline.line import InlineLine
from portico.adapters.inline.runs import InlineRuns
from portico.adapters.joins.errands import RunErrands
from portico.bridge.carry_out_declassification import DECLASSIFICATION
from portico.engine.core.queue import Queue
from portico.engine.kinds import Kind, Kinds
from portico.engine.start_run import StartRun
from portico.guard.approval_ports import Approvals
from portico.guard.ask_approval import AskApproval
from portico.guard.core.api_key import ApiKey, StoredKey
from portico.guard.core.authentication import as_principal
from portico.guard.core.identity import Identity
from portico.guard.core.roles import Role, Scope
from portico.guard.ports import Together
from portico.kernel.clock import Clock
from portico.kernel.entropy import Entropy
from portico.kernel.principal import Principal
from portico.testing.approvals import ApprovalsTold
from portico.testing.audit import MemoryAudit
from portico.testing.guard import (
    a_space,
    an_identity,
)
from portico.testing.kernel import SeededEntropy, TickingClock
from portico.testing.vault import MemoryVault
from tests.contracts.doors import a_key
from tests.engine.room import nothing
from tests.storm.walled_house import HOUR, PEPPER, TOP


class Inside:
    """What there is in this process beside the doors."""

    def __init__(self, seed: str) -> None:
        self.clock: Clock = TickingClock(step=timedelta(milliseconds=1))
        self.entropy: Entropy = SeededEntropy(seed)
        self.bus, self.audit = InlineBus(), MemoryAudit()
        self.runs = InlineRuns(self.clock, self.entropy, self.bus)
        line = InlineLine([Queue(name="runs")], self.clock)
        kinds = Kinds([Kind(name=DECLASSIFICATION, work=nothing)])
        start = StartRun(
            runs=self.runs, line=line, kinds=kinds, clock=self.clock, entropy=self.entropy
        )
        self.errands = RunErrands(
            start_run=start, runs=self.runs, line=line, bus=self.bus, kind=DECLASSIFICATION
        )

    def ask(self, approvals: Approvals, together: Together) -> AskApproval:
        return AskApproval(
            approvals=approvals,
            errands=self.errands,
            news=ApprovalsTold(),
            audit=self.audit,
            vault=MemoryVault(),
            together=together,
            clock=self.clock,
            entropy=self.entropy,
            hide=lambda value: value,
            expires=HOUR,
            most=1_000_000,
        )


def root_of(space: str) -> tuple[Identity, StoredKey, bytes]:
    root = an_identity("root", space=a_space(space), roles=[Role.ADMIN], clearance=TOP)
    key = ApiKey.mint(SeededEntropy(f"root's key of {space}"))
    return root, a_key(root, key), key.digest(PEPPER)


def as_root(root: Identity, key: StoredKey) -> Principal:
    return replace(as_principal(root), key=key.id, scopes=frozenset(Scope))
