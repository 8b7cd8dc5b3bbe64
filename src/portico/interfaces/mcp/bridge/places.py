"""`projects`, `project_set`, `conversations`, `conversation_set`: where one is, and with whom."""

from dataclasses import dataclass

from portico.bridge.core.conversations import Conversation, ConversationId
from portico.bridge.core.errors import BadBridgeInput
from portico.bridge.core.presence import Doing
from portico.bridge.core.projects import Project
from portico.bridge.taint import looking
from portico.interfaces.mcp.bridge.facts import conversation_facts, participant_facts, project_facts
from portico.interfaces.mcp.bridge.given import Given
from portico.interfaces.mcp.bridge.project_context import ProjectContext
from portico.interfaces.mcp.bridge.told import RAISED
from portico.interfaces.mcp.bridge.uses import BridgeUses
from portico.interfaces.mcp.bridge.words import conversation_line, project_line
from portico.interfaces.mcp.told import Told, lines
from portico.kernel.errors import Flaw
from portico.kernel.label import PUBLIC
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Places:
    use: BridgeUses

    async def projects(self, caller: Principal, given: Given) -> Told:
        if (which := given.text("project")) is not None:
            return await ProjectContext(self.use)(caller, which, upto=given.upto)
        found = await self.use.bridge.talk.list_projects(
            caller, after=given.text("after"), upto=given.upto
        )
        facts = [project_facts(project) for project in found]
        text = lines(map(project_line, facts)) or "There is no project that you can see."
        return Told(text, {"projects": facts})

    async def project_set(self, caller: Principal, given: Given) -> Told:
        if (which := given.text("project")) is None:
            return await self._made(caller, given)
        _check_unchangeable(given, "label")
        project = await self.use.bridge.talk.show_project(caller, which)
        changes = {field: given.text(field) for field in ("name", "description") if field in given}
        if changes or "archived" in given:
            project = await self.use.bridge.talk.change_project(
                caller,
                project.id,
                name=changes.get("name"),
                description=changes.get("description"),
                archived=given.switch("archived"),
            )
        await self._presence(caller, project, given)
        return _project(project)

    async def _made(self, caller: Principal, given: Given) -> Told:
        _check_unchangeable(given, "archived")
        project = await self.use.bridge.talk.create_project(
            caller,
            given.needed("name", "is needed to make a project, or `project` to change one"),
            given.text("description") or "",
            given.label(),
        )
        await self._presence(caller, project, given)
        return _project(project, raised="label" not in given and project.label != PUBLIC)

    async def _presence(self, caller: Principal, project: Project, given: Given) -> None:
        if (doing := given.text("doing")) is not None:
            note = given.text("note") or ""
            await self.use.bridge.things.say_presence(caller, project.id, Doing(doing), note)
        elif "note" in given:
            raise BadBridgeInput([Flaw("doing", "is needed with a note")])

    async def conversations(self, caller: Principal, given: Given) -> Told:
        talk = self.use.bridge.talk
        if "conversation" in given:
            return await self._conversation(caller, given.conversation())
        project = None
        if (which := given.text("project")) is not None:
            project = (await talk.show_project(looking(caller, given.upto), which)).id
        found = await talk.list_conversations(
            caller, project=project, after=given.text("after"), upto=given.upto
        )
        facts = [conversation_facts(conversation) for conversation in found]
        text = lines(map(conversation_line, facts)) or "There is no conversation that you can see."
        return Told(text, {"conversations": facts})

    async def _conversation(self, caller: Principal, conversation: ConversationId) -> Told:
        talk = self.use.bridge.talk
        facts = conversation_facts(await talk.show_conversation(caller, conversation))
        taking_part = await talk.list_participants(caller, conversation)
        names = ", ".join(each.name for each in taking_part) or "nobody"
        return Told(
            lines(conversation_line(facts), f"taking part: {names}"),
            {**facts, "participants": [participant_facts(each) for each in taking_part]},
        )

    async def conversation_set(self, caller: Principal, given: Given) -> Told:
        if "conversation" not in given:
            return await self._begun(caller, given)
        _check_unchangeable(given, "project", "label", "closed")
        conversation = given.conversation()
        talk, people = self.use.bridge.talk, self.use.bridge.talk.name_people
        added = await people(caller, given.texts("add"))
        removed = await people(caller, given.texts("remove"))
        if "title" in given or "archived" in given:
            await talk.change_conversation(
                caller,
                conversation,
                title=given.text("title"),
                archived=given.switch("archived"),
            )
        for who in added:
            await talk.join(caller, conversation, who)
        if (muted := given.switch("muted")) is not None:
            await talk.mute(caller, conversation, muted=muted)
        for who in removed:
            await talk.leave(caller, conversation, who)
        if caller.id in removed:  # who has left a closed one does not see it any more
            return Told(f"You have left {conversation}.", {"id": str(conversation)})
        return await self._conversation(caller, conversation)

    async def _begun(self, caller: Principal, given: Given) -> Told:
        _check_unchangeable(given, "archived", "remove", "muted")
        talk = self.use.bridge.talk
        why = "is needed to begin a conversation, or `conversation` to change one"
        project = await talk.show_project(caller, given.needed("project", why))
        made = await talk.create_conversation(
            caller,
            project.id,
            given.needed("title", why),
            label=given.label(),
            closed=given.switch("closed") or False,
            participants=await self.use.bridge.talk.name_people(caller, given.texts("add")),
        )
        return _conversation(made, raised="label" not in given and made.label != project.label)


def _project(project: Project, *, raised: bool = False) -> Told:
    facts = project_facts(project)
    return Told(lines(project_line(facts), RAISED if raised else ""), {**facts, "raised": raised})


def _conversation(conversation: Conversation, *, raised: bool) -> Told:
    facts = conversation_facts(conversation)
    text = lines(conversation_line(facts), RAISED if raised else "")
    return Told(text, {**facts, "raised": raised})


def _check_unchangeable(given: Given, *fields: str) -> None:
    """Raises `BadBridgeInput`."""
    if wrong := [Flaw(field, "cannot be said here") for field in fields if field in given]:
        raise BadBridgeInput(wrong)
