"""What becomes of calls made ahead, told in the event log: switches, edges and sums, no call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from portico.engine.core.event_log import NewEntry
from portico.engine.ports import EventLog
from portico.gateway.core.servers import Server
from portico.kernel.json import JsonObject
from portico.kernel.label import Label
from portico.kernel.principal import Principal
from portico.learning.core.prefetch.switches import ServerSwitch, SpaceSwitches
from portico.learning.core.prefetch.totals import AheadTotals

TOPIC: Final = "ahead"


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadNews:
    log: EventLog

    async def switched(
        self,
        caller: Principal,
        before: SpaceSwitches,
        after: SpaceSwitches,
        named: Sequence[Server],
    ) -> None:
        """Of a server only to whoever may know of it."""
        told = [_of_server(its, after) for its in named if _own(its, before) != _own(its, after)]
        if (before.mode, before.learning) != (after.mode, after.learning):
            facts: JsonObject = {"mode": str(after.mode), "learning": after.learning}
            told.append(NewEntry(topic=TOPIC, type="ahead.switched", facts=facts))
        await self.log.append(caller, told)

    async def turned(
        self, caller: Principal, label: Label, edges: Sequence[tuple[str, str, bool]]
    ) -> None:
        """Edges that became live, or fell back: after which tool, which tool, and whether."""
        told = [
            NewEntry(
                topic=TOPIC,
                type="ahead.live" if live else "ahead.shadow",
                facts={"after": after, "tool": tool},
                label=label,
            )
            for after, tool, live in edges
        ]
        await self.log.append(caller, told)

    async def counted(self, caller: Principal, label: Label, since: AheadTotals) -> None:
        """What has come to the sums since it was last told."""
        told = NewEntry(
            topic=TOPIC,
            type="ahead.figures",
            facts={
                "calls": since.calls,
                "tried": since.tried,
                "served": since.served,
                "saved_ms": round(since.saved.total_seconds() * 1000),
            },
            label=label,
        )
        await self.log.append(caller, [told])


def _of_server(server: Server, switches: SpaceSwitches) -> NewEntry:
    its = _own(server, switches)
    facts: JsonObject = {"server": server.name, "mode": str(its.mode), "external": its.external}
    return NewEntry(topic=TOPIC, type="ahead.switched", facts=facts, label=server.label)


def _own(server: Server, switches: SpaceSwitches) -> ServerSwitch:
    return switches.servers.get(server.id, ServerSwitch())
