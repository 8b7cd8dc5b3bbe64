"""Who comes to be cleared for less while something is under way is told no more of it."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from portico.adapters.postgres.addresses import Addresses
from portico.bridge.core.conversation import Conversation
from portico.bridge.core.message import NewMessage
from portico.bridge.core.project import Project
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from tests.storm.bridge_told import as_text
from tests.storm.walled_house import WalledHouse
from tests.storm.walled_postgres import walled_house

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.scenario,
    pytest.mark.postgres,
    pytest.mark.timeout(120),
]


@dataclass
class Scene:
    """A reader who was cleared for what is confidential until just now."""

    house: WalledHouse
    reader: Principal
    project: Project
    talk: Conversation

    async def says(self, body: str, label: str) -> None:
        wish = NewMessage(conversation=self.talk.id, body=body, label=Label.parse(label))
        await self.house.talk.send_message(self.house.afresh(self.house.root), wish)

    async def lowers(self) -> None:
        await self.house.cleared_for(self.reader, "team")


async def a_scene(house: WalledHouse) -> Scene:
    root = house.afresh(house.root)
    project = await house.talk.create_project(root, "apollo", "", Label.parse("team"))
    talk = await house.talk.create_conversation(root, project.id, "Talk")
    return Scene(house, await house.enters("reader", "confidential"), project, talk)


async def test_whoever_is_cleared_for_less_while_they_take_out_a_project_gets_no_more_of_it(
    embedded_database: Addresses,
) -> None:
    async with walled_house(embedded_database) as house:
        scene = await a_scene(house)
        for number in range(4):
            await scene.says(f"secret {number}", "confidential")
            await scene.says(f"open {number}", "team")
        export = replace(house.use_cases.letting_out.export_project, at_once=1)
        lines = []
        async for line in await export(scene.reader, scene.project.id):
            lines.append(as_text(line))
            if "secret 1" in lines[-1]:
                await scene.lowers()

    told = " ".join(lines)
    assert "open 3" in told
    assert "secret 1" in told
    assert "secret 2" not in told


async def test_whoever_is_cleared_for_less_while_they_wait_is_not_told_what_comes_then(
    embedded_database: Addresses,
) -> None:
    async with walled_house(embedded_database) as house:
        scene = await a_scene(house)
        talks = [scene.talk.id]
        start = await house.talk.read_messages(scene.reader, talks)
        waiting = asyncio.create_task(
            house.talk.read_messages(
                scene.reader, talks, cursor=start.cursor, wait=timedelta(seconds=20)
            )
        )
        await asyncio.sleep(0)
        await scene.lowers()
        await scene.says("secret", "confidential")
        await scene.says("open", "team")
        page = await waiting

    assert "secret" not in as_text(page.messages)
    assert page.reset or [message.body for message in page.messages] == ["open"]


async def test_whoever_is_cleared_for_less_hears_of_nothing_that_is_above_them_by_then(
    embedded_database: Addresses,
) -> None:
    async with walled_house(embedded_database) as house:
        scene = await a_scene(house)
        told = []
        news = house.talk.follow_conversations(scene.reader, [scene.talk.id])
        async with aclosing(news) as stream:
            told.append(await anext(stream))
            await scene.lowers()
            await scene.says("secret", "confidential")
            await scene.says("open", "team")
            told += [each async for each in stream]

    assert [(str(each.label), each.reset) for each in told[1:]] == [("public", True)]
