"""All about one project, for whoever comes to work in it: what is talked about, what is to be done,
what is remembered, who holds what, who is there."""

from collections.abc import Sequence
from dataclasses import dataclass

from portico.bridge.core.projects import ProjectId
from portico.bridge.core.work_items import Work, WorkState
from portico.bridge.taint import looking
from portico.interfaces.mcp.bridge.facts import (
    conversation_facts,
    lease_facts,
    presence_facts,
    project_facts,
    work_facts,
)
from portico.interfaces.mcp.bridge.uses import BridgeUses
from portico.interfaces.mcp.bridge.words import (
    conversation_line,
    lease_line,
    presence_line,
    project_line,
    work_words,
)
from portico.interfaces.mcp.told import Facts, Told, lines, quoted
from portico.kernel.label import Label
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class ProjectContext:
    use: BridgeUses

    async def __call__(self, caller: Principal, which: str, *, upto: Label | None = None) -> Told:
        """By its name or its id. Raises `PorticoError`."""
        talk, things = self.use.bridge.talk, self.use.bridge.things
        reader = looking(caller, upto)
        project = await talk.show_project(reader, which)
        talked = await talk.list_conversations(caller, project=project.id, upto=upto)
        conversations = [conversation_facts(each) for each in talked]
        work = [_short(each) for each in await self._work(reader, project.id)]
        keys = [each.key for each in await things.list_memory(reader, project.id)]
        held, _ = await things.list_leases(reader, project.id)
        leases = [lease_facts(each) for each in held]
        there = await things.list_presence(reader, project.id)
        people = [presence_facts(each) for each in there]
        about = project_facts(project)
        return Told(
            lines(
                project_line(about),
                quoted(project.description),
                _list("conversations", [conversation_line(each) for each in conversations]),
                _list("work", [work_words(each) for each in work]),
                _list("memory", keys),
                _list("leases", [lease_line(each) for each in leases]),
                _list("people", [presence_line(each) for each in people]),
            ),
            {
                "project": about,
                "conversations": conversations,
                "work": work,
                "memory": keys,
                "leases": leases,
                "people": people,
            },
        )

    async def _work(self, reader: Principal, project: ProjectId) -> Sequence[Work]:
        list_work = self.use.bridge.things.list_work
        return [
            each
            for state in (WorkState.CLAIMED, WorkState.OPEN)
            for each in await list_work(reader, project, state=state)
        ]


def _short(work: Work) -> Facts:
    """What is to be done, in full, is for whoever asks for this piece of work."""
    return {name: value for name, value in work_facts(work).items() if name != "body"}


def _list(of: str, each: Sequence[str]) -> str:
    return lines(f"{of}:", [quoted(one) for one in each]) if each else ""
