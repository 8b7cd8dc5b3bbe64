"""What a project on the bridge knows, as material for a debate."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from portico.bridge.core.memory import Remembered
from portico.bridge.ports import Memory, Projects
from portico.kernel.label import Label, join
from portico.kernel.principal import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateMaterial:
    projects: Projects
    memory: Memory

    async def project(self, caller: Principal, which: str) -> tuple[str, Label]:
        found = await self.projects.get(caller, which)
        return str(found.id), found.label

    async def of(
        self, caller: Principal, project: str, keys: Sequence[str]
    ) -> tuple[str, Label, bool]:
        """Of each key the most secret that the caller may read: a debate about it is as secret."""
        inside = await self.projects.get(caller, project)
        found = [await self.memory.get(caller, inside.id, key) for key in dict.fromkeys(keys)]
        label = join([inside.label, *(each.label for each in found)])
        return "\n\n".join(map(_told, found)), label, any(each.untrusted for each in found)


def _told(remembered: Remembered) -> str:
    value = remembered.value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    return f"## {remembered.key}\n\n{text}"
