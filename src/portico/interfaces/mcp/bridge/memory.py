"""`memory_get`, `memory_set`, `memory_find`, `attach`: what a project keeps."""

from dataclasses import dataclass

from portico.bridge.core.errors import BadBridgeInput
from portico.bridge.core.memory import ToRemember
from portico.bridge.core.projects import Project
from portico.bridge.taint import looking
from portico.interfaces.mcp.bridge.facts import attachment_facts, memory_facts
from portico.interfaces.mcp.bridge.given import Given
from portico.interfaces.mcp.bridge.told import RAISED
from portico.interfaces.mcp.bridge.uses import BridgeUses
from portico.interfaces.mcp.bridge.words import attachment_line, memory_words
from portico.interfaces.mcp.told import Told, lines
from portico.kernel.errors import Flaw
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class MemoryTools:
    use: BridgeUses

    async def memory_get(self, caller: Principal, given: Given) -> Told:
        things, reader = self.use.bridge.things, looking(caller, given.upto)
        project, key = await self._project(reader, given), given.needed("key")
        if given.switch("history"):
            versions = await things.memory_history(reader, project.id, key)
            history = [memory_facts(each) for each in versions]
            text = lines(map(memory_words, history)) or "It was never there."
            return Told(text, {"versions": history})
        facts = memory_facts(await things.recall(reader, project.id, key))
        return Told(memory_words(facts), facts)

    async def memory_set(self, caller: Principal, given: Given) -> Told:
        things = self.use.bridge.things
        project, key = await self._project(caller, given), given.needed("key")
        if given.switch("forget"):
            if "value" in given:
                raise BadBridgeInput([Flaw("value", "cannot be remembered and forgotten")])
            await things.forget(caller, project.id, key, given.label())
            return Told(f"{key!r} is forgotten.", {"forgotten": key})
        if "value" not in given:
            raise BadBridgeInput([Flaw("value", "is needed, or forget")])
        lasts = given.seconds("expires_in")
        wanted = ToRemember(
            project=project.id,
            key=key,
            value=given.value("value"),
            label=given.label(),
            version=given.number("version"),
            expires_at=None if lasts is None else self.use.clock.now() + lasts,
        )
        kept = await things.remember(caller, wanted)
        raised = wanted.label is None and kept.label != project.label
        return Told(
            lines(
                f"{key!r} is remembered as {kept.label}, version {kept.version}.",
                RAISED if raised else "",
            ),
            {"key": key, "label": str(kept.label), "version": kept.version, "raised": raised},
        )

    async def memory_find(self, caller: Principal, given: Given) -> Told:
        things, reader = self.use.bridge.things, looking(caller, given.upto)
        project = await self._project(reader, given)
        if (words := given.text("words")) is not None:
            found = await things.search_memory(reader, project.id, words)
        else:
            found = await things.list_memory(
                reader, project.id, prefix=given.text("prefix") or "", after=given.text("after")
            )
        facts = [memory_facts(each) for each in found]
        return Told(lines(map(memory_words, facts)) or "Nothing was found.", {"found": facts})

    async def attach(self, caller: Principal, given: Given) -> Told:
        project = await self._project(caller, given)
        usual = "text/plain" if "text" in given else "application/octet-stream"
        kept = await self.use.bridge.things.attach(
            caller,
            project.id,
            given.needed("name"),
            given.text("media_type") or usual,
            given.content(),
            given.label(),
        )
        facts = attachment_facts(kept)
        raised = "label" not in given and kept.label != project.label
        text = lines(attachment_line(facts), RAISED if raised else "")
        return Told(text, {**facts, "raised": raised})

    async def _project(self, caller: Principal, given: Given) -> Project:
        return await self.use.bridge.talk.show_project(caller, given.needed("project"))
