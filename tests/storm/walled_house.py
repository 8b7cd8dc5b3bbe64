"""The bridge's use cases upon a real database, for those who try to get more out of it than they
may."""

import hashlib
import itertools
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from portico.adapters.inline.bus import InlineBus
from portico.adapters.inline.runs import InlineRuns
from portico.adapters.joins.errands import RunErrands
from portico.bridge.carry_out_declassification import DECLASSIFICATION, CarryOutDeclassification
from portico.bridge.core.message import MessageId
from portico.bridge.core.scan import found
from portico.engine.core.run import Leg
from portico.engine.kinds import Kind, Kinds
from portico.engine.run_leg import RunLeg
from portico.faces.http.bridge_use_cases import BridgeUseCases, TalkUseCases, ThingUseCases
from portico.gateway.ports import Results
from portico.guard.answer_approval import AnswerApproval, Reply
from portico.guard.approval_ports import Approvals
from portico.guard.core.api_key import ApiKey
from portico.guard.core.approval import AnswerKind, Via
from portico.guard.core.authentication import as_principal, principal_of
from portico.guard.core.roles import Role
from portico.guard.ports import Keys, Principals
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.main.assemble_bridge import BridgeDoors, assemble_bridge
from portico.testing.approvals import AnyArguments, ApprovalsTold
from portico.testing.guard import (
    a_space,
    an_identity,
)
from portico.testing.guard_policy import MemoryRules
from portico.testing.kernel import SeededEntropy
from portico.testing.vault import MemoryVault
from portico.testing.world import MemoryWorld
from tests.contracts.doors import a_key

PEPPER = b"pepper"
MODEL = "letters"
HOUR = timedelta(hours=1)
TOP = Label.parse("restricted+finance+law")


async def meaning(texts: Sequence[str]) -> Sequence[Sequence[float]]:
    """Of each word, a place among thirty-two."""
    return [_vector(text) for text in texts]


def _vector(text: str) -> list[float]:
    vector = [0.0] * 32
    for word in re.findall(r"\w+", text.lower()):
        vector[hashlib.sha256(word.encode()).digest()[0] % 32] += 1.0
    return vector


@dataclass
class WalledHouse:
    doors: BridgeDoors
    principals: Principals
    keys: Keys
    approvals: Approvals
    results: Results
    """What tools have answered."""
    runs: InlineRuns
    errands: RunErrands
    embed: Callable[[], Awaitable[object]]
    """What was said since gets its vectors."""
    root: Principal
    """An admin who may read all there is; a person."""
    space_name: str
    use_cases: BridgeUseCases = field(init=False)
    _tasks: "itertools.count[int]" = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.use_cases = assemble_bridge(self.doors)

    @property
    def talk(self) -> TalkUseCases:
        return self.use_cases.talk

    @property
    def things(self) -> ThingUseCases:
        return self.use_cases.things

    def afresh(self, who: Principal) -> Principal:
        """In a task that has read nothing: as somebody who came with another key, and also a
        person is then at that task alone."""
        key = f"fresh{next(self._tasks)}"
        return replace(who, key=key)

    async def enters(
        self,
        name: str,
        clearance: str,
        *,
        kind: PrincipalKind = PrincipalKind.AGENT,
        roles: Sequence[Role] = (Role.MEMBER,),
    ) -> Principal:
        """With a key of their own, which lets them see whatever they are cleared for later."""
        its = an_identity(
            name,
            space=a_space(self.space_name),
            kind=kind,
            roles=roles,
            clearance=Label.parse(clearance),
        )
        await self.principals.add(self.root, its)
        return await self.another_key(as_principal(its), TOP)

    async def another_key(self, who: Principal, clearance: Label) -> Principal:
        """Whoever comes with it may see no more than it was made for."""
        its = await self.principals.get(self.root, who.id)
        number = next(self._tasks)
        key = ApiKey.mint(SeededEntropy(f"key {number} of {who.name} in {self.space_name}"))
        stored = replace(a_key(its, key, f"key {number}"), clearance=clearance)
        await self.keys.add(self.root, stored, key.digest(PEPPER))
        return await self.now(replace(who, key=key.id))

    async def now(self, who: Principal) -> Principal:
        """As they are let in now."""
        assert who.key is not None
        holder = await self.doors.key_ring.find(who.key)
        assert holder is not None
        return principal_of(holder)

    async def cleared_for(self, who: Principal, clearance: str) -> Principal:
        its = await self.principals.get(self.root, who.id)
        await self.principals.save(self.root, replace(its, clearance=Label.parse(clearance)))
        return await self.now(who)

    async def lowered(self, asker: Principal, message: MessageId, to: Label) -> None:
        """Asked for by somebody, and said yes to by the root, from the question to the copy."""
        proposal = await self.use_cases.letting_out.propose_declassification(asker, message, to)
        news = ApprovalsTold()
        answer = AnswerApproval(
            approvals=self.approvals,
            errands=self.errands,
            news=news,
            rules=MemoryRules((), MemoryWorld()),
            audit=self.doors.audit,
            vault=MemoryVault(),
            check=AnyArguments(),
            together=self.doors.together,
            clock=self.doors.clock,
            entropy=self.doors.entropy,
            hide=lambda value: value,
            expires=HOUR,
        )
        reply = Reply(kind=AnswerKind.ONCE, via=Via.REST)
        answered = await answer(self.afresh(self.root), proposal.approval, reply)
        carry_out = CarryOutDeclassification(
            approvals=self.approvals,
            messages=self.doors.messages,
            declassifications=self.doors.declassifications,
            scan=found,
            signing=self.doors.signing,
            key_ring=self.doors.key_ring,
            news=news,
            audit=self.doors.audit,
            together=self.doors.together,
            bus=self.doors.bus,
            clock=self.doors.clock,
            entropy=self.doors.entropy,
        )
        run = await self.runs.get(asker, answered.run)
        leg = RunLeg(
            journal=self.runs,
            bus=InlineBus(),
            kinds=Kinds([Kind(name=DECLASSIFICATION, work=carry_out)]),
            clock=self.doors.clock,
            grace=timedelta(0),
        )
        await leg(Leg(run.id, run.leg))
