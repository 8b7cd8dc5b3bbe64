"""Whoever is told something has read it: their task's mark rises before it is handed out."""

from contextlib import aclosing
from dataclasses import replace

from portico.bridge.core.project import Project, ProjectId
from portico.debate.core.happening import VoiceFailed
from portico.debate.core.rules import Cap
from portico.debate.core.wish import DebateWish
from portico.kernel.budget import Cost
from portico.kernel.label import PUBLIC, Label, Level
from portico.kernel.principal import PrincipalKind
from portico.kernel.tokens import Tokens
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.debate.room import ANA, Room, some

CONFIDENTIAL = Label(Level.CONFIDENTIAL)
AGENT = replace(ANA, kind=PrincipalKind.AGENT, key="k1")


async def test_whoever_follows_it_has_read_what_is_more_secret_before_it_is_told() -> None:
    room = Room(*some("alpha:one", "beta:one"))
    debate = await room.begin(by=AGENT)
    failed = VoiceFailed(voice="alpha:one", round=1, code="voice_broke", why="It said 'secret'.")
    await room.talk.tell(ANA, debate.id, failed, label=CONFIDENTIAL)

    async with aclosing(room.follow(AGENT, debate.id)) as telling:
        told = await anext(telling)
        mark = await room.tasks.at(AGENT)

    assert (told.happening, mark.label) == (failed, CONFIDENTIAL)


async def test_whoever_is_told_what_a_project_has_left_has_read_what_was_spent() -> None:
    room = Room(*some("alpha:one", "beta:one"))
    project = Project(
        id=ProjectId.mint(BEGINNING, SeededEntropy("project")),
        name="apollo",
        label=PUBLIC,
        made_by=ANA.id,
        made_at=BEGINNING,
        active_at=BEGINNING,
    )
    which = str(project.id)
    room.world.projects[ANA.space, project.id] = project
    room.material.projects[which] = PUBLIC
    secret = await room.begin(project=which, label=CONFIDENTIAL)
    await room.purse.reserve(ANA, secret.id, "said", Cost(tokens=Tokens(10)))
    wish = DebateWish(question="Is it so?", project=which, label=CONFIDENTIAL)

    await room.estimate(AGENT, wish)
    before = await room.tasks.at(AGENT)
    await room.purse.cap_project(replace(ANA, key="clean"), which, Cap(tokens=5_000))
    await room.estimate(AGENT, replace(wish, label=None))
    low = await room.tasks.at(AGENT)
    await room.estimate(AGENT, wish)
    after = await room.tasks.at(AGENT)

    assert (before.label, low.label, after.label) == (PUBLIC, PUBLIC, CONFIDENTIAL)
