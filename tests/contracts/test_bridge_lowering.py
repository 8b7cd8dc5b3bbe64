"""A message is lowered, from the question to the copy, upon the doors in memory and real ones."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from portico.adapters.inline.bus import InlineBus
from portico.adapters.inline.line import InlineLine
from portico.adapters.inline.runs import InlineRuns
from portico.adapters.joins.errands import RunErrands
from portico.adapters.seals.signing import Ed25519Signing
from portico.bridge.carry_out_declassification import DECLASSIFICATION, CarryOutDeclassification
from portico.bridge.core.scan import found
from portico.bridge.declassify import ListDeclassifications, ProposeDeclassification
from portico.bridge.marks import Marks
from portico.bridge.open_conversation import OpenMessage
from portico.engine.core.queue import Queue
from portico.engine.core.run import Leg, Run
from portico.engine.kinds import Kind, Kinds
from portico.engine.run_leg import RunLeg
from portico.engine.start_run import StartRun
from portico.gateway.workflows.through_durable import ThroughDurable
from portico.guard.answer_approval import AnswerApproval, Reply
from portico.guard.ask_approval import AskApproval
from portico.guard.core.approval import AnswerKind, Approval, Outcome, Via
from portico.guard.core.roles import SCOPES_OF, Role
from portico.kernel.durable import Action, Durable
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject, JsonValue
from portico.kernel.principal import Principal
from portico.testing.approvals import AnyArguments, ApprovalsTold
from portico.testing.kernel import BEGINNING, SeededEntropy, TickingClock
from portico.testing.vault import MemoryVault
from tests.contracts.bridge_people import FINANCE, TEAM, a_project, cleared_root, joined
from tests.contracts.bridge_talk import a_conversation, bodies, say
from tests.contracts.doors import Doors
from tests.engine.room import nothing

HOUR = timedelta(hours=1)
SAID = "Ask a@b.co.\npassword=hunter22"
LEFT = "Ask [e-mail].\npassword=[password]"


class Often(ThroughDurable):
    """Each step is begun by several processes at once."""

    async def step(self, name: str, action: Action, *, tries: int = 1) -> JsonValue:
        async def several(key: str) -> JsonValue:
            return (await asyncio.gather(*(action(key) for _ in range(3))))[0]

        return await self.inner.step(name, several, tries=tries)


class Lowering:
    """With runs of this process, and everything else upon the doors."""

    def __init__(self, doors: Doors) -> None:
        self.doors = doors
        self.clock = TickingClock(BEGINNING + HOUR)
        entropy = SeededEntropy("lowering")
        self.bus = InlineBus()
        self.runs = InlineRuns(self.clock, entropy, self.bus)
        line = InlineLine([Queue(name="runs")], self.clock)
        kinds = Kinds([Kind(name=DECLASSIFICATION, work=nothing)])
        start_run = StartRun(
            runs=self.runs, line=line, kinds=kinds, clock=self.clock, entropy=entropy
        )
        errands = RunErrands(
            start_run=start_run, runs=self.runs, line=line, bus=self.bus, kind=DECLASSIFICATION
        )
        marks, news = Marks(doors.contexts), ApprovalsTold()
        open_message = OpenMessage(doors.messages, marks)
        signing = Ed25519Signing.from_pepper(b"pepper")
        self.propose = ProposeDeclassification(
            conversations=doors.conversations,
            open_message=open_message,
            marks=marks,
            scan=found,
            ask=AskApproval(
                approvals=doors.approvals,
                errands=errands,
                news=news,
                audit=doors.audit,
                vault=MemoryVault(),
                together=doors.together,
                clock=self.clock,
                entropy=entropy,
                hide=lambda value: value,
                expires=HOUR,
                most=50,
            ),
        )
        self.answer = AnswerApproval(
            approvals=doors.approvals,
            errands=errands,
            news=news,
            rules=doors.rules,
            audit=doors.audit,
            vault=MemoryVault(),
            check=AnyArguments(),
            together=doors.together,
            clock=self.clock,
            entropy=entropy,
            hide=lambda value: value,
            expires=HOUR,
        )
        self.carry_out = CarryOutDeclassification(
            approvals=doors.approvals,
            messages=doors.messages,
            declassifications=doors.declassifications,
            scan=found,
            signing=signing,
            key_ring=doors.key_ring,
            news=news,
            audit=doors.audit,
            together=doors.together,
            bus=self.bus,
            clock=self.clock,
            entropy=entropy,
        )
        self.list = ListDeclassifications(
            declassifications=doors.declassifications,
            open_message=open_message,
            marks=marks,
            signing=signing,
        )

    async def leg(self, caller: Principal, approval: Approval) -> Run:
        async def work(durable: Durable, given: JsonObject) -> JsonValue:
            return await self.carry_out(Often(durable), given)

        run = await self.runs.get(caller, approval.run)
        run_leg = RunLeg(
            journal=self.runs,
            bus=self.bus,
            kinds=Kinds([Kind(name=DECLASSIFICATION, work=work)]),
            clock=self.clock,
            grace=timedelta(0),
        )
        await run_leg(Leg(run.id, run.leg))
        return await self.runs.get(caller, run.id)

    async def said_yes(self, by: Principal, approval: ApprovalId) -> Approval:
        return await self.answer(by, approval, Reply(kind=AnswerKind.ONCE, via=Via.REST))


async def test_from_the_question_to_the_copy(doors: Doors) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low")
    mia = replace(await joined(doors, root, "mia", FINANCE), scopes=SCOPES_OF[Role.MEMBER])
    talk = await a_conversation(doors, mia, await a_project(doors, root))
    said = (await say(doors, mia, talk, SAID, label=FINANCE)).message
    lowering = Lowering(doors)

    proposal = await lowering.propose(mia, said.id, TEAM)
    answered = await lowering.said_yes(root, proposal.approval)
    run = await lowering.leg(mia, answered)

    assert run.result == {"status": "approved", "outcome": "done"}
    assert await bodies(doors, low, talk) == [LEFT]
    [record] = await lowering.list(root, said.id)
    assert record.sound
    assert (record.asked_by, record.approved_by) == (mia.id, root.id)
    assert (await doors.approvals.get(root, proposal.approval)).outcome is Outcome.DONE


async def test_what_was_changed_meanwhile_is_given_up_and_can_be_asked_for_anew(
    doors: Doors,
) -> None:
    root = await cleared_root(doors)
    low = await joined(doors, root, "low")
    mia = replace(await joined(doors, root, "mia", FINANCE), scopes=SCOPES_OF[Role.MEMBER])
    talk = await a_conversation(doors, mia, await a_project(doors, root))
    said = (await say(doors, mia, talk, SAID, label=FINANCE)).message
    lowering = Lowering(doors)
    first = await lowering.propose(mia, said.id, TEAM)
    answered = await lowering.said_yes(root, first.approval)
    changed = replace(said, body="Something else.")
    await doors.messages.edit(replace(mia, place=str(talk.id)), changed, lowering.clock.now())

    await lowering.leg(mia, answered)
    second = await lowering.propose(mia, said.id, TEAM)
    again = await lowering.said_yes(root, second.approval)
    await lowering.leg(mia, again)

    assert (await doors.approvals.get(root, first.approval)).outcome is Outcome.FAILED
    assert await bodies(doors, low, talk) == ["Something else."]
