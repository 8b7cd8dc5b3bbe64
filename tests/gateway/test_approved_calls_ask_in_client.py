"""The story of asking whoever sits at the program: who counts, and what happens elsewhere."""

import asyncio
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from portico.gateway.approved_calls import AskInClient
from portico.gateway.core.calls import ClientCapability, Question
from portico.gateway.core.errors import InputRefused
from portico.gateway.ports import ClientChannel
from portico.guard.approvals import AnswerApproval, Reply
from portico.guard.core.approvals import AnswerKind, Approval, Status, Via
from portico.guard.core.errors import ApprovalOver
from portico.guard.core.principals import Role
from portico.guard.keys import KeySpec
from portico.kernel.ids import ApprovalId
from portico.kernel.json import JsonObject
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal
from portico.testing.guard import MemoryPrincipals, MemoryTrustedClients
from tests.guard.approvals import an_approval
from tests.guard.room import Room

YES: JsonObject = {"action": "accept", "content": {"answer": "once"}}


@dataclass
class Client:
    """Answers with this, or never."""

    reply: JsonObject | Exception | None = None
    able: AbstractSet[ClientCapability] = frozenset({ClientCapability.ELICITATION})
    asked: list[Question] = field(default_factory=list)
    log_level: str | None = None
    meanwhile: Callable[[], Awaitable[None]] | None = None
    """What happens while whoever sits there thinks."""

    async def ask(self, question: Question) -> JsonObject:
        self.asked.append(question)
        if self.meanwhile is not None:
            await self.meanwhile()
        if self.reply is None:
            await asyncio.Event().wait()
        if isinstance(self.reply, Exception):
            raise self.reply
        return cast("JsonObject", self.reply)

    async def progress(self, done: float, total: float | None, message: str | None) -> None: ...

    async def log(self, params: JsonObject) -> None: ...


@dataclass
class Answers:
    """Stands where answering is."""

    refuse: Exception | None = None
    given: list[tuple[str, ApprovalId, Reply]] = field(default_factory=list)
    as_whom: list[Principal] = field(default_factory=list)

    async def __call__(self, caller: Principal, approval: ApprovalId, reply: Reply) -> Approval:
        self.as_whom.append(caller)
        self.given.append((caller.name, approval, reply))
        if self.refuse is not None:
            raise self.refuse
        return an_approval(caller)


class Story:
    def __init__(self) -> None:
        self.room = Room()
        self.ana = self.room.person("ana", Role.OPERATOR)
        self.bot = self.room.person("bot")
        self.answers = Answers()
        self.trusted = MemoryTrustedClients(self.room.world)
        self.ask = AskInClient(
            trusted=self.trusted,
            principals=MemoryPrincipals(self.room.world),
            answer=cast("AnswerApproval", self.answers),
        )

    async def trusting(self) -> Principal:
        """The bot, as it comes in with a key whose program speaks for ana."""
        issued = await self.room.issue_key(self.bot, KeySpec(name="editor"))
        await self.trusted.trust(self.ana, issued.key.id, self.ana.id)
        return replace(self.bot, key=issued.key.id)

    async def told(self, caller: Principal, client: Client, **changes: Any) -> list[str]:
        """Whom an answer was given for, once there is nothing more to come."""
        approval = an_approval(caller, **changes)
        async with self.ask(caller, approval, cast("ClientChannel", client)) as asking:
            async with asyncio.timeout(30):
                while asking() and not (client.reply is None and client.asked):  # noqa: ASYNC110 # nothing rings
                    await asyncio.sleep(0)
        return [name for name, _, _ in self.answers.given]


@pytest.fixture
def story() -> Story:
    return Story()


async def test_the_answer_is_that_of_the_person_whom_an_operator_named(story: Story) -> None:
    told = await story.told(await story.trusting(), Client(YES))

    assert told == ["ana"]
    _, _, reply = story.answers.given[0]
    assert (reply.kind, reply.via, reply.arguments) == (AnswerKind.ONCE, Via.ELICITATION, None)


async def test_a_program_that_nobody_trusts_is_not_even_asked(story: Story) -> None:
    issued = await story.room.issue_key(story.bot, KeySpec(name="editor"))
    client = Client(YES)

    told = await story.told(replace(story.bot, key=issued.key.id), client)

    assert (told, client.asked) == ([], [])


async def test_neither_is_one_that_cannot_ask_or_that_came_without_a_key(story: Story) -> None:
    caller = await story.trusting()
    unable, keyless = Client(YES, able=frozenset()), Client(YES)

    await story.told(caller, unable)
    await story.told(replace(caller, key=None), keyless)

    assert (unable.asked, keyless.asked) == ([], [])


async def test_nobody_is_asked_about_what_is_over_or_by_whom_is_gone(story: Story) -> None:
    caller = await story.trusting()
    over, gone = Client(YES), Client(YES)

    await story.told(caller, over, status=Status.APPROVED)
    identities = story.room.world.identities
    ana = identities[story.ana.space, story.ana.id]
    identities[ana.space, ana.id] = replace(ana, disabled_at=ana.created_at)
    await story.told(caller, gone)

    assert (over.asked, gone.asked) == ([], [])


@pytest.mark.parametrize("meanwhile", ["disabled", "lowered", "not trusted", "another"])
async def test_whoever_is_asked_answers_as_who_they_are_by_then(meanwhile: str) -> None:
    story = Story()
    caller = await story.trusting()
    identities, bob = story.room.world.identities, story.room.person("bob", Role.OPERATOR)
    ana = identities[story.ana.space, story.ana.id]

    async def happens() -> None:
        if meanwhile == "disabled":
            identities[ana.space, ana.id] = replace(ana, disabled_at=ana.created_at)
        elif meanwhile == "lowered":
            identities[ana.space, ana.id] = replace(ana, clearance=PUBLIC)
        elif caller.key is not None:
            whom = None if meanwhile == "not trusted" else bob.id
            await story.trusted.trust(story.ana, caller.key, whom)

    await story.told(caller, Client(YES, meanwhile=happens))

    given = [(each.name, each.clearance) for each in story.answers.as_whom]
    assert given == ([("ana", PUBLIC)] if meanwhile == "lowered" else [])


async def test_what_is_no_answer_changes_nothing(story: Story) -> None:
    caller = await story.trusting()

    replies: list[JsonObject | Exception] = [
        {"action": "decline"},
        {"action": "accept", "content": {"answer": "yes"}},
        InputRefused("box.send", "no"),
    ]
    for reply in replies:
        assert await story.told(caller, Client(reply)) == []


async def test_whoever_is_late_is_late_and_the_call_goes_on(story: Story) -> None:
    story.answers.refuse = ApprovalOver("apr", "approved", "bob")

    assert await story.told(await story.trusting(), Client(YES)) == ["ana"]


async def test_at_the_end_nobody_is_asked_any_more(story: Story) -> None:
    client = Client(None)

    assert await story.told(await story.trusting(), client) == []

    assert len(client.asked) == 1
