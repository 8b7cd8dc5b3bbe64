"""The bridge, the guard and the engine in memory: a bot wants a message lowered, people answer."""

from datetime import timedelta
from typing import Any

from portico.adapters.cross_domain.approval_runs import EngineApprovalRuns
from portico.adapters.inline import InlineBus, InlineRunQueue, InlineRuns
from portico.bridge.conversations import OpenMessage
from portico.bridge.core.conversations import Conversation
from portico.bridge.core.declassification import Proposal, found
from portico.bridge.core.messages import Message
from portico.bridge.declassification import (
    DECLASSIFICATION,
    CarryOutDeclassification,
    ListDeclassifications,
    ProposeDeclassification,
)
from portico.engine.core.runs import Activation, QueueConfig, Run
from portico.engine.execution import RunActivation
from portico.engine.runs import Kind, Kinds, StartRun
from portico.guard.approvals import AnswerApproval, AskApproval, Reply
from portico.guard.core.approvals import AnswerKind, Approval, Via
from portico.guard.core.principals import Role
from portico.kernel.durable import Work
from portico.kernel.ids import ApprovalId
from portico.kernel.label import Label
from portico.kernel.principal import Principal, PrincipalKind
from portico.testing.approvals import AnyArguments, MemoryApprovals, RecordedApprovalEvents
from portico.testing.bridge_memory import MemoryDeclassifications, PlainSigning
from portico.testing.guard import MemoryKeyRing, MemoryRules
from portico.testing.memory_store import together
from portico.testing.secrets import MemoryVault
from tests.bridge.talk_room import SECRET, TEAM, TalkRoom
from tests.engine.room import nothing

HOUR = timedelta(hours=1)
TEXT = "Ask ana@example.com.\nThe budget is fine.\nkey ghp_aaaaaaaaaaaaaaaaaaaaaaaa"


class LoweringRoom(TalkRoom):
    def __init__(self) -> None:
        super().__init__()
        self.ana = self.enters("ana", kind=PrincipalKind.PERSON, roles=[Role.OPERATOR])
        self.ben = self.enters("ben", kind=PrincipalKind.PERSON, roles=[Role.OPERATOR])
        self.bot = self.enters("bot")
        self.low = self.enters("low", TEAM)
        self.approvals = MemoryApprovals(self.world)
        self.told = RecordedApprovalEvents()
        self.declassifications = MemoryDeclassifications(self.world)
        self.signing = PlainSigning()
        inline = InlineBus()
        self.runs = InlineRuns(self.clock, self.entropy, inline)
        line = InlineRunQueue([QueueConfig(name="runs")], self.clock)
        kinds = Kinds([Kind(name=DECLASSIFICATION, work=nothing)])
        start_run = StartRun(
            runs=self.runs, queue=line, kinds=kinds, clock=self.clock, entropy=self.entropy
        )
        errands = EngineApprovalRuns(
            start_run=start_run, runs=self.runs, queue=line, bus=inline, kind=DECLASSIFICATION
        )
        open_message = OpenMessage(self.messages, self.marks)
        answered: dict[str, Any] = {
            "approvals": self.approvals,
            "news": self.told,
            "audit": self.audit,
            "unit_of_work": together,
            "clock": self.clock,
            "entropy": self.entropy,
        }
        asked: dict[str, Any] = {
            **answered,
            "approval_runs": errands,
            "vault": MemoryVault(),
            "hide": lambda value: value,
            "expires": HOUR,
        }
        self.propose = ProposeDeclassification(
            conversations=self.conversations,
            open_message=open_message,
            taint=self.marks,
            scan=found,
            ask=AskApproval(max_pending=50, **asked),
        )
        self.answer_approval = AnswerApproval(
            rules=MemoryRules((), self.world), check=AnyArguments(), **asked
        )
        self.carry_out = CarryOutDeclassification(
            messages=self.messages,
            declassifications=self.declassifications,
            scan=found,
            signing=self.signing,
            key_ring=MemoryKeyRing(self.world),
            bus=self.bus,
            **answered,
        )
        self.list = ListDeclassifications(
            declassifications=self.declassifications,
            open_message=open_message,
            taint=self.marks,
            signing=self.signing,
        )
        self._inline = inline

    async def a_secret(
        self, *, body: str = TEXT, closed: bool = False
    ) -> tuple[Conversation, Message]:
        """Something confidential, said by a bot in a conversation for the team."""
        talk = await self.a_talk(self.bot, TEAM, closed=closed)
        return talk, await self.says(self.bot, talk, body, SECRET)

    async def asked(self, message: Message, to: Label = TEAM) -> Proposal:
        return await self.propose(self.bot, message.id, to)

    async def answer(
        self,
        approval: ApprovalId,
        kind: AnswerKind = AnswerKind.ONCE,
        *,
        by: Principal | None = None,
    ) -> Approval:
        reply = Reply(kind=kind, via=Via.CLI)
        return await self.answer_approval(by or self.ana, approval, reply)

    async def seen(self, approval: ApprovalId) -> Approval:
        return await self.approvals.get(self.ana, approval)

    async def leg(self, approval: ApprovalId, carry_out: Work | None = None) -> Run:
        """The run behind it goes as far as it can, here and now."""
        run = await self.runs.get(self.ana, (await self.seen(approval)).run)
        run_leg = RunActivation(
            journal=self.runs,
            bus=self._inline,
            kinds=Kinds([Kind(name=DECLASSIFICATION, work=carry_out or self.carry_out)]),
            clock=self.clock,
            grace=timedelta(0),
        )
        await run_leg(Activation(run.id, run.leg))
        return await self.runs.get(self.ana, run.id)

    async def lowered(self, message: Message, to: Label = TEAM) -> Proposal:
        """All the way."""
        proposal = await self.asked(message, to)
        await self.leg(proposal.approval)
        await self.answer(proposal.approval)
        await self.leg(proposal.approval)
        return proposal

    async def read_by(self, who: Principal, talk: Conversation) -> list[Message]:
        stretch = await self.messages.after(who, talk.id, after=0, limit=100)
        return [placed.message for placed in stretch.found]
