"""What a project remembers, as material for a debate; and the task that a debate happens in."""

from contextlib import aclosing
from dataclasses import dataclass, replace
from decimal import Decimal

import pytest

from portico.adapters.joins import debate_talk
from portico.adapters.joins.debate_material import DebateMaterial
from portico.adapters.joins.debate_talk import WORDING, DebateTalk
from portico.adapters.joins.debate_tasks import DebateTasks
from portico.adapters.postgres.debate_rows import talk_topic
from portico.adapters.seals.aes_siv import AesSivSeal
from portico.bridge.core.errors import MemoryNotFound, ProjectNotFound
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.project import ProjectId
from portico.debate.core.debate import Debate, DebateStatus
from portico.debate.core.happening import (
    DebateEnded,
    Happening,
    RoundBegan,
    Told,
    VoiceFailed,
    VoiceSpoke,
)
from portico.engine.core.errors import BadCursor
from portico.engine.tails import Tails
from portico.engine.watch import WatchTopics
from portico.kernel.json import JsonValue
from portico.kernel.label import PUBLIC, Label, join
from portico.kernel.principal import Principal
from portico.testing.kernel import BEGINNING, SeededEntropy
from tests.contracts.bridge_people import FINANCE, LAW, SECRET, TEAM, a_project, cleared_root
from tests.contracts.debate_table import a_debate
from tests.contracts.doors import Doors, memory_doors


async def remember(
    doors: Doors, root: Principal, project: ProjectId, label: Label, **what: JsonValue
) -> None:
    for key, value in what.items():
        wanted = ToRemember(project=project, key=key, value=value)
        await doors.memory.put(root, wanted, label, BEGINNING, untrusted=label == LAW)


async def test_what_is_remembered_is_read_as_one_text_and_as_secret_as_all_of_it() -> None:
    doors = memory_doors()
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    await remember(doors, root, project.id, FINANCE, plan="Zürich first.")
    await remember(doors, root, project.id, TEAM, ports={"ö": [80]})
    await remember(doors, root, project.id, LAW, letter="Dear all")
    material = DebateMaterial(projects=doors.projects, memory=doors.memory)

    text, label, untrusted = await material.of(root, project.name, ["plan", "ports", "plan"])

    assert text == '## plan\n\nZürich first.\n\n## ports\n\n{\n  "ö": [\n    80\n  ]\n}'
    assert (label, untrusted) == (FINANCE, False)
    strange = await material.of(root, str(project.id), ["letter"])
    assert strange[1:] == (join([TEAM, LAW]), True)
    assert await material.of(root, str(project.id), []) == ("", TEAM, False)


async def test_what_somebody_may_not_read_is_not_there() -> None:
    doors = memory_doors()
    root = await cleared_root(doors)
    project = await a_project(doors, root)
    hidden = await a_project(doors, root, "hidden", FINANCE)
    await remember(doors, root, project.id, FINANCE, plan="x")
    material = DebateMaterial(projects=doors.projects, memory=doors.memory)
    low = replace(root, clearance=TEAM)

    assert await material.project(low, project.name) == (str(project.id), TEAM)
    with pytest.raises(ProjectNotFound):
        await material.project(low, str(hidden.id))
    with pytest.raises(ProjectNotFound):
        await material.of(low, "hidden", [])
    with pytest.raises(MemoryNotFound):
        await material.of(low, str(project.id), ["plan"])


async def test_a_debate_begins_with_what_its_starter_has_read_and_goes_its_own_way() -> None:
    doors = memory_doors()
    root = await cleared_root(doors)
    tasks = DebateTasks(
        book=doors.contexts,
        contexts=doors.contexts,
        clock=doors.clock,
        entropy=SeededEntropy("tasks"),
    )
    await tasks.read(root, TEAM, untrusted=True)

    inside = replace(root, context=await tasks.open(root, "debate", FINANCE))
    await tasks.read(root, LAW, untrusted=False)

    task = await tasks.at(inside)
    assert (task.label, task.untrusted) == (join([TEAM, FINANCE]), True)
    fresh = await tasks.at(replace(root, key="another"))
    assert fresh.label == PUBLIC


BEGAN = RoundBegan(round=1, voices=("a",))
NEXT = RoundBegan(round=2, voices=("a",))
ENDED = DebateEnded(decision=None, status="stopped", tokens=1, money=Decimal(0), seconds=0.5)
SEAL = AesSivSeal.from_pepper(b"pepper")


@dataclass
class Table:
    doors: Doors
    talk: DebateTalk
    root: Principal
    debate: Debate

    async def tell(self, *happenings: Happening, label: Label = TEAM) -> None:
        await self.talk.tell(self.root, self.debate.id, *happenings, label=label)

    async def told(self, who: Principal | None = None, after: str | None = None) -> list[Told]:
        """All of it, of one that is over."""
        following = self.talk.follow(who or self.root, self.debate.id, after=after)
        return [each async for each in following]

    async def end(self) -> None:
        await self.doors.debates.end(
            self.root, self.debate.id, DebateStatus.STOPPED, None, at=BEGINNING
        )


@pytest.fixture
async def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    monkeypatch.setattr(debate_talk, "_LOOK", 0.01)
    doors = memory_doors()
    root = await cleared_root(doors)
    debate = a_debate(root, private=False)
    await doors.debates.begin(root, debate)
    talk = DebateTalk(
        log=doors.event_log,
        tails=Tails(log=doors.event_log, bus=doors.bus, seal=SEAL, wording=WORDING),
        seal=SEAL,
        blackboard=doors.debates,
        clock=doors.clock,
    )
    return Table(doors, talk, root, debate)


async def test_whoever_comes_later_is_told_all_of_it_to_its_end(table: Table) -> None:
    await table.tell(BEGAN)
    await table.tell(NEXT, ENDED)

    assert [each.happening for each in await table.told()] == [BEGAN, NEXT, ENDED]


async def test_one_goes_on_where_one_left_off(table: Table) -> None:
    await table.tell(BEGAN, NEXT, ENDED)
    first = (await table.told())[0]

    rest = await table.told(after=first.cursor)

    assert [each.happening for each in rest] == [NEXT, ENDED]


async def test_a_cursor_of_elsewhere_is_refused(table: Table) -> None:
    with pytest.raises(BadCursor):
        await table.told(after="AAAA")


async def test_it_ends_with_the_debate_also_if_nobody_says_so(table: Table) -> None:
    await table.tell(BEGAN)
    await table.end()

    assert [each.happening for each in await table.told()] == [BEGAN]


async def test_it_ends_for_whoever_may_not_read_the_debate_any_more(table: Table) -> None:
    await table.tell(BEGAN)
    low = replace(table.root, clearance=Label.parse("public"))

    assert await table.told(low) == []


async def test_a_piece_is_heard_while_it_is_spoken_and_not_kept(table: Table) -> None:
    piece = VoiceSpoke(voice="a", round=1, text="Hm.")
    following = table.talk.follow(table.root, table.debate.id, after=None)
    await table.tell(BEGAN)

    async with aclosing(following) as telling:
        began = await anext(telling)
        table.talk.speak(table.root, table.debate.id, piece, label=TEAM)
        spoken = await anext(telling)

    assert spoken == Told(began.cursor, piece, TEAM)
    await table.end()
    assert [each.happening for each in await table.told()] == [BEGAN]


async def test_nobody_hears_what_is_above_them(table: Table) -> None:
    await table.tell(BEGAN)
    await table.tell(NEXT, label=FINANCE)
    await table.tell(ENDED)
    low = replace(table.root, clearance=TEAM)

    assert [each.happening for each in await table.told(low)] == [BEGAN, ENDED]
    assert len(await table.told(replace(table.root, clearance=SECRET))) == 3


async def test_nobody_watches_it_by_its_name(table: Table) -> None:
    assert WatchTopics(seal=SEAL)(table.root, [talk_topic(table.debate.id)], None) == {}


async def test_what_no_database_holds_is_marked_as_unknown(table: Table) -> None:
    odd = VoiceFailed(voice="a\0", round=1, code="voice_broke", why="half \ud800")

    await table.tell(odd, ENDED)

    assert (await table.told())[0].happening == replace(odd, voice="a\ufffd", why="half ?")
